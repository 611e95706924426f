"""Writes a corrected caption back into the JSON that it came from: the words of the value change,
and nothing else.

JSON is not parsed and written again, which would lose its spelling (escapes, blanks, numbers): the
texts in it are found where they stand.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from backend.datasets.columns import OBJECT_NAMES
from backend.datasets.reading.json_captions import JSON_COLUMN

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_COLON = re.compile(r"\s*:")
_BETWEEN = re.compile(r"\s*,\s*")
#: What stands for one character within a text.
_UNIT = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
_WORD = re.compile(r"\w+|\W")


@dataclass(frozen=True)
class _Value:
    """A text of the JSON between `start` and `end`, quotation marks included. `name`: of its field,
    in lower case."""

    start: int
    end: int
    text: str
    name: str


def replace_value(json_text: str, original: str, corrected: str) -> str | None:
    """The JSON with the corrected caption instead of the original one; None if this is no value in
    it, nor a list of tags in it. Of several values that are the same, that of the field is taken
    whose name is the most usual for a caption.

    >>> replace_value('{"n": 1.0,  "caption": "A r\\\\u00e9d dog."}', "A réd dog.", "A réd cat.")
    '{"n": 1.0,  "caption": "A r\\\\u00e9d cat."}'
    >>> replace_value('{"tags": ["dog", "red"]}', "dog, red", "cat, red")
    '{"tags": ["cat", "red"]}'
    """
    values = list(_values(json_text))
    same = [value for value in values if value.text.strip() == original.strip()]
    if same:
        value = min(same, key=_rank)
        first = value.text.index(original.strip())
        before, behind = value.text[:first], value.text[first + len(original.strip()) :]
        token = _respell(json_text[value.start : value.end], f"{before}{corrected}{behind}")
        return json_text[: value.start] + token + json_text[value.end :]
    lists = [run for run in _lists(json_text, values) if _caption_of(run) == original]
    if not lists:
        return None
    return _replace_tags(json_text, min(lists, key=lambda run: _rank(run[0])), corrected)


def correct_json(columns: Mapping[str, Any], original: str, corrected: str) -> Mapping[str, Any]:
    """The columns of a pair with the corrected caption in the JSON that it was read from; without
    that column if it cannot be written there."""
    json_text = columns.get(JSON_COLUMN)
    if not isinstance(json_text, str) or original == corrected:
        return columns
    rest = {name: value for name, value in columns.items() if name != JSON_COLUMN}
    changed = replace_value(json_text, original, corrected)
    return rest if changed is None else {**rest, JSON_COLUMN: changed}


def _values(json_text: str) -> Iterator[_Value]:
    """The texts that are no names of fields."""
    name = ""
    for match in _TEXT.finditer(json_text):
        try:
            text = json.loads(match.group(), strict=False)
        except ValueError:
            continue
        if _COLON.match(json_text, match.end()):
            name = text.lower()
        else:
            yield _Value(*match.span(), text, name)


def _rank(value: _Value) -> int:
    names = list(OBJECT_NAMES)
    return names.index(value.name) if value.name in names else len(names)


def _lists(json_text: str, values: Sequence[_Value]) -> Iterator[list[_Value]]:
    """Texts with nothing but commas between them."""
    run: list[_Value] = []
    for value in values:
        if run and _BETWEEN.fullmatch(json_text, run[-1].end, value.start):
            run.append(value)
            continue
        if len(run) > 1:
            yield run
        run = [value]
    if len(run) > 1:
        yield run


def _caption_of(tags: Sequence[_Value]) -> str:
    return ", ".join(tag.text for tag in tags if tag.text.strip())


def _replace_tags(json_text: str, tags: Sequence[_Value], corrected: str) -> str:
    """Tags that stay keep their spelling, and so does what stands between them."""
    texts = [tag for tag in tags if tag.text.strip()]
    new = [text for text in map(str.strip, corrected.split(",")) if text]
    between = [json_text[left.end : right.start] for left, right in pairwise(tags)]
    tokens: list[str] = []
    matcher = SequenceMatcher(None, [tag.text.strip() for tag in texts], new, autojunk=False)
    for _, start, end, first, last in matcher.get_opcodes():
        for place, text in enumerate(new[first:last], start):
            old = texts[place] if place < end else texts[-1]
            tokens.append(_respell(json_text[old.start : old.end], text))
    spaced = "".join(
        f"{between[min(number - 1, len(between) - 1)] if number else ''}{token}"
        for number, token in enumerate(tokens)
    )
    return json_text[: tags[0].start] + spaced + json_text[tags[-1].end :]


def _respell(token: str, text: str) -> str:
    """The token of a text with another text: words that are in both keep their spelling.

    >>> _respell('"A \\\\u00e9t\\\\u00e9 day"', "An été day")
    '"An \\\\u00e9t\\\\u00e9 day"'
    """
    units = _UNIT.findall(token[1:-1])
    old = "".join(json.loads(f'"{unit}"', strict=False) for unit in units)
    old_words, new_words = _WORD.findall(old), _WORD.findall(text)
    edges = [0]
    for word in old_words:
        edges.append(edges[-1] + len(word))
    is_ascii = "\\u" in token
    pieces: list[str] = []
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            pieces += units[edges[start] : edges[end]]
        else:
            inserted = json.dumps("".join(new_words[first:last]), ensure_ascii=is_ascii)
            pieces.append(inserted[1:-1])
    return f'"{"".join(pieces)}"'
