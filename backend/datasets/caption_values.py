"""The captions in a cell: a text, or a list, a struct or a choice of languages that holds some."""

import re
from typing import Any

from backend.datasets.cells import BadCell, shown, text_of
from backend.datasets.columns import CAPTION_NAMES

#: Fields of a struct that hold its caption, the most specific first: `raw` stands beside the tokens
#: of the same sentence.
_FIELDS = ("raw", *(name for name in CAPTION_NAMES if name != "raw"))
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
_DEEPEST = 20


def captions_of(value: Any, language: str | None = None) -> list[str]:
    """The captions of a cell in order; a missing or empty one is "". `language`: which is taken
    where there are several.

    Lists are flattened, and of a struct its caption is taken. Raises BadCell if it is uncertain
    what the caption is.

    >>> captions_of([{"raw": "A dog.", "sentid": 3}, [{"en": "A brown dog."}]])
    ['A dog.', 'A brown dog.']
    """
    return list(_captions(value, language, 0)) or [""]


def _captions(value: Any, language: str | None, depth: int) -> list[str]:
    if depth > _DEEPEST:
        raise BadCell("its captions are nested too deeply")
    if isinstance(value, list | tuple):
        return [text for item in value for text in _captions(item, language, depth + 1)]
    if isinstance(value, dict):
        return _captions(_field(value, language), language, depth + 1)
    if isinstance(value, bool):
        raise BadCell("it holds true or false, not a caption")
    return [text_of(value)]


def _field(value: dict[Any, Any], language: str | None) -> Any:
    names = {str(name).strip().lower(): name for name in value}
    for name in (language.lower() if language else "", *_FIELDS):
        if name in names:
            return value[names[name]]
    listed = ", ".join(f"'{shown(str(name), 40)}'" for name in list(value)[:10])
    if not value or not all(_LANGUAGE.fullmatch(name) for name in names):
        raise BadCell(f"it holds fields ({listed}), and none of them is named like a caption")
    if language is None and len(value) == 1:
        return next(iter(value.values()))
    raise BadCell(f"it holds captions in several languages ({listed}). Choose the language")
