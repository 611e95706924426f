"""Stage of scoring: probability of error and suspect words of every pair, from its trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from sqlalchemy.orm import Session

from backend.engine.claims.scored_caption import ScoredCaption
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.cold_start import (
    COPIES_WANTED,
    FEWEST_PAIRS,
    TrainedDetector,
    captioner_of,
    cold_start,
)
from backend.engine.detection.judged_captions import (
    JudgedCaptions,
    judge_captions,
    judge_cross_fitted,
    with_chance,
)
from backend.engine.detection.localisation import VISIBLE
from backend.engine.detection.opinion_signs import with_deletions
from backend.engine.detection.types import SuspectWord, detector_for, reads_later_steps
from backend.engine.english.word_kinds import kind_of
from backend.engine.languages.identification import language_in
from backend.engine.statistics.agreement import rank_disagreement
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations_of
from backend.errors import SettingsError
from backend.jobs.notices import set_aside
from backend.jobs.scoring.classifiers import stored_classifier, suspects_by
from backend.jobs.scoring.noisy_copies import STAGE, TrajectoryCache
from backend.jobs.scoring.replace_ranking import rank_pairs, use_ranking
from backend.jobs.scoring.stage import Sample, Scoring, Stage
from backend.jobs.scoring.stored_rows import (
    AT_ONCE,
    exploring_of,
    scored_batches,
    scored_pairs,
    to_row,
)
from backend.jobs.scoring.workers import Workers
from backend.progress import LastReport, Progress
from backend.store import Store
from db.queries import (
    claim_queries,
    classifier_queries,
    detection_queries,
    signal_queries,
    trajectory_queries,
)
from db.queries.classifier_queries import ClassifierRow
from db.queries.dataset_queries import DatasetRow
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow
from db.queries.statements import chunks, lock_dataset, lock_pairs
from db.queries.trajectory_queries import TrajectoryRow

#: What a classifier was trained on: noise injected into captions; verdicts, with that as prior.
INJECTED, VERDICTS = "injected", "verdicts"
#: Maximum number of pairs that a cold start trains on: more would cost time and gain little.
COLD_START_PAIRS = 2000
#: Seconds a pair of training the first detector: two processor cores take 8 s for 2,000 pairs and
#: 6 s for 300.
USUAL_TRAINING = 0.01
#: Pairs whose suspect words are recomputed in one transaction, while curators give verdicts.
_RENEWED_AT_ONCE = 100


@dataclass(frozen=True)
class DetectedPair:
    """A pair's probability of error, those of its claims by where they start, none for a caption
    that is one claim, and its suspect words in characters of the caption."""

    p_error: float
    of_claims: dict[int, float]
    suspects: tuple[tuple[int, int, float], ...]


def copies_of(pairs: int) -> int:
    """Number of noisy copies that a cold start scores for this many pairs; see `make_copies`.

    >>> copies_of(100), copies_of(785), copies_of(1_000_000), copies_of(3)
    (300, 785, 2000, 0)
    """
    sample_size = min(pairs, COLD_START_PAIRS)
    if sample_size < FEWEST_PAIRS:
        return 0
    return sample_size * max(1, min(3, round(COPIES_WANTED / sample_size)))


class Copies(Stage):
    """Detection: noisy copies are scored, a first detector is trained on them, and every pair gets
    its probability of error. A unit is a copy. `report`: of the classifier in use."""

    name = "Learning from planted errors"
    part = "copies_seconds"

    def __init__(self, scoring: Scoring) -> None:
        super().__init__(scoring)
        self.report: dict[str, object] = {}

    def remaining(self) -> int:
        claims = round(self.scoring.total * self.scoring.claims_each)
        return 0 if self._has_detector() else copies_of(claims)

    def _has_detector(self) -> bool:
        active = self.scoring.store.read(classifier_queries.active, self.scoring.dataset_id)
        return active is not None and active.report.get("run") == self.scoring.run_id

    def seconds(self, sample: Sample) -> float:
        whole = self.scoring.depth.is_whole
        detector = detector_for(self.scoring.engine.settings.detector, whole)
        reads_whole = whole and reads_later_steps(detector)
        seconds = sample.trajectories(reads_whole).seconds + sample.captioner_seconds
        return seconds / sample.claims_each  # a copy is of one claim

    def undivided_seconds(self) -> float:
        """The training, which asks for the copies."""
        pairs = min(self.scoring.total, COLD_START_PAIRS)
        return 0.0 if self._has_detector() else USUAL_TRAINING * pairs

    def do(self, progress: Progress) -> None:
        scoring = self.scoring
        copies = LastReport(lambda done, total, _: progress(done, total, self.name))

        def report(done: int, total: int, message: str) -> None:
            """The stage is as far as its copies: what is done with them is not counted."""
            if message == STAGE:
                copies(done, total, message)
            else:
                copies.repeat()

        self.report = detect(scoring.store, scoring.workers, scoring.this_run, report, scoring.anew)


def check_detector(store: Store, dataset: DatasetRow) -> None:
    """Raise SettingsError if the classifier in use has learnt from verdicts: scoring does not
    replace such a one."""
    active = store.read(classifier_queries.active, dataset.id)
    if active is not None and active.basis != INJECTED:
        raise SettingsError(
            f"'{dataset.name}' is ranked by '{active.name}', which has learnt from verdicts.",
            terminal=f"To train another detector on them, run: train '{dataset.name}' --detector "
            "NAME --adopt. To score new pairs with the classifier in use, leave out --detector.",
        )


def detect(
    store: Store, workers: Workers, run: RunRow, progress: Progress, anew: bool = False
) -> dict[str, object]:
    """Compute the missing probabilities of error and suspect words; returns the classifier's
    report.

    A dataset without a classifier gets one by cold start. Pairs added later are judged by the
    classifier in use: one that a curator has adopted is never replaced unasked. `anew`: a cold
    start with another detector than that of the settings is repeated, from the scores in the store.
    """
    dataset_id, detector = run.dataset_id or 0, workers.engine.settings.detector
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        sample = sample_to_learn(session, run.id, dataset_id)
        is_all_judged = active is not None and trajectory_queries.is_all_judged(session, run.id)
        lacks_steps = trajectory_queries.count_first_steps(session, run.id) > 0
    if not sample:
        return {}
    fits = True
    if active is not None and active.basis == INJECTED and lacks_steps:
        fits = not stored_classifier(store, active.id).needs_steps
    if anew and active is not None and active.report.get("requested", "best") != detector:
        fits = False
    if active is not None and fits and (is_all_judged or active.report.get("run") == run.id):
        report = dict(active.report)
    else:
        training = start_cold(store, workers, run, sample, progress)
        pairs, result, judgements = training.pairs, training.detector, training.judged
        report = result.report
        detections = _detections(store, pairs, training.captions, judgements, result.classifier)

        # In the transaction of the switch: the training pairs get cross-fitted probabilities, which
        # could not be recovered if the program were killed in between.
        def activate(session: Session) -> None:
            row = add_cold_start(session, dataset_id, result)
            classifier_queries.activate(session, row.id)
            judge(session, run, row.id, pairs, training.captions, detections)

        ids, p_errors = np.array([pair.id for pair in pairs], np.int64), judgements.p_error
        if active is not None:  # its ranking stays in use until all pairs have a new probability
            every = rank_pairs(store, run, result.classifier)
            every.after[np.searchsorted(every.ids, ids)] = p_errors
            ids, p_errors = every.ids, every.after
        use_ranking(store, dataset_id, ids, p_errors, activate)
    judge_rest(store, run)
    return report


def sample_to_learn(session: Session, run_id: int, dataset_id: int) -> list[int]:
    """The pairs that a detector learns from before there are verdicts: none that are set aside
    (`notices`), as long as others are enough."""
    for without in (set_aside(session, dataset_id), ()):
        sample = trajectory_queries.draw_scored(
            session, run_id, dataset_id, COLD_START_PAIRS, without
        )
        if len(sample) >= FEWEST_PAIRS:
            break
    return sample


@dataclass(frozen=True)
class ColdStart:
    """The pairs that a detector was trained on, their captions, the detector, and its cross-fitted
    probabilities."""

    pairs: list[PairRow]
    captions: list[ScoredCaption]
    detector: TrainedDetector
    judged: JudgedCaptions


def start_cold(
    store: Store, workers: Workers, run: RunRow, drawn_ids: Sequence[int], progress: Progress
) -> ColdStart:
    """Train the detector of the settings on noise injected into the claims of these pairs that say
    something; stores nothing but the copies' trajectories."""
    progress(0, 0, "Training the detector on injected noise")
    detector = workers.engine.settings.detector
    with store.reading() as session:
        lacks_steps = trajectory_queries.count_first_steps(session, run.id) > 0
    pairs, captions = scored_pairs(store, run, drawn_ids)
    rows: list[list[int]] = []
    keys: list[tuple[int, str]] = []
    trajectories: list[Trajectory] = []
    for pair, caption in zip(pairs, captions, strict=True):
        rows.append(list(range(len(keys), len(keys) + len(caption.deciding))))
        keys += [(pair.id, pair.image_path)] * len(caption.deciding)
        trajectories += [caption.claims[i].trajectory for i in caption.deciding]
    trajectories = with_expectations_of(trajectories, captioner_of(trajectories))
    whole = reads_later_steps(detector) and not lacks_steps
    exploring = replace(exploring_of(run), whole=whole)
    cache = TrajectoryCache(store, run.id, workers, keys, exploring, progress)
    result = cold_start(
        [trajectory.caption.text for trajectory in trajectories],
        trajectories,
        cache.score,
        groups=[image for _, image in keys],
        maximum_pairs=COLD_START_PAIRS,
        progress=progress,
        detector=detector,
        whole=whole,
    )
    result = replace(result, classifier=with_chance(result, rows))
    judgements = judge_cross_fitted(result, captions)
    report = {
        **result.report,
        "estimated_share_wrong": round(float(judgements.p_error.mean()), 3),
        "requested": detector, "run": run.id, "verdicts": 0,
    }  # fmt: skip
    return ColdStart(pairs, captions, replace(result, report=report), judgements)


def add_cold_start(session: Session, dataset_id: int, result: TrainedDetector) -> ClassifierRow:
    """Store the detector of a cold start; it is not in use yet."""
    return classifier_queries.add_classifier(
        session,
        dataset_id,
        name="Cold start",
        kind=result.classifier.kind,
        basis=INJECTED,
        payload=result.classifier.to_bytes(),
        report=result.report,
    )


def judge_rest(store: Store, run: RunRow) -> None:
    """Apply the classifier in use to all trajectories of this run that it has not judged yet.

    If another classifier is adopted meanwhile, it judges all of them from the start, so that no
    page ever shows one classifier's name with another's numbers. Does nothing if the classifier in
    use belongs to another run. One that needs whole trajectories judges only those.
    """
    dataset_id = run.dataset_id or 0
    current: tuple[int, Classifier] | None = None
    after = 0
    while True:
        with store.reading() as session:
            active = classifier_queries.active(session, dataset_id)
            if active is None or active.report.get("run") != run.id:
                return
            if current is None or current[0] != active.id:
                payload = classifier_queries.get_payload(session, active.id)
                current, after = (active.id, Classifier.from_bytes(payload)), 0
            waiting = detection_queries.unjudged_pairs(
                session, run.id, active.id, after, AT_ONCE, current[1].needs_steps
            )
        if not waiting:
            return
        pairs, captions = scored_pairs(store, run, waiting)
        judgements = judge_captions(current[1], captions)
        detections = _detections(store, pairs, captions, judgements, current[1])
        with store.writing() as session:
            lock_dataset(session, dataset_id)  # no other can be adopted meanwhile
            still = classifier_queries.active(session, dataset_id)
            if still is not None and still.id == current[0]:
                judge(session, run, current[0], pairs, captions, detections)
        after = waiting[-1]


def measure_disagreement(store: Store, dataset_id: int) -> None:
    """Store how much the dataset's scorers disagree about each pair, and the scorer in use and a
    second model about those that it was asked about; no-op for a single scorer."""
    with store.reading() as session:
        runs = signal_queries.scoring_runs(session, dataset_id)
        scores = [
            signal_queries.first_scores(session, run) for run in (runs if len(runs) > 1 else ())
        ]
        ids, s_0, signs = signal_queries.signs(session, dataset_id)
    # Two numbers per pair and scorer: even for many millions of pairs, all fit into memory.
    common = reduce(np.intersect1d, (ids for ids, _ in scores)) if scores else ids[:0]
    by_pair: dict[int, float] = {}
    if len(common):
        ranks = [values[np.searchsorted(ids, common)] for ids, values in scores]
        by_pair = dict(zip(common.tolist(), rank_disagreement(ranks).tolist(), strict=True))
    if len(ids):
        between = rank_disagreement([s_0, signs])
        for pair_id, value in zip(ids.tolist(), between.tolist(), strict=True):
            by_pair[pair_id] = max(value, by_pair.get(pair_id, 0.0))
    for part in chunks(sorted(by_pair), 5000):
        store.write(signal_queries.save_disagreement, {pair: by_pair[pair] for pair in part})


def judge(
    session: Session,
    run: RunRow,
    classifier_id: int,
    pairs: Sequence[PairRow],
    captions: Sequence[ScoredCaption],
    detections: Sequence[DetectedPair],
) -> None:
    """Store probabilities and suspect words; also the scores where those of another run were
    shown."""
    lock_pairs(session, [pair.id for pair in pairs])
    rows: list[TrajectoryRow] = []
    for pair, caption in zip(pairs, captions, strict=True):
        of_pair = [
            to_row(pair.id, scored_claim.trajectory, scored_claim.claim)
            for scored_claim in caption.claims
        ]
        if (pair.s_0, pair.gain) != trajectory_queries.numbers_of(of_pair):
            rows += of_pair
    trajectory_queries.save_trajectories(session, run.id, rows)
    detection_queries.save_detections(
        session,
        [
            DetectionRow(pair.id, each.p_error, each.suspects, run.id, classifier_id)
            for pair, each in zip(pairs, detections, strict=True)
        ],
    )
    _save_claims_and_words(session, pairs, detections)


def _save_claims_and_words(
    session: Session, pairs: Sequence[PairRow], detections: Sequence[DetectedPair]
) -> None:
    """Store the probabilities of the claims of captions that have several, and the most suspect
    word of each caption."""
    claim_queries.save_numbers(
        session,
        {
            (pair.id, start): {"p_error": p_error}
            for pair, each in zip(pairs, detections, strict=True)
            for start, p_error in each.of_claims.items()
        },
    )
    signal_queries.save_suspect_words(
        session,
        {
            pair.id: _most_suspect(pair.caption, each.suspects)
            for pair, each in zip(pairs, detections, strict=True)
        },
    )


def renew_suspects(
    store: Store, run: RunRow, classifier_id: int, among: Sequence[int] | None = None
) -> None:
    """Recompute the suspect words and the chances of claims of all pairs, or of those `among`
    these, with this classifier's own weights, from the probabilities in use, which are its own;
    those of an earlier classifier are replaced. Stops if another one is adopted meanwhile.
    Idempotent, so it can be repeated after a kill."""
    classifier = stored_classifier(store, classifier_id)
    batches = scored_batches(store, run) if among is None else [scored_pairs(store, run, among)]
    for batch, batch_captions in batches:
        in_use = [i for i, pair in enumerate(batch) if pair.p_error is not None]
        pairs, captions = [batch[i] for i in in_use], [batch_captions[i] for i in in_use]
        p_errors = np.array([pair.p_error for pair in pairs], np.float64)
        judgements = replace(judge_captions(classifier, captions), p_error=p_errors)
        detections = _detections(store, pairs, captions, judgements, classifier)
        for part in chunks(list(zip(pairs, detections, strict=True)), _RENEWED_AT_ONCE):
            if not _renew(store, run, classifier_id, part):
                return


def _renew(
    store: Store, run: RunRow, classifier_id: int, batch: Sequence[tuple[PairRow, DetectedPair]]
) -> bool:
    """Store these detections if their classifier is still in use; returns whether it is. Pairs
    judged under another run keep that run: its scoring has nothing left to do for them."""
    dataset_id, ids = run.dataset_id or 0, [pair.id for pair, _ in batch]
    with store.writing() as session:
        lock_dataset(session, dataset_id)
        active = classifier_queries.active(session, dataset_id)
        if active is None or active.id != classifier_id:
            return False
        lock_pairs(session, ids)
        earlier = detection_queries.detections_of(session, ids)
        rows = []
        for pair, each in batch:
            run_id = earlier[pair.id].run_id if pair.id in earlier else run.id
            rows.append(DetectionRow(pair.id, each.p_error, each.suspects, run_id, classifier_id))
        detection_queries.save_suspects(session, rows)
        _save_claims_and_words(session, [pair for pair, _ in batch], [each for _, each in batch])
    return True


def _detections(
    store: Store,
    pairs: Sequence[PairRow],
    captions: Sequence[ScoredCaption],
    judgements: JudgedCaptions,
    classifier: Classifier,
) -> list[DetectedPair]:
    """What is stored of each pair. Suspect words take longer to compute than to write: call it
    before a transaction begins."""
    with_opinion = [pair.id for pair in pairs if pair.numbers["second_opinion"] is not None]
    with store.reading() as session:
        opinions = signal_queries.latest_opinions(session, with_opinion) if with_opinion else {}
    detections: list[DetectedPair] = []
    for pair, caption, p_error, of_claims in zip(
        pairs, captions, judgements.p_error.tolist(), judgements.of_claims, strict=True
    ):
        words = suspects_in(classifier, pair.caption, caption, p_error, of_claims.tolist())
        if (opinion := opinions.get(pair.id)) is not None:
            words = list(with_deletions(words, opinion.p_yes, opinion.deletions))
        suspects = tuple((word.start, word.end, word.score) for word in words)
        chances = dict(
            zip((c.claim.start for c in caption.claims), of_claims.tolist(), strict=True)
        )
        detections.append(DetectedPair(p_error, {} if caption.is_single else chances, suspects))
    return detections


def suspects_in(
    classifier: Classifier | None,
    text: str,
    caption: ScoredCaption,
    p_error: float | None,
    of_claims: Sequence[float | None],
) -> list[SuspectWord]:
    """The suspect words of the claims that decide, in characters of the caption `text`.
    `of_claims`: the chance of each claim."""
    words: list[SuspectWord] = []
    for index in caption.deciding:
        scored_claim = caption.claims[index]
        p_claim = p_error if caption.is_single else of_claims[index]
        for word in suspects_by(classifier, scored_claim.trajectory, p_claim):
            start, end = scored_claim.claim.in_caption(text, word.start, word.end)
            words.append(replace(word, start=start, end=end))
    return words


def _most_suspect(
    caption: str, suspects: Sequence[tuple[int, int, float]]
) -> tuple[str | None, str | None]:
    """The most suspect word of a caption, in lower case, and its kind; (None, None) if none is."""
    start, end, score = max(suspects, key=lambda span: span[2], default=(0, 0, 0.0))
    if score < VISIBLE:
        return None, None
    word = caption[start:end].lower()
    return word, kind_of(word, language_in(caption))
