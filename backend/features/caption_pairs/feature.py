"""What pairs of captions to learn from add."""

_FORMATS = "backend.features.caption_pairs.formats"
ENTRY_POINTS = {
    "formats": {
        "preference": f"{_FORMATS}:PREFERENCE",
        "hard-negatives": f"{_FORMATS}:HARD_NEGATIVES",
    },
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("captionpair", "caption_pair", "hard-negative", "hard_negative", "neg_caption")
