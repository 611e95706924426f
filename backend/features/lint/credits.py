"""Who took or owns the picture, said behind the caption: models read the name as something that
the picture shows, and it becomes the most suspicious word."""

import re

_CAPITAL = r"[A-ZÀ-ÖØ-Þ@][\w.'’-]{0,40}"
_NAME = rf"{_CAPITAL}(?: (?:{_CAPITAL}|de|da|di|del|van|von|der|la)){{0,5}}"
_NAMES = rf"{_NAME}(?:\s?[/,|]\s?{_NAME}){{0,3}}"
_LABEL = (
    r"(?i:(?:photo(?:graph)?|image|picture|pic)s?"
    r"(?: by|\s?:|\s?/|\s?©|,? (?:courtesy of|courtesy|credits?)(?:\s?:)?)"
    r"|credits?\s?:|courtesy of|copyright(?:\s?:|\s?©)?|©|\(c\))"
)
#: At the end, behind a sentence, in brackets or behind a dash: "A photo by Lake Como" is a caption.
_CREDIT = re.compile(
    rf"(?:(?<=[.!?…;,)\]\"”])\s?|\s[|–—-]{{1,2}}\s|\s(?=[(\[]))"
    rf"(?:{_LABEL}\s?{_NAMES}|[(\[]\s?{_LABEL}\s?{_NAMES}\s?[)\]]"
    rf"|[(\[](?:AP|AFP) Photo/{_NAMES}[)\]])"
    r"\.?\s*\Z"
)
#: One of them is in every match, in lower case; no credit is longer.
_WORDS = ("photo", "image", "pic", "credit", "courtesy", "copyright", "©", "(c)")
_LONGEST = 200


def has_credit(text: str) -> bool:
    """
    >>> has_credit("A dog runs. Photo by Jane Doe / Reuters"), has_credit("A photo by Jane Doe.")
    (True, False)
    """
    return _match(text) is not None


def without_credit(text: str) -> str:
    """
    >>> without_credit("A dog runs (Photo: Jane Doe/AP)"), without_credit("A dog, © Jane Doe")
    ('A dog runs', 'A dog')
    """
    match = _match(text)
    return text if match is None else text[: match.start()].rstrip(" ,;")


def _match(text: str) -> re.Match[str] | None:
    lower = text[-_LONGEST:].lower()  # nearly all captions are told by that
    if not any(word in lower for word in _WORDS) or "(b)" in lower:  # the "(c)" of a list
        return None
    match = _CREDIT.search(text, max(1, len(text) - _LONGEST))
    return match if match is not None and text[: match.start()].strip() else None
