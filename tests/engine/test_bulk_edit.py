"""One edit for many captions: its results, the edits it refuses, and that it always ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine import bulk_edit
from backend.engine.bulk_edit import BulkEdit, editor
from backend.errors import SettingsError


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (BulkEdit("colour", "color"), "colour, Colour", "color, Colour"),
        (BulkEdit("COLOUR", "color", ignore_case=True), "colour, Colour", "color, color"),
        (BulkEdit("a.b", "x"), "a.b acb", "x acb"),
        (BulkEdit("$1", r"\1"), "cost $1", r"cost \1"),
        (BulkEdit(r"(\w+) (\w+)", r"\2 \1", is_regex=True), "dog red", "red dog"),
        (BulkEdit(r"(?P<n>\d+) dogs", r"\g<n> cats", is_regex=True), "2 dogs", "2 cats"),
        (BulkEdit(r"\s+$", "", is_regex=True), "a dog  \n", "a dog"),
        (BulkEdit(r"\p{Han}", "?", is_regex=True), "ein 犬", "ein ?"),
        (BulkEdit("straße", "road", ignore_case=True), "Straße", "road"),
        (BulkEdit(prefix="A photo of ", suffix="."), "a dog", "A photo of a dog."),
        (BulkEdit(prefix="A ", suffix="."), "A dog.", "A dog."),
        (BulkEdit("dog", "cat", prefix="a cat"), "dog", "a catcat"),
        (BulkEdit("x*", "-", is_regex=True), "", "-"),
    ],
)
def test_edits_are_applied_to_a_caption(edit: BulkEdit, before: str, after: str) -> None:
    assert editor(edit)(before) == after


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (BulkEdit(), "text to find"),
        (BulkEdit(replace="x"), "nothing to find"),
        (BulkEdit("(", is_regex=True), "is invalid"),
        (BulkEdit("a", r"\7", is_regex=True), "is invalid"),
        (BulkEdit("a", r"\g<x>", is_regex=True), "is invalid"),
        (BulkEdit("x" * 1001), "at most 1,000"),
        (BulkEdit("a", "\0"), "NUL"),
    ],
)
def test_invalid_edits_are_refused(edit: BulkEdit, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        editor(edit)


def test_catastrophic_backtracking_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_edit, "SECONDS", 0.05)
    edit = editor(BulkEdit(r"^(([a-z])+.)+[A-Z]([a-z])+$", "", is_regex=True))
    with pytest.raises(SettingsError, match="too many combinations"):
        edit("a" * 5_000)


def test_a_replacement_cannot_fill_the_memory() -> None:
    edit = editor(BulkEdit(r"(?=(.*))", r"\1" * 200, is_regex=True))
    with pytest.raises(SettingsError, match=r"more than 20,000 characters"):
        edit("word " * 3_000)
    with pytest.raises(SettingsError, match=r"more than 20,000 characters"):
        editor(BulkEdit(prefix="b"))("a" * 20_000)
    assert editor(BulkEdit("b", "c"))("a" * 30_000) == "a" * 30_000  # it was already that long


@given(st.text(max_size=40), st.text(min_size=1, max_size=5), st.text(max_size=5))
def test_plain_find_and_replace_equals_str_replace(caption: str, find: str, replace: str) -> None:
    find, replace = find.replace("\0", "0"), replace.replace("\0", "0")
    assert editor(BulkEdit(find, replace))(caption) == caption.replace(find, replace)
