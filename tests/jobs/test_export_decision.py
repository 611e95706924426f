"""What an export does with each pair."""

from dataclasses import replace
from typing import Any

import pytest

from backend.engine.presets import BY_NAME
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_counts import count
from backend.jobs.export_decisions import Enrichment, decide_export
from backend.store import Store
from db.queries.pair_queries import NewPair
from tests.db.building import add_pairs, set_probabilities, start_run


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


@pytest.mark.parametrize(
    ("preset", "unread", "left_out"), [("embedded", 2, 1), ("multilingual", 0, 3)]
)
def test_no_threshold_leaves_out_a_caption_that_the_model_does_not_read(
    sqlite_store: Any, preset: str, unread: int, left_out: int
) -> None:
    """Nor is it counted among the kept ones that are probably wrong."""
    store = Store(sqlite_store)
    german = ["Ein Mann liest eine Zeitung im Park", "Eine Frau geht über die Straße"]
    captions = ["A red ball on a table", "A dog on a lawn", *german]
    rows = [NewPair(f"{i}", f"{i}.png", text) for i, text in enumerate(captions)]
    dataset_id, ids = add_pairs(store.opened, "mixed", rows)
    start_run(store.opened, dataset_id, preset, model=BY_NAME[preset].scorer.name)
    set_probabilities(store.opened, ids, [0.95, 0.1, 0.95, 0.7])

    counts = count(store, dataset_id, ExportChoice(drop_above=0.6))
    assert counts.unread == unread
    assert counts.left_out == {"chance of error above 0.6": left_out}
    assert ("2 captions are in languages" in counts.level_note) == bool(unread)

    counts = count(store, dataset_id, ExportChoice())
    assert (counts.kept, counts.likely_wrong) == (4, 3 - unread)
    assert counts.level_note == ""
