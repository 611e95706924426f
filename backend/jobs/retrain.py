"""Learn from verdicts, compare with the detector in use, and let the curator decide.

A newly trained classifier is a *candidate*: stored, with its metrics next to those of the one in
use, and not used until a curator adopts it. Earlier ones are kept and can be adopted again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.engine.captions import replaced_spans
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.cold_start import captioner_of
from backend.engine.detection.judged_captions import judge_captions
from backend.engine.detection.paying_signs import CAPTIONER, OPINION
from backend.engine.detection.verdict_learning import (
    FEWEST_VERDICTS,
    InUse,
    JudgedPairs,
    LearntClassifier,
    check_verdicts,
    learn,
)
from backend.engine.detection.word_weights import LearntWords, MarkedWords, learn_word_weights
from backend.errors import NotScored, TrainingError, missing_packages
from backend.jobs.scoring.classifiers import stored_classifier
from backend.jobs.scoring.dataset_models import scored_by_this_model
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.detect import (
    INJECTED,
    VERDICTS,
    add_cold_start,
    judge_rest,
    renew_suspects,
    sample_to_learn,
    start_cold,
)
from backend.jobs.scoring.replace_ranking import rank_pairs, use_ranking
from backend.jobs.scoring.stored_rows import scored_pairs
from backend.jobs.scoring.workers import Workers
from backend.jobs.scoring_reports import TrainReport
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.authors import is_rule
from db.column_types import now
from db.decisions import AT_RANDOM, RIGHT_OR_WRONG, is_wrong
from db.queries import (
    claim_labels,
    classifier_queries,
    dataset_queries,
    pair_queries,
    run_queries,
    trajectory_queries,
    word_mark_queries,
)
from db.queries.classifier_queries import ClassifierRow
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow
from db.queries.statements import lock_dataset

#: Labels from verdicts: 1 wrong, 0 right. *Abstract* captions describe no image, so they are
#: neither; *unsure* gives no label.
LABELS: dict[str, int] = {decision: int(is_wrong(decision)) for decision in RIGHT_OR_WRONG}

#: Status of the suspect words in the report of an adopted classifier.
RENEWING, RENEWED = "being renewed", "renewed"
#: Entries of a classifier's report that are not about what it has learnt.
_NOT_INHERITED = ("suspects", "declined")
#: In a report: verdicts up to this moment have taught the classifier its order.
_ORDER_UNTIL = "order_until"
#: Pairs whose captioner is looked up.
_LOOKED_AT = 100
#: Pairs at the head of the queue whose change is reported.
TOP = 100


def verdicts_missing(store: Store, dataset_id: int) -> int:
    """How many more verdicts `train_candidate` takes."""
    with store.reading() as session:
        decided_ids = pair_queries.decided_pairs(session, dataset_id, list(LABELS))
        claims = claim_labels.claim_labels(session, dataset_id)
    return max(0, FEWEST_VERDICTS - _count_verdicts(decided_ids, claims))


def _count_verdicts(decided_ids: Sequence[int], claims: Mapping[tuple[int, int], bool]) -> int:
    return len(decided_ids) + sum(claims.values())


def train_candidate(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    seed: int = 0,
    without: Sequence[str] = (),
) -> TrainReport:
    """Learn from all verdicts of people, on captions and on claims, that say right or wrong.

    `without`: signs that are ignored (`paying_signs.OPTIONAL`). `seed`: of the folds of the
    comparison; the same pairs, verdicts and seed give the same classifier. Raises NotScored if the
    dataset is not scored with this session's model, and TrainingError if there are too few
    verdicts; the message says what is missing.
    """
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    run = scored_by_this_model(store, engine, dataset)
    with store.reading() as session:
        sample = sample_to_learn(session, run.id, dataset_id)
        decided_ids = pair_queries.decided_pairs(session, dataset_id, list(LABELS))
        claims = claim_labels.claim_labels(session, dataset_id)
    check_verdicts(_count_verdicts(decided_ids, claims))
    prior = _prior(store, engine, Path(dataset.root), run, sample, progress)
    if CAPTIONER in without:
        prior = replace(prior, classifier=prior.classifier.without_captioner())
    progress(0, 0, "Learning from verdicts")
    at = now()
    ids = sorted({*sample, *decided_ids, *(pair_id for pair_id, _ in claims)})
    pairs, in_use = _judged_pairs(store, run, prior, ids, set(sample), claims)
    if OPINION in without:
        pairs = replace(pairs, opinions=np.zeros_like(pairs.opinions))
    learnt = learn(prior.classifier, in_use, pairs, seed)
    marked_words, at_random = _marked_words(store, run, prior.classifier, decided_ids)
    if missing_packages():  # the weights of words are learnt by SciPy
        words = LearntWords(prior.classifier.words, len(marked_words), is_refused=True)
    else:
        words = learn_word_weights(prior.classifier.words, marked_words, at_random)
    learnt = replace(learnt, classifier=replace(learnt.classifier, words=words.weights))
    if OPINION in without:
        learnt = replace(learnt, classifier=replace(learnt.classifier, opinion_weight=0.0))
    is_order = learnt.report["learnt"] == "order"
    base_report = prior.report if is_order else prior.active.report
    verdicts = int(pairs.is_judged.sum())
    report = {
        **{name: value for name, value in base_report.items() if name not in _NOT_INHERITED},
        **learnt.report,
        **words.report(),
        **_order_change(store, run, learnt),
        "backbone": {**base_report.get("backbone", {}), "exact": False},
        "run": run.id, "verdicts": verdicts, "seed": seed, "without": list(without),
    }  # fmt: skip
    if is_order:
        report[_ORDER_UNTIL] = at.isoformat()
    with store.writing() as session:
        lock_dataset(session, dataset_id)  # so that no two get the same number
        number = len(classifier_queries.list_classifiers(session, dataset_id))
        row = classifier_queries.add_classifier(
            session,
            dataset_id,
            name=f"Retrained {number}",
            kind=learnt.classifier.kind,
            basis=VERDICTS,
            payload=learnt.classifier.to_bytes(),
            report=report,
        )
    return TrainReport(dataset_id, row.id, row.name, verdicts, report)


@dataclass(frozen=True)
class _Prior:
    """The classifier that verdicts update, its report, and the one that stays if they teach no
    order: in use, or named by the settings (`active`, `in_use`)."""

    classifier: Classifier
    report: dict[str, Any]
    active: ClassifierRow
    in_use: Classifier

    @property
    def order_until(self) -> datetime | None:
        """Verdicts up to this moment have taught the classifier in use its order, as an update of
        this very prior; None: it does not come from verdicts."""
        until = self.active.report.get(_ORDER_UNTIL)
        is_same = self.in_use.model.to_json() == self.classifier.model.to_json()
        return datetime.fromisoformat(until) if until and is_same else None


def _prior(
    store: Store, engine: Engine, root: Path, run: RunRow, drawn_ids: list[int], progress: Progress
) -> _Prior:
    """The cold start behind the classifier in use; another one, trained now if need be, if the
    settings name another detector, if it is another scoring's or another captioner's, or if it
    needs steps of trajectories that are not known."""
    dataset_id, detector = run.dataset_id or 0, engine.settings.detector
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        every = classifier_queries.list_classifiers(session, dataset_id)
        lacks_steps = trajectory_queries.count_first_steps(session, run.id) > 0
    if active is None:
        raise NotScored("This dataset is not ranked yet. Score it first.")
    _, captions = scored_pairs(store, run, drawn_ids[:_LOOKED_AT])
    captioner = captioner_of([c.trajectory for caption in captions for c in caption.claims])
    in_use = _readable(store, active.id)

    def fits(row: ClassifierRow, classifier: Classifier) -> bool:
        return (
            detector in ("best", row.report.get("requested", "best"), row.kind)
            and row.report.get("run") == run.id
            and captioner in ("", classifier.captioner)
            and not (classifier.needs_steps and lacks_steps)
        )

    for row in (active, *(row for row in every if row.basis == INJECTED)):
        classifier = _readable(store, row.id)
        if classifier is not None and fits(row, classifier):
            prior, report = replace(classifier, update=None), dict(row.report)
            break
    else:
        prepare_scorer(store, engine, dataset_id, progress)
        cold_start = start_cold(store, Workers(engine, root), run, drawn_ids, progress).detector
        store.write(add_cold_start, dataset_id, cold_start)
        prior, report = cold_start.classifier, cold_start.report
    if in_use is None:
        in_use, active = prior, replace(active, report=report)
    if detector != "best":  # it takes the place of the one in use whatever verdicts say
        is_same = prior.model.to_json() == in_use.model.to_json()
        in_use = in_use if is_same else prior
        active = active if is_same else replace(active, report=report)
    # What verdicts teach must not depend on steps that are known of some pairs only.
    prior = replace(prior, first_step=prior.first_step or not prior.needs_steps)
    return _Prior(prior, report, active, in_use)


def _readable(store: Store, classifier_id: int) -> Classifier | None:
    """A stored classifier; None for one of a kind that this version no longer has."""
    try:
        return stored_classifier(store, classifier_id)
    except TrainingError:
        return None


def _judged_pairs(
    store: Store,
    run: RunRow,
    prior: _Prior,
    ids: list[int],
    drawn_ids: set[int],
    claims: Mapping[tuple[int, int], bool],
) -> tuple[JudgedPairs, InUse]:
    """What is learnt from. Pairs decided by a rule are left out: a detector must not learn from
    decisions based on its own output, and these pairs are not open either.

    `claims`: whether claims are right, by pair and start. A claim that is right is learnt from like
    a pair; one that is wrong is what makes its caption wrong.
    """
    pairs, captions = [], []
    for pair, caption in zip(*scored_pairs(store, run, ids), strict=True):
        if not is_rule(pair.decided_by):
            pairs.append(pair)
            captions.append(caption)
    by_prior = judge_captions(replace(prior.classifier, opinion_weight=0.0), captions)
    in_use = judge_captions(replace(prior.in_use, opinion_weight=0.0), captions)
    until = prior.order_until
    rows: list[_Row] = []
    for row, (pair, caption) in enumerate(zip(pairs, captions, strict=True)):
        is_seen = until is not None and pair.decided_at is not None and pair.decided_at <= until
        features = by_prior.features[row]
        for index, scored_claim in enumerate(caption.claims):
            is_right = claims.get((pair.id, scored_claim.claim.start))
            if is_right is False:
                features = by_prior.claim_features[row][index]
            elif is_right:
                rows.append(
                    _Row(pair, by_prior.claim_features[row][index], by_prior.of_claims[row][index],
                         in_use.of_claims[row][index], 0, is_seen)
                )  # fmt: skip
        label = LABELS.get(pair.judgement or "", -1)
        rows.append(
            _Row(pair, features, by_prior.p_error[row], in_use.p_error[row], label, is_seen,
                 pair.sampling == AT_RANDOM, pair.id in drawn_ids, caption.second_opinion)
        )  # fmt: skip
    labels = np.array([row.label for row in rows])
    check_verdicts(int((labels >= 0).sum()))
    judged_pairs = JudgedPairs(
        np.array([row.features for row in rows]),
        np.array([row.p_prior for row in rows]),
        labels,
        np.array([row.at_random for row in rows]),
        [row.pair.image_path for row in rows],
        np.array([row.opinion for row in rows]),
        np.array([row.is_sampled for row in rows]),
    )
    p_in_use = np.array([row.p_in_use for row in rows])
    return judged_pairs, InUse(prior.in_use, p_in_use, np.array([row.is_seen for row in rows]))


@dataclass(frozen=True)
class _Row:
    """A pair, or one of its claims, as `JudgedPairs` and `InUse` have it."""

    pair: PairRow
    features: NDArray[np.float64]
    p_prior: float
    p_in_use: float
    label: int
    is_seen: bool
    at_random: bool = False
    is_sampled: bool = False
    opinion: float = 0.0


def _marked_words(
    store: Store, run: RunRow, classifier: Classifier, decided_ids: Sequence[int]
) -> tuple[list[MarkedWords], list[bool]]:
    """The words that make captions wrong, as people say, and whether each caption was drawn at
    random: the words that they marked, or those that their correction replaces, unless it replaces
    most of them."""
    marks = store.read(word_mark_queries.marked_words, run.dataset_id or 0)
    marked_words: list[MarkedWords] = []
    at_random: list[bool] = []
    for pair, caption in zip(*scored_pairs(store, run, sorted(decided_ids)), strict=True):
        if is_rule(pair.decided_by) or LABELS.get(pair.judgement or "") != 1:
            continue
        spans = marks.get(pair.id) or replaced_spans(pair.caption, pair.corrected_caption or "")
        for scored_claim in caption.claims:
            places = (scored_claim.claim.in_question(pair.caption, *span) for span in spans)
            trajectory = scored_claim.trajectory
            if classifier.first_step:
                trajectory = trajectory.first_step()
            words = MarkedWords.of(trajectory, [place for place in places if place is not None])
            if words is not None:
                marked_words.append(words)
                at_random.append(pair.sampling == AT_RANDOM)
    return marked_words, at_random


def _order_change(store: Store, run: RunRow, learnt: LearntClassifier) -> dict[str, Any]:
    """How the order of all pairs would change; {} if some are not ranked yet."""
    every = rank_pairs(store, run, learnt.classifier)
    before, after = every.before, every.after
    if not len(before) or np.isnan(before).any() or np.isnan(after).any():
        return {}
    old, new = (set(np.argsort(-p, kind="stable")[:TOP].tolist()) for p in (before, after))
    change: dict[str, Any] = {"new_in_first_places": len(new - old)}
    if len(before) > 2 and np.ptp(before) > 0 and np.ptp(after) > 0:
        ranks = [np.argsort(np.argsort(p, kind="stable")) for p in (before, after)]
        change["rank_correlation"] = round(float(np.corrcoef(np.stack(ranks))[0, 1]), 4)
    return change


def adopt(store: Store, classifier_id: int, progress: Progress = no_progress) -> int:
    """Use this classifier from now on, and recompute the probabilities of all scored pairs, then
    their suspect words.

    The probabilities are written next to those in use and come into use with the classifier's name
    (`replace_ranking`): no page ever shows the name of one with the numbers of another, and no
    verdict waits. Pairs scored in the meantime follow. If another classifier is adopted before
    this one is in use, that one is used, as if it had been adopted afterwards. Raises
    TrainingError for a classifier that needs whole trajectories if only the first step of some is
    known.
    """
    row = store.read(classifier_queries.get_classifier, classifier_id)
    classifier = stored_classifier(store, classifier_id)
    if row.active:
        # Its probabilities exist already; for its training pairs they come from cross-fitting, and
        # recomputing them would use a classifier that has seen these pairs.
        if row.report.get("suspects") == RENEWING:  # a kill left stale ones
            run = store.read(run_queries.get_run, int(row.report["run"]))
            _follow(store, run, classifier_id)
        return 0
    run = store.read(run_queries.get_run, int(row.report["run"]))
    with store.reading() as session:
        if classifier.needs_steps and trajectory_queries.count_first_steps(session, run.id):
            raise TrainingError(
                f"'{row.name}' needs whole trajectories, and only the first step of some is known. "
                "Compute the whole trajectories of all pairs first, or train a new classifier."
            )
    result = rank_pairs(store, run, classifier)

    def activate(session: Session) -> None:
        classifier_queries.activate(session, classifier_id)
        classifier_queries.amend_report(session, classifier_id, suspects=RENEWING)

    if use_ranking(store, row.dataset_id, result.ids, result.after, activate, progress):
        _follow(store, run, classifier_id)
    progress(len(result.ids), len(result.ids), "Ranked")
    return len(result.ids)


def _follow(store: Store, run: RunRow, classifier_id: int) -> None:
    """Update what depends on the classifier in use: suspect words, and the pairs that were scored
    while it was adopted."""
    renew_suspects(store, run, classifier_id)
    newest = store.read(run_queries.latest_run, run.dataset_id or 0, "score")
    if newest is None or newest.id == run.id:
        judge_rest(store, run)
    store.write(classifier_queries.amend_report, classifier_id, suspects=RENEWED)
