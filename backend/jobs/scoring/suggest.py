"""Stage of scoring: corrections for the pairs most likely to be wrong, and for one pair."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import NamedTuple

from PIL import Image

from backend.engine import memory
from backend.engine.claims.scored_caption import ScoredCaption
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    classifier_in_use,
    doubting,
    judging,
    steps_needed_by,
    suspects_by,
)
from backend.jobs.scoring.image_batches import readable
from backend.jobs.scoring.stage import BatchStage, Sample, Scoring
from backend.jobs.scoring.stored_rows import AT_ONCE, Part, exploring_of, scored_pairs, to_save
from backend.jobs.scoring.workers import Opened, Task
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import pair_queries, suggestion_queries, trajectory_queries
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow
from db.queries.statements import chunks
from db.queries.suggestion_queries import Attempt

#: Corrections are prepared for pairs at least this likely to be wrong.
SUGGEST_ABOVE = 0.5
#: Share of a dataset that looks wrong to its detector where nothing is known yet.
USUAL_SHARE = 0.3
#: Pairs processed and committed together on a CPU, and with a small model. Together they take a
#: second or two, during which pages that need the models wait.
TOGETHER, TOGETHER_IF_SMALL = 8, 32
#: Corrections of a pair whose probability of error is computed ahead: it takes a trajectory each,
#: and the others get theirs when the pair is opened (`classifiers.py`). With a small model
#: that is soon enough for all of them.
JUDGED_AHEAD, JUDGED_AHEAD_IF_SMALL = 1, 0
#: Maximum number of pairs, most likely wrong first; the others get theirs when they are opened.
SUGGEST_AT_MOST = 1000


def likely_wrong(store: Store, dataset_id: int) -> list[int]:
    """Ids of the pairs for which corrections are prepared."""
    return [pair.id for pair in _likely_pairs(store, dataset_id)]


def _likely_pairs(store: Store, dataset_id: int) -> list[PairRow]:
    return store.read(pair_queries.most_likely_wrong, dataset_id, SUGGEST_ABOVE, SUGGEST_AT_MOST)


class _SuspectPair(NamedTuple):
    """A pair that looks wrong and has no corrections yet: the claim that is most likely wrong, its
    trajectory, and its suspect words and chance of being wrong."""

    pair_id: int
    image_path: str
    part: Part
    trajectory: Trajectory
    suspects: tuple[SuspectWord, ...]
    p_error: float | None


class Corrections(BatchStage):
    """For the pairs most likely to be wrong that have none yet. `suggested`: corrections so far."""

    name = "Preparing corrections"
    part = "suggestions_seconds"
    usual_cost = 1.5

    def __init__(self, scoring: Scoring) -> None:
        super().__init__(scoring)
        self.suggested = 0

    @cached_property
    def _classifier(self) -> Classifier | None:
        return classifier_in_use(self.scoring.store, self.scoring.dataset_id)

    @cached_property
    def _likely(self) -> list[PairRow]:
        return _likely_pairs(self.scoring.store, self.scoring.dataset_id)

    @cached_property
    def _proposer(self) -> str:
        """The name of attempts; it depends on captioner and classifier, whose proposals may
        differ."""
        captioner, classifier = self.scoring.engine.captioner, self._classifier
        name = str(captioner.name if captioner is not None else "")
        digest = blake2b(name.encode(), digest_size=8)
        digest.update(classifier.to_bytes() if classifier is not None else b"")
        return f"prepared {digest.hexdigest()}"

    @cached_property
    def _waiting(self) -> list[PairRow]:
        return [
            pair
            for part in chunks(self._likely, AT_ONCE)
            for pair in _waiting(self.scoring.store, self.scoring.this_run, part, self._proposer)
        ]

    def remaining(self) -> int:
        return len(self._waiting) if self.has_begun else corrections_expected(self.scoring)

    def total(self) -> int:
        return len(self._likely)

    def seconds(self, sample: Sample) -> float:
        return sample.correction_seconds(TOGETHER, judged_ahead(self.scoring.engine))

    def batches(self) -> Iterator[list[_SuspectPair]]:
        on_cpu = TOGETHER_IF_SMALL if self.scoring.engine.is_small else TOGETHER
        size = self.scoring.workers.batch_size(on_cpu)
        return _suspected_batches(
            self.scoring.store, self.scoring.this_run, self._waiting, self._classifier, size
        )

    def task(self) -> Task[_SuspectPair, dict[int, list[Suggestion]]]:
        return partial(
            _suggest_together,
            classifier=self._classifier,
            exploring=exploring_of(self.scoring.this_run),
            judged_count=judged_ahead(self.scoring.engine),
        )

    def save(self, batch: Sequence[_SuspectPair], result: dict[int, list[Suggestion]]) -> None:
        parts = {pair.pair_id: pair.part for pair in batch}
        self.suggested += _save(
            self.scoring.store, self.scoring.run_id, result, parts, self._proposer
        )


def likely_wrong_share(pairs: int) -> int:
    """How many of the pairs usually look wrong to a detector, where nothing is known yet."""
    return round(USUAL_SHARE * pairs)


def corrections_expected(scoring: Scoring) -> int:
    """Pairs that will usually get corrections."""
    count = scoring.store.read(pair_queries.count_unscored, scoring.dataset_id, scoring.run_id)
    return min(SUGGEST_AT_MOST, likely_wrong_share(count)) if scoring.suggestions else 0


def _waiting(store: Store, run: RunRow, pairs: Sequence[PairRow], proposer: str) -> list[PairRow]:
    """The pairs that have a trajectory and no suggestions yet, and for which `proposer` has not
    already failed to find any."""
    ids = [pair.id for pair in pairs]
    with store.reading() as session:
        outcomes = suggestion_queries.attempted_outcomes(session, ids, proposer, run.id)
        trajectories = trajectory_queries.trajectories_of(session, run.id, ids)
        return [
            pair for pair in pairs
            if pair.id in trajectories
            and pair.id not in outcomes
            and not suggestion_queries.list_suggestions(session, pair.id, run.id)
        ]  # fmt: skip


def _suspected_batches(
    store: Store,
    run: RunRow,
    pairs: Sequence[PairRow],
    classifier: Classifier | None,
    size: int,
) -> Iterator[list[_SuspectPair]]:
    """Batches of these pairs, `size` each."""
    for part in chunks(pairs, size):
        batch, captions = scored_pairs(store, run, [pair.id for pair in part])
        yield [
            _suspected_claim(pair, caption, classifier)
            for pair, caption in zip(batch, captions, strict=True)
        ]


def _suspected_claim(
    pair: PairRow, caption: ScoredCaption, classifier: Classifier | None, start: int | None = None
) -> _SuspectPair:
    """`start`: where the claim starts; None: the most suspicious one."""
    of_claim = next((each for each in caption.claims if each.claim.start == start), caption.leading)
    claim, trajectory = of_claim.claim, of_claim.trajectory
    p_error = pair.p_error if caption.is_single else of_claim.p_error
    return _SuspectPair(
        pair.id,
        pair.image_path,
        Part(pair.caption, claim),
        trajectory,
        suspects_by(classifier, trajectory, p_error),
        p_error,
    )


def _suggest_together(
    engine: Engine,
    batch: Sequence[_SuspectPair],
    pictures: Opened,
    classifier: Classifier | None,
    exploring: Exploring,
    judged_count: int | None,
) -> dict[int, list[Suggestion]]:
    """Suggestions by pair, of pairs whose picture can be read, as texts in place of the claim.
    `judged_count`: as in `judge.suggest_all`."""
    pairs = readable(batch, pictures)
    with engine.lock:
        states = engine.encode([image for _, image in pairs])
        contexts = {
            pair.pair_id: CorrectionContext(
                image,
                engine.scorer.of_pair(state, pair.pair_id),
                pair.trajectory,
                pair.suspects,
                pair.p_error,
                claim=pair.part.claim,
            )
            for (pair, image), state in zip(pairs, states, strict=True)
        }
        suggestions = _suggest(engine, contexts, classifier, exploring, judged_count)
    parts = {pair.pair_id: pair.part for pair, _ in pairs}
    return {
        pair_id: [suggestion for suggestion in each if parts[pair_id].takes(suggestion)]
        for pair_id, each in suggestions.items()
    }


def judged_ahead(engine: Engine) -> int:
    """How many corrections of a pair get their probability of error before it is opened."""
    return JUDGED_AHEAD_IF_SMALL if engine.is_small else JUDGED_AHEAD


def suggest_for(
    store: Store,
    engine: Engine,
    run: RunRow,
    pair_id: int,
    image: Image.Image,
    classifier: Classifier | None,
    start: int | None = None,
) -> int:
    """Compute and store the suggestions of one scored pair, for the claim that starts at `start`,
    by default the most suspicious one; returns how many."""
    (pair,), (caption,) = scored_pairs(store, run, [pair_id])
    suspect = _suspected_claim(pair, caption, classifier, start)
    pictures: Opened = {pair.image_path: image}
    suggestions = _suggest_together(
        engine, [suspect], pictures, classifier, exploring_of(run), None
    )
    return _save(store, run.id, suggestions, {pair_id: suspect.part})


def _suggest(
    engine: Engine,
    contexts: Mapping[int, CorrectionContext],
    classifier: Classifier | None,
    exploring: Exploring,
    judged_count: int | None,
) -> dict[int, list[Suggestion]]:
    if not contexts:
        return {}
    with engine.lock:
        suggestions = judge.suggest_all(
            engine.scorer,
            list(contexts.values()),
            engine.captioner,
            judging(classifier),
            suspects_of=doubting(classifier),
            exploring=steps_needed_by(classifier, exploring),
            classifier_captioner=classifier_captioner(engine, classifier),
            judged_count=judged_count,
        )
    memory.release()
    return dict(zip(contexts, suggestions, strict=True))


def _save(
    store: Store,
    run_id: int | None,
    suggestions_of: Mapping[int, Sequence[Suggestion]],
    parts: Mapping[int, Part],
    proposer: str = "",
) -> int:
    """Store the suggestions of each pair in place of its claim; returns how many. `proposer`: the
    name under which it is recorded that there is nothing to suggest; "": not recorded."""
    rows = [
        to_save(pair_id, suggestion, run_id, part=parts[pair_id])
        for pair_id, suggestions in suggestions_of.items()
        for suggestion in suggestions
    ]
    with store.writing() as session:
        suggestion_queries.save_suggestions(session, rows)
        if run_id is not None and proposer:
            for pair_id, suggestions in suggestions_of.items():
                if not suggestions:
                    suggestion_queries.save_attempt(
                        session, Attempt(pair_id, proposer, run_id, "no better")
                    )
    return len(rows)
