"""Snapshots of a dataset: two of them compared, and one brought back."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from backend.counts import count_of, counted
from backend.engine.captions import Caption, align
from backend.features.snapshots import queries
from backend.features.snapshots.queries import SnapshotRow, StateRow
from backend.progress import Progress, no_progress
from backend.store import Store
from db.decisions import judgement
from db.queries import undo_queries

#: Pairs that are read together, and changes of which each kind is listed at most.
_AT_ONCE, SHOWN = 5000, 20
#: What can differ, in the order in which it is told.
KINDS = ("added", "gone", "captions", "verdicts", "splits")


@dataclass(frozen=True)
class SnapshotReport:
    """`snapshots`: all of the dataset, oldest first; `name`: the one that was stored, or `deleted`;
    "": they are only listed."""

    name: str
    snapshots: tuple[SnapshotRow, ...]
    deleted: bool = False

    def in_words(self) -> str:
        if self.deleted:
            return f"Snapshot '{self.name}' is deleted."
        if self.name:
            return f"Snapshot '{self.name}' of {count_of(self.snapshots[-1].pairs, 'pair')}."
        lines = [
            f"{each.name}: {count_of(each.pairs, 'pair')}, {each.created_at:%Y-%m-%d %H:%M} UTC, "
            f"by {each.author}"
            for each in self.snapshots
        ]
        return "\n".join(lines) or "No snapshots yet."


@dataclass(frozen=True)
class Difference:
    """One pair in two states. `id`: in its source. `words`: the caption in use, word by word, what
    went as [-…-] and what came as {+…+}; "" if it is the same. Verdicts and splits: before and
    after."""

    pair_id: int
    id: str
    before: str = ""
    after: str = ""
    words: str = ""


@dataclass(frozen=True)
class DiffReport:
    """`before`, `after`: the names of the snapshots, "": as it is now; `counts`: pairs by
    KINDS; `examples`: the first of each kind."""

    before: str
    after: str
    pairs_before: int
    pairs_after: int
    counts: dict[str, int]
    examples: dict[str, list[Difference]]

    @property
    def is_same(self) -> bool:
        return not any(self.counts.values())

    def in_words(self) -> str:
        sizes = f"{self.pairs_before:,} and {self.pairs_after:,} pairs"
        between = f"{self.before} and {self.after or 'now'} ({sizes})"
        if self.is_same:
            return f"{between}: no difference."
        counts = ", ".join(f"{self.counts[kind]:,} {kind}" for kind in KINDS)
        lines = [f"{between}: {counts}."]
        for kind in KINDS:
            for each in self.examples[kind]:
                change = each.words or f"{each.before or 'none'} → {each.after or 'none'}"
                lines.append(f"{kind}: {each.id}: {change}")
        return "\n".join(lines)


@dataclass(frozen=True)
class RestoreReport:
    """`restored`: pairs whose verdict, or lack of one, was put in effect again; `reworded`: left
    alone, because the source has another caption by now; `gone`: in the snapshot, but hidden now.
    """

    snapshot: str
    restored: int
    reworded: int
    gone: int
    is_dry_run: bool = False

    def in_words(self) -> str:
        verb = "would get" if self.is_dry_run else "got"
        reworded = counted(self.reworded, "has another caption in", "have another caption in")
        notes = [f"{reworded} the source"] if self.reworded else []
        gone = counted(self.gone, "is no longer in the source", "are no longer in the source")
        notes += [gone] if self.gone else []
        rest = f" Left alone: {'; '.join(notes)}." if notes else ""
        state = f"{'its' if self.restored == 1 else 'their'} state in '{self.snapshot}'"
        return f"{count_of(self.restored, 'pair')} {verb} back {state}.{rest}"


@dataclass
class _Tally:
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    examples: dict[str, list[Difference]] = field(
        default_factory=lambda: {kind: [] for kind in KINDS}
    )

    def add(self, kind: str, difference: Difference) -> None:
        self.counts[kind] += 1
        if len(self.examples[kind]) < SHOWN:
            self.examples[kind].append(difference)


def snapshot(
    store: Store, dataset_id: int, name: str, author: str, delete: bool = False
) -> SnapshotReport:
    """Store the present state under this name, or `delete` that snapshot; "": neither. Raises
    SettingsError for a name that is taken, NotFound for one to delete that does not exist."""
    if not name and not delete:
        return SnapshotReport("", tuple(store.read(queries.list_snapshots, dataset_id)))
    with store.writing(large=True) as session:
        if delete:
            queries.forget(session, queries.find(session, dataset_id, name).id)
        else:
            queries.take(session, dataset_id, name, author)
        return SnapshotReport(name, tuple(queries.list_snapshots(session, dataset_id)), delete)


def diff(
    store: Store, dataset_id: int, before: str, after: str = "", progress: Progress = no_progress
) -> DiffReport:
    """Compare the snapshot `before` with the snapshot `after`; "": with the dataset as it is now.
    Raises NotFound for a snapshot that does not exist."""
    first = store.read(queries.find, dataset_id, before)
    second = store.read(queries.find, dataset_id, after) if after else None
    tally, sizes = _Tally(), [0, 0]
    for old, new in _side_by_side(store, dataset_id, first, second):
        sizes[0] += old is not None
        sizes[1] += new is not None
        if sum(sizes) % _AT_ONCE == 0:
            progress(max(sizes), first.pairs, "Comparing")
        _compare(old, new, tally)
    return DiffReport(before, after, sizes[0], sizes[1], tally.counts, tally.examples)


def nearest(store: Store, dataset_id: int) -> str:
    """In words, how the dataset as it is now differs from its newest snapshot; "" without one."""
    rows = store.read(queries.list_snapshots, dataset_id)
    if not rows:
        return ""
    report = diff(store, dataset_id, rows[-1].name)
    if report.is_same:
        return report.before
    changes = (f"{report.counts[kind]:,} {kind}" for kind in KINDS if report.counts[kind])
    return f"{report.before}, and since then: {', '.join(changes)}"


def _compare(old: StateRow | None, new: StateRow | None, tally: _Tally) -> None:
    if old is None or new is None:
        if new is not None:
            tally.add("added", Difference(new.id, new.external_id, after=_text(new)))
        elif old is not None:
            tally.add("gone", Difference(old.id, old.external_id, before=_text(old)))
        return
    which = (new.id, new.external_id)
    if _text(old) != _text(new):
        words = changed_words(_text(old), _text(new))
        tally.add("captions", Difference(*which, _text(old), _text(new), words))
    if _verdict(old) != _verdict(new) or old.claim_labels != new.claim_labels:
        tally.add("verdicts", Difference(*which, _verdict(old), _verdict(new)))
    if (old.split or "") != (new.split or ""):
        tally.add("splits", Difference(*which, old.split or "", new.split or ""))


def restore(
    store: Store,
    dataset_id: int,
    name: str,
    author: str,
    is_dry_run: bool = False,
    progress: Progress = no_progress,
) -> RestoreReport:
    """Put the verdicts and the texts of a snapshot in effect again, as acts that `author` undoes at
    once. Captions of the source and splits are the source's own, and stay as they are; so do pairs
    that have come since."""
    snapshot = store.read(queries.find, dataset_id, name)
    batch, restored_count, reworded_count, gone_count = uuid.uuid4().hex, 0, 0, 0
    versions: dict[int, int] = {}

    def write() -> int:
        with store.writing() as session:
            number = len(queries.restore(session, versions, author=author, batch=batch).written)
        versions.clear()
        return number

    pairs = ((old, new) for old, new in _side_by_side(store, dataset_id, snapshot, None) if old)
    for done, (old, new) in enumerate(pairs, start=1):
        if done % _AT_ONCE == 0:
            progress(done, snapshot.pairs, "Restoring")
        gone_count += new is None
        reworded_count += new is not None and new.caption != old.caption
        if new is None or new.caption != old.caption or _is_same(old, new):
            continue
        versions[old.id] = old.standing_version
        if is_dry_run:
            restored_count += 1
        elif len(versions) == undo_queries.AT_ONCE:
            restored_count += write()
    if versions and not is_dry_run:
        restored_count += write()
    return RestoreReport(name, restored_count, reworded_count, gone_count, is_dry_run)


def _is_same(old: StateRow, new: StateRow) -> bool:
    names = ("decision", "corrected_caption", "enriches", "claim_labels", "note")
    return all(getattr(old, name) == getattr(new, name) for name in names)


def changed_words(old: str, new: str) -> str:
    """The new text with what went and what came marked, word by word.

    >>> changed_words("a red dog", "a black dog runs")
    'a [-red-] {+black+} dog {+runs+}'
    """
    before, after = Caption.parse(old), Caption.parse(new)
    pieces = []
    for run in align(before.words, after.words):
        if run.kept:
            pieces += [after.words[i] for i in run.new]
            continue
        if run.old:
            pieces.append(f"[-{' '.join(before.words[i] for i in run.old)}-]")
        if run.new:
            pieces.append(f"{{+{' '.join(after.words[i] for i in run.new)}+}}")
    return " ".join(pieces)


def _text(state: StateRow) -> str:
    """The caption in use."""
    return state.caption if state.corrected_caption is None else state.corrected_caption


def _verdict(state: StateRow) -> str:
    return judgement(state.decision, state.enriches, None, bool(state.caption)) or ""


def _side_by_side(
    store: Store, dataset_id: int, first: SnapshotRow, second: SnapshotRow | None
) -> Iterator[tuple[StateRow | None, StateRow | None]]:
    """Each pair of either state, in import order."""
    old = _states(store, dataset_id, first.id)
    new = _states(store, dataset_id, None if second is None else second.id)
    before, after = next(old, None), next(new, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before.id < after.id):
            yield before, None
            before = next(old, None)
        elif before is None or after.id < before.id:
            yield None, after
            after = next(new, None)
        else:
            yield before, after
            before, after = next(old, None), next(new, None)


def _states(store: Store, dataset_id: int, snapshot_id: int | None) -> Iterator[StateRow]:
    def query(session: Session, after: int) -> list[StateRow]:
        return queries.states_after(session, dataset_id, snapshot_id, after, _AT_ONCE)

    for batch in store.batches(query):
        yield from batch
