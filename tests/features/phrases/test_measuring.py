"""Support of a dataset: measured, resumed, refused and stored."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Result, update

from backend.engine.english.phrases import is_spaced
from backend.engine.phrases.nonce import NoncePools
from backend.errors import SettingsError
from backend.features.phrases.queries import matches
from backend.features.phrases.report import SupportReport
from backend.jobs import export_scores
from backend.workspace import QueueFilter, Workspace
from db import Store
from db.models import Pair
from db.queries import (
    detection_queries,
    pair_queries,
    phrase_queries,
    run_queries,
    trajectory_queries,
)
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import PairRow
from db.queries.trajectory_queries import TrajectoryRow
from tests.checkpoints import drawn_folder
from tests.datasets.folders import image_folder
from tests.db.building import add_dataset, start_run
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace, opened
from traced_ui.api import Caller, open_pair, queue
from traced_ui.dataset_settings import overview_html

COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    captions = {3: "!?", 4: "Simply forever", 5: "犬が走っている"}

    def columns(number: int, caption: str) -> dict[str, object]:
        split = "train" if number < 33 else "test"
        return {"caption": captions.get(number, caption), "split": split}

    return drawn_folder(tmp_path_factory.mktemp("data") / "pairs", COUNT, 9, columns)


SETTINGS = {**QUICK_CLIP, "captioner": "none"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """A workspace before support is measured, to copy."""
    base = tmp_path_factory.mktemp("scored")
    workspace = opened(base / "state", **SETTINGS)
    dataset = workspace.find_or_import(str(folder))
    with pytest.raises(SettingsError, match="no scores yet"):
        workspace.jobs.run("support", dataset)
    workspace.jobs.score(dataset, suggestions=False)
    workspace.store.close()
    return base


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace") / "state"


@pytest.fixture(scope="module")
def measured(state: Path, scored: Path) -> Iterator[tuple[Workspace, SupportReport]]:
    """The same after support was measured; tests change nothing."""
    shutil.copytree(scored / "state", state)
    made = opened(state, **SETTINGS)
    yield made, made.jobs.run("support", 1)
    made.store.close()


@pytest.fixture
def workspace(measured: tuple[Workspace, SupportReport]) -> Workspace:
    return measured[0]


def stored(workspace: Workspace) -> list[tuple[float | None, float | None]]:
    with workspace.store.reading() as session:
        rows = pair_queries.iterate_pairs(session, 1)
        return [(row.numbers["support"], row.numbers["weakest"]) for row in rows]


def pairs_and_phrases(
    workspace: Workspace,
) -> tuple[list[PairRow], list[PairRow], dict[int, list[phrase_queries.PhraseRow]]]:
    """All pairs, the pool by whose phrases support is normalised, and the phrases of each."""
    with workspace.store.reading() as session:
        rows = list(pair_queries.iterate_pairs(session, 1))
        phrases = {row.id: phrase_queries.phrases_of(session, row.id) or [] for row in rows}
    pool = sorted(rows, key=lambda row: (-(row.s_0 or 0), row.id))[: int(0.7 * COUNT)]
    return rows, pool, phrases


def test_support_is_the_mean_normalised_over_the_pool(
    measured: tuple[Workspace, SupportReport],
) -> None:
    """Recomputed from the stored phrases with plain loops."""
    workspace, report = measured
    assert report.computed == COUNT
    assert report.phrases >= report.covered > 3 * COUNT
    assert "this model maps all nonces to one unknown token" in report.notes
    assert any("script without spaces" in note for note in report.notes)
    rows, pool, phrases = pairs_and_phrases(workspace)
    by_kind: dict[int, list[float]] = {}
    for row in pool:
        for score in phrases[row.id]:
            if score.basis is not None:
                by_kind.setdefault(score.kind, []).append(score.basis)
    for row in rows:
        tested = [
            (score.basis - float(np.mean(by_kind[score.kind])))
            / max(float(np.std(by_kind[score.kind])), 1e-6)
            for score in phrases[row.id]
            if score.basis is not None
        ]
        if not tested:
            assert row.numbers["support"] is None
            assert row.numbers["weakest"] is None
            continue
        assert row.numbers["support"] == pytest.approx(np.mean(tested), abs=1e-4)
        assert row.numbers["weakest"] == pytest.approx(min(tested), abs=1e-4)
    untested = [row.caption for row in rows if row.numbers["support"] is None]
    assert {"!?", "Simply forever", "犬が走っている"} <= set(untested)
    assert report.untested == len(untested)


def test_a_stopped_run_resumes_after_the_last_pair_and_a_second_computes_nothing(
    workspace: Workspace, open_workspace: OpenWorkspace, scored: Path, sizes: Sizes
) -> None:
    other = open_workspace(copy_of=scored, **SETTINGS)
    sizes(BATCH=7)
    with pytest.raises(KeyboardInterrupt):
        other.jobs.run("support", 1, stop_at(21))
    assert stored(other) == [(None, None)] * COUNT
    assert other.jobs.run("support", 1).computed == COUNT - 3 * 7
    for resumed, whole in zip(stored(other), stored(workspace), strict=True):
        assert resumed == (whole if whole[0] is None else pytest.approx(whole, abs=1e-5))
    before = stored(other)
    assert other.jobs.run("support", 1).computed == 0
    assert stored(other) == before


def test_damaged_nonces_are_created_again(
    workspace: Workspace, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (file,) = (state / "nonces").glob("clip-*.json")
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[:100], encoding="utf-8")
    assert workspace.jobs.run("support", 1).computed == 0  # the same digest
    assert "created again" in caplog.text
    assert NoncePools.from_json(file.read_text(encoding="utf-8")).to_json() == whole


def test_the_api_and_files_contain_the_measured_values(
    workspace: Workspace, tmp_path: Path
) -> None:
    in_store = stored(workspace)
    assert any(support is not None for support, _ in in_store)
    caller = Caller(workspace)
    queued = {row.id: row.model_dump() for row in queue(caller, 1, limit=100).pairs}
    file = tmp_path / "scores.jsonl"
    export_scores.write(workspace.store, 1, file)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for pair_id, line, (whole, worst) in zip(sorted(queued), lines, in_store, strict=True):
        pair = open_pair(caller, pair_id).model_dump()
        for row in (queued[pair_id], pair, line):
            assert (row["support"], row["weakest"]) == (
                pytest.approx(whole), pytest.approx(worst),
            )  # fmt: skip
        assert [(p["start"], p["end"], p["kind"]) for p in line["phrases"]] == [
            (p["start"], p["end"], p["kind"]) for p in pair["phrases"]
        ]
        for phrase in pair["phrases"]:
            assert phrase["phrase"] == pair["caption"][phrase["start"] : phrase["end"]]


def test_support_with_lemon_is_refused(open_workspace: OpenWorkspace, tmp_path: Path) -> None:
    workspace = open_workspace(**{**SETTINGS, "kind": "lemon"})
    dataset = workspace.find_or_import(str(drawn_folder(tmp_path / "few", 6)))
    workspace.jobs.score(dataset, suggestions=False)
    with pytest.raises(SettingsError, match="LEMoN compares pairs; phrases need a scorer"):
        workspace.jobs.run("support", dataset)


def scored_without_a_model(workspace: Workspace, path: Path, captions: list[str]) -> int:
    """Import pairs of one picture with made-up match scores; returns the dataset."""
    rows = [{"file_name": "a.png", "caption": text} for text in captions]
    image_folder(path, rows, ("a.png",))
    dataset = workspace.find_or_import(str(path))
    info = workspace.engine.scorer.info
    run = start_run(workspace.store.opened, dataset, info.revision, model=info.model)
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, dataset)]
        single, nothing = np.ones(1, np.float32), np.zeros(0, np.float32)
        trajectory_queries.save_trajectories(
            session, run, [TrajectoryRow(i, single, single, (), nothing) for i in ids]
        )
    return dataset


@pytest.fixture
def bare(open_workspace: OpenWorkspace) -> Workspace:
    return open_workspace(**SETTINGS)


def test_a_missing_image_is_listed_once(bare: Workspace, tmp_path: Path) -> None:
    dataset = scored_without_a_model(bare, tmp_path / "pairs", ["A red dog.", "A dog.", "A box."])
    (tmp_path / "pairs/a.png").unlink()
    report = bare.jobs.run("support", dataset)
    assert (report.computed, report.untested) == (0, 3)
    (problem,) = bare.problems(dataset)
    assert (problem.file, problem.kind) == ("a.png", "unreadable image")


@pytest.mark.parametrize(
    ("captions", "is_shown"),
    [
        (["Ein Hund auf einer Bank.", "Eine Frau mit einem Hut.", "A dog on a bench."], True),
        (["犬が走っている", "赤い車", "A red car."], True),
        (["A dog on a bench.", "Red boat near shore", "犬が走っている"], False),
    ],
)
def test_pages_say_that_phrases_are_recognised_in_english_only(
    bare: Workspace, tmp_path: Path, captions: list[str], is_shown: bool
) -> None:
    """Shown while it applies, from what the job recorded, without reading captions again."""
    note = "phrases are known in English only"
    dataset = scored_without_a_model(bare, tmp_path / "pairs", captions)
    assert note not in overview_html(bare)
    bare.jobs.run("support", dataset)
    row = bare.review.queue_page(QueueFilter(dataset, order="position"), None, 9).rows[0]

    def shown() -> tuple[bool, bool]:
        on_pair = bare.review.open_pair(row.pair_id).support.note.lower()
        return note in overview_html(bare), note.lower() in on_pair

    spaced = is_spaced(row.caption)
    assert shown() == (is_shown, is_shown or not spaced)
    # Measured again: nothing is computed, and the recorded note does not start a new run.
    assert bare.jobs.run("support", dataset).computed == 0
    assert shown() == (is_shown, is_shown or not spaced)
    # After adding captions, the note follows the next measurement.
    more = ["A cat on a mat."] * 7 if is_shown else ["Ein Hund auf einer Bank."] * 7
    bare.store.write(
        pair_queries.add_pairs,
        dataset,
        [pair_queries.NewPair(f"more-{i}", "a.png", text) for i, text in enumerate(more)],
    )
    bare.jobs.run("support", dataset)
    assert shown() == (not is_shown, not is_shown or not spaced)


def test_a_suspect_word_that_the_picture_supports_is_marked(workspace: Workspace) -> None:
    """A word suspect by 0.5 or more whose phrase is above the mean of its kind over the pool."""
    rows, pool, phrases = pairs_and_phrases(workspace)
    before = workspace.store.read(detection_queries.detections_of, [row.id for row in rows])
    objects = [p.basis for row in pool for p in phrases[row.id] if p.kind == 0 and p.basis]
    mean = float(np.mean(objects))
    hints = set()
    for row in rows[:20]:
        for suspicion in (0.45, 0.55):
            suspects = tuple((p.head_start, p.head_end, suspicion) for p in phrases[row.id])
            workspace.store.write(
                detection_queries.save_detections, [DetectionRow(row.id, row.p_error, suspects)]
            )
            for phrase, view in zip(
                phrases[row.id],
                workspace.review.open_pair(row.id).support.phrases or (),
                strict=True,
            ):
                if phrase.kind == 0:
                    is_above = phrase.basis is not None and phrase.basis > mean
                    assert view.suspect_yet_supported == (is_above and suspicion > 0.5)
                    hints.add(view.suspect_yet_supported)
    assert hints == {False, True}
    workspace.store.write(detection_queries.save_detections, list(before.values()))
    assert len(before) == COUNT


def test_a_caption_without_a_phrase_says_so_on_its_page(bare: Workspace, tmp_path: Path) -> None:
    captions = ["Simply forever", "!?", "A red dog beside a box."]
    dataset = scored_without_a_model(bare, tmp_path / "pairs", captions)
    bare.jobs.run("support", dataset)
    rows = bare.review.queue_page(QueueFilter(dataset, order="position"), None, 9).rows
    views = {row.caption: bare.review.open_pair(row.pair_id) for row in rows}
    for text in ("Simply forever", "!?"):
        view = views[text]
        assert (view.numbers["support"], view.numbers["weakest"]) == (None, None)
        assert not [phrase for phrase in view.support.phrases or () if phrase.pas is not None]
        assert view.support.phrases is not None, "the section is there"
    tested = views["A red dog beside a box."]
    assert tested.numbers["support"] is not None
    assert [phrase.kind for phrase in tested.support.phrases or ()] == [
        "attribute", "object", "relation", "object",
    ]  # fmt: skip


def test_words_of_the_dataset_are_not_used_as_nonces(bare: Workspace, tmp_path: Path) -> None:
    pools = NoncePools({(1, "", False): ("blorf", "grint", "snelp")}, False)
    info = bare.engine.scorer.info
    file = tmp_path / "state" / "nonces" / f"{info.kind}-{info.revision}.json"
    file.parent.mkdir(parents=True)
    file.write_text(pools.to_json(), encoding="utf-8")
    captions = ["A Blorf beside a dog.", "The dog.", "Two (snelp)-like boxes."]
    dataset = scored_without_a_model(bare, tmp_path / "pairs", captions)
    bare.jobs.run("support", dataset)
    run = bare.store.read(run_queries.latest_run, dataset, phrase_queries.KIND)
    assert run is not None
    assert run.parameters["nonces"] == pools.without(["blorf", "snelp"]).digest


def test_phrases_round_trip_and_long_captions_are_refused() -> None:
    rows = [
        phrase_queries.PhraseRow(0, 5, 2, 5, 0, 0.25, 0.0, -0.5),
        phrase_queries.PhraseRow(7, 65_535, 7, 9, 2, None, None, None),
    ]
    assert phrase_queries.unpack(phrase_queries.pack(rows)) == rows
    assert phrase_queries.unpack(b"") == []
    with pytest.raises(ValueError, match="beyond character"):
        phrase_queries.pack([phrase_queries.PhraseRow(0, 65_536, 0, 1, 0, math.pi, 0.0, 0.0)])


@pytest.mark.parametrize("size", [0, 5])
def test_the_matches_of_all_pairs_are_read_in_batches(
    sqlite_store: Store, sizes: Sizes, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    dataset, pairs = add_dataset(sqlite_store, size)
    with sqlite_store.writing() as session:
        session.execute(update(Pair).where(Pair.id.in_(pairs[1:])).values(s_0=Pair.id / 8))
    sizes(_TOGETHER=2)
    monkeypatch.delattr(Result, "all")
    with sqlite_store.reading() as session:
        ids, s_0 = matches(session, dataset)
    assert ids.tolist() == pairs
    assert np.array_equal(s_0, [np.nan, *(each / 8 for each in pairs[1:])][:size], equal_nan=True)
