"""What an export makes of one pair."""

import pytest

from backend.errors import SettingsError
from backend.pipeline.exporting import check_choice, fate_of
from backend.views import ExportChoice


@pytest.mark.parametrize(
    ("choice", "decision", "p_error", "left_out"),
    [
        (ExportChoice(), None, 0.99, False),
        (ExportChoice(drop_above=0.9), None, 0.95, True),
        (ExportChoice(drop_above=0.9), None, 0.9, False),
        (ExportChoice(drop_above=0.9), None, None, False),
        (ExportChoice(drop_above=0.9), "correct", 0.99, False),
        (ExportChoice(drop_above=0.9), "correction", 0.99, False),
        (ExportChoice(drop_above=0.9), "unsure", 0.99, False),
        (ExportChoice(unsure="leave out"), "unsure", 0.1, True),
        (ExportChoice(), "drop", 0.1, True),
        (ExportChoice(dropped="tag"), "drop", 0.1, False),
        (ExportChoice(), "abstract", 0.1, True),
        (ExportChoice(abstract="tag"), "abstract", 0.1, False),
        (ExportChoice(abstract="keep"), "abstract", 0.1, False),
        (ExportChoice(decided_only=True), None, 0.1, True),
        (ExportChoice(decided_only=True), "correct", 0.1, False),
    ],
)
def test_who_stays(
    choice: ExportChoice, decision: str | None, p_error: float | None, left_out: bool
) -> None:
    fate = fate_of(
        choice, "A dog", decision, "A cat" if decision == "correction" else None, p_error
    )
    assert bool(fate.left_out_because) == left_out


def test_a_correction_replaces_the_caption() -> None:
    fate = fate_of(ExportChoice(), "A dog", "correction", "A cat", 0.9)
    assert (fate.caption, fate.corrected) == ("A cat", True)


def test_what_is_kept_although_wrong_is_tagged() -> None:
    assert fate_of(ExportChoice(dropped="tag"), "A dog", "drop", None, 0.9).tags == ("wrong",)
    assert fate_of(ExportChoice(abstract="tag"), "Joy", "abstract", None, 0.9).tags == ("abstract",)
    assert fate_of(ExportChoice(abstract="keep"), "Joy", "abstract", None, 0.9).tags == ()


@pytest.mark.parametrize(
    "choice",
    [
        ExportChoice(abstract="burn"),
        ExportChoice(dropped="keep"),
        ExportChoice(unsure="tag"),
        ExportChoice(drop_above=1.5),
    ],
)
def test_choices_that_do_not_exist_are_refused(choice: ExportChoice) -> None:
    with pytest.raises(SettingsError):
        check_choice(choice)
