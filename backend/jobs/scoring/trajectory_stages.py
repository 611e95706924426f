"""Stages of scoring: the trajectory of every pair."""

from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any

from backend.datasets.cells import split_proof
from backend.engine.claims.claim import Claim, without_repetitions
from backend.engine.claims.division import Division
from backend.engine.constants.part import ConstantPart
from backend.engine.familiarity import Familiarity
from backend.engine.scoring.protocol import FloatArray
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.dataset_reports import SHOWN_PROBLEMS
from backend.jobs.scoring.known_pictures import UNKNOWN, encode_known
from backend.jobs.scoring.stage import BatchStage, Sample, Scoring
from backend.jobs.scoring.stored_rows import AT_ONCE, claim_rows, exploring_of, save_scored, to_row
from backend.jobs.scoring.suggest import corrections_expected, likely_wrong, likely_wrong_share
from backend.jobs.scoring.vectors import image_file, remember_images
from backend.jobs.scoring.workers import Opened, Task
from backend.loaded_models import Engine
from backend.progress import Progress
from db.queries import dataset_queries, pair_queries, trajectory_queries
from db.queries.claim_queries import ClaimRow
from db.queries.dataset_queries import ProblemRow
from db.queries.pair_queries import PairCaption
from db.queries.trajectory_queries import TrajectoryRow

#: Pairs encoded, scored and committed together: the most work that a kill can lose.
BATCH: int = 48

#: Problem kind for an image that scoring could not read.
UNREADABLE = "unreadable image"


@dataclass(frozen=True)
class ScoredBatch:
    """The results of a batch: the claims of the pairs `ids`, with the trajectory of each that does
    not repeat another, and the images' vectors [pairs, d], None if they are not wanted or the
    scorer has none; and the pictures that could not be read or that the model does not know, with
    the reason."""

    ids: list[int]
    vectors: FloatArray | None
    claims: list[tuple[Claim, ...]]
    trajectories: list[list[Trajectory]]
    broken: dict[str, str]
    unknown: dict[str, str]


class TrajectoryStage(BatchStage):
    """Computes trajectories. `scored`, `unreadable`, `unknown`: pairs so far; `left_out`: reasons
    by picture that the model does not know; `first_unreadable`: pictures."""

    #: Whether the image vectors are stored already, and the model was found to know the pictures.
    has_vectors = False

    def __init__(self, scoring: Scoring) -> None:
        super().__init__(scoring)
        self.scored = self.unreadable = self.unknown = 0
        self.left_out: dict[str, str] = {}
        self.first_unreadable: list[ProblemRow] = []

    @property
    @abstractmethod
    def lacking(self) -> Iterable[tuple[int, str]]:
        """(id, image's path) of the pairs to compute, ordered by path."""

    def exploring(self) -> Exploring:
        return exploring_of(self.scoring.this_run)

    def batches(self) -> Iterator[list[PairCaption]]:
        """All captions of an image are in one batch, so that it is decoded and encoded once."""
        size = self.scoring.workers.batch_size(BATCH, in_sessions=True)
        ids, ends = _cut(self.lacking, size)
        first = 0
        for end in ends:
            batch: list[PairCaption] = []
            for part in range(first, end, AT_ONCE):
                pairs = self.scoring.store.read(
                    pair_queries.pairs_of, ids[part : min(end, part + AT_ONCE)]
                )
                batch += [PairCaption(pair.id, pair.image_path, pair.caption) for pair in pairs]
            if batch:  # pairs may have been removed meanwhile
                yield batch
            first = end

    def task(self) -> Task[PairCaption, ScoredBatch]:
        return partial(
            _score,
            exploring=self.exploring(),
            familiarity=None if self.has_vectors else self.scoring.familiarity,
            has_vectors=self.has_vectors,
            division=self.scoring.division,
            constants=self.scoring.constants,
        )

    def compute(self) -> Iterator[tuple[Sequence[Any], Any]]:
        return self.scoring.workers.map(self.task(), self.batches(), reduces=True)

    @cached_property
    def _reported(self) -> set[str]:
        """Pictures that are listed as unknown. They stay listed during scoring, so that a process
        that is killed does not refuse the rest of the dataset because of them."""
        return self.scoring.store.read(
            dataset_queries.files_with_problem, self.scoring.dataset_id, UNKNOWN
        )

    def save(self, batch: Sequence[PairCaption], result: ScoredBatch) -> None:
        """Trajectories, vectors and problems; each picture's problem is stored once, however many
        captions it has."""
        scoring = self.scoring
        remember_images(
            image_file(scoring.store, scoring.engine, scoring.this_run), result.ids, result.vectors
        )
        rows: list[TrajectoryRow] = []
        claims_of: dict[int, list[ClaimRow]] = {}
        for pair_id, claims, trajectories in zip(
            result.ids, result.claims, result.trajectories, strict=True
        ):
            rows += [
                to_row(pair_id, trajectory, claim)
                for claim, trajectory in zip(without_repetitions(claims), trajectories, strict=True)
            ]
            claims_of[pair_id] = claim_rows(pair_id, claims)
        problems = [
            ProblemRow(name, None, kind, message)
            for kind, reasons in ((UNREADABLE, result.broken), (UNKNOWN, result.unknown))
            for name, message in reasons.items()
            if name not in self._reported
        ]
        self._reported.update(result.broken, result.unknown)
        unreadable = [
            replace(problem, file=split_proof(problem.file)[0])
            for problem in problems
            if problem.kind == UNREADABLE
        ]
        self.first_unreadable = [*self.first_unreadable, *unreadable][:SHOWN_PROBLEMS]
        with scoring.store.writing() as session:
            save_scored(session, scoring.run_id, rows, claims_of)
            dataset_queries.add_problems(session, scoring.dataset_id, problems)
        self.scored += len(result.ids)
        self.unreadable += sum(pair.image_path in result.broken for pair in batch)
        self.unknown += sum(pair.image_path in result.unknown for pair in batch)
        self.left_out |= result.unknown


class Trajectories(TrajectoryStage):
    """Of every pair that has none in this run: whole ones, or their first steps."""

    name = "Comparing pictures and captions"
    part = "trajectories_seconds"

    def remaining(self) -> int:
        scoring = self.scoring
        return scoring.store.read(pair_queries.count_unscored, scoring.dataset_id, scoring.run_id)

    def seconds(self, sample: Sample) -> float:
        return sample.trajectories(self.scoring.depth.is_whole).seconds

    @property
    def lacking(self) -> Iterator[tuple[int, str]]:
        scoring = self.scoring
        with scoring.store.reading() as session:
            yield from pair_queries.unscored_by_image(session, scoring.dataset_id, scoring.run_id)

    def exploring(self) -> Exploring:
        return replace(super().exploring(), whole=self.scoring.depth.is_whole)

    def do(self, progress: Progress) -> None:
        super().do(progress)
        # Exactly these pictures are listed as unknown: another model may have had other ones.
        dataset_id = self.scoring.dataset_id
        with self.scoring.store.writing() as session:
            unknown_files = dataset_queries.files_with_problem(session, dataset_id, UNKNOWN)
            if unknown_files != self.left_out.keys():
                dataset_queries.clear_problems(session, dataset_id, UNKNOWN)
                reasons = self.left_out.items()
                problems = [ProblemRow(name, None, UNKNOWN, reason) for name, reason in reasons]
                dataset_queries.add_problems(session, dataset_id, problems)


class Completion(TrajectoryStage):
    """Later steps of pairs of which an earlier job computed only the first."""

    name = "Completing trajectories"
    part = "whole_seconds"
    has_vectors = True

    def remaining(self) -> int:
        return len(self.lacking)

    def total(self) -> int:
        return self.remaining()

    def seconds(self, sample: Sample) -> float:
        return sample.trajectories(True).seconds

    def selections(self) -> list[dict[str, Any]]:
        """Which first steps become whole, as arguments of `lacking_steps`."""
        return [{}] if self.scoring.depth.is_whole else []

    @cached_property
    def lacking(self) -> list[tuple[int, str]]:
        scoring = self.scoring
        with scoring.store.reading() as session:
            rows = {
                row
                for which in self.selections()
                for row in trajectory_queries.lacking_steps(
                    session, scoring.run_id, scoring.dataset_id, **which
                )
            }
        return sorted(rows, key=lambda row: (row[1], row[0]))


class CompleteTrajectories(Completion):
    """Later steps of the pairs that a detector ranks highest, or that get corrections."""

    name = "Explaining likely errors"

    def remaining(self) -> int:
        if self.has_begun:
            return super().remaining()
        scoring = self.scoring
        if scoring.depth.is_whole:
            return 0
        with scoring.store.reading() as session:
            first_steps = trajectory_queries.count_first_steps(session, scoring.run_id)
            unscored_count = pair_queries.count_unscored(
                session, scoring.dataset_id, scoring.run_id
            )
        depth, total = scoring.depth, scoring.total
        selected_count = depth.top(total) if depth.above is None else likely_wrong_share(total)
        return min(first_steps + unscored_count, max(selected_count, corrections_expected(scoring)))

    def selections(self) -> list[dict[str, Any]]:
        scoring = self.scoring
        selections: list[dict[str, Any]] = []
        if not scoring.depth.is_whole:
            selections.append({"top": scoring.depth.top(scoring.total)})
        if scoring.depth.above is not None:
            selections.append({"above": scoring.depth.above})
        if scoring.suggestions:  # corrections are proposed from whole trajectories
            selections.append({"among": likely_wrong(scoring.store, scoring.dataset_id)})
        return selections


def _score(
    engine: Engine,
    batch: Sequence[PairCaption],
    pictures: Opened,
    exploring: Exploring,
    familiarity: Familiarity | None,
    has_vectors: bool,
    division: Division,
    constants: tuple[ConstantPart, ...],
) -> ScoredBatch:
    states, broken, unknown = encode_known(engine, pictures, familiarity)
    readable = [pair for pair in batch if pair.image_path in states]
    pair_states = [states[pair.image_path] for pair in readable]
    vectors = None if has_vectors else engine.image_embeddings(pair_states)
    claims = [engine.claims(pair.caption, division, constants) for pair in readable]
    questions = [
        (row, claim.question(pair.caption))
        for row, pair in enumerate(readable)
        for claim in without_repetitions(claims[row])
    ]
    trajectories: list[list[Trajectory]] = [[] for _ in readable]
    for (row, _), trajectory in zip(
        questions,
        engine.trajectories(
            [(pair_states[row], text) for row, text in questions],
            [readable[row].pair_id for row, _ in questions],
            exploring,
        ),
        strict=True,
    ):
        trajectories[row].append(trajectory)
    return ScoredBatch(
        [pair.pair_id for pair in readable], vectors, claims, trajectories, broken, unknown
    )


def _cut(pairs: Iterable[tuple[int, str]], size: int) -> tuple[Sequence[int], Sequence[int]]:
    """Ids of pairs and the ends of their batches. `pairs`: (id, image's path), ordered by path.
    Batches may be larger than `size`, because an image's captions stay together."""
    ids, ends = array("q"), array("q")  # a few bytes per pair, for datasets of any size
    for _, group in groupby(pairs, key=lambda row: row[1]):
        ids.extend(pair_id for pair_id, _ in group)
        if len(ids) - (ends[-1] if ends else 0) >= size:
            ends.append(len(ids))
    if len(ids) > (ends[-1] if ends else 0):
        ends.append(len(ids))
    return ids, ends
