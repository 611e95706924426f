"""Suggestions in the store keep the order in which they were proposed."""

from dataclasses import asdict, replace
from datetime import UTC, datetime

from backend.engine.correction.suggestion import Suggestion
from backend.jobs.scoring.stored_rows import in_order, to_save, worth_to
from db.queries.suggestion_queries import SuggestionRow


def stored(suggestion: Suggestion, number: int) -> SuggestionRow:
    values = asdict(to_save(1, suggestion, 1))
    return SuggestionRow(id=number, created_at=datetime.now(UTC), **values)


def test_refilled_captions_keep_the_captioners_order() -> None:
    """The store lists corrections by score, while a proposer may use another order."""
    brown = Suggestion("A brown dog", "guided infill", 0.5, 0.6, place=0)
    black = Suggestion("A black dog", "guided infill", 0.5, 0.9, place=3)
    other = Suggestion("A dog", "trajectory", 0.5, 0.7)
    by_score = [stored(s, number) for number, s in enumerate((black, other, brown))]
    listed = in_order("A red dog", by_score)
    assert [each.row.caption for each in listed] == ["A brown dog", "A dog", "A black dog"]


def test_suggestions_of_earlier_versions_are_ordered_by_score() -> None:
    rows = [
        SuggestionRow(
            1, "guided infill", text, 0.5, s, run_id=1, id=number, created_at=datetime.now(UTC)
        )
        for number, (text, s) in enumerate((("A brown dog", 0.6), ("A black dog", 0.9)))
    ]  # fmt: skip
    assert [each.row.caption for each in in_order("A red dog", rows)] == [
        "A black dog",
        "A brown dog",
    ]


def judged(caption: str, chance: float, number: int) -> SuggestionRow:
    """By a proposer whose captions were not searched for: its chance is the detector's."""
    row = stored(Suggestion(caption, "somebody", 0.1, 0.5, place=number), number)
    return replace(row, p_before=0.9, p_after=chance)


def test_the_smallest_of_the_changes_that_help_most_comes_first() -> None:
    caption = "A red dog on a lawn."
    rows = [
        judged("A black cat is at the beach.", 0.05, 0),
        judged("A brown dog on a lawn.", 0.08, 1),
        judged("A dog on a lawn.", 0.3, 2),
        judged("A green dog on a lawn.", 0.6, 3),
        judged("A dog with a in a green in", 0.04, 4),
    ]
    ordered = in_order(caption, rows)
    assert [rows.index(each.row) for each in ordered] == [1, 0, 2, 4, 3]
    assert [each.worth.is_offer for each in ordered] == [True, True, True, False, False]


def test_a_correction_that_helps_nobody_is_no_offer() -> None:
    for before, after in ((0.9, 0.86), (0.9, 0.55), (0.3, 0.4)):
        row = replace(judged("A brown dog.", after, 0), p_before=before)
        assert not worth_to("A red dog.", row).is_offer
    waiting = replace(judged("A brown dog.", 0.1, 0), p_after=None)
    assert not worth_to("A red dog.", waiting).is_offer
    assert worth_to("A red dog.", replace(waiting, p_before=None)).is_offer, "nothing judges here"
    # What is no sentence need not become single.
    assert worth_to("red dog", judged("brown dog", 0.1, 0)).is_offer
    assert worth_to("1girl", judged("2girls", 0.1, 0)).is_offer
    for nothing in ("A", "There", "In the"):
        assert not worth_to("IMG_2031.jpg", judged(nothing, 0.1, 0)).is_offer


def test_a_searched_suggestion_is_less_likely_right_than_the_detector_says() -> None:
    """By the kind of proposer, with the words and changes that may be wrong; never lower."""
    caption = "A red dog on a lawn."
    single = replace(judged("A brown dog on a lawn.", 0.1, 0), proposer="guided infill")
    double = replace(single, caption="A brown cat on a lawn.")
    anew = replace(single, caption="A brown dog is on a lawn.", proposer="described anew")
    chances = [worth_to(caption, row).chance or 0.0 for row in (single, double, anew)]
    assert 0.1 < chances[2] < chances[0] < chances[1]
    assert worth_to(caption, replace(single, proposer="a language model")).chance == 0.1
    assert worth_to(caption, replace(single, p_after=None)).chance is None
