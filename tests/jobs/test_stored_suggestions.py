"""Suggestions in the store keep the order in which they were proposed."""

from dataclasses import asdict
from datetime import UTC, datetime

from backend.engine.correction.suggestion import Suggestion
from backend.jobs.stored_rows import in_order, to_save
from db.queries.suggestions import SuggestionRow


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
    assert [row.caption for row in listed] == ["A brown dog", "A dog", "A black dog"]


def test_suggestions_of_earlier_versions_are_ordered_by_score() -> None:
    rows = [
        SuggestionRow(
            1, "guided infill", text, 0.5, s, run_id=1, id=number, created_at=datetime.now(UTC)
        )
        for number, (text, s) in enumerate((("A brown dog", 0.6), ("A black dog", 0.9)))
    ]  # fmt: skip
    assert [row.caption for row in in_order("A red dog", rows)] == ["A black dog", "A brown dog"]
