"""Export: decide pair by pair what stays, count it, then write it whole or not at all."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backend.datasets.card import dataset_card
from backend.datasets.containers import ImageFile, locate
from backend.datasets.export_row import ExportRow
from backend.datasets.writing import FORMATS, write_dataset
from backend.errors import ExportError, SettingsError, UnsafePath
from backend.pipeline import Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from backend.views import ExportChoice, ExportCounts, ExportReport
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries

_ALLOWED = {
    "abstract": ("leave out", "tag", "keep"),
    "dropped": ("leave out", "tag"),
    "unsure": ("keep", "leave out"),
}


@dataclass(frozen=True)
class Fate:
    """What becomes of one pair. `left_out_because` is empty for a pair that stays."""

    caption: str
    corrected: bool = False
    tags: tuple[str, ...] = ()
    left_out_because: str = ""


def check_choice(choice: ExportChoice) -> None:
    """Raise SettingsError for a choice that does not exist, naming those that do."""
    for name, allowed in _ALLOWED.items():
        if getattr(choice, name) not in allowed:
            raise SettingsError(
                f"'{getattr(choice, name)}' is no choice for {name}; use one of: "
                + ", ".join(allowed) + "."
            )  # fmt: skip
    if choice.drop_above is not None and not 0 <= choice.drop_above <= 1:
        raise SettingsError(f"The threshold {choice.drop_above} is not between 0 and 1.")


def fate_of(
    choice: ExportChoice,
    caption: str,
    decision: str | None,
    corrected_caption: str | None,
    p_error: float | None,
) -> Fate:
    """What `choice` makes of one pair: the one rule behind counts, files and card.

    A verdict always beats the threshold: a curator has looked, the detector has only guessed.

    >>> fate_of(ExportChoice(drop_above=0.9), "A dog", None, None, 0.95).left_out_because
    'probability of error above 0.9'
    >>> fate_of(ExportChoice(drop_above=0.9), "A dog", "correct", None, 0.95).left_out_because
    ''
    """
    if decision == "correction":
        return Fate(corrected_caption or caption, corrected=True)
    if decision == "correct":
        return Fate(caption)
    if decision == "drop":
        if choice.dropped == "tag":
            return Fate(caption, tags=("wrong",))
        return Fate(caption, left_out_because="decided: wrong, drop")
    if decision == "abstract":
        if choice.abstract == "leave out":
            return Fate(caption, left_out_because="decided: abstract")
        return Fate(caption, tags=("abstract",) if choice.abstract == "tag" else ())
    if decision == "unsure" and choice.unsure == "leave out":
        return Fate(caption, left_out_because="decided: unsure")
    if decision is None and choice.decided_only:
        return Fate(caption, left_out_because="not decided yet")
    if (
        decision is None
        and choice.drop_above is not None
        and p_error is not None
        and p_error > choice.drop_above
    ):
        return Fate(caption, left_out_because=f"probability of error above {choice.drop_above:g}")
    return Fate(caption)


def facts(store: Store, dataset_id: int) -> dict[str, Any]:
    """Lines for the card: where the captions come from and what judged them."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        run = run_queries.latest_run(session, dataset_id, "score")
        classifier = classifier_queries.active(session, dataset_id)
    found: dict[str, Any] = {"Source": dataset.name}
    if run is not None:
        found["Model"] = f"{Path(run.model).name} ({run.scorer_kind}, revision {run.revision})"
        found["Explorer"] = f"{run.explorer}, by {run.parameters.get('unit', 'word')}"
    if classifier is not None:
        found["Detector"] = f"{classifier.name} ({classifier.kind}), trained on {classifier.basis}"
    return found


def count(store: Store, dataset_id: int, choice: ExportChoice) -> ExportCounts:
    """What an export would do, without writing anything."""
    check_choice(choice)
    tally = _Tally()
    for pair in _pairs(store, dataset_id):
        tally.add(
            pair.decision,
            fate_of(choice, pair.caption, pair.decision, pair.corrected_caption, pair.p_error),
        )
    return tally.counts()


def export(
    store: Store,
    dataset_id: int,
    choice: ExportChoice,
    out: Path,
    format: str,
    facts: dict[str, Any],
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> ExportReport:
    """Write the pairs that stay and the dataset card.

    `facts` are lines for the card (model, detector, …). Raises ExportError if nothing would stay,
    if the target exists, or if the number written is not the number counted.
    """
    if format not in FORMATS:
        raise SettingsError(f"'{format}' is no export format; use one of: {', '.join(FORMATS)}.")
    counts = count(store, dataset_id, choice)
    if not counts.kept:
        raise ExportError(
            "With these choices nothing would stay. Loosen the threshold, or keep more verdicts."
        )
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
    root = Path(dataset.root)
    card = dataset_card(
        name=dataset.name,
        created=datetime.now(UTC),
        version=VERSION,
        facts={**facts, **_choice_in_words(choice)},
        counts=counts,
    )
    written = 0

    def rows() -> Iterator[ExportRow]:
        nonlocal written
        for pair in _pairs(store, dataset_id):
            fate = fate_of(
                choice, pair.caption, pair.decision, pair.corrected_caption, pair.p_error
            )
            if fate.left_out_because:
                continue
            written += 1
            if written % 50 == 0:
                progress(written, counts.kept, "Writing")
            yield ExportRow(
                id=pair.external_id,
                image_path=_image(root, pair.image_path),
                caption=fate.caption,
                original_caption=pair.caption,
                split=pair.split,
                verdict=pair.decision,
                p_error=pair.p_error,
                s_0=pair.s_0,
                icc=pair.icc,
                tags=fate.tags,
                extra=pair.extra,
            )

    write_dataset(
        rows(), out, format=format, card=card, overwrite=overwrite, source_root=root,
        expected=counts.kept,
    )  # fmt: skip
    progress(written, counts.kept, "Written")
    return ExportReport(out.resolve(), format, counts, written, card)


def _image(root: Path, name: str) -> ImageFile:
    try:
        return locate(root, name)
    except UnsafePath as problem:
        raise ExportError(f"{problem} Nothing was kept.") from problem


class _Tally:
    """Counts as they come; the sum of kept and left out is the total by construction."""

    def __init__(self) -> None:
        self.kept = self.corrected = self.tagged = 0
        self.left_out: Counter[str] = Counter()
        self.by_decision: Counter[str] = Counter()

    def add(self, decision: str | None, fate: Fate) -> None:
        self.by_decision[decision or "undecided"] += 1
        if fate.left_out_because:
            self.left_out[fate.left_out_because] += 1
            return
        self.kept += 1
        self.corrected += fate.corrected
        self.tagged += bool(fate.tags)

    def counts(self) -> ExportCounts:
        return ExportCounts(
            total=self.kept + self.left_out.total(),
            kept=self.kept,
            corrected=self.corrected,
            tagged=self.tagged,
            left_out=dict(self.left_out),
            by_decision=dict(self.by_decision),
        )


def _pairs(store: Store, dataset_id: int) -> Iterator[Any]:
    with store.reading() as session:
        yield from pair_queries.iterate_pairs(session, dataset_id)


def _choice_in_words(choice: ExportChoice) -> dict[str, str]:
    threshold = "none" if choice.drop_above is None else f"{choice.drop_above:g}"
    return {
        "Undecided pairs left out above a probability of error of": threshold,
        "Pairs decided abstract": choice.abstract,
        "Pairs decided wrong (drop)": choice.dropped,
        "Pairs decided unsure": choice.unsure,
        "Only decided pairs": "yes" if choice.decided_only else "no",
    }
