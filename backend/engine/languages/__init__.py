"""The languages of captions: which one a caption is in, and what the program has of each.

language         the registry: what `data/CODE.toml` says of each language
identification   which language a caption is in, by script and function words
foreign          whether a caption is in another language than a model reads
segmentation     words in scripts without spaces

A file needs no more than a name and the words that identify the language. With groups of words that
may stand for each other, its captions get errors of their own for cold start, and its words kinds.
The rules for English, which inflect, are in `backend.engine.english` and `backend.engine.noise`.
"""
