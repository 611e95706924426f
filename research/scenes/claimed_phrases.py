"""The reference phrases of a caption of a drawn scene, which the phrase rules should find.

Derived from the `Description`, not from the text: one object per thing, garment, place or weather,
one attribute per quality (colour, size, count, action), one relation per link other than "and" and
"with", per garment ("wearing"), and per complex preposition of a place ("next to").
"""

from research.scenes import phrasing
from research.scenes.grammar import Description, NounPhrase, words_of

#: The label of each word of these wordings: o object, a attribute, r relation (R: its head), a dot
#: for no phrase, + for a continuation of the preceding phrase.
_SETTINGS = {
    "in a park": "..o", "in the park": "..o", "on a lawn": "..o",
    "on the grass in a park": "..o..o", "on a beach": "..o", "on the beach": "..o",
    "by the sea": "..o", "at the beach": "..o", "on a street": "..o", "on the street": "..o",
    "in the city": "..o", "on a city street": "..o+", "by a lake": "..o", "at the lake": "..o",
    "next to a lake": "R+.o", "in the mountains": "..o", "in front of mountains": "rR+o",
    "in a forest": "..o", "in the forest": "..o", "in the woods": "..o", "in a desert": "..o",
    "in the desert": "..o", "in a room": "..o", "in a living room": "..o+",
    "in the living room": "..o+", "in a kitchen": "..o", "in the kitchen": "..o",
    "on a sunny day": "..oo", "in the sunshine": "..o", "in the rain": "..o",
    "on a rainy day": "..oo", "in the snow": "..o", "on a snowy day": "..oo", "at night": ".o",
    "in the dark": "..o",
}  # fmt: skip
_LINKS = {
    "": "", "holding": "R", "carrying": "R", "riding": "R", "riding on": "R+", "under": "R",
    "beneath": "R", "underneath": "R", "on": "R", "on top of": "rR+", "with": ".", "on it": "R.",
    "sitting on": "R+", "above": "R", "over": "R", "to the left of": "rrR+",
    "on the left of": "rrR+", "left of": "R+", "to the right of": "rrR+",
    "on the right of": "rrR+", "right of": "R+", "next to": "R+", "beside": "R", "near": "R",
    "and": ".",
}  # fmt: skip


def claimed_phrases(description: Description) -> frozenset[tuple[int, int, str]]:
    """(first word, end, kind) of each phrase; half-open ranges of `description.words`."""
    marks = _marks(description)
    if len(marks) != len(words_of(description)):
        raise ValueError(f"{len(marks)} marks for: {description.text}")
    phrases: set[tuple[int, int, str]] = set()
    i = 0
    while i < len(marks):
        end, kind = i + 1, marks[i]
        if kind in ("r", "R"):
            while marks[end - 1] == "r":
                end += 1
        while end < len(marks) and marks[end] == "+":
            end += 1
        if kind != ".":
            phrases.add((i, end, {"o": "object", "a": "attribute"}.get(kind, "relation")))
        i = end
    return frozenset(phrases)


def _marks(description: Description) -> str:
    opener, with_copula = phrasing.OPENERS[description.opener]
    setting = _wording(phrasing.SETTINGS, description.setting, description.wording)
    marks = setting if description.setting_first else ""
    marks += "." * (len(opener.split()) + with_copula)
    for number, phrase in enumerate(description.phrases):
        behind = ""
        if number:
            link = description.links[number - 1]
            options = phrasing.LINKS[link.kind]
            before, after, _ = options[link.wording % len(options)]
            marks += _LINKS[before]
            behind = _LINKS[after]
        marks += _noun_phrase(phrase)
        if number == 0 and description.copula and not with_copula:
            marks += "."
        marks += ("a" if phrase.action else "") + behind
    if not description.setting_first:
        marks += setting
    marks += _wording(phrasing.WEATHERS, description.weather, description.wording)
    if description.absent:
        before, after = phrasing.ABSENT[description.wording % len(phrasing.ABSENT)]
        marks += "." * len(before.split()) + "o" + "." * len(after.split())
    return marks


def _wording(options: dict[str, tuple[str, ...]], option: str | None, number: int) -> str:
    if option is None:
        return ""
    return _SETTINGS[options[option][number % len(options[option])]]


def _noun_phrase(phrase: NounPhrase) -> str:
    several = phrase.count > 1
    marks = ("a" if several else ".") + ("a" if phrase.size else "")
    if phrase.colour and not phrase.is_person:
        return marks + "ao"
    marks += "o"
    if phrase.colour:
        marks += "R" + ("" if several else ".") + "ao"
    return marks
