"""Richer captions on a real store, from a real server with rule-based responses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from backend.engine.language_models.spending import PriceList
from backend.errors import NotScored, PictureUnseen, SettingsError
from backend.features.specificity import boost_captions
from backend.features.specificity.boost_captions import booster as booster_of
from backend.features.specificity.boosting import Booster
from backend.features.specificity.measuring import KIND
from backend.features.specificity.reports import BoostDryRun, BoostReport
from backend.review.charts import progress_of
from backend.review.queue_form import clean_fields, from_fields
from backend.workspace import QueueFilter, Workspace
from db.models import CorrectionAttempt, Pair, Run
from db.queries import pair_queries, suggestion_queries
from db.queries.ranking_queries import p_error_of
from research.chat_server import RunningServer, chat_server
from research.scenes.labelled_bags import scene_bags
from research.scenes.renderer import render
from tests.cli.invoking import as_json
from tests.datasets.folders import image_folder
from tests.fixtures.features import needs
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace, opened
from traced_ui.api import Caller, decide, open_pair

pytestmark = needs("vision_language")
SCENES = 8
SEES, JOINS = "http://sees:1/v1", "http://joins:2/v1"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn pictures, each with a generic and an ordinary caption, scored, specificity measured."""
    base = tmp_path_factory.mktemp("boost")
    made = scene_bags(SCENES, 3)
    rows = [
        {"id": f"{kind}-{i}", "file_name": f"{i}.png", "caption": made.captions[kind][i]}
        for i in range(SCENES)
        for kind in ("generic", "ordinary")
    ]
    image_folder(base / "pairs", rows, ())
    for i, scene in enumerate(made.scenes):
        render(scene, 128).save(base / "pairs" / f"{i}.png")
    vlm = {"corrector": "vlm", "corrector_url": "http://127.0.0.1:9/v1"}
    workspace = opened(base / "state", **QUICK_CLIP, **vlm)
    dataset = workspace.find_or_import(str(base / "pairs"))
    workspace.jobs.score(dataset, suggestions=False)
    with pytest.raises(NotScored, match="not been measured"):
        boost(workspace, everything(), booster_of(workspace.engine, ["blend"]))
    workspace.jobs.run("specificity", dataset)
    workspace.store.close()
    return base


@pytest.fixture
def served() -> Iterator[RunningServer]:
    """A vision-language model."""
    with chat_server(rule) as server:
        yield server


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path, served: RunningServer) -> Workspace:
    """A copy of that workspace with the model."""
    settings = {**QUICK_CLIP, "corrector": "vlm", "corrector_url": served.url}
    return open_workspace(copy_of=scored, **settings)


def everything() -> QueueFilter:
    return from_fields(
        1, clean_fields({"order": "specificity", "p_error_to": "1", "icc_from": "0"})
    )


def boost(
    workspace: Workspace, filter: QueueFilter, booster: Booster, **options: Any
) -> BoostReport:
    engine = workspace.engines.of_dataset(1)
    return boost_captions.boost(workspace.store, engine, filter, booster, **options)


def requests_for(workspace: Workspace, filter: QueueFilter, booster: Booster) -> BoostDryRun:
    engine = workspace.engines.of_dataset(1)
    return boost_captions.dry_run(workspace.store, engine, filter, booster, PriceList())


def rule(body: dict[str, Any]) -> tuple[int, str]:
    """Blend: the longest caption; Visual: an invention; Holistic: the trusted one."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    captions = re.findall(r"<caption>(.*?)</caption>", text)
    trusted = re.findall(r"<trusted>(.*?)</trusted>", text)
    if captions:
        return 200, json.dumps({"caption": max(captions, key=len)})
    if trusted:
        return 200, json.dumps({"caption": trusted[0].rstrip(".") + " with a purple umbrella."})
    return 200, json.dumps({"caption": "A purple umbrella."})


def boosts(workspace: Workspace) -> list[suggestion_queries.SuggestionRow]:
    with workspace.store.reading() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        return [
            row
            for pair in ids
            for row in suggestion_queries.list_suggestions(session, pair, kind="boost")
        ]


def test_enrichments_wait_for_a_curator_and_nothing_is_sent_twice(
    workspace: Workspace, served: RunningServer
) -> None:
    booster = booster_of(workspace.engine, ["blend", "holistic", "visual"])
    report = boost(workspace, everything(), booster)
    assert report.looked_at == 2 * SCENES == sum(report.outcomes.values())
    assert report.outcomes["offered"] > 3
    requests = list(served.requests)
    assert len({json.dumps(request, sort_keys=True) for request in requests}) == len(requests)
    assert boost(workspace, everything(), booster).outcomes == {"asked before": 2 * SCENES}
    assert served.requests == requests
    made, caller = boosts(workspace), Caller(workspace)
    assert made
    for suggestion in made:
        view = workspace.review.open_pair(suggestion.pair_id)
        # An enrichment is not a correction.
        assert suggestion.id not in [correction.id for correction in view.suggestions.corrections]
        before, after = view.suggestions.enrichments[0].icc or (None, None)
        assert before == pytest.approx(view.icc)
        assert after is not None
        listed = [row.id for row in open_pair(caller, suggestion.pair_id).enrichments]
        assert suggestion.id in listed
    check_sources(workspace, made)
    chosen = made[0]
    etag = open_pair(caller, chosen.pair_id).etag
    decide(caller, chosen.pair_id, etag, "correction", suggestion=chosen.id)
    assert workspace.summary(1).errors_found == 0
    assert progress_of(workspace.store, 1).by_decision == {"enriched": 1}


def check_sources(workspace: Workspace, made: list[suggestion_queries.SuggestionRow]) -> None:
    """Each enrichment is stored with the captions and the description that it was made from."""
    with workspace.store.reading() as session:
        pairs = {pair.id: pair for pair in pair_queries.iterate_pairs(session, 1)}
    kinds = set()
    for suggestion in made:
        source = suggestion.provenance
        assert source is not None
        kinds.add(source["boost"])
        if source["boost"] == "visual":
            assert (source["pairs"], source["visual"]) == ([], "A purple umbrella.")
            continue
        assert suggestion.pair_id in source["pairs"]
        pictures = {pairs[i].image_path for i in source["pairs"]}
        assert pictures == {pairs[suggestion.pair_id].image_path}
        captions = [pairs[i].caption for i in source["pairs"]]
        assert captions == source["sources"][: len(captions)]
        assert source["visual"] == ("A purple umbrella." if source["boost"] == "holistic" else None)
    assert {"blend"} < kinds <= {"blend", "holistic", "visual"}


def test_a_dry_run_sends_nothing_and_invalid_options_are_refused(
    workspace: Workspace, served: RunningServer, open_workspace: OpenWorkspace
) -> None:
    preview = requests_for(workspace, everything(), booster_of(workspace.engine, ["holistic"]))
    assert served.requests == []
    assert any(question.image_bytes for question in preview.questions)
    with pytest.raises(SettingsError, match="no kind 'longer'"):
        booster_of(workspace.engine, ["longer"])
    with pytest.raises(SettingsError, match="No vision-language model"):
        booster_of(open_workspace(**QUICK_CLIP).engine, ["blend"])


def test_boosting_keeps_measured_specificity(workspace: Workspace) -> None:
    # As if the program had moved to another folder, or pictures had been added to the dataset.
    with workspace.store.writing() as session:
        session.execute(update(Run).where(Run.kind == KIND).values(model="/elsewhere/clip"))
        measured = select(Pair.id, Pair.specificity).order_by(Pair.id)
        before = session.execute(measured).all()
    assert any(specificity is not None for _, specificity in before)
    booster = booster_of(workspace.engine, ["blend"])
    requests_for(workspace, everything(), booster)
    assert boost(workspace, everything(), booster, limit=2).looked_at == 2
    with workspace.store.reading() as session:
        assert session.execute(measured).all() == before


def preview_of(workspace: Workspace, *arguments: str, prices: str = "") -> Any:
    """What `boost --dry-run` prints."""
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory),
                   "TRACED_DETECTOR": "nine signs", "TRACED_KIND": "clip",
                   "TRACED_PRICES": prices,
                   "TRACED_MODEL": QUICK_CLIP["model"], "COLUMNS": "200"}  # fmt: skip
    return as_json(environment, "boost", "pairs", "--dry-run", *arguments)


def set_columns(workspace: Workspace, values: dict[int, dict[str, Any]]) -> None:
    """Columns of pairs, by the number of the pair."""
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        in_use = p_error_of(session, 1).key
        for number, columns in values.items():
            named = {
                in_use if name == "p_error" else name: value for name, value in columns.items()
            }
            session.execute(update(Pair).where(Pair.id == ids[number]).values(**named))


def test_a_queue_without_an_order_begins_with_the_most_generic_captions(
    workspace: Workspace,
) -> None:
    neither = {"p_error": 0.1, "icc": 0.9, "specificity": -2.5}
    set_columns(workspace, dict.fromkeys(range(2 * SCENES), neither))
    set_columns(
        workspace,
        {0: {"p_error": 0.9, "specificity": -9.0}, 1: {"icc": 0.0, "specificity": -8.0},
         5: {"p_error": 0.4, "specificity": -3.0}, 7: {"specificity": -4.0},
         9: {"specificity": -1.0}},
    )  # fmt: skip

    def first(*arguments: str) -> tuple[int, str]:
        preview = preview_of(workspace, "--kinds", "visual", "--vlm", "v", "--vlm-url", SEES,
                             *arguments)  # fmt: skip
        return preview["pairs"], preview["questions"][0]["external_id"]

    numbers = [f"{kind}-{i}" for i in range(SCENES) for kind in ("generic", "ordinary")]
    assert first("--queue", "specificity_to=-2") == (2 * SCENES - 3, numbers[7])
    assert first("--queue", "") == first() == (2 * SCENES - 2, numbers[7])
    # No question is asked about a caption that looks wrong, so the first is about the next one.
    everything = first("--queue", "specificity_to=-2&p_error_to=1&icc_from=0")
    assert everything == (2 * SCENES - 1, numbers[1])
    assert first("--queue", "order=p_error&specificity_to=-2") == (2 * SCENES - 1, numbers[5])


def test_a_dry_run_names_each_server_and_what_is_sent_to_it(workspace: Workspace) -> None:
    visual = ("--kinds", "visual", "--vlm", "v", "--vlm-url", SEES)
    holistic = ("--kinds", "holistic", *visual[2:], "--llm", "l", "--llm-url", JOINS)
    for arguments, captions_to in ((visual, None), (holistic, JOINS)):
        preview = preview_of(workspace, *arguments)
        assert (preview["pictures_to"], preview["captions_to"]) == (SEES, captions_to)
    trusted = (*holistic, "--trust-server")
    priced = preview_of(workspace, *trusted, prices="v=0/1000, l=0/10")["forecast"]
    requests = priced["requests"][1]
    # One question about the picture, and two about captions, of at most 100 tokens an answer.
    assert priced["cost"][1] == pytest.approx(requests / 3 * 100 * (1000 + 2 * 10) / 1e6)
    only_one = preview_of(workspace, *holistic, prices="v=0/1000")["forecast"]
    assert only_one["cost"] is None


def blended(workspace: Workspace, served: Any, pair_id: int) -> tuple[str, list[str]]:
    """The outcome of boosting one pair, and the captions in the question; [] if none was asked."""
    sent = len(served.requests)
    queue = QueueFilter(1, review="all", among=(pair_id,))
    report = boost(workspace, queue, booster_of(workspace.engine, ["blend"]))
    questions = [request["messages"][1]["content"] for request in served.requests[sent:]]
    captions = re.findall(r"<caption>(.*?)</caption>", "".join(questions))
    return next(iter(report.outcomes)), captions


def test_only_captions_not_dropped_and_not_suspect_are_blended(
    workspace: Workspace, served: RunningServer
) -> None:
    set_columns(workspace, {n: {"p_error": 0.1} for n in range(10)})
    set_columns(workspace, {5: {"p_error": 0.6}, 7: {"p_error": 0.6}, 8: {"p_error": 0.6}})
    with workspace.store.reading() as session:
        pairs = list(pair_queries.iterate_pairs(session, 1))[:10]
    ids, captions = [pair.id for pair in pairs], [pair.caption for pair in pairs]
    # The first caption of each picture is to be enriched, the second is another source.
    assert blended(workspace, served, ids[0])[1] == captions[:2]
    workspace.review.decide(ids[3], 0, "drop")
    assert blended(workspace, served, ids[2]) == ("nothing to blend", [])
    assert blended(workspace, served, ids[4]) == ("nothing to blend", [])  # looks wrong
    workspace.review.decide(ids[7], 0, "correct")  # looks wrong but is correct
    assert blended(workspace, served, ids[6])[1] == captions[6:8]
    assert blended(workspace, served, ids[8]) == ("looks wrong", [])
    workspace.review.decide(ids[1], 0, "correction", "A corrected caption.")
    # A stored answer would not be requested again, so the pair's caption changes too.
    workspace.review.decide(ids[0], 0, "correction", "A caption of this pair.")
    set_columns(workspace, {0: {"p_error": 0.9}})
    with workspace.store.writing() as session:
        session.execute(delete(CorrectionAttempt))
    sources = ["A caption of this pair.", "A corrected caption."]
    assert blended(workspace, served, ids[0])[1] == sources


def first_pair(workspace: Workspace) -> int:
    """A pair that looks right, as all do."""
    set_columns(workspace, {n: {"p_error": 0.1} for n in range(2 * SCENES)})
    with workspace.store.reading() as session:
        return next(iter(pair_queries.iterate_pairs(session, 1))).id


def test_a_dropped_pair_is_not_enriched(workspace: Workspace, served: RunningServer) -> None:
    first = first_pair(workspace)
    workspace.review.decide(first, 0, "drop")
    assert workspace.jobs.run("enrich", 1, pair_id=first).outcomes == {"judged wrong": 1}
    queue = QueueFilter(1, review="all", among=(first,))
    assert requests_for(workspace, queue, booster_of(workspace.engine, ["blend"])).questions == ()
    assert served.requests == []
    workspace.review.undo(1)
    assert "asked before" not in workspace.jobs.run("enrich", 1, pair_id=first).outcomes
    assert served.requests


def test_a_separate_language_model_gets_captions_and_no_picture(
    workspace: Workspace, served: RunningServer
) -> None:
    first = first_pair(workspace)
    with chat_server(rule) as joins:
        booster = booster_of(workspace.engine, ["blend", "holistic"], "joins", joins.url)
        boost(workspace, QueueFilter(1, among=(first,)), booster)
    # One description of the picture; the captions are blended, then enriched with it.
    assert [request["model"] for request in served.requests] == ["vlm"]
    assert isinstance(served.requests[0]["messages"][1]["content"], list)
    assert [request["model"] for request in joins.requests] == ["joins", "joins"]
    contents = [request["messages"][1]["content"] for request in joins.requests]
    texts = [text if isinstance(text, str) else text[-1]["text"] for text in contents]
    assert "image_url" not in json.dumps(contents)
    assert ["<caption>" in texts[0], "<trusted>" in texts[1]] == [True, True]
    assert "A purple umbrella." in texts[1]


def test_a_dry_run_counts_what_checks_the_server_first(workspace: Workspace) -> None:
    """The most requests that the check sends, and none where no picture is sent."""
    engine = workspace.engines.of_dataset(1)
    for kinds, checks in ((["visual"], 3), (["blend"], 0)):
        booster = booster_of(workspace.engine, kinds)
        arguments = (workspace.store, engine, everything(), booster, PriceList())
        plain, checking = (
            boost_captions.dry_run(*arguments, check=check).forecast.requests
            for check in (False, True)
        )
        assert tuple(with_ - without for with_, without in zip(checking, plain, strict=True)) == (
            0, checks,
        )  # fmt: skip


def test_the_check_sends_no_more_requests_than_its_dry_run_counts(
    workspace: Workspace, served: RunningServer
) -> None:
    booster = booster_of(workspace.engine, ["visual"])
    with pytest.raises(PictureUnseen):
        boost(workspace, everything(), booster, check=True)
    assert len(served.requests) == 2
