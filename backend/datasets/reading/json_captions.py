"""Captions that are written as JSON: a text that is an object with a caption among its fields, as
language models answer and as trainers of pictures are fed, alone or in a Markdown fence.

What only begins with a brace (`{masterpiece}, girl`) is prose. What begins as an object and is none
(an answer that was cut) is a problem of its row: nobody wrote it as a caption.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from backend.datasets.cells import BadCell, trim, unique_names
from backend.datasets.columns import CAPTION_NAMES, OBJECT_NAMES, usual_name

#: How an object begins, in JSON or as Python prints it; cut in its first name; a list of objects.
_BEGINNING = re.compile(
    r"""(?:\[\s*)?\{\s*(?:"[^"\n]{0,200}"\s*:|'[^'\n]{0,200}'\s*:|"[\w -]{0,200}$)"""
)
_INSIDE = re.compile(r"""\{\s*"[^"\n]{1,200}"\s*:""")
#: The column with the JSON that a caption was read from, in which an export writes it again.
JSON_COLUMN = "caption_json"
_FENCE = "```"
_FENCE_BEGINNING = re.compile(r"```[ \t]*\w{0,20}\s*")
_LONGEST = 4_000_000
#: Python's parser takes 250 times as much memory.
_LONGEST_PRINTED = 1_000_000
_DEEPEST_PATH, _MOST_PATHS = 4, 6


def has_json(text: str) -> bool:
    """Whether a caption is or holds JSON, or a fence.

    >>> [has_json(text) for text in ('{"caption": "A dog."}', '```json', '["A dog."]')]
    [True, True, True]
    >>> [has_json(text) for text in ("{masterpiece}, girl", "a sign {open}", "[dog]", "{}")]
    [False, False, False, False]
    """
    if _FENCE in text or _INSIDE.search(text):
        return True
    text = text.strip()
    return bool(_BEGINNING.match(text)) or (text.startswith('["') and _is_list(text))


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def written_object(text: str) -> dict[str, Any] | None:
    """The object that a text is; None for prose. Raises BadCell for a broken one, one with a field
    twice, or several.

    >>> written_object('```json\\n{"caption": "A dog."}\\n```'), written_object("{open} door")
    ({'caption': 'A dog.'}, None)
    """
    inner = _without_fence(text.strip().removeprefix("\ufeff"))
    if not _BEGINNING.match(inner):
        if _FENCE in text and _INSIDE.search(text):
            raise BadCell("words stand around its JSON. Keep the JSON or the caption alone")
        return None
    value = _parse(inner)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise BadCell("it is a list of JSON objects. Give each caption a row of its own")
    return value


def _without_fence(text: str) -> str:
    if (beginning := _FENCE_BEGINNING.match(text)) is None:
        return text
    return text[beginning.end() :].removesuffix(_FENCE).strip()


def _parse(text: str) -> Any:
    """Raises BadCell."""
    if len(text) > _LONGEST:
        raise BadCell("its JSON is too long")
    try:
        return json.loads(text, object_pairs_hook=_object_of)
    except BadCell:
        raise
    except RecursionError:
        raise BadCell("its JSON is nested too deeply") from None
    except ValueError as problem:
        if (value := printed_by_python(text)) is not None:
            return value
        raise BadCell(f"it begins as a JSON object and is none ({trim(str(problem))})") from None


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = unique_names(pairs)
    if values.twice is not None:
        raise BadCell(f"its JSON has the field '{trim(values.twice, 80)}' twice")
    return dict(values)


def printed_by_python(text: str) -> Any:
    """What Python printed as this text; None if it did not, and for a very long text."""
    if len(text) > _LONGEST_PRINTED:
        return None
    try:
        value = ast.literal_eval(text)
        return value if repr(value) == text else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def caption_field(values: Mapping[Any, Any], language: str | None = None) -> str:
    """The field with the caption: the first by name that is not empty; "" if there is none.

    >>> caption_field({"tags": ["dog"], "short": "A dog.", "long": "A brown dog."})
    'long'
    """
    filled = [name for name, value in values.items() if value not in (None, "", [], {})]
    names = (language.lower(), *OBJECT_NAMES) if language else OBJECT_NAMES
    return usual_name(filled, names) or usual_name(values, names)


def one_field(values: Mapping[Any, Any], name: str) -> dict[str, Any]:
    """The field alone, whose name says how a list in it is read. Raises BadCell for a number."""
    value = values[name]
    if isinstance(value, int | float):
        raise BadCell(f"its field '{trim(name, 80)}' holds {trim(str(value), 40)}, not a caption")
    return {name: value}


def no_caption_in(values: Mapping[Any, Any], column: str) -> str:
    """That no field of an object is named like a caption, and which could be chosen instead."""
    names = ", ".join(f"'{trim(str(name), 40)}'" for name in list(values)[:10])
    paths = [f"'{trim(column, 80)}{path}'" for path in _paths_of_texts(values)][:_MOST_PATHS]
    remedy = f". If one of them is the caption, choose it: {', '.join(paths)}" if paths else ""
    return f"no field of its JSON object ({names}) is named like a caption{remedy}"


def _paths_of_texts(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, str) and path:
        yield path
    elif path.count("[") < _DEEPEST_PATH:
        items = enumerate(value[:1]) if isinstance(value, list) else ()
        for name, inner in value.items() if isinstance(value, dict) else items:
            yield from _paths_of_texts(inner, f"{path}[{trim(str(name), 40)}]")


def read_of_metadata(name: str) -> str:
    """The note that a field of the JSON beside pictures is their caption."""
    return (
        f"Captions are read from '{trim(name, 80)}' of '*.json' where it has no 'caption' and no "
        "text is beside it. (For another field, name it as the column with captions.)"
    )


def beside_text(
    metadata: dict[str, Any], caption: Any, note: Callable[[str], None]
) -> dict[str, Any]:
    """The columns of a picture that has a text and metadata: the caption is the text's. Another one
    of the metadata is told, and stays as a column."""
    name = usual_name(metadata, CAPTION_NAMES)
    other = metadata.get(name) if name else None
    if other in (None, "", caption) or str(other).strip() == str(caption).strip():
        return {**metadata, "caption": caption}
    note(
        f"Some pictures have one caption in a text beside them and another in '{trim(name, 80)}' "
        "of their .json: the text's was taken."
    )
    rest = {**metadata, "json.caption": other} if name == "caption" else metadata
    return {**rest, "caption": caption}
