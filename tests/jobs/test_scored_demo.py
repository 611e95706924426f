"""The first start has a scored demo, whose scores are those that the program computes."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.bundled import DEMO
from backend.datasets.cells import split_proof
from backend.datasets.safe_files.images import load_image
from backend.engine.captions import Caption
from backend.engine.detection.localisation import most_suspect
from backend.engine.trajectories.driver import run_trajectories
from backend.jobs import export_scores, scored_demo
from backend.jobs.scoring.score_dataset import run_key
from backend.jobs.scoring.stored_rows import exploring_of
from backend.review.queue_form import START, from_fields
from backend.review.views import PairView
from backend.settings import Settings, load_settings
from backend.workspace import Workspace
from db.queries import run_queries, trajectory_queries
from research.evaluation.demo_report import FIRST, compare, read_truth
from research.scenes.caption_reading import claims_of
from research.scenes.demo import COPIES, SEED, make_pairs, plant_copies
from research.scenes.truth import facts
from tests.docs.pages import ROOT
from tests.jobs.opening import pairs_of, scoring_of
from traced_ui import review_page
from traced_ui.board import Post
from traced_ui.page_state import PageState
from traced_ui.review_actions import OpenPage

SAMPLE = 6


def settings(folder: Path, **given: Any) -> Settings:
    return load_settings({"data_directory": str(folder), **given}, {})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    chosen = settings(tmp_path_factory.mktemp("demo") / "state")
    assert scored_demo.unpack(chosen)
    opened = Workspace(chosen)
    yield opened
    opened.store.close()


def test_the_demo_is_completely_scored(workspace: Workspace) -> None:
    dataset_id = workspace.prepare(str(DEMO))
    assert workspace.jobs.recent() == []
    summary = workspace.summary(dataset_id)
    assert (summary.total, summary.scored, summary.reviewed) == (600, 600, 0)
    page = workspace.review.queue_page(from_fields(dataset_id, START), None, 30)
    first = workspace.review.open_pair(page.rows[0].pair_id)
    assert first.opinion.trajectory is not None
    assert first.p_error is not None
    assert first.suggestions.corrections
    assert first.picture.size is not None
    near = workspace.review.search(dataset_id, meaning="a canine")
    assert near is not None
    has_dog = ["dog" in workspace.review.open_pair(pair).caption.split() for pair in near]
    assert sum(has_dog[:8]) > sum(has_dog[-8:]), "dogs first"


def test_opening_on_an_example_instead_of_the_head_of_the_queue_is_said(
    workspace: Workspace,
) -> None:
    dataset_id = workspace.prepare(str(DEMO))

    def visit(**address: str) -> tuple[int | None, str]:
        page = OpenPage(workspace, PageState())
        act = {"action": "visit", "dataset": dataset_id, "address": address}
        parts = page.perform(Post.model_validate({"state": page.state, "acts": [act]}).acts[0])
        return page.state.pair, parts["toast"]

    example, said = visit()
    assert (example, bool(said)) == (workspace.opening_pair(dataset_id), True)
    assert visit(grid="yes")[1] == "", "it shows no example, but the head of the queue"
    view = workspace.review.open_pair(example or 0)
    workspace.review.decide(
        view.pair_id, view.verdict.version, "correct", author="", fingerprint=view.fingerprint
    )
    head = workspace.review.first_pair(from_fields(dataset_id, START))
    assert visit() == (head, "")
    workspace.review.undo(dataset_id, "")
    assert visit() == (example, said)


def test_it_opens_with_one_wrong_word_and_its_right_correction(workspace: Workspace) -> None:
    dataset_id = workspace.prepare(str(DEMO))
    pair_id = workspace.opening_pair(dataset_id)
    assert pair_id is not None
    head = workspace.review.queue_page(from_fields(dataset_id, START), None, 10)
    assert pair_id in [row.pair_id for row in head.rows], "it is what a curator would see anyway"
    view, truth = workspace.review.open_pair(pair_id), read_truth()[scored_demo.OPENING]
    (wrong,) = truth.changed
    tinted = [(word.start, word.end) for word in most_suspect(view.caption, view.opinion.suspects)]
    assert tinted == [wrong]
    best = view.helpful_suggestions[0]
    scene = make_pairs(600, 45)[0][int(scored_demo.OPENING.removeprefix("scene-"))]
    assert (claims_of(best.caption) or {"not understood"}) <= facts(scene)
    assert "brown shirt" in best.caption
    assert "brown shirt" in truth.original
    why = review_page.why(view)
    assert why is not None
    assert why.words == (view.caption[slice(*wrong)],)
    assert "the match rises" in why.after


def test_the_documents_have_the_figures_of_the_demo(workspace: Workspace, tmp_path: Path) -> None:
    dataset_id = workspace.prepare(str(DEMO))
    export_scores.write(workspace.store, dataset_id, tmp_path / "scores.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    figures = compare(rows, read_truth())
    first = {n: figures[f"errors_in_first_{n}_by_detector"] for n in FIRST}
    table = (
        f"| the detector | {first[50]} | **{first[100]}** | {first[200]} | {first[300]} "
        f"| {figures['auc_detector']:.3f} | {figures['average_precision_detector']:.3f} |"
    )
    expected = round(sum(row["p_error"] for row in rows))
    (chance,) = [row["p_error"] for row in rows if row["id"] == "scene-0030"]
    place = 1 + sum(row["p_error"] > chance for row in rows)
    said = {
        "README.md": f"of the first 100 pairs in the queue, {first[100]} are errors",
        "BENCHMARKS.md": table,
        "research/RESULTS.md": table,
        "docs/your-photographs.md": f"{first[100]} of the first 100 pairs of the queue are wrong, "
        f"and {first[200]} of the first 200",
        "docs/reviewing.md": f"({expected} of {figures['errors']})",
        "docs/life-of-a-pair.md": f"a chance of {chance:.2f} and is {place}th in the queue of "
        f"{len(rows)}",
    }
    texts = {name: " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in said}
    assert [name for name, figure in said.items() if figure not in texts[name]] == []


def test_it_was_scored_by_the_model_of_this_installation(workspace: Workspace) -> None:
    (dataset,) = workspace.datasets()
    with workspace.store.reading() as session:
        run = run_queries.find_run(session, **run_key(workspace.engine, dataset.id))
    assert run == scoring_of(workspace, dataset.id)


def test_recomputing_a_sample_gives_the_same_scores(workspace: Workspace) -> None:
    engine = workspace.engine
    run, pairs = scoring_of(workspace), pairs_of(workspace)[:: 600 // SAMPLE]
    ids = [pair.id for pair in pairs]
    trajectories = workspace.store.read(trajectory_queries.trajectories_of, run.id, ids)
    info = engine.scorer.info
    assert run.revision == info.revision, "the models have changed: run `make demo`"
    images = [load_image(DEMO / split_proof(pair.image_path)[0]) for pair in pairs]
    encoded = list(
        zip(engine.encode(images), (Caption.parse(pair.caption) for pair in pairs), strict=True)
    )
    computed = dict(run_trajectories(engine.scorer, encoded, exploring_of(run)))
    for index, pair in enumerate(pairs):
        np.testing.assert_allclose(
            computed[index].scores, trajectories[pair.id][0].scores, atol=2e-3
        )


def test_an_existing_database_is_not_changed(tmp_path: Path) -> None:
    chosen = settings(tmp_path / "state")
    Workspace(chosen).store.close()
    before = (chosen.data_directory / "traced.db").read_bytes()
    assert not scored_demo.unpack(chosen)
    assert (chosen.data_directory / "traced.db").read_bytes() == before


@pytest.mark.parametrize(
    "given", [{"model": "somebody/clip"}, {"explorer": "gcd"}, {"database": "sqlite:///other.db"}]
)
def test_other_models_and_databases_do_not_use_the_scored_demo(
    tmp_path: Path, given: dict[str, str]
) -> None:
    assert not scored_demo.unpack(settings(tmp_path / "state", **given))
    assert not (tmp_path / "state").exists()


def test_only_one_of_several_concurrent_starts_unpacks(
    tmp_path: Path, workspace: Workspace
) -> None:
    chosen, outcomes = settings(tmp_path / "state"), []
    starts = [
        threading.Thread(target=lambda: outcomes.append(scored_demo.unpack(chosen)))
        for _ in range(3)
    ]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert outcomes.count(True) == 1
    opened = Workspace(chosen)
    assert opened.store.identity != workspace.store.identity, "another database"
    assert len(list((chosen.data_directory / "search").iterdir())) == 1
    assert not list(chosen.data_directory.glob(".demo-*"))
    opened.store.close()


def test_the_chances_beside_suggestions_are_so(demo_views: list[PairView]) -> None:
    """Of all that is offered for the demo: what is said, and how many are wrong."""
    scenes, pairs = make_pairs(600, 45)
    plant_copies(scenes, pairs, COPIES, SEED)
    chances, is_wrong = [], []
    for view in demo_views:
        scene = facts(scenes[int(view.external_id.removeprefix("scene-"))])
        for suggestion in view.helpful_suggestions:
            if suggestion.p_after is not None:
                claims = claims_of(suggestion.caption)
                chances.append(suggestion.p_after)
                is_wrong.append(claims is None or not claims <= scene)
    assert len(chances) > 150
    assert np.mean(chances) == pytest.approx(np.mean(is_wrong), abs=0.05)
    for part in np.array_split(np.argsort(chances), 3):  # within two standard errors of 70
        share = np.mean(np.take(is_wrong, part))
        assert np.mean(np.take(chances, part)) == pytest.approx(share, abs=0.11)
