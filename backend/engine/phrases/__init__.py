"""The phrases of a caption, and what each of them contributes to the match with the image.

Our reading of Counterfactual Phrase Intervention (arXiv:2605.22651), based on its abstract and on
notes. A phrase's head is replaced by a nonsense word; the resulting drop in s is the phrase's
*attribution*.

spans        the phrases of a caption: objects, attributes, relations
lexicon      which strings are words, so that nonces can avoid them
nonce        nonsense words that match in tokens and in form
attribution  the attribution of many pairs' phrases, in calls that mix pairs
"""
