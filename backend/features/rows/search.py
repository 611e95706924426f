"""Look for captions that stand beside the pictures of other rows, by the vectors of scoring.

Rows are compared in stretches of a file, so that memory depends on no file's length. No image is
opened; each caption is encoded once by the scorer's text encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.counts import count_of
from backend.engine import memory
from backend.engine.languages.identification import usual_language
from backend.engine.languages.language import ENGLISH, Language
from backend.engine.unit_vectors import unit
from backend.errors import NotScored, SettingsError
from backend.features.rows.alignment import (
    FARTHEST,
    FEWEST_ROWS,
    Likenesses,
    Run,
    Values,
    Vectors,
    align,
    centre,
)
from backend.features.rows.orders import orders_of
from backend.features.rows.permutations import order_of
from backend.features.rows.queries import captions_of, picture_names, rows_of
from backend.features.rows.report import Finding, Kind
from backend.features.rows.row_sequences import NONE, Indices, RowSequence, sequences_of
from backend.features.rows.swaps import Swap, exchanges_of
from backend.jobs.scoring.dataset_models import scored_by_this_model
from backend.jobs.scoring.vectors import StoredVectors, stored_images
from backend.loaded_models import Engine
from backend.progress import LastReport, Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from db.queries.run_queries import RunRow
from db.texts import is_blank

#: Rows of a stretch; swaps are looked for within one.
STRETCH = 20_000
_STAGE = "Comparing rows"
#: Captions that are encoded at once.
_BATCH = 256
#: Vectors that differ less than this from their mean (1 - its squared length) tell nothing.
_LEAST_VARIATION = 0.02
#: Captions fit no picture nearby if their mean likeness to their own is so many standard errors
#: above 0, or fewer.
_NO_FIT = 3.0
#: Captions of a file are in another order if they fit in that one by so many standard errors better
#: than where they stand, and by this share of the spread of chance.
_ORDER_ERRORS, _ORDER_SHARE = 8.0, 0.5
#: Rows that are compared for it.
_SAMPLE = 2000
#: The ends of a stretch without order are uncertain by so many rows.
_EDGE = 5


class Elsewhere(NamedTuple):
    """The caption of `pair` fits the picture of pair `picture`: its likeness to its own picture,
    and to that one."""

    pair: int
    picture: int
    own_likeness: float
    likeness: float


@dataclass
class Search:
    """`findings`: in the order of the files; `moves`: [captions, 2], the pair whose picture a
    caption belongs to, and the pair that has it; `open_rows`: pairs of a finding that no caption
    was found for; `better`: of each stretch [pairs, 2], pairs outside of findings and the pair
    whose caption fits their picture better than their own; `elsewhere`: of each stretch [pairs, 4],
    pairs whose caption fits the picture of another one better (`Elsewhere`); `set_aside`: (first,
    last) ids of pairs in findings of rows one after the other; `run`: the scoring whose vectors
    were compared, None: a first look. Arrays: there may be millions."""

    pairs: int = 0
    compared: int = 0
    findings: list[Finding] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    moves: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    open_rows: int = 0
    better: list[Indices] = field(default_factory=list)
    elsewhere: list[Values] = field(default_factory=list)
    set_aside: list[tuple[int, int]] = field(default_factory=list)
    run: RunRow | None = None


@dataclass(frozen=True)
class _Stretch:
    """Rows of a file that have a caption and a picture's vector. `positions`: of them in their
    sequence; both vectors centred, [rows, d]; `problem`: why they tell nothing; `language`: of most
    captions."""

    positions: Indices
    captions: Vectors
    pictures: Vectors
    problem: str = ""
    language: Language = ENGLISH

    @property
    def own_likeness(self) -> Values:
        """Likeness of each caption to its own picture."""
        return np.einsum("rd,rd->r", self.captions, self.pictures).astype(np.float64)


def find_moved(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> Search:
    """Finds nothing of pictures that the model does not know: they are as unlike all captions.
    Raises NotScored if the dataset is not scored by this session's model, SettingsError if its
    scorer has no vectors."""
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    run = scored_by_this_model(store, engine, dataset)
    if dataset.is_unfamiliar:
        reason = "The model does not know such pictures, so it cannot compare the rows."
        total = store.read(pair_queries.totals, dataset_id)[0]
        return Search(total, reasons=[reason], run=run)
    if engine.scorer.info.compares_pairs:
        raise SettingsError(
            "LEMoN compares pairs with each other; rows are compared by the vectors of clip, "
            "siglip, blip-itc or blip-itm. Score the dataset with one of them."
        )
    vectors = stored_images(store, engine, run).open()
    if not len(vectors.pairs):
        raise NotScored("No picture of this dataset has a vector yet. Score it first.")
    with store.reading() as session:
        sequences = list(sequences_of(rows_of(session, dataset_id)))
    search = compare(store, engine, vectors, sequences, progress)
    search.run = run
    return search


def compare(
    store: Store,
    engine: Engine,
    vectors: StoredVectors,
    sequences: Sequence[RowSequence],
    progress: Progress = no_progress,
) -> Search:
    """Compare the captions of these rows with the vectors of their pictures."""
    search = Search()
    total = sum(len(sequence.pairs) for sequence in sequences)
    moves: list[NDArray[np.int64]] = []
    last_report = LastReport(progress)
    last_report(0, total, _STAGE)
    for sequence in sequences:
        look = _SequenceSearch(store, engine, vectors, sequence, search, last_report.repeat)
        moves.append(look.run(partial(_report, last_report, search, total)))
        search.pairs += len(sequence.pairs)
    search.moves = np.concatenate([search.moves, *moves])
    return search


def _report(progress: Progress, search: Search, total: int, done: int) -> None:
    progress(min(search.pairs + done, total), total, _STAGE)


class _SequenceSearch:
    """Looks at one sequence; findings are added to `search`."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        vectors: StoredVectors,
        sequence: RowSequence,
        search: Search,
        meanwhile: Callable[[], None],
    ) -> None:
        self.store, self.engine, self.vectors = store, engine, vectors
        self.sequence, self.search = sequence, search
        #: Asked within a stretch, which may take a minute, whether the job was cancelled.
        self._meanwhile = meanwhile
        #: Of each row: whether its caption fits its own picture; whose picture its caption
        #: belongs to.
        self._fits = np.zeros(len(sequence.pairs), np.bool_)
        self._target = np.full(len(sequence.pairs), NONE)
        self._in_finding = np.zeros(len(sequence.pairs), np.bool_)
        #: Whether other orders of the whole sequence were tried, and one was found.
        self._is_order_known = self._is_in_another_order = False

    def run(self, report: "partial[None]") -> NDArray[np.int64]:
        """Returns the moves, as `Search` has them."""
        places = np.flatnonzero(self.vectors.has(self.sequence.pairs))
        file = self.sequence.file or "Files of few rows, together"
        if len(places) < FEWEST_ROWS:
            if len(self.sequence.pairs):
                self.search.reasons.append(
                    f"{file}: too few to compare, {len(places):,} of "
                    f"{count_of(len(self.sequence.pairs), 'row')} with vectors; "
                    f"{FEWEST_ROWS} are needed."
                )
            return np.zeros((0, 2), np.int64)
        runs: list[Finding] = []
        problems: dict[str, None] = {}
        for part in np.array_split(places, -(-len(places) // STRETCH)):
            stretch = self._read(part)
            self.search.compared += len(stretch.positions)
            if len(stretch.positions) < FEWEST_ROWS:
                problems[f"fewer than {FEWEST_ROWS} rows can be compared"] = None
            elif stretch.problem:
                problems[stretch.problem] = None
            else:
                runs += self._look_at(stretch, problems)
            memory.release()
            report(int(part[-1]) + 1)
            if self._is_in_another_order:  # that of all rows
                break
        self.search.reasons += [f"{file}: {problem}." for problem in problems]
        self.search.findings += _join(runs)
        return self._moves()

    def _read(self, places: Indices) -> _Stretch:
        pairs = self.sequence.pairs[places]
        captions = self.store.read(captions_of, pairs.tolist())
        has_caption = np.array([not is_blank(captions.get(pair, "")) for pair in pairs.tolist()])
        places, pairs = places[has_caption], pairs[has_caption]
        if not len(places):
            return _Stretch(places, np.zeros((0, 1), np.float32), np.zeros((0, 1), np.float32))
        parts = [captions[pair] for pair in pairs.tolist()]
        texts = self._encode(parts)
        pictures = unit(self.vectors.of(pairs))
        problem = ""
        for what, values in (("captions", texts), ("pictures", pictures)):
            if 1 - float((values.mean(0) ** 2).sum()) < _LEAST_VARIATION:
                problem = f"its {what} are so alike that rows cannot be told apart"
        language = usual_language(parts[:_SAMPLE])
        return _Stretch(places, centre(texts), centre(pictures), problem, language)

    def _encode(self, captions: list[str]) -> Vectors:
        """Their vectors; pages that need the models take their turn between two batches."""
        parts: list[Vectors] = []
        for start in range(0, len(captions), _BATCH):
            self._meanwhile()
            with self.engine.lock:
                parts.append(
                    unit(self.engine.scorer.text_embeddings(captions[start : start + _BATCH]))
                )
        return np.concatenate(parts)

    def _look_at(self, stretch: _Stretch, problems: dict[str, None]) -> Iterator[Finding]:
        runs, likenesses = align(stretch.captions, stretch.pictures, self._meanwhile)
        if (runs or not likenesses.can_tell) and not self._is_order_known:
            self._is_order_known = True
            if (finding := self._find_order(likenesses)) is not None:
                self._is_in_another_order = True
                yield finding
                return
        own_likeness = stretch.own_likeness
        if not likenesses.can_tell:
            mean, count = float(own_likeness.mean()), len(own_likeness)
            if stretch.language != ENGLISH:
                name = stretch.language.name or stretch.language.code
                problems[f"its captions in {name} fit no picture; the model may not know it"] = None
            elif mean / (likenesses.chance / np.sqrt(count)) < _NO_FIT:
                whole = Run(0, count - 1, None, mean, mean, 0.0)
                yield self._finding("unordered", stretch, whole)
            else:
                problems["captions fit their pictures too little to compare rows"] = None
            return
        self._fits[stretch.positions] = likenesses.log_likelihoods(own_likeness) >= 0
        for run in runs:
            yield self._of_run(stretch, run, likenesses)
        moved = {row for run in runs for row in range(run.first, run.last + 1)}
        rest = [row for row in range(len(own_likeness)) if row not in moved]
        exchanges = exchanges_of(stretch.captions, stretch.pictures, likenesses, rest)
        for swap in exchanges.swaps:
            yield self._of_swap(stretch, swap)
        pairs = self.sequence.pairs[stretch.positions]
        self.search.better.append(pairs[exchanges.better])
        elsewhere = exchanges.elsewhere
        elsewhere[:, :2] = pairs[elsewhere[:, :2].astype(np.int64)]
        self.search.elsewhere.append(elsewhere)

    def _of_run(self, stretch: _Stretch, run: Run, likenesses: Likenesses) -> Finding:
        if run.offset is not None:
            # Its offset counts rows that can be compared: others may lie between.
            rows = np.arange(max(run.first, -run.offset), run.last + 1)
            rows = rows[rows + run.offset < len(stretch.positions)]
            first, last = stretch.positions[run.first], stretch.positions[run.last]
            positions = np.arange(first, last + 1)
            offset, self._target[positions] = self.sequence.shift(
                stretch.positions[rows], stretch.positions[rows + run.offset], positions
            )
            return self._finding("shifted", stretch, replace(run, offset=offset))
        first, last = max(0, run.first - _EDGE), min(len(stretch.positions) - 1, run.last + _EDGE)
        order = order_of(stretch.captions, stretch.pictures, first, last, likenesses)
        if not order:
            return self._finding("unordered", stretch, run)
        rows, targets = np.array(list(order)), np.array(list(order.values()))
        self._target[stretch.positions[rows]] = stretch.positions[targets]
        new_likeness = np.einsum("rd,rd->r", stretch.captions[rows], stretch.pictures[targets])
        first, last = min(rows.min(), targets.min()), max(rows.max(), targets.max())
        permuted = replace(
            run, first=int(first), last=int(last), likeness=float(new_likeness.mean())
        )
        return self._finding("permuted", stretch, permuted)

    def _of_swap(self, stretch: _Stretch, swap: Swap) -> Finding:
        rows = np.array([swap.first, swap.second])
        positions = stretch.positions[rows]
        self._target[positions] = positions[::-1]
        self._in_finding[positions] = True
        new_likeness = np.einsum("rd,rd->r", stretch.captions[rows], stretch.pictures[rows[::-1]])
        first, second = (self.sequence.number(position) for position in positions.tolist())
        return Finding(
            "swapped", self.sequence.file, first, second, 2, None, float(new_likeness.mean()),
            float(stretch.own_likeness[rows].mean()), float(np.exp(min(0.0, swap.log_chance))),
        )  # fmt: skip

    def _finding(self, kind: Kind, stretch: _Stretch, run: Run) -> Finding:
        first, last = int(stretch.positions[run.first]), int(stretch.positions[run.last])
        self._set_aside(first, last)
        if kind != "unordered":
            self._in_finding[first : last + 1] = True
        return Finding(
            kind, self.sequence.file, self.sequence.number(first), self.sequence.number(last),
            last - first + 1, run.offset, run.likeness, run.own_likeness, run.chance,
        )  # fmt: skip

    def _set_aside(self, first: int, last: int) -> None:
        """Remember the pairs of these rows, by intervals of ids: rows of one import have ids one
        after the other."""
        ids = np.sort(self.sequence.pairs[first : last + 1])
        for part in np.split(ids, np.flatnonzero(np.diff(ids) > 1) + 1):
            self.search.set_aside.append((int(part[0]), int(part[-1])))

    def _find_order(self, likenesses: Likenesses) -> Finding | None:
        """Whether the whole sequence has its captions in another order; the one that fits best."""
        pairs = self.sequence.pairs
        count = len(pairs)
        sample = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64))
        captions = self.store.read(captions_of, pairs[sample].tolist())
        sample = sample[[not is_blank(captions.get(pair, "")) for pair in pairs[sample].tolist()]]
        if len(sample) < FEWEST_ROWS:
            return None
        texts = centre(self._encode([captions[pair] for pair in pairs[sample].tolist()]))
        first, last = self.sequence.number(0), self.sequence.number(count - 1)
        own_likeness, _ = self._mean_likeness(texts, sample)
        best: Finding | None = None
        for order, targets in orders_of(self.store.read(picture_names, pairs.tolist())):
            mean, compared = self._mean_likeness(texts, targets[sample])
            errors = (mean - max(own_likeness, 0.0)) * np.sqrt(compared) / likenesses.chance
            if compared < FEWEST_ROWS or errors < _ORDER_ERRORS:
                continue
            if mean < _ORDER_SHARE * likenesses.chance:
                continue
            if best is None or mean > best.likeness:
                self._target = targets
                best = Finding(
                    order, self.sequence.file, first, last, count, None, mean, own_likeness,
                    float(np.exp(-0.5 * errors**2)),
                )  # fmt: skip
        if best is not None:
            self._set_aside(0, count - 1)
            self._in_finding[:] = True
        return best

    def _mean_likeness(self, texts: Vectors, positions: Indices) -> tuple[float, int]:
        """Of captions, by their centred vectors, to the pictures at these positions of the
        sequence; and how many of these have a vector."""
        pairs = self.sequence.pairs[positions]
        has_vector = self.vectors.has(pairs)
        if not has_vector.any():
            return 0.0, 0
        pictures = centre(unit(self.vectors.of(pairs[has_vector])))
        return float(np.einsum("rd,rd->r", texts[has_vector], pictures).mean()), len(pictures)

    def _moves(self) -> NDArray[np.int64]:
        """Each caption of a finding with the picture it belongs to. A picture outside of it whose
        own caption fits keeps that."""
        rows = np.flatnonzero(self._target != NONE)
        targets = self._target[rows]
        rows = rows[(targets != rows) & (self._in_finding[targets] | ~self._fits[targets])]
        targets, first_places = np.unique(self._target[rows], return_index=True)
        rows = rows[first_places]
        has_own = np.zeros(len(self._fits), np.bool_)
        has_own[targets] = True
        has_own |= self._target == np.arange(len(has_own))  # in another order, some stay
        self.search.open_rows += int((self._in_finding & ~has_own).sum())
        return np.stack([self.sequence.pairs[targets], self.sequence.pairs[rows]], axis=1)


def _join(findings: list[Finding]) -> Iterator[Finding]:
    """The same with those of one kind joined that go on from one stretch to the next."""
    before: Finding | None = None
    for finding in findings:
        if before is not None and _goes_on(before, finding):
            before = _sum_of(before, finding)
            continue
        if before is not None:
            yield before
        before = finding
    if before is not None:
        yield before


def _goes_on(before: Finding, finding: Finding) -> bool:
    is_alike = (before.kind, before.offset) == (finding.kind, finding.offset)
    is_near = 0 < finding.first - before.last <= FARTHEST
    return is_alike and is_near and finding.kind in ("shifted", "unordered")


def _sum_of(before: Finding, finding: Finding) -> Finding:
    rows = before.rows + finding.rows
    share = before.rows / rows
    return replace(
        before, last=finding.last, rows=rows, chance=min(before.chance, finding.chance),
        likeness=share * before.likeness + (1 - share) * finding.likeness,
        own_likeness=share * before.own_likeness + (1 - share) * finding.own_likeness,
    )  # fmt: skip
