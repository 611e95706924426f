"""Richer captions on a real store, from a real server with rule-based responses."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from typer.testing import CliRunner, Result

from backend.errors import NotScored, SettingsError
from backend.jobs.reports import BoostReport
from backend.jobs.specificity import KIND
from backend.review.charts import progress_of
from backend.review.queue_form import cleaned, from_fields
from backend.settings import MODELS, load_settings
from backend.workspace import QueueFilter, Workspace
from db.models import CorrectionAttempt, Pair, Run
from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries.probabilities import p_error_of
from research.chat_server import chat_server
from research.scenes.labelled_bags import scene_bags
from research.scenes.labelled_scenes import DIRECTORIES
from research.scenes.renderer import render
from tests.datasets.folders import image_folder
from traced_ui.api import Caller, decide, open_pair

SCENES = 12


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
    (base / "rich.json").write_text(json.dumps(made.captions["rich"]))
    workspace = opened(base / "state")
    dataset = workspace.find_or_import(str(base / "pairs"))
    workspace.jobs.score(dataset, suggestions=False)
    named = opened(base / "state", corrector="vlm", corrector_url="http://127.0.0.1:9/v1")
    with pytest.raises(NotScored, match="not been measured"):
        named.jobs.boost(everything(), named.jobs.booster(["blend"]))
    named.store.close()
    workspace.jobs.run("specificity", dataset)
    workspace.store.close()
    return base


def opened(state: Path, **settings: object) -> Workspace:
    given = {"data_directory": str(state), "kind": "clip", "detector": "logistic",
             "model": str(MODELS / DIRECTORIES["clip"]), **settings}  # fmt: skip
    return Workspace(load_settings(given, {}))


@pytest.fixture
def state(scored: Path, tmp_path: Path) -> Path:
    shutil.copytree(scored / "state", tmp_path / "state")
    return tmp_path / "state"


def everything() -> QueueFilter:
    return from_fields(1, cleaned({"order": "specificity", "p_error_to": "1", "icc_from": "0"}))


def rule(body: dict[str, Any]) -> tuple[int, str]:
    """Blend: the longest caption; Visual: an invention; Holistic: the trusted one."""
    content = body["messages"][1]["content"]
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


@dataclass(frozen=True)
class Enriched:
    """The results of all kinds of enrichments, requested twice. `requests`: of the first and of the
    second run. Tests do not change `state`."""

    state: Path
    reports: tuple[BoostReport, BoostReport]
    requests: tuple[list[Any], list[Any]]


@pytest.fixture(scope="module")
def enriched(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Enriched:
    state = tmp_path_factory.mktemp("enriched") / "state"
    shutil.copytree(scored / "state", state)
    with chat_server(rule) as served:
        workspace = opened(state, corrector="vlm", corrector_url=served.url)
        booster = workspace.jobs.booster(["blend", "holistic", "visual"])
        first = workspace.jobs.boost(everything(), booster)
        sent = len(served.requests)
        second = workspace.jobs.boost(everything(), booster)
    workspace.store.close()
    return Enriched(state, (first, second), (served.requests[:sent], served.requests[sent:]))


def test_enrichments_wait_for_a_curator_and_nothing_is_sent_twice(
    enriched: Enriched, tmp_path: Path
) -> None:
    report, again = enriched.reports
    assert report.looked_at == 2 * SCENES == sum(report.outcomes.values())
    assert report.outcomes["offered"] > 3
    assert again.outcomes == {"asked before": 2 * SCENES}
    requests, requests_again = enriched.requests
    assert requests_again == []
    assert len({json.dumps(request, sort_keys=True) for request in requests}) == len(requests)
    shutil.copytree(enriched.state, tmp_path / "state")
    workspace = opened(tmp_path / "state")
    made, caller = boosts(workspace), Caller(workspace)
    assert made
    for suggestion in made:
        assert suggestion.provenance is not None
        assert suggestion.provenance["boost"] in ("blend", "holistic", "visual")
        view = workspace.review.open_pair(suggestion.pair_id)
        assert suggestion.id not in [
            s.id for s in view.suggestions
        ]  # an enrichment is not a correction
        before, after = view.enrichments[0].icc or (None, None)
        assert before == pytest.approx(view.icc)
        assert after is not None
        listed = [row.id for row in open_pair(caller, suggestion.pair_id).enrichments]
        assert suggestion.id in listed
    chosen = made[0]
    etag = open_pair(caller, chosen.pair_id).etag
    decide(caller, chosen.pair_id, etag, "correction", suggestion=chosen.id)
    assert workspace.summary(1).errors_found == 0
    assert progress_of(workspace.store, 1).by_decision == {"enriched": 1}
    workspace.store.close()


def test_the_sources_of_an_enrichment_are_stored(enriched: Enriched) -> None:
    workspace = opened(enriched.state)
    with workspace.store.reading() as session:
        pairs = {pair.id: pair for pair in pair_queries.iterate_pairs(session, 1)}
    kinds = set()
    for suggestion in boosts(workspace):
        made = suggestion.provenance
        assert made is not None
        kinds.add(made["boost"])
        captions = [pairs[pair_id].caption for pair_id in made["pairs"]]
        if made["boost"] == "visual":
            assert (made["pairs"], made["visual"]) == ([], "A purple umbrella.")
            continue
        assert suggestion.pair_id in made["pairs"]
        assert {pairs[i].image_path for i in made["pairs"]} == {
            pairs[suggestion.pair_id].image_path
        }
        assert captions == made["sources"][: len(captions)]
        assert made["visual"] == ("A purple umbrella." if made["boost"] == "holistic" else None)
    assert {"blend"} < kinds
    workspace.store.close()


def test_a_dry_run_sends_nothing_and_invalid_options_are_refused(state: Path) -> None:
    with chat_server(rule) as served:
        workspace = opened(state, corrector="vlm", corrector_url=served.url)
        preview = workspace.jobs.boost_dry_run(everything(), workspace.jobs.booster(["holistic"]))
        assert served.requests == []
        assert preview.questions
        assert any(question.image_bytes for question in preview.questions)
        with pytest.raises(SettingsError, match="no kind 'longer'"):
            workspace.jobs.booster(["longer"])
    workspace.store.close()
    without_models = opened(state)
    with pytest.raises(SettingsError, match="No vision-language model"):
        without_models.jobs.booster(["blend"])
    without_models.store.close()


def test_boosting_keeps_measured_specificity(state: Path) -> None:
    # As if the program had moved to another folder, or pictures had been added to the dataset.
    with chat_server(rule) as served:
        workspace = opened(state, corrector="vlm", corrector_url=served.url)
        with workspace.store.writing() as session:
            session.execute(update(Run).where(Run.kind == KIND).values(model="/elsewhere/clip"))
            measured = select(Pair.id, Pair.specificity).order_by(Pair.id)
            before = session.execute(measured).all()
        assert any(specificity is not None for _, specificity in before)
        booster = workspace.jobs.booster(["blend"])
        workspace.jobs.boost_dry_run(everything(), booster)
        assert workspace.jobs.boost(everything(), booster, limit=2).looked_at == 2
        with workspace.store.reading() as session:
            assert session.execute(measured).all() == before
        workspace.store.close()


def invoked(state: Path, *arguments: str, **environment: str) -> Result:
    """`boost` on the command line."""
    import app as program

    given = {"TRACED_DATA_DIRECTORY": str(state), "TRACED_DETECTOR": "logistic",
             "TRACED_MODEL": str(MODELS / DIRECTORIES["clip"]), "TRACED_KIND": "clip",
             "COLUMNS": "200", **environment}  # fmt: skip
    done = CliRunner().invoke(program.app, ["boost", "pairs", *arguments], env=given)
    assert done.exit_code == 0, done.stderr
    return done


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


def test_a_queue_without_an_order_begins_with_the_most_generic_captions(state: Path) -> None:
    workspace = opened(state)
    neither = {"p_error": 0.1, "icc": 0.9, "specificity": -2.5}
    set_columns(workspace, dict.fromkeys(range(2 * SCENES), neither))
    set_columns(
        workspace,
        {0: {"p_error": 0.9, "specificity": -9.0}, 1: {"icc": 0.0, "specificity": -8.0},
         5: {"p_error": 0.4, "specificity": -3.0}, 7: {"specificity": -4.0},
         9: {"specificity": -1.0}},
    )  # fmt: skip
    workspace.store.close()

    def first(*arguments: str) -> tuple[int, str]:
        done = invoked(state, "--kinds", "visual", "--dry-run", "--json", "--vlm", "vlm",
                       "--vlm-url", "http://127.0.0.1:9/v1", *arguments)  # fmt: skip
        preview = json.loads(done.stdout)
        return preview["pairs"], preview["questions"][0]["external_id"]

    numbers = [f"{kind}-{i}" for i in range(SCENES) for kind in ("generic", "ordinary")]
    assert first("--queue", "specificity_to=-2") == (2 * SCENES - 3, numbers[7])
    assert first("--queue", "") == first() == (2 * SCENES - 2, numbers[7])
    everything = first("--queue", "specificity_to=-2&p_error_to=1&icc_from=0")
    # No question is asked about a caption that looks wrong, so the first is about the next one.
    assert everything == (2 * SCENES - 1, numbers[1])
    assert first("--queue", "order=p_error&specificity_to=-2") == (2 * SCENES - 1, numbers[5])


SEES, JOINS = "http://sees:1/v1", "http://joins:2/v1"


@pytest.mark.parametrize(
    ("arguments", "pictures_to", "captions_to"),
    [
        (("--kinds", "visual", "--vlm", "v", "--vlm-url", SEES), SEES, None),
        (("--kinds", "holistic", "--vlm", "v", "--vlm-url", SEES, "--llm", "l", "--llm-url", JOINS),
         SEES, JOINS),
    ],
)  # fmt: skip
def test_a_dry_run_names_each_server_and_what_is_sent_to_it(
    state: Path, arguments: tuple[str, ...], pictures_to: str | None, captions_to: str | None
) -> None:
    preview = json.loads(invoked(state, "--dry-run", "--json", *arguments).stdout)
    assert (preview["pictures_to"], preview["captions_to"]) == (pictures_to, captions_to)


def blended(workspace: Workspace, served: Any, pair_id: int) -> tuple[str, list[str]]:
    """The outcome of boosting one pair, and the captions in the question; [] if none was asked."""
    sent = len(served.requests)
    queue = QueueFilter(1, review="all", among=(pair_id,))
    report = workspace.jobs.boost(queue, workspace.jobs.booster(["blend"]))
    questions = [request["messages"][1]["content"] for request in served.requests[sent:]]
    captions = re.findall(r"<caption>(.*?)</caption>", "".join(questions))
    return next(iter(report.outcomes)), captions


def test_only_captions_not_dropped_and_not_suspect_are_blended(state: Path) -> None:
    with chat_server(rule) as served:
        workspace = opened(state, corrector="vlm", corrector_url=served.url)
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
        workspace.store.close()


def test_a_dropped_pair_is_not_enriched(state: Path) -> None:
    with chat_server(rule) as served:
        workspace = opened(state, corrector="vlm", corrector_url=served.url)
        set_columns(workspace, {n: {"p_error": 0.1} for n in range(2 * SCENES)})
        with workspace.store.reading() as session:
            first = next(iter(pair_queries.iterate_pairs(session, 1))).id
        workspace.review.decide(first, 0, "drop")
        assert workspace.jobs.enrich(first) == "judged wrong"
        assert served.requests == []
        preview = workspace.jobs.boost_dry_run(
            QueueFilter(1, review="all", among=(first,)), workspace.jobs.booster(["blend"])
        )
        assert preview.questions == ()
        # After an undo of the verdict, it can be enriched.
        workspace.review.undo(1)
        assert workspace.jobs.enrich(first) != "asked before"
        assert served.requests
        workspace.store.close()


def test_a_separate_language_model_gets_captions_and_no_picture(state: Path) -> None:
    with chat_server(rule) as sees, chat_server(rule) as joins:
        workspace = opened(state, corrector="vlm", corrector_url=sees.url)
        set_columns(workspace, {n: {"p_error": 0.1} for n in range(4)})
        with workspace.store.reading() as session:
            first = next(iter(pair_queries.iterate_pairs(session, 1))).id
        booster = workspace.jobs.booster(["blend", "holistic"], "joins", joins.url)
        workspace.jobs.boost(QueueFilter(1, among=(first,)), booster)
        # One description of the picture; the captions are blended, then enriched with it.
        assert [request["model"] for request in sees.requests] == ["vlm"]
        assert isinstance(sees.requests[0]["messages"][1]["content"], list)
        assert [request["model"] for request in joins.requests] == ["joins", "joins"]
        contents = [request["messages"][1]["content"] for request in joins.requests]
        texts = [text if isinstance(text, str) else text[-1]["text"] for text in contents]
        assert "image_url" not in json.dumps(contents)
        assert ["<caption>" in texts[0], "<trusted>" in texts[1]] == [True, True]
        assert "A purple umbrella." in texts[1]
        workspace.store.close()
