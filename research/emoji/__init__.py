"""Pictures and names by other people: emoji, drawn by several vendors.

sets             openly licensed sets and the names, downloaded from the npm registry
arrangement      pictures of one emoji or a few of one style, their captions and fine-grained errors
emoji_examples   training examples, as in `scenes.examples`
held_out_style   trains on all styles but one by the recipe of the scenes, evaluates on that one
"""
