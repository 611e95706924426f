"""A queue as text: in the form, in a link, in a saved view."""

from urllib.parse import parse_qsl

import pytest

from backend.errors import SettingsError
from backend.measures import ABSTRACT_THRESHOLD
from backend.review.queue_form import (
    START,
    as_query,
    clean_fields,
    from_fields,
    from_text,
    given_fields,
    id_in,
)
from backend.workspace import Range

FIELDS = {
    "review": "all", "order": "uncertainty", "text": "a dog & a cat?", "split": "train",
    "p_error_from": "0,25", "s_0_to": "0.5", "gain_from": "-0.1", "decided_by": "Ada",
}  # fmt: skip


def test_fields_make_a_filter() -> None:
    result = from_fields(3, FIELDS)
    assert result.dataset_id == 3
    assert result.ranges == (
        Range("p_error", 0.25), Range("s_0", None, 0.5), Range("gain", -0.1),
    )  # fmt: skip
    assert (result.order, result.text, result.decided_by) == (
        "uncertainty",
        "a dog & a cat?",
        "Ada",
    )
    assert from_fields(3, {}).order == "p_error"
    assert from_fields(3, {}).descending
    assert not from_fields(3, {"order": "icc"}).descending
    assert not from_fields(3, {"captioned": "no"}).descending, "as imported"
    assert from_fields(3, clean_fields({"order": "-icc"})).descending
    assert from_fields(3, clean_fields({"order": "-extra:width"})).order == "extra:width"


def test_any_source_column_can_be_filtered() -> None:
    assert from_fields(1, {"extra": "licence = by-nc = 4"}).extra == ("licence", "by-nc = 4")
    assert from_fields(1, {"truncated": "no"}).truncated is False
    assert from_fields(1, {}).truncated is None
    assert from_fields(1, {"external_id": "img-"}, among=(3, 1)).among == (3, 1)


def test_a_link_brings_the_same_queue_back() -> None:
    again = clean_fields(dict(parse_qsl(as_query(FIELDS))))
    assert again == clean_fields(FIELDS)
    assert as_query(START) == ""
    assert clean_fields({"text": "", "order": ""}) == START
    assert len(clean_fields({"text": "x" * 5000})["text"]) == 200


@pytest.mark.parametrize(
    "fields",
    [{"s_0_from": "much"}, {"icc_to": "nan"}, {"p_error_to": "inf"}, {"extra": "licence"},
     {"extra": "= by"}, {"extra": 'a"b = c'}, {"p_error_to": "7"}, {"icc_from": "-1"}],
)  # fmt: skip
def test_invalid_fields_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        from_fields(1, fields)


def test_generic_first_excludes_wrong_and_abstract_captions_by_default() -> None:
    filter = from_fields(1, clean_fields({"order": "specificity"}))
    assert not filter.descending
    bounds = {range.column: (range.minimum, range.maximum) for range in filter.ranges}
    assert bounds == {"p_error": (None, 0.5), "icc": (ABSTRACT_THRESHOLD, None)}
    fields = clean_fields({"order": "specificity", "p_error_to": "1", "icc_from": "0"})
    bounds = {
        range.column: (range.minimum, range.maximum) for range in from_fields(1, fields).ranges
    }
    assert bounds == {"p_error": (None, 1.0), "icc": (0.0, None)}
    assert from_fields(1, clean_fields({"specificity_to": "-2"})).ranges == (
        Range("specificity", None, -2.0),
    )
    assert from_fields(1, {"order": "specificity"}, among=(3, 1)).ranges == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"p_eror_from": "0.99"}, "no field 'p_eror_from'.*Did you mean 'p_error_from'"),
        ({"onload": "alert(1)"}, "no field 'onload'. There are: review, order"),
        ({"order": "p_eror"}, "no order 'p_eror'.*Did you mean 'p_error'"),
        ({"order": "size"}, "no order 'size'. There are: p_error"),
        ({"order": "-random"}, "no order '-random'"),
        ({"order": "extra:"}, "no order 'extra:'"),
        ({"order": 'extra:a"b'}, "no order"),
        ({"review": "undecided"}, "no review 'undecided'.*'decided'"),
        ({"decision": "corect"}, "no decision 'corect'.*Did you mean 'correct'"),
        ({"truncated": "perhaps"}, "no truncated 'perhaps'. There are: yes, no"),
    ],
)
def test_an_unknown_value_is_reported_with_the_valid_ones(
    fields: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        from_fields(1, fields)
    if "order" not in fields and "review" not in fields:
        with pytest.raises(SettingsError, match=message):
            from_fields(1, clean_fields(fields))


def test_the_earlier_name_of_an_order_still_works() -> None:
    assert clean_fields({"order": "lot"}) == {**START, "order": "random"}
    assert from_text("?order=lot") == clean_fields({"order": "random"})
    assert given_fields("order=lot") == {"order": "random"}
    assert from_fields(1, {"order": "lot"}) == from_fields(1, {"order": "random"})
    with pytest.raises(SettingsError, match="no order 'lots'"):
        clean_fields({"order": "lots"})
    assert clean_fields({"text": "lot"})["text"] == "lot"


def test_an_address_may_have_other_fields_than_the_queue() -> None:
    assert clean_fields({"pair": "3", "split": "train"}, beside=("pair",))["split"] == "train"
    with pytest.raises(SettingsError, match="no field 'pair'"):
        clean_fields({"pair": "3"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p_eror_from=0.99", "p_error_from"),
        ("p_error_from", "'p_error_from' has no value"),
        ("split=a&split=b", "'split' is given twice"),
        ("p_error_from=0.5;split=train", "is not a number"),
    ],
)
def test_a_queue_typed_as_text_is_read_strictly(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_fields(1, from_text(text))


def test_a_queue_can_be_typed_as_in_an_address() -> None:
    assert from_text("?" + as_query(FIELDS)) == clean_fields(FIELDS)
    assert from_text("") == START
    assert from_text("split=&text=a%20dog") == {**START, "text": "a dog"}


@pytest.mark.parametrize("text", ["a\0b", "half a character \ud83d"])
def test_text_that_no_address_can_hold_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"'text' cannot be used: it holds"):
        from_text(f"text={text}")


def test_only_plain_numbers_are_ids() -> None:
    assert [id_in(text) for text in ("12", "²", "-3", "1_0", "9" * 5000, "")] == [12, *[None] * 5]


def test_spaces_around_the_sign_are_not_part_of_a_field_or_its_value() -> None:
    assert given_fields("split = val & tag = to do") == {"split": "val", "tag": "to do"}
