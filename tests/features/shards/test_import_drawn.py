"""Of shards that were scored into files, only the drawn pairs enter the store, ready for review."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backend.datasets.safe_files.locations import Location
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError
from backend.features.shards import shard_scores
from backend.features.shards.import_drawn import Draw, import_drawn
from backend.features.shards.reports import DrawReport
from backend.features.shards.shard_ranking import rank_shards, save_detector
from backend.loaded_models import Engine
from backend.review.charts import progress_of
from backend.workspace import Workspace
from db.queries import pair_queries
from db.queries.pair_queries import PairRow
from tests.features.shards.test_shard_scores import (
    HERE,
    PAIRS,
    SHARDS,
    engine,
    scored,
    shards,
    source,
    write_shards,
)
from tests.fixtures.object_store import ObjectStore

__all__ = ["engine", "scored", "shards", "source"]  # fixtures
EVERY = SHARDS * PAIRS


def draw(workspace: Workspace, out: Path | str, **choice: float) -> DrawReport:
    drawn = Draw(**choice)  # type: ignore[arg-type]
    return import_drawn(workspace.store, str(out), drawn, workspace.settings)


def ranking(out: Path) -> list[tuple[str, float]]:
    """(id, probability) of all pairs, the most suspicious first."""
    rows = [
        (f"{file.stem}/{row['id']}", row["p_error"])
        for file in sorted(out.glob("*.parquet"))
        for row in pq.read_table(file, columns=["id", "p_error"]).to_pylist()
    ]
    return sorted(rows, key=lambda row: -row[1])


def pairs_of(workspace: Workspace, dataset_id: int) -> list[PairRow]:
    """The pairs in the order of the queue."""
    pairs = workspace.store.read(pair_queries.pairs_after, dataset_id, 0, EVERY)
    return sorted(pairs, key=lambda pair: -(pair.p_error or 0))


def queue(workspace: Workspace, dataset_id: int) -> list[tuple[str, float | None]]:
    return [(pair.external_id, pair.p_error) for pair in pairs_of(workspace, dataset_id)]


def decide(workspace: Workspace, pairs: list[PairRow]) -> int:
    """Every second pair is wrong; returns how many."""
    for number, pair in enumerate(pairs):
        workspace.review.decide(pair.id, 0, "correct" if number % 2 else "drop")
    return (len(pairs) + 1) // 2


def test_the_most_suspicious_pairs_are_ready_for_review(scored: Path, workspace: Workspace) -> None:
    report = draw(workspace, scored, top=10)
    assert (report.name, report.pairs, report.added, report.problems) == ("out", EVERY, 10, 0)
    assert queue(workspace, report.dataset_id) == ranking(scored)[:10]
    again = draw(workspace, scored, top=12)
    assert (again.dataset_id, again.added, again.already_there) == (report.dataset_id, 2, 10)
    assert queue(workspace, report.dataset_id) == ranking(scored)[:12]
    rescored = workspace.jobs.score(report.dataset_id, suggestions=False)
    assert (rescored.scored, rescored.skipped, rescored.unreadable) == (0, 12, 0)
    assert queue(workspace, report.dataset_id) == ranking(scored)[:12]
    least = ranking(scored)[7][1]
    assert draw(workspace, scored, above=least).already_there == 8


def test_what_verdicts_teach_ranks_the_shards_and_the_dataset(
    scored: Path, source: Path, workspace: Workspace, tmp_path: Path
) -> None:
    out, file = tmp_path / "out", tmp_path / "learnt"
    shutil.copytree(scored, out)
    dataset_id = draw(workspace, out, top=20).dataset_id
    decide(workspace, pairs_of(workspace, dataset_id))
    trained = workspace.jobs.run("train", dataset_id)
    assert trained.verdicts == 20
    save_detector(workspace.store, trained.classifier_id, file)
    assert rank_shards(source, out, file).scored_now == SHARDS
    report = draw(workspace, out, top=25)
    assert report.added + report.already_there == 25
    (active,) = (row for row in workspace.jobs.classifiers(dataset_id) if row.active)
    assert active.id == trained.classifier_id
    in_shards = dict(ranking(out))
    for pair in pairs_of(workspace, dataset_id):
        assert pair.p_error == pytest.approx(in_shards[pair.external_id], abs=1e-6)
        assert (pair.decision is None) == (pair.verdict_version == 0)
    assert sum(pair.decision is not None for pair in pairs_of(workspace, dataset_id)) == 20


def test_a_sample_says_how_many_errors_remain_in_all(scored: Path, workspace: Workspace) -> None:
    report = draw(workspace, scored, share=0.8)
    assert (report.name, report.pairs) == ("out-sample", EVERY)
    assert 0 < report.added < EVERY
    pairs = pairs_of(workspace, report.dataset_id)
    view = progress_of(workspace.store, report.dataset_id)
    assert view.whole is not None
    assert (view.whole.pairs, view.whole.remaining) == (EVERY, None)
    wrong = decide(workspace, pairs)
    both = draw(workspace, scored, above=0)  # some of these errors are also found here
    others = [p for p in pairs_of(workspace, both.dataset_id)
              if p.external_id not in {pair.external_id for pair in pairs}]  # fmt: skip
    found_errors = wrong + decide(workspace, others[:4])
    whole = progress_of(workspace.store, report.dataset_id).whole
    assert whole is not None
    assert whole.remaining is not None
    expected = EVERY * wrong / len(pairs) - found_errors
    assert whole.remaining.errors == pytest.approx(expected)
    assert whole.remaining.low < expected < whole.remaining.high
    assert progress_of(workspace.store, both.dataset_id).whole is None
    with pytest.raises(SettingsError, match="random sample"):
        import_drawn(workspace.store, str(scored), Draw(top=3), workspace.settings, "out-sample")
    larger = draw(workspace, scored, share=0.99)
    assert (larger.already_there, larger.added > 0) == (report.added, True)


def test_only_drawn_pictures_are_fetched_from_an_address(
    scored: Path, source: Path, workspace: Workspace, object_store: ObjectStore
) -> None:
    object_store.upload(source, "s3://shop/in")
    object_store.upload(scored, "s3://shop/out")
    run = json.loads((scored / "run.json").read_text()) | {"source": "s3://shop/in"}
    object_store.put("shop/out/run.json", json.dumps(run).encode())
    versions = {file.name: file.version for file in Location("s3://shop/in").files()}
    manifest = json.loads((scored / "manifest.json").read_text())
    results = {file.name: file.version for file in Location("s3://shop/out").files()}
    for name, fact in manifest["shards"].items():
        fact |= {"version": versions[name], "result": results[f"{name}.parquet"]}
    object_store.put("shop/out/manifest.json", json.dumps(manifest).encode())
    small = replace(workspace.settings, upload_limit=1e-6)
    with pytest.raises(SettingsError, match="upload_limit"):
        import_drawn(workspace.store, "s3://shop/out", Draw(top=5), small)
    object_store.requests.clear()
    report = draw(workspace, "s3://shop/out", top=5)
    assert (report.added, report.problems) == (5, 0)
    read = [r for r in object_store.requests if r.startswith("GET") and r.endswith(".tar")]
    assert len(read) == len({p.image_path for p in pairs_of(workspace, report.dataset_id)})
    object_store.requests.clear()
    assert draw(workspace, "s3://shop/out", top=5).already_there == 5
    assert not [r for r in object_store.requests if r.startswith("GET") and r.endswith(".tar")]
    report = workspace.jobs.score(report.dataset_id, suggestions=False, trajectories="all")
    assert (report.completed, report.unreadable) == (5, 0)
    object_store.fault = lambda method, path: "403" if path.endswith("00001.tar") else ""
    report = draw(workspace, "s3://shop/out", above=0)
    assert report.problems + report.added + report.already_there == EVERY
    assert 0 < report.problems <= PAIRS
    assert "No permission" in report.first_problems[0].message
    object_store.fault = lambda method, path: ""
    assert draw(workspace, "s3://shop/out", above=0).added == report.problems
    assert workspace.problems(report.dataset_id) == []


def test_what_does_not_fit_is_told_before_work_begins(
    scored: Path, engine: Engine, workspace: Workspace, tmp_path: Path
) -> None:
    source, out = write_shards(tmp_path / "shards", 4), tmp_path / "out"
    with pytest.raises(SettingsError, match="holds no results"):
        draw(workspace, source, top=3)

    def interrupt(done: int, total: int, message: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shard_scores.score_shards(engine, source, out, interrupt, HERE)
    with pytest.raises(SettingsError, match=r"00002\.tar of .* not scored yet"):
        draw(workspace, out, top=3)
    shard_scores.score_shards(engine, source, out, devices=HERE)
    with pytest.raises(SettingsError, match="is drawn"):
        draw(workspace, out, above=1)
    draw(workspace, out, top=3)
    with pytest.raises(SettingsError, match="is from"):
        import_drawn(workspace.store, str(scored), Draw(top=3), workspace.settings, "out")
    (source / "00000.tar").replace(source / "00001.tar")
    with pytest.raises(SettingsError, match=r"00001\.tar of .* changed"):
        draw(workspace, out, top=3)
    shard_scores.score_shards(engine, source, out, devices=HERE)
    (source / "00001.tar").unlink()
    with pytest.raises(DatasetFormatError, match=r"00001\.tar is gone"):
        draw(workspace, out, top=3)
    shard_scores.score_shards(engine, source, out, devices=HERE)
    draw(workspace, out, top=3)
    shutil.rmtree(source)
    with pytest.raises(DatasetNotFound, match="shards"):
        draw(workspace, out, top=3)
