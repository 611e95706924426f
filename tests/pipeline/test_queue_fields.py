"""A queue as text: in the form, in a link, in a saved view."""

from urllib.parse import parse_qsl

import pytest

from backend.errors import SettingsError
from backend.pipeline.queue_fields import START, as_query, cleaned, from_fields
from backend.workspace import Range

FIELDS = {
    "review": "all", "order": "uncertainty", "text": "a dog & a cat?", "split": "train",
    "p_error_from": "0,25", "s_0_to": "0.5", "gain_from": "-0.1", "decided_by": "Ada",
}  # fmt: skip


def test_fields_make_a_filter() -> None:
    found = from_fields(3, FIELDS)
    assert found.dataset_id == 3
    assert found.ranges == (
        Range("p_error", 0.25), Range("s_0", None, 0.5), Range("gain", -0.1),
    )  # fmt: skip
    assert (found.order, found.text, found.decided_by) == ("uncertainty", "a dog & a cat?", "Ada")
    assert from_fields(3, {}).order == "p_error"
    assert from_fields(3, {}).descending
    assert not from_fields(3, {"order": "icc"}).descending


def test_any_column_of_the_source_can_be_asked_for() -> None:
    assert from_fields(1, {"extra": "licence = by-nc = 4"}).extra == ("licence", "by-nc = 4")
    assert from_fields(1, {"truncated": "no"}).truncated is False
    assert from_fields(1, {}).truncated is None
    assert from_fields(1, {"external_id": "img-"}, among=(3, 1)).among == (3, 1)


def test_a_link_brings_the_same_queue_back() -> None:
    again = cleaned(dict(parse_qsl(as_query(FIELDS))))
    assert again == cleaned(FIELDS)
    assert as_query(START) == ""
    assert cleaned({"pair": "3", "onload": "alert(1)", "order": ""}) == START
    assert len(cleaned({"text": "x" * 5000})["text"]) == 200


@pytest.mark.parametrize(
    "fields",
    [{"s_0_from": "much"}, {"icc_to": "nan"}, {"p_error_to": "inf"}, {"order": "size"},
     {"extra": "licence"}, {"extra": "= by"}, {"extra": 'a"b = c'},
     {"p_error_to": "7"}, {"icc_from": "-1"}, {"decision": "maybe"}, {"review": "x"}],
)  # fmt: skip
def test_nonsense_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises((SettingsError, ValueError)):
        from_fields(1, fields)
