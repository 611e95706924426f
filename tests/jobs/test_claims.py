"""Captions of several claims: scored claim by claim, and corrected in one of them alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from backend.engine.detection.features import feature_matrix
from backend.jobs import export_scores, retrain
from backend.jobs.export_choice import ExportChoice
from backend.jobs.scoring.classifiers import classifier_in_use
from backend.jobs.scoring.stored_rows import latest_batches, scored_pairs
from backend.workspace import Workspace
from db.decisions import AT_RANDOM
from db.queries import (
    claim_label_queries,
    claim_labels,
    claim_queries,
    classifier_queries,
    detection_queries,
    signal_queries,
    suggestion_queries,
)
from research.chat_server import chat_server
from research.scenes.long_captions import LongCaption, paragraphs
from research.scenes.renderer import render
from tests.fixtures.features import needs
from tests.jobs.opening import OpenWorkspace, opened, pairs_of, scoring_of

COUNT, VAGUE = 14, "What a wonderful time to be alive!"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claims")


@pytest.fixture(scope="module")
def drawn(folder: Path) -> list[LongCaption]:
    """Paragraphs of drawn scenes in folder / "long", each with a vague sentence at its end and its
    first sentence twice."""
    (folder / "long" / "images").mkdir(parents=True)
    captions = list(
        paragraphs(COUNT, seed=5, sentences=(2, 3), errors=(0, 1), pronouns=0.5, vague=0.0)
    )
    rows = []
    for number, caption in enumerate(captions):
        render(caption.scene, 96).save(folder / "long" / "images" / f"{number:02}.png")
        first = caption.text[: caption.claims[0].end]
        text = f"{caption.text} {VAGUE}\n\n{first}"
        captions[number] = replace(caption, text=text)
        rows.append({"file_name": f"images/{number:02}.png", "id": str(number), "caption": text})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "long" / "metadata.jsonl").write_text(lines, encoding="utf-8")
    return captions


@pytest.fixture(scope="module")
def scored(folder: Path, drawn: list[LongCaption]) -> Path:
    """The folder, with the state of a workspace that has scored them as dataset 1."""
    workspace = opened(folder / "state")
    report = workspace.jobs.score(workspace.find_or_import(str(folder / "long")))
    assert (report.scored, report.truncated) == (len(drawn), 0)
    workspace.store.close()
    return folder


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored)


def test_claims_are_scored_and_judged_with_their_caption(
    workspace: Workspace, drawn: list[LongCaption]
) -> None:
    rows = pairs_of(workspace)
    with workspace.store.reading() as session:
        claims = claim_queries.claims_of(session, [row.id for row in rows])
        judged = detection_queries.detections_of(session, [row.id for row in rows])
        counts = claim_queries.count_claims(session, 1)
        offered = {row.id: suggestion_queries.list_suggestions(session, row.id) for row in rows}
    assert (counts.several, counts.vague) == (COUNT, COUNT)
    for row, caption in zip(rows, drawn, strict=True):
        *sentences, vague, again = claims[row.id]
        assert [(c.start, c.end) for c in sentences] == [(c.start, c.end) for c in caption.claims]
        assert row.caption[vague.start : vague.end] == VAGUE
        assert (again.repeats, again.s_0, again.p_error) == (True, None, None)
        assert row.s_0 == min(c.s_0 for c in (*sentences, vague) if c.s_0 is not None)
        assert row.p_error is not None
        assert all(c.p_error is not None for c in sentences)
        words = {row.caption[start:end] for start, end, _ in judged[row.id].suspects}
        assert words <= set(caption.text[: vague.start].replace(".", "").split())
        # A correction replaces one claim, and leaves every other character.
        for suggestion in offered[row.id]:
            start, end = (suggestion.provenance or {})["claim"]
            assert (start, end) in {(c.start, c.end) for c in sentences}
            assert suggestion.caption.startswith(row.caption[:start])
            assert suggestion.caption.endswith(row.caption[end:])
    assert any(offered.values())
    again = workspace.jobs.score(1)
    assert (again.scored, again.skipped) == (0, COUNT), "nothing is left to do"


def test_another_division_is_scored_anew_and_remembered(
    open_workspace: OpenWorkspace, scored: Path
) -> None:
    options = {"captioner": "none", "detector": "eight signs", "trajectories": "first-step"}
    whole = open_workspace(claims="whole", **options)
    dataset = whole.find_or_import(str(scored / "long"))
    whole.jobs.score(dataset, suggestions=False)

    def numbers(workspace: Workspace) -> list[int]:
        batches = latest_batches(workspace.store, dataset)
        return [len(caption.claims) for _, captions in batches for caption in captions]

    assert numbers(whole) == [1] * COUNT
    plain = open_workspace(**options)
    assert plain.jobs.score(dataset, suggestions=False).scored == 0, "as it was"
    divided = open_workspace(claims="sentences", **options)
    report = divided.jobs.score(dataset, suggestions=False)
    assert report.scored == COUNT
    assert min(numbers(divided)) > 1
    assert all(row.p_error is not None for row in pairs_of(divided))
    again = open_workspace(**options)
    assert again.jobs.score(dataset, suggestions=False).scored == 0


@needs("vision_language")
def test_a_second_opinion_is_asked_for_each_claim(
    workspace: Workspace, drawn: list[LongCaption]
) -> None:
    from backend.features.vision_language import model_check

    texts = {c.text[k.start : k.end]: k.is_wrong for c in drawn for k in c.claims if not k.subject}

    def respond(body: dict[str, Any]) -> tuple[int, Any]:
        text = str(body["messages"][-1]["content"][1]["text"]).splitlines()[-1]
        return 200, {"No": 0.8, "Yes": 0.2} if texts.get(text) else {"Yes": 0.9, "No": 0.1}

    with chat_server(respond) as served:
        server = model_check.open_server(served.url, None)
        plan = model_check.plan(workspace.store, 1, server, 1.0)
        report = model_check.ask(workspace.store, 1, server, 1.0)
        texts_sent = {
            str(body["messages"][-1]["content"][1]["text"]).splitlines()[-1]
            for body in served.requests
        }
    wrong = [any(k.is_wrong and not k.subject for k in caption.claims) for caption in drawn]
    assert (report.agrees, report.doubts) == (wrong.count(False), wrong.count(True))
    assert set(texts) <= texts_sent
    assert VAGUE not in texts_sent
    assert plan.forecast.requests[0] > COUNT
    rows = pairs_of(workspace)
    with workspace.store.reading() as session:
        opinions = signal_queries.latest_opinions(session, [row.id for row in rows])
    for row, caption, is_wrong in zip(rows, drawn, wrong, strict=True):
        assert ((row.numbers["second_opinion"] or 0) < 0) == is_wrong
        places = [(k.start, k.end) for k in caption.claims if k.is_wrong]
        for start, end, _ in opinions[row.id].deletions:
            assert any(first <= start and end <= last for first, last in places)


def test_verdicts_on_claims_teach_beside_those_on_captions(
    workspace: Workspace, drawn: list[LongCaption]
) -> None:
    rows = pairs_of(workspace)
    labelled = wrong = 0
    for number, (row, caption) in enumerate(zip(rows, drawn, strict=True)):
        if number < 6:
            decision = "wrong" if any(k.is_wrong for k in caption.claims) else "correct"
            workspace.review.decide(row.id, 0, decision, sampling=AT_RANDOM)
            continue
        with workspace.store.writing() as session:
            for version, claim in enumerate(caption.claims):
                claim_label_queries.add_claim_label(
                    session, row.id, version, (claim.start, claim.end), not claim.is_wrong,
                    author="Ann",
                )  # fmt: skip
        labelled += sum(not claim.is_wrong for claim in caption.claims)
        wrong += any(claim.is_wrong for claim in caption.claims)
    report = retrain.train_candidate(workspace.store, workspace.engine, 1)
    assert report.verdicts == 6 + labelled + wrong
    assert workspace.jobs.adopt(report.classifier_id) == COUNT


def test_a_claim_called_wrong_is_what_its_caption_is_learnt_by(workspace: Workspace) -> None:
    (row, *_) = pairs_of(workspace)
    run = scoring_of(workspace)
    (_, (caption,)) = scored_pairs(workspace.store, run, [row.id])
    calmest = min((caption.claims[i] for i in caption.deciding), key=lambda c: c.p_error or 0)
    with workspace.store.writing() as session:
        place = (calmest.claim.start, calmest.claim.end)
        claim_label_queries.add_claim_label(session, row.id, 0, place, False, author="Ann")
    classifier = classifier_in_use(workspace.store, 1)
    assert classifier is not None
    active = workspace.store.read(classifier_queries.active, 1)
    assert active is not None
    prior = retrain._Prior(classifier, {}, active, classifier)
    with workspace.store.reading() as session:
        claims = claim_labels.claim_labels(session, 1)
    ids = [pair.id for pair in pairs_of(workspace)]
    others = ids[1:6]
    for other in others:
        workspace.review.decide(other, 0, "correct")
    judged, _ = retrain._judged_pairs(workspace.store, run, prior, ids, set(ids), claims)
    wanted = feature_matrix([classifier.read(calmest.trajectory)])
    assert judged.labels[0] == 1
    np.testing.assert_allclose(judged.features[0], wanted[0])


def test_files_have_the_claims_and_what_people_say_of_them(
    workspace: Workspace, tmp_path: Path
) -> None:
    pair = workspace.review.queue_page(workspace.review.filter_of(1, {})).rows[0]
    first = workspace.review.open_pair(pair.pair_id).claims[0]
    with workspace.store.writing() as session:
        claim_label_queries.add_claim_label(
            session, pair.pair_id, 0, (first.start, first.end), False, author="Ann"
        )
    export_scores.write(workspace.store, 1, tmp_path / "scores.parquet")
    table = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    rows = {row["id"]: row["claims"] for row in table}
    choice = ExportChoice(wrong_claims="leave out")
    report = workspace.jobs.export(1, choice, tmp_path / "out", "jsonl")
    assert report.counts.shortened == 1
    lines = (tmp_path / "out").glob("*.jsonl")
    written = [json.loads(line) for path in lines for line in path.read_text().splitlines()]
    for row in written:
        stated = json.loads(row["claims"])
        assert [claim["start"] for claim in stated] == [claim["start"] for claim in rows[row["id"]]]
        assert stated[0]["p_error"] is not None
    (row,) = (row for row in written if row["id"] == pair.external_id)
    assert json.loads(row["claims"])[0]["verdict"] == rows[row["id"]][0]["verdict"] == "wrong"
    assert row["caption_kind"] == "shortened"
    assert row["original_caption"].endswith(row["caption"])
