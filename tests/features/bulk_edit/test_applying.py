"""One edit for many captions: its results, the edits it refuses, and that it always ends."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.errors import SettingsError
from backend.features.bulk_edit.applying import BulkEdit, apply_edit
from tests.fixtures.sizes import Sizes


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
    assert apply_edit(edit, [before, before], 60) == [after, after]


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
        (BulkEdit("[", is_regex=True), "is invalid"),
        (BulkEdit("(?V0)(?V1)a", is_regex=True), "is invalid"),
        (BulkEdit(r"(?=(.*))", r"\1" * 200, is_regex=True), "more than 20,000 characters"),
        (BulkEdit(prefix="b"), "more than 20,000 characters"),
    ],
)
def test_an_edit_that_cannot_be_applied_is_refused(
    sizes: Sizes, edit: BulkEdit, message: str
) -> None:
    sizes(COMPILE_SECONDS=200)  # however busy the machine is
    with pytest.raises(SettingsError, match=message):
        apply_edit(edit, ["a" * 19_999 + "b"], 60)


@pytest.mark.parametrize(
    ("find", "message"),
    [
        ("slow to compile", "to compile"),
        ("large", "MB of memory"),
        ("slow to search", "too many combinations"),
    ],
)
def test_the_limits_end_the_process(
    sizes: Sizes, monkeypatch: pytest.MonkeyPatch, find: str, message: str
) -> None:
    """The package for expressions is stood in for by one that sleeps or asks for memory."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("limit_stand_in")))
    sizes(COMPILE_SECONDS=1, CAPTION_SECONDS=0.1)
    with pytest.raises(SettingsError, match=message):
        apply_edit(BulkEdit(find, "b", is_regex=True, prefix="x"), ["a dog"], 60)


def test_all_captions_together_have_a_limit() -> None:
    with pytest.raises(TimeoutError):
        apply_edit(BulkEdit(suffix="!"), ["a dog"], 0.0)


def test_a_long_caption_may_stay_long() -> None:
    assert apply_edit(BulkEdit("b", "c"), ["a" * 30_000], 60) == ["a" * 30_000]


CAPTIONS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(CAPTIONS, max_size=40), CAPTIONS.filter(bool), CAPTIONS)
@settings(max_examples=10)
def test_plain_find_and_replace_equals_str_replace(
    captions: list[str], find: str, replace: str
) -> None:
    results = apply_edit(BulkEdit(find, replace), captions, 60)
    assert results == [caption.replace(find, replace) for caption in captions]
