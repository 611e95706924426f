"""Forms of the verbs in the word lists."""

from functools import cache

from backend.engine.english.word_lists import VERBS

#: These double their last consonant before -ing and -ed.
_DOUBLING = frozenset(["sit", "run", "swim", "cut", "hit", "drop"])
_PAST = {
    "sit": "sat", "stand": "stood", "lie": "lay", "kneel": "knelt", "sleep": "slept", "run": "ran",
    "swim": "swam", "fly": "flew", "hold": "held", "throw": "threw", "catch": "caught",
    "hit": "hit", "eat": "ate", "cut": "cut", "ride": "rode", "read": "read", "write": "wrote",
    "draw": "drew",
}  # fmt: skip


def forms_of(base: str) -> dict[str, str]:
    """The forms of a verb, by name.

    >>> forms_of("ride")
    {'base': 'ride', 'third': 'rides', 'progressive': 'riding', 'past': 'rode'}
    """
    if base == "lie":
        stem = "ly"
    elif base in _DOUBLING:
        stem = base + base[-1]
    elif base.endswith("e"):
        stem = base[:-1]
    else:
        stem = base
    consonant_y = base.endswith("y") and base[-2:-1] not in ("a", "e", "o")
    if consonant_y:
        third, regular_past = base[:-1] + "ies", base[:-1] + "ied"
    elif base.endswith(("s", "sh", "ch", "x", "z")):
        third, regular_past = base + "es", base + "ed"
    else:
        third, regular_past = base + "s", stem + "ed"
    past = _PAST.get(base, regular_past)
    return {"base": base, "third": third, "progressive": stem + "ing", "past": past}


@cache
def form_table() -> dict[str, tuple[str, str, str]]:
    """Word to (base, form, category). If a word is several forms of one verb, the last one wins:
    "read" and "hit" are treated as past tense, for which the replacements also fit."""
    table: dict[str, tuple[str, str, str]] = {}
    for category, bases in VERBS.items():
        for base in bases:
            for form, word in forms_of(base).items():
                if word not in table or table[word][0] == base:
                    table[word] = (base, form, category)
    return table
