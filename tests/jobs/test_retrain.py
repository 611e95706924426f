"""The training data of a retraining."""

import json
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from backend.engine.detection import verdict_learning
from backend.engine.detection.localisation import WordWeights
from backend.engine.detection.word_weights import LearntWords, MarkedWords
from backend.errors import SettingsError, TrainingError
from backend.jobs import retrain
from backend.jobs.export_choice import ExportChoice
from backend.jobs.scoring.classifiers import classifier_in_use, stored_classifier
from backend.workspace import Workspace
from db.authors import queue_author
from db.models import Classifier as ClassifierRecord
from db.queries import classifier_queries, suggestion_queries
from db.queries.suggestion_queries import NewSuggestion
from tests.cli.invoking import as_json, invoked
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import score_copies, workspace
from tests.jobs.opening import CLIP, OpenWorkspace, pairs_of

__all__ = ["workspace"]


def judge(workspace: Workspace, count: int, every: int = 3, **more: Any) -> None:
    """Drop every so many of the first pairs, and call the others correct."""
    for number, pair in enumerate(pairs_of(workspace)[:count]):
        workspace.review.decide(pair.id, 0, "correct" if number % every else "drop", **more)


def test_an_enriched_caption_is_a_correct_one_in_training(workspace: Workspace) -> None:
    accepted = ["boost"] * 3 + ["correction"] * 2
    pairs = pairs_of(workspace)
    with workspace.store.writing() as session:
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pair.id, kind, f"a {kind}", 0.1, 0.2, kind=kind)
                for pair, kind in zip(pairs, accepted, strict=False)
            ],
        )
    for pair, kind in zip(pairs, accepted, strict=False):
        (suggestion,) = workspace.review.suggestions(pair.id, kind)
        workspace.review.decide(pair.id, 0, "correction", suggestion_id=suggestion.id)
    for pair, decision in zip(pairs[5:], ("correct", "drop", "abstract", "unsure"), strict=False):
        workspace.review.decide(pair.id, 0, decision)
    report = workspace.jobs.run("train", 1).report
    assert (report["verdicts_right"], report["verdicts_wrong"]) == (3 + 1, 2 + 1)


def test_verdicts_update_the_cold_start_and_the_next_training_starts_from_it_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No caption is scored for it, and what two trainings share is not learnt twice."""
    refuse = pytest.fail
    monkeypatch.setattr(retrain, "start_cold", lambda *_: refuse("the cold start is known"))
    cold = classifier_in_use(workspace.store, 1)
    assert cold is not None
    pairs = [pair.id for pair in pairs_of(workspace)]
    for number, pair in enumerate(pairs[:14]):
        decision = "correct" if number % 3 else "drop"
        workspace.review.decide(pair, 0, decision, sampling="random" if number % 2 else "queue")
    first = workspace.jobs.run("train", 1)
    assert first.report["verdicts_at_random"] == 7
    assert not first.report["level_is_known"]
    workspace.jobs.adopt(first.classifier_id)
    again = workspace.jobs.run("train", 1)
    if again.report["learnt"] == first.report["learnt"] == "order":
        payloads = [
            workspace.store.read(classifier_queries.get_payload, report.classifier_id)
            for report in (first, again)
        ]
        assert payloads[0] == payloads[1]
    learnt = classifier_in_use(workspace.store, 1)
    assert learnt is not None
    assert learnt.update is not None
    assert learnt.model.to_json() == cold.model.to_json()
    workspace.review.decide(pairs[14], 0, "correct", sampling="filter")
    with pytest.raises(SettingsError, match="no way"):
        workspace.review.decide(pairs[15], 0, "correct", sampling="chance")


def test_marked_words_and_corrections_teach_which_words_are_suspect(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = pairs_of(workspace)
    marked, corrected, rewritten, right = pairs[:4]
    for pair in (marked, right):
        workspace.review.mark_word(pair.id, 1, "ada")
    workspace.review.decide(marked.id, 0, "drop", sampling="random")
    first, *others = corrected.caption.split()
    workspace.review.decide(corrected.id, 0, "correction", " ".join([first, "odd", *others[1:]]))
    workspace.review.decide(rewritten.id, 0, "correction", "Nothing stays of what stood here")
    for pair in pairs[3:6]:
        workspace.review.decide(pair.id, 0, "correct")
    captions = []

    def learn(prior: WordWeights, given: list[MarkedWords], at_random: list[bool]) -> LearntWords:
        captions.extend(zip(given, at_random, strict=True))
        return LearntWords(WordWeights(gain=7), len(given))

    monkeypatch.setattr(retrain, "learn_word_weights", learn)
    trained = workspace.jobs.run("train", 1)
    assert [list(np.flatnonzero(each.truth)) for each, _ in captions] == [[1], [1]]
    assert [is_random for _, is_random in captions] == [True, False]
    assert trained.report["marked_captions"] == 2
    classifier = stored_classifier(workspace.store, trained.classifier_id)
    assert classifier.words == WordWeights(gain=7)


def test_pairs_decided_by_a_rule_teach_nothing(workspace: Workspace) -> None:
    pairs = pairs_of(workspace)
    for pair in pairs[:4]:
        workspace.review.decide(pair.id, 0, "correct")
    for pair in pairs[4:]:
        workspace.review.decide(pair.id, 0, "drop", author=queue_author("Ada"))
    with pytest.raises(TrainingError, match="Decide 1 more"):
        workspace.jobs.run("train", 1)


def test_another_detector_is_updated_only_where_it_is_named(
    shared_folder: SharedFolder, open_workspace: OpenWorkspace
) -> None:
    """Its cold start is trained once."""
    scored = shared_folder("scored-copies", score_copies)
    workspace = open_workspace(copy_of=scored, **CLIP, detector="cart")
    judge(workspace, 8, every=2)
    first, again = (workspace.jobs.run("train", 1) for _ in range(2))
    assert first.report["requested"] == again.report["requested"] == "cart"
    rows = workspace.jobs.classifiers(1)
    assert [row.basis for row in rows].count("injected") == 2
    assert next(row for row in rows if row.id == first.classifier_id).kind == "cart"


def test_a_threshold_says_whether_the_level_is_known(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_learning, "FEWEST_FOR_LEVEL", 6)
    choice = ExportChoice(drop_above=0.5)
    assert workspace.jobs.export_counts(1, choice).level_note
    assert not workspace.jobs.export_counts(1, ExportChoice()).level_note
    judge(workspace, 6, every=2, sampling="random")
    workspace.jobs.adopt(workspace.jobs.run("train", 1).classifier_id)
    assert not workspace.jobs.export_counts(1, choice).level_note


def test_a_dataset_ranked_by_a_kind_that_is_gone_keeps_its_numbers_and_can_be_ranked_again(
    workspace: Workspace,
) -> None:
    pairs = pairs_of(workspace)
    with workspace.store.writing() as session:
        session.connection().exec_driver_sql("UPDATE classifiers SET kind = 'ensemble'")
        payload = json.dumps({**json.loads(_payload(session)), "model": {"kind": "ensemble"}})
        session.execute(update(ClassifierRecord).values(payload=payload.encode()))
    assert workspace.review.open_pair(pairs[0].id).p_error == pairs[0].p_error
    with pytest.raises(TrainingError) as refusal:
        classifier_in_use(workspace.store, 1)
    assert "score DATASET --detector best" in refusal.value.remedies["terminal"]
    judge(workspace, 14)
    workspace.jobs.adopt(workspace.jobs.run("train", 1).classifier_id)
    assert classifier_in_use(workspace.store, 1) is not None


def _payload(session: Session) -> bytes:
    active = classifier_queries.active(session, 1)
    assert active is not None
    return classifier_queries.get_payload(session, active.id)


def test_a_command_goes_back_to_the_detector_before(workspace: Workspace) -> None:
    pairs = pairs_of(workspace)
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory)}
    back = ("score", "pairs", "--detector", "previous")
    status, _, err = invoked(environment, *back)
    assert (status, "No other detector" in err) == (2, True)
    judge(workspace, 12)
    workspace.jobs.adopt(workspace.jobs.run("train", 1).classifier_id)
    assert as_json(environment, *back)["pairs"] == len(pairs)
    again = [pair.p_error or 0.0 for pair in pairs_of(workspace)]
    active = workspace.store.read(classifier_queries.active, 1)
    assert active is not None
    assert active.basis == "injected"
    order, expected = np.argsort(again), np.argsort([pair.p_error or 0.0 for pair in pairs])
    assert len(set(order[-5:]) & set(expected[-5:])) >= 3
