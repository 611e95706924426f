"""English: what captions are made of, by lists and rules, without a model.

function_words, word_lists, word_kinds  words by kind
nouns, verbs, lemmas   their forms
articles               a or an, by sound
phrases                a caption's phrases and their grammar
counting, negations    numbers and negations, each with what it governs
shortening             captions without some of their words
"""
