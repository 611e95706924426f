"""Bring the verdicts of a package home.

Each act names its pair by the id in its source, its picture by the proof and its caption by the
digest: what is another one at home by now is left alone. A pair whose verdict at home is still the
one that was packed gets the acts as they were given: author, time, note, and how it had come to be
shown. Where home has changed meanwhile:

* a pair that several people judge gets the verdict as one more opinion, as if it had been given at
  home; if they differ, an adjudicator settles it; what is settled stays;
* else the same verdict counts as agreement, a later one of the same person replaces theirs, and
  another one stays out and is listed.

All acts of a package are one batch, named like it, and each has an id: merged again, nothing is
written twice, and one undo takes all back.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from backend.counts import count_of, counted
from backend.datasets.cells import split_proof
from backend.errors import DatasetFormatError, NotFound
from backend.features.package import queries
from backend.features.package.manifest import Manifest
from backend.features.package.opening import verdicts_read
from backend.features.package.queries import PackedPair, PairAtHome
from backend.progress import Progress, no_progress
from backend.review.verdicts import LONGEST_EDIT, LONGEST_NOTE, in_parts
from backend.store import Store
from db.authors import NEW_PICTURE, is_edit
from db.decisions import AT_RANDOM, SAMPLINGS
from db.queries import dataset_queries, undo_queries
from db.queries.blind_review import several_judge
from db.queries.undo_queries import AT_ONCE
from db.queries.verdict_acts import VerdictEvent, VerdictRow

#: Left-out pairs that a report lists.
_SHOWN = 20
#: What becomes of the verdict on a pair, and how a report says it, of one and of several.
OUTCOMES = {
    "merged": ("merged", "merged"),
    "second": (
        "is a further opinion on a pair that several people judge",
        "are further opinions on pairs that several people judge",
    ),
    "merged before": ("was merged before", "were merged before"),
    "agreeing": ("agrees with the verdict at home", "agree with the verdicts at home"),
    "conflict": (
        "differs from a verdict given at home meanwhile, which stays",
        "differ from verdicts given at home meanwhile, which stay",
    ),
    "settled": (
        "is on a pair that an adjudicator has settled",
        "are on pairs that an adjudicator has settled",
    ),
    "reworded": (
        "is on a caption that has changed at home",
        "are on captions that have changed at home",
    ),
    "new picture": (
        "is on a picture that has changed at home",
        "are on pictures that have changed at home",
    ),
    "gone": ("is on a pair that is no longer at home", "are on pairs that are no longer at home"),
    "taken back": (
        "was merged and is taken back in the package since: undo the merge, then merge again",
        "were merged and are taken back in the package since: undo the merge, then merge again",
    ),
    "unusable": ("cannot be used", "cannot be used"),
}
_WRITTEN = ("merged", "second")
_LISTED = ("conflict", "settled", "reworded", "new picture", "gone", "taken back", "unusable")


@dataclass(frozen=True)
class LeftOut:
    """A pair whose verdict stays in the package, and why."""

    id: str
    outcome: str
    verdict: str
    at_home: str

    def in_words(self) -> str:
        other = f" (at home {self.at_home})" if self.at_home else ""
        return f"{self.id}: {self.outcome}: {self.verdict}{other}"


@dataclass(frozen=True)
class MergeReport:
    """`counts`: pairs by OUTCOMES; `by_decision`: the verdicts that were, or would be, written;
    `changed_here`: all pairs of the package whose verdict at home has changed since; `remarks`:
    marks of words and tags; `left_out`: the first of them."""

    file: str
    dataset_id: int
    reviewer: str
    counts: dict[str, int]
    by_decision: dict[str, int]
    changed_here: int
    remarks: int
    left_out: tuple[LeftOut, ...]
    passed_over: int = 0
    is_dry_run: bool = False

    def in_words(self) -> str:
        number = sum(self.counts.get(kind, 0) for kind in _WRITTEN) - self.passed_over
        who = f" of {self.reviewer}" if self.reviewer else ""
        kinds = ", ".join(f"{count:,} {name}" for name, count in self.by_decision.items())
        verb = "to merge" if self.is_dry_run else "merged"
        rest = [
            counted(self.counts[kind], *words)
            for kind, words in OUTCOMES.items()
            if kind != "merged" and self.counts.get(kind)
        ]
        rest += [f"{self.passed_over:,} changed during this"] if self.passed_over else []
        lines = [each.in_words() for each in self.left_out]
        lines += [f"{self.file}: {count_of(number, 'verdict')}{who} {verb}."]
        lines += [f"Among them: {kinds}."] if kinds else []
        lines += [f"Of all, {'; '.join(rest)}."] if rest else []
        lines += [f"Marks of words and tags: {self.remarks:,}."] if self.remarks else []
        if self.changed_here:
            lines += [f"Packed pairs with another verdict at home since: {self.changed_here:,}."]
        return "\n".join(lines)


def dataset_at_home(store: Store, manifest: Manifest, name: str | None) -> int:
    """The dataset that was packed, or the one of this name. Raises NotFound."""
    wanted = name or manifest.dataset
    try:
        return store.read(dataset_queries.get_dataset, wanted).id
    except NotFound as problem:
        raise NotFound(
            f"{problem} The package is of '{manifest.dataset}'.",
            terminal="Name the dataset with --dataset.",
        ) from problem


def merge(
    home: Store,
    file: Path,
    name: str | None = None,
    is_dry_run: bool = False,
    progress: Progress = no_progress,
) -> MergeReport:
    """Write what was judged in the package, or beside it in `file`, into the dataset at home.
    `name`: of that, if it is no longer called as in the package.

    Transactions of AT_ONCE pairs; interrupted, the same call goes on. Raises DatasetNotFound,
    DatasetFormatError for a file of another kind, NotFound.
    """
    with verdicts_read(file) as (package, manifest):
        dataset_id = dataset_at_home(home, manifest, name)
        merging = _Merging(home, package, manifest, dataset_id, is_dry_run)
        try:
            for packed in package.batches(
                lambda session, after: queries.packed_after(session, after, AT_ONCE),
                attrgetter("pair_id"),
            ):
                merging.add(packed)
                progress(merging.pairs, manifest.pairs, "Merging")
        except ValueError as problem:
            raise DatasetFormatError(
                f"'{file.name}' holds an act that cannot be stored: {problem}. The pairs before it "
                "are merged."
            ) from problem
        return merging.report(file.name)


def undo_merge(home: Store, file: Path, name: str | None = None) -> int:
    """Take back all that was merged of a package and is still in effect; returns how many acts.
    What people decided since stays."""
    with verdicts_read(file) as (package, manifest):
        dataset_id, count = dataset_at_home(home, manifest, name), 0
        # A pair may have several acts of the package, of which one is in effect at a time.
        while undone := in_parts(
            home,
            lambda session, rest: undo_queries.undo_batch(session, dataset_id, manifest.id, rest),
        ):
            count += undone.together
        merging = _Merging(home, package, manifest, dataset_id, is_dry_run=False)
        for packed in package.batches(
            lambda session, after: queries.packed_after(session, after, AT_ONCE),
            attrgetter("pair_id"),
        ):
            count += merging.remove_remarks(packed)
        return count


@dataclass
class _Merging:
    home: Store
    package: Store
    manifest: Manifest
    dataset_id: int
    is_dry_run: bool
    pairs: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _decisions: Counter[str] = field(default_factory=Counter)
    _left_out: list[LeftOut] = field(default_factory=list)
    _changed_here: int = 0
    _passed_over: int = 0
    _remarks: int = 0

    def __post_init__(self) -> None:
        self._packed_at = datetime.fromisoformat(self.manifest.created_at)

    def add(self, packed: Sequence[PackedPair]) -> None:
        """Merge what was done with these pairs."""
        acts_of = self._acts(packed)
        known = self._at_home(packed)
        ids = [pair.id for pair in known.values()]
        with self.home.reading() as session:
            settled = queries.settled_pairs(session, ids)
            shared = several_judge(session, ids)
            before = _by_pair(queries.acts_of_batch(session, self.manifest.id, ids))
        to_write: dict[int, list[VerdictEvent]] = {}
        for pair in packed:
            at_home = known.get(pair.external_id)
            merged = queries.not_undone(before.get(at_home.id, [])) if at_home else []
            is_own = at_home is not None and at_home.batch == self.manifest.id
            is_changed = at_home is not None and at_home.standing != pair.standing and not is_own
            self._changed_here += is_changed
            acts = [self._carried(act, pair) for act in acts_of.get(pair.pair_id, [])]
            ids_before = {act.request_id for act in merged}
            new = [act for act in acts if act.request_id not in ids_before]
            if not new:
                is_taken_back = bool(ids_before - {act.request_id for act in acts})
                if acts or is_taken_back:
                    outcome = "taken back" if is_taken_back else "merged before"
                    self._tally(outcome, pair, acts, at_home)
                continue
            outcome = _difference(pair, at_home, new)
            if not outcome and at_home is not None:
                outcome = "settled" if at_home.id in settled else ""
                outcome = outcome or _judge(at_home, new[-1], is_changed, at_home.id in shared)
            self._tally(outcome, pair, new, at_home)
            if outcome in _WRITTEN and at_home is not None:
                to_write[at_home.id] = new
        self._write(to_write, {pair.id: pair.verdict_version for pair in known.values()})
        self._add_remarks(packed, known)
        self.pairs += len(packed)

    def _acts(self, packed: Sequence[PackedPair]) -> dict[int, list[VerdictRow]]:
        """What was done with these pairs in the package and is not undone, by pair."""
        acts = self.package.read(
            queries.acts_after, self.manifest.last_act, [pair.pair_id for pair in packed]
        )
        return {
            pair_id: [
                act
                for act in queries.not_undone(of_pair)
                if act.restores is None and act.author != NEW_PICTURE
            ]
            for pair_id, of_pair in _by_pair(acts).items()
        }

    def _carried(self, act: VerdictRow, pair: PackedPair) -> VerdictEvent:
        """The act with an id of its own, and with how its pair came to be shown at home: a random
        pair of those that a filter found is none of the dataset."""
        name = f"{self.manifest.id}|{pair.external_id}|{act.version}"
        sampling = act.sampling
        if sampling and self.manifest.sampling != AT_RANDOM:
            sampling = self.manifest.sampling
        return VerdictEvent(
            pair_id=act.pair_id,
            version=act.version,
            decision=act.decision,
            corrected_caption=act.corrected_caption,
            suggestion_id=act.suggestion_id,
            author=act.author,
            created_at=act.created_at,
            replaces=act.replaces,
            standing_version=act.standing_version,
            enriches=act.enriches,
            note=act.note,
            sampling=sampling,
            claim_labels=act.claim_labels,
            claim=act.claim,
            request_id=hashlib.sha256(name.encode()).hexdigest()[:32],
        )

    def _at_home(self, packed: Sequence[PackedPair]) -> dict[str, PairAtHome]:
        names = [pair.external_id for pair in packed]
        return self.home.read(queries.pairs_at_home, self.dataset_id, names)

    def _write(
        self, acts_of: Mapping[int, list[VerdictEvent]], versions: Mapping[int, int]
    ) -> None:
        if not acts_of or self.is_dry_run:
            return
        with self.home.writing() as session:
            suggestions = self._suggestions(acts_of)
            events = {
                pair_id: [
                    replace(act, suggestion_id=suggestions.get((pair_id, act.suggestion_id)))
                    for act in acts
                ]
                for pair_id, acts in acts_of.items()
            }
            outcome = queries.copy_acts(session, events, versions, batch=self.manifest.id)
        self._passed_over += len(outcome.passed_over)

    def _suggestions(
        self, acts_of: Mapping[int, list[VerdictEvent]]
    ) -> dict[tuple[int, int | None], int]:
        """The suggestions at home that are those of the package."""
        accepted = {
            (pair_id, act.suggestion_id)
            for pair_id, acts in acts_of.items()
            for act in acts
            if act.suggestion_id is not None
        }
        if not accepted:
            return {}
        packed = self.package.read(queries.suggestions_by_id, {number for _, number in accepted})
        at_home = self.home.read(queries.suggestions_at_home, list(acts_of))
        return {
            (pair_id, number): at_home[key]
            for pair_id, number in accepted
            if number in packed and (key := (pair_id, *packed[number])) in at_home
        }

    def _tally(
        self,
        outcome: str,
        pair: PackedPair,
        acts: Sequence[VerdictEvent],
        at_home: PairAtHome | None,
    ) -> None:
        self._counts[outcome] += 1
        verdict = (acts[-1].decision or "undecided") if acts else "undecided"
        if outcome in _WRITTEN:
            self._decisions[verdict] += 1
        elif outcome in _LISTED and len(self._left_out) < _SHOWN:
            is_decided = at_home is not None and at_home.decision is not None
            other = f"{at_home.decision} by {at_home.decided_by}" if at_home and is_decided else ""
            self._left_out.append(LeftOut(pair.external_id, outcome, verdict, other))

    def _add_remarks(self, packed: Sequence[PackedPair], known: Mapping[str, PairAtHome]) -> None:
        remarks = self._remarks_of(packed, known)
        if self.is_dry_run:
            self._remarks += len(remarks)
        elif remarks:
            with self.home.writing() as session:
                self._remarks += sum(queries.add_remark(session, *each) for each in remarks)

    def remove_remarks(self, packed: Sequence[PackedPair]) -> int:
        remarks = self._remarks_of(packed, self._at_home(packed))
        if not remarks:
            return 0
        with self.home.writing() as session:
            return sum(queries.remove_remark(session, *each) for each in remarks)

    def _remarks_of(
        self, packed: Sequence[PackedPair], known: Mapping[str, PairAtHome]
    ) -> list[queries.Remark]:
        """The marks and tags of pairs that are the same at home."""
        ids = {
            pair.pair_id: at_home.id
            for pair in packed
            if (at_home := known.get(pair.external_id)) and not _difference(pair, at_home, ())
        }
        rows = self.package.read(queries.remarks_since, list(ids), self._packed_at)
        return [(model, {**row, "pair_id": ids[row["pair_id"]]}) for model, row in rows]

    def report(self, file: str) -> MergeReport:
        return MergeReport(
            file, self.dataset_id, self.manifest.reviewer, dict(self._counts),
            dict(self._decisions), self._changed_here, self._remarks, tuple(self._left_out),
            self._passed_over, self.is_dry_run,
        )  # fmt: skip


def _judge(at_home: PairAtHome, act: VerdictEvent, is_changed: bool, is_shared: bool) -> str:
    """What becomes of acts on a pair that is the same at home, of which this is the last."""
    is_same = (at_home.decision, at_home.corrected_caption) == (
        act.decision,
        act.corrected_caption,
    )
    if not is_changed or at_home.decision is None:
        return "merged"
    if at_home.decided_by == act.author and at_home.decided_at is not None:
        is_later = act.created_at > at_home.decided_at
        return "agreeing" if is_same else "merged" if is_later else "conflict"
    if is_shared:
        return "second"
    return "agreeing" if is_same else "conflict"


def _difference(
    packed: PackedPair, at_home: PairAtHome | None, acts: Sequence[VerdictEvent]
) -> str:
    """Why acts on the packed pair are none on the one at home; "" if they are."""
    if at_home is None or at_home.hidden:
        return "gone"
    if queries.caption_digest(at_home.caption) != packed.caption:
        return "reworded"
    if not _is_same_picture(at_home.image_path, packed.picture):
        return "new picture"
    return "unusable" if any(_is_unusable(act) for act in acts) else ""


def _is_same_picture(at_home: str, packed: str) -> bool:
    """By the proofs of both addresses, or by the addresses where a database has none."""
    (place, proof), (packed_place, packed_proof) = split_proof(at_home), split_proof(packed)
    return proof == packed_proof if proof and packed_proof else place == packed_place


def _is_unusable(act: VerdictEvent) -> bool:
    """Whether no page of this program could have given the act."""
    return (
        len(act.corrected_caption or "") > LONGEST_EDIT
        or len(act.note) > LONGEST_NOTE
        or act.sampling not in SAMPLINGS
        or (act.decision is None and act.corrected_caption is not None and not is_edit(act.author))
    )


def _by_pair(acts: Sequence[VerdictRow]) -> dict[int, list[VerdictRow]]:
    return {pair_id: list(group) for pair_id, group in groupby(acts, attrgetter("pair_id"))}
