"""The rows of JSON documents, at their places."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.features.in_place.captions_in_text import NotThere
from backend.features.in_place.documents import document_rows, is_lines

_ROWS = st.lists(
    st.dictionaries(
        st.text(st.sampled_from('ab":\\{}[],\n é'), max_size=4),
        st.text(st.sampled_from('ab":\\{}[],\n é'), max_size=6) | st.integers() | st.none(),
        max_size=3,
    ),
    max_size=4,
)


@given(_ROWS, st.sampled_from([None, 0, 2]), st.sampled_from(["", "data", "coco"]), st.booleans())
def test_each_row_stands_at_its_place(
    rows: list[dict[str, Any]], indent: int | None, form: str, ascii_only: bool
) -> None:
    document: Any = rows
    if form:
        document = {"info": {"]": ["}"]}, ("annotations" if form == "coco" else form): rows}
        document |= {"images": []} if form == "coco" else {}
    text = f" {json.dumps(document, indent=indent, ensure_ascii=ascii_only)}\n"
    found = list(document_rows(text))
    assert [json.loads(text[row.start : row.end]) for row in found] == rows
    assert [(row.value, row.number) for row in found] == [(r, n) for n, r in enumerate(rows, 1)]
    assert not is_lines(text)


@pytest.mark.parametrize(
    "text",
    ["", "[", "[{}", "[{} {}]", "[{},]", '{"a"', '{"a" []}', '{"a": [1,', "{1: []}", "[[{}]]", "7",
     '{"a": [], "b": []}', '{"images": []}', "[" * 5000],
)  # fmt: skip
def test_what_is_no_such_document(text: str) -> None:
    with pytest.raises(NotThere):
        list(document_rows(text))


def test_lines_of_json_are_no_document() -> None:
    assert is_lines('{"a": 1}\n\n{"a": 2}\n')
    assert not is_lines('[{"a": 1}]\n')
    assert not is_lines("a dog")
