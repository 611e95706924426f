"""What an export would have, counted before it is written."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from backend.datasets.writing.dataset_writer import FORMATS
from backend.engine.statistics.stopping import remaining_errors
from backend.errors import ExportError, SettingsError
from backend.jobs import export_steps
from backend.jobs.errors_left import ErrorsLeft, errors_left_by, estimate_left
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_decisions import (
    decide_export,
    decided_pairs,
    remaining,
    requested_pairs,
    unread_captions,
    without_thresholds,
)
from backend.jobs.export_reports import ExportCounts, unread_note
from backend.jobs.new_splits import NewExportSplits, groups
from backend.jobs.shared_pictures import ExportSplits, export_splits
from backend.learning_texts import level_caveat
from backend.store import Store
from backend.verdict_texts import UNDECIDED, is_wrong
from db.queries import classifier_queries, plot_queries
from db.queries.pair_queries import PairRow


def errors_left_in(
    store: Store, dataset_id: int, choice: ExportChoice, undecided_count: int
) -> ErrorsLeft | None:
    """Wrong captions among the `undecided_count` pairs without a verdict that an export writes, by
    the verdicts on randomly chosen ones of the pairs that it would write without any; None if it
    chooses among undecided pairs only, which tells nothing about decided ones."""
    if undecided_count and any(each.leaves_out for _, each in export_steps.screenings(choice)):
        return None
    limits = (choice.drop_above, choice.drop_claims_above, choice.specificity_below)
    with store.reading() as session:
        if not undecided_count or (choice.only is None and not any(x is not None for x in limits)):
            return estimate_left(session, dataset_id, undecided_count)
        audit = plot_queries.random_audit(session, dataset_id)
    below, errors_found = 0, 0
    sample: list[bool] = []
    is_unread, unlimited = unread_captions(store, dataset_id), without_thresholds(choice)
    for pair, enrichment, edited_text, claims in requested_pairs(store, dataset_id, choice):
        undecided = decide_export(
            unlimited if is_unread(pair) else choice,
            pair.caption, None, None, pair.p_error, pair.numbers["specificity"],
            enrichment=enrichment, edit=edited_text, claims=claims,
        )  # fmt: skip
        if not undecided.left_out_because:
            below += 1
            errors_found += is_wrong(pair.judgement)
            sample += [audit[pair.id]] if pair.id in audit else []
    remaining = remaining_errors(
        None, below, len(sample), sum(sample), errors_found, undecided_count=undecided_count
    )
    return errors_left_by(remaining, undecided_count)


def count(store: Store, dataset_id: int, choice: ExportChoice) -> ExportCounts:
    """A preview of an export; writes nothing, and opens no picture."""
    tally = Tally()
    with splits_of(store, dataset_id, choice) as splits:
        for pair, outcome, _ in decided_pairs(store, dataset_id, choice):
            tally.add(pair, outcome)
            if not outcome.left_out_because:
                tally.by_split[splits.add(pair) or ""] += 1
        counts = tally.counts(splits)
    if choice.drop_above is None and choice.drop_claims_above is None:
        return counts
    active = store.read(classifier_queries.active, dataset_id)
    notes = (level_caveat(active.report if active else {}), unread_note(tally.unread))
    return replace(counts, level_note=" ".join(filter(None, notes)))


@contextmanager
def splits_of(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[ExportSplits | NewExportSplits]:
    """The splits of what is written: the source's, or new ones."""
    if (new := choice.new_splits) is None:
        with export_splits(store, dataset_id, choice.keep_pictures_together) as splits:
            yield splits
        return
    pairs = (pair for pair, _ in remaining(store, dataset_id, choice))
    yield NewExportSplits(new, groups(store, dataset_id, new.together), pairs)


def checked_counts(
    store: Store, dataset_id: int, choice: ExportChoice, format: str
) -> ExportCounts:
    """The preview of an export. Raises SettingsError or ExportError if there is none to write."""
    if format not in FORMATS:
        raise SettingsError(
            f"'{format}' is not an export format; use one of: {', '.join(FORMATS)}."
        )
    counts = count(store, dataset_id, choice)
    if not counts.total and choice.only is not None:
        raise ExportError(f"No pair of the dataset matches: {choice.only.words}.")
    if not counts.kept:
        raise ExportError(
            "With these choices, nothing would be exported. Raise the threshold, or keep more "
            "verdicts."
        )
    return counts


_COUNTERS = ("left_out", "by_decision", "by_split")
#: A chance of error above this: more likely wrong than right.
LIKELY_WRONG = 0.5
#: Kinds of captions that are no enrichment.
_NOT_ENRICHED = ("human", "corrected", "edited", "shortened", "new")


@dataclass
class Tally:
    """Running counts; kept plus left out equals the total by construction."""

    kept: int = 0
    corrected: int = 0
    edited: int = 0
    tagged: int = 0
    enriched: int = 0
    shortened: int = 0
    called_wrong: int = 0
    likely_wrong: int = 0
    unread: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    by_decision: Counter[str] = field(default_factory=Counter)
    by_split: Counter[str] = field(default_factory=Counter)

    def add(self, pair: PairRow, outcome: ExportDecision) -> None:
        if outcome.left_out_because:
            self.left_out[outcome.left_out_because] += 1
            return
        self.kept += 1
        self.by_decision[pair.judgement or UNDECIDED] += 1
        self.corrected += outcome.kind == "corrected"
        self.edited += outcome.kind == "edited"
        self.shortened += outcome.kind == "shortened"
        self.enriched += outcome.kind not in _NOT_ENRICHED
        self.tagged += bool(outcome.tags)
        self.called_wrong += "wrong" in outcome.tags
        self.unread += outcome.is_unread
        is_judged = pair.judgement is None and not outcome.is_unread
        self.likely_wrong += is_judged and (pair.p_error or 0.0) > LIKELY_WRONG

    def counts(self, splits: ExportSplits | NewExportSplits) -> ExportCounts:
        values: dict[str, Any] = dict(vars(self))
        values |= {name: dict(values[name]) for name in _COUNTERS}
        return ExportCounts(
            total=self.kept + self.left_out.total(), shared_pictures=splits.shared,
            moved=splits.moved, **values,
        )  # fmt: skip
