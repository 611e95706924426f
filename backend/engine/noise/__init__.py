"""Errors injected into ordinary English captions, with a record of the changed words.

Three kinds, after TRACED §3.3 and §4.2: `random` (another image's caption), `noun` (another image's
caption that shares a noun) and `fine_grained` (a few words changed, by rules; by a language model
in `research.noise`). Nothing here needs a picture: what rules cannot know (is the swapped caption
correct by chance?) remains as label noise, and `research.scenes.noise` does better if the picture's
contents are known.

    noisy_caption   the result, and how replacements are written into a user's text
    word_lists      the words used by the rules, by category
    word_kinds      classification of words: colour, count, object, …
    nouns           singular, plural, and which words of a caption are nouns
    rules           every fine-grained edit that a caption allows
    fine_grained    samples edits such that word frequencies do not reveal the errors
    swaps           random and noun swaps
    injection       injects several kinds of noise into a share of a dataset
"""
