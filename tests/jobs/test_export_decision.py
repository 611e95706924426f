"""What an export does with each pair."""

from dataclasses import replace

import pytest

from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_decisions import Enrichment, decide_export


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
        (ExportChoice(), "wrong", 0.1, False),
        (ExportChoice(wrong="leave out"), "wrong", 0.1, True),
        (ExportChoice(wrong="leave out"), None, 0.9, False),
        (ExportChoice(), "abstract", 0.1, True),
        (ExportChoice(abstract="tag"), "abstract", 0.1, False),
        (ExportChoice(abstract="keep"), "abstract", 0.1, False),
        (ExportChoice(decided_only=True), None, 0.1, True),
        (ExportChoice(decided_only=True), "correct", 0.1, False),
    ],
)
def test_pairs_are_left_out_by_verdict_and_probability(
    choice: ExportChoice, decision: str | None, p_error: float | None, left_out: bool
) -> None:
    outcome = decide_export(
        choice, "A dog", decision, "A cat" if decision == "correction" else None, p_error
    )
    assert bool(outcome.left_out_because) == left_out


@pytest.mark.parametrize("decision", [None, "correct", "unsure"])
def test_generic_captions_are_tagged_and_left_out_only_on_request(
    decision: str | None,
) -> None:
    tagging = ExportChoice(specificity_below=-2)
    assert decide_export(tagging, "A dog", decision, None, 0.1, -2.5).tags == ("generic",)
    assert decide_export(tagging, "A dog", decision, None, 0.1, -2.0).tags == ()
    assert decide_export(tagging, "A dog", decision, None, 0.1, None).tags == ()
    strict = ExportChoice(specificity_below=-2, generic="leave out")
    outcome = decide_export(strict, "A dog", decision, None, 0.1, -2.5)
    assert outcome.left_out_because == "specificity below -2"


def test_a_correction_replaces_the_caption() -> None:
    decided = decide_export(ExportChoice(), "A dog", "correction", "A cat", 0.9)
    assert (decided.caption, decided.kind) == ("A cat", "corrected")


BLEND = Enrichment("A brown dog", "blend", accepted=False)


def test_an_accepted_enrichment_is_exported_with_its_kind() -> None:
    accepted = replace(BLEND, accepted=True)
    decided = decide_export(
        ExportChoice(), "A dog", "correction", "A brown dog", 0.1, enrichment=accepted
    )
    assert (decided.caption, decided.kind) == ("A brown dog", "blend")


@pytest.mark.parametrize(
    ("decision", "caption", "kind"),
    [
        (None, "A brown dog", "blend"),
        ("correct", "A brown dog", "blend"),
        ("correction", "A cat", "corrected"),
        ("unsure", "A dog", "human"),
    ],
)
def test_suggested_enrichments_are_exported_unless_decided_otherwise(
    decision: str | None, caption: str, kind: str
) -> None:
    corrected = "A cat" if decision == "correction" else None
    given = ("A dog", decision, corrected, 0.1)
    decided = decide_export(ExportChoice(captions="enriched"), *given, enrichment=BLEND)
    assert (decided.caption, decided.kind) == (caption, kind)
    as_decided = decide_export(ExportChoice(), *given, enrichment=BLEND)
    assert as_decided.kind == ("corrected" if decision == "correction" else "human")
