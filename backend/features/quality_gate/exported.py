"""How many captions that an export would write now are wrong."""

from dataclasses import dataclass

from backend.features.quality_gate import queries
from backend.features.quality_gate.acceptance import Sample
from backend.store import Store
from db.decisions import NOT_EXPORTED
from db.queries import plot_queries as plots


@dataclass(frozen=True)
class ExportedErrors:
    """`total`: pairs in all; `pairs`: that an export would write; `sample`: speaks for all captions
    as they were, of which `mended` were corrected or left out since; those called wrong stay as
    they are."""

    total: int
    pairs: int
    sample: Sample
    mended: int

    @property
    def estimate(self) -> float | None:
        """None without a verdict at random."""
        sample = self.sample
        if not sample.drawn:
            return None
        return max(sample.pairs * sample.wrong / sample.drawn - self.mended, 0.0)

    def interval(self, confidence: float) -> tuple[int, int]:
        """The least and the largest number, both together with this confidence."""
        low, high = (max(each - self.mended, 0) for each in self.sample.interval(confidence))
        return low, high


def exported_errors(store: Store, dataset_id: int, split: str | None = None) -> ExportedErrors:
    """Wrong captions that an export would write by its usual options. `split`: only the pairs of
    this split."""
    with store.reading() as session:
        progress = plots.review_progress(session, dataset_id, split=split)
        by_decision = queries.pairs_by_decision(session, dataset_id, split)
    total = sum(by_decision.values())
    pairs = total - sum(by_decision.get(each, 0) for each in NOT_EXPORTED)
    sample = Sample(progress.below, progress.sample, progress.wrong_in_sample)
    return ExportedErrors(total, pairs, sample, progress.errors_found - by_decision.get("wrong", 0))
