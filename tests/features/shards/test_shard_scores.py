"""Shards are scored one by one into files, without the database; a kill loses nothing."""

import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from backend.datasets.safe_files.locations import Location
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import NAMES, without_expectation
from backend.engine.detection.verdict_update import VerdictUpdate
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError
from backend.features.shards import shard_scores
from backend.features.shards.import_drawn import Draw, import_drawn
from backend.features.shards.reports import DrawReport, ShardSelection, ShardsReport
from backend.features.shards.shard_ranking import rank_shards
from backend.features.shards.shard_scores import Detector
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_scores import score_rows
from backend.jobs.import_dataset import import_dataset
from backend.jobs.scoring.dataset_constants import ConstantChoice
from backend.jobs.scoring.workers import Devices
from backend.loaded_models import Engine
from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import drawn_pairs
from tests.cli.invoking import as_json
from tests.datasets.folders import make_tar
from tests.fixtures.features import needs
from tests.fixtures.object_store import ObjectStore
from tests.fixtures.shared import SharedFolder
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace

ROOT = Path(__file__).resolve().parents[3]
SHARDS, PAIRS, FEW = 3, 13, 4
HERE = Devices()


def write_shards(
    folder: Path,
    pairs: int = PAIRS,
    before: str = "",
    without: int = -1,
    shifted: Sequence[int] = (),
    count: int = SHARDS,
    german: int = 0,
) -> Path:
    """`before`: what stands in front of each caption, but in the shard `without` it; `shifted`:
    shards whose captions are one row off; `german`: how many captions of each are in German."""
    folder.mkdir()
    for number in range(count):
        members: dict[str, bytes] = {}
        drawn = drawn_pairs(pairs, seed=number)
        for row, (picture, caption) in enumerate(drawn):
            if number in shifted:
                caption = drawn[row - 1][1]
            content = io.BytesIO()
            picture.save(content, "PNG")
            members[f"{number}-{row:04d}.png"] = content.getvalue()
            text = caption if number == without else before + caption
            text = f"Ein Mann liest eine Zeitung im Park {row}" if row < german else text
            members[f"{number}-{row:04d}.txt"] = text.encode()
        make_tar(folder / f"{number:05d}.tar", members)
    return folder


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("state")
    workspace = Workspace(load_settings({"data_directory": str(folder)}, {}))
    yield workspace.engine
    assert workspace.datasets() == []
    workspace.store.close()


@pytest.fixture(scope="module")
def shards(engine: Engine, shared_folder: SharedFolder) -> Path:
    """The shards in `source`, and what their scoring wrote in `out`."""

    def score(folder: Path) -> None:
        source, out = write_shards(folder / "source"), folder / "out"
        report = shard_scores.score_shards(engine, source, out, devices=HERE)
        assert (report.shards, report.pairs, report.left_out) == (SHARDS, SHARDS * PAIRS, 0)

    return shared_folder("scored-shards", score)


@pytest.fixture(scope="module")
def source(shards: Path) -> Path:
    return shards / "source"


@pytest.fixture(scope="module")
def scored(shards: Path) -> Path:
    return shards / "out"


def rows(out: Path, number: int) -> list[dict[str, object]]:
    return list(pq.read_table(out / f"{number:05d}.tar.parquet").to_pylist())


def assert_same(found_rows: list[dict[str, object]], scored: Path, number: int) -> None:
    """The rows of a run that was given the detector of `scored`. That trained it on one of its
    shards, whose probabilities come from the folds of the training."""
    expected = rows(scored, number)
    head = json.loads((scored / "detector").read_bytes().partition(b"\n")[0])
    if head["report"]["shard"] == f"{number:05d}.tar":
        for row in (*found_rows, *expected):
            row["p_error"] = row["suspects"] = None
    assert found_rows == expected


def test_one_shard_and_one_pair_are_counted_in_the_singular() -> None:
    said = [
        ShardsReport(1, 1, 1, 0, (), "out").in_words(),
        DrawReport(1, "a", 1, 1, 0, 0).in_words(),
        ShardSelection(1, 1, 1, 0, 0, 1, 1, "out").in_words(),
    ]
    assert not [text for text in said if re.search(r"\b1 (shards|pairs|decisions)\b", text)]


def test_every_pair_has_its_row_and_nothing_else_remains(scored: Path, source: Path) -> None:
    results = {f"{number:05d}.tar.parquet" for number in range(SHARDS)}
    about_the_run = {"detector", "manifest.json", "run.json"}
    assert {path.name for path in scored.iterdir()} == about_the_run | results
    captions = [caption for _, caption in drawn_pairs(PAIRS, seed=1)]
    table = rows(scored, 1)
    assert [row["caption"] for row in table] == captions
    assert len({row["id"] for row in table}) == PAIRS
    assert all(0 <= float(str(row["p_error"])) <= 1 for row in table)


def test_a_shard_has_the_scores_of_a_dataset(
    scored: Path, source: Path, open_workspace: OpenWorkspace
) -> None:
    workspace = open_workspace(trajectories="first-step")
    dataset = workspace.jobs.import_dataset(source / "00002.tar").dataset_id
    workspace.jobs.score(dataset, suggestions=False)
    expected = {r.caption: r.s_0 for r in workspace.review.queue_page(QueueFilter(dataset)).rows}
    in_shard = {row["caption"]: row["s_0"] for row in rows(scored, 2)}
    assert in_shard == pytest.approx(expected, abs=1e-5)


def test_constant_parts_are_left_out_of_every_shard_that_has_them(
    scored: Path, engine: Engine, tmp_path: Path
) -> None:
    source = write_shards(tmp_path / "source", before="ohwx style, ", without=1)
    out = tmp_path / "out"
    choice = ConstantChoice(("Ohwx style,",), are_searched=False)
    shard_scores.score_shards(engine, source, out, devices=HERE, constant_choice=choice)
    for number in range(SHARDS):
        table, plain = rows(out, number), rows(scored, number)
        before = "" if number == 1 else "ohwx style, "
        assert [row["caption"] for row in table] == [f"{before}{row['caption']}" for row in plain]
        assert [row["s_0"] for row in table] == [row["s_0"] for row in plain]
        suspects = pa.array([row["suspects"] for row in table]).flatten()
        assert min(pc.struct_field(suspects, "start").to_pylist()) >= len(before)
    with pytest.raises(SettingsError):
        shard_scores.score_shards(engine, source, out, devices=HERE)
    blank = ConstantChoice((" , ",))
    with pytest.raises(SettingsError):
        shard_scores.score_shards(
            engine, source, tmp_path / "other", devices=HERE, constant_choice=blank
        )
    assert not (tmp_path / "other").exists()


def test_the_same_command_has_nothing_left_to_do_and_others_are_refused(
    scored: Path, source: Path, engine: Engine
) -> None:
    before = {path: path.stat().st_mtime_ns for path in scored.iterdir()}
    report = shard_scores.score_shards(engine, source, scored, devices=HERE)
    assert (report.scored_now, report.pairs) == (0, SHARDS * PAIRS)
    with pytest.raises(SettingsError, match="another run"):
        shard_scores.score_shards(engine, source, scored, devices=HERE, seed=7)
    with pytest.raises(SettingsError, match="lies in the source"):
        shard_scores.score_shards(engine, source, source / "out", devices=HERE)
    with pytest.raises(SettingsError, match="not empty"):
        shard_scores.score_shards(engine, scored, source, devices=HERE)
    with pytest.raises(DatasetNotFound):
        shard_scores.score_shards(engine, source / "nowhere", scored, devices=HERE)
    assert {path: path.stat().st_mtime_ns for path in scored.iterdir()} == before


def test_tables_with_different_columns_are_named_before_work_begins(
    engine: Engine, tmp_path: Path, object_store: ObjectStore, sizes: Sizes
) -> None:
    source = tmp_path / "tables"
    source.mkdir()
    for number in range(3):
        captions = [os.urandom(20).hex() for _ in range(300)]
        columns = {"file_name": ["a.png"] * 300, "caption": captions}
        pq.write_table(pa.table(columns), source / f"{number}.parquet")
    (source / "3.parquet").write_bytes(b"damaged")  # its task says so
    pq.write_table(pa.table({"file_name": ["a.png"] * 300, "text": captions}), source / "2.parquet")
    object_store.upload(source, "s3://shop/tables")
    sizes(_END=1000)  # less than a table has
    for place, out in ((source, tmp_path / "out"), ("s3://shop/tables", "s3://shop/out")):
        with pytest.raises(DatasetFormatError, match=r"2\.parquet and 0\.parquet .* caption, text"):
            shard_scores.score_shards(engine, place, out, devices=HERE)
        assert Location(out).is_empty()


def test_addresses_serve_as_source_and_destination(
    scored: Path, source: Path, engine: Engine, object_store: ObjectStore
) -> None:
    object_store.upload(source, "s3://shop/in")
    run = json.loads((scored / "run.json").read_text()) | {"source": "s3://shop/in"}
    object_store.put("shop/out/run.json", json.dumps(run).encode())
    object_store.put("shop/out/detector", (scored / "detector").read_bytes())
    object_store.fault = lambda method, path: "403" if path.endswith("00001.tar") else ""

    def score() -> ShardsReport:
        return shard_scores.score_shards(engine, "s3://shop/in", "s3://shop/out", devices=HERE)

    report = score()
    assert (report.scored_now, report.pairs) == (2, 2 * PAIRS)
    assert [failure.partition(":")[0] for failure in report.failed] == ["00001.tar"]
    assert "No permission" in report.failed[0]
    object_store.fault = lambda method, path: ""
    assert (score().scored_now, score().scored_now) == (1, 0)
    results = Location("s3://shop/out")
    for file in results.files():
        if file.name.endswith(".parquet"):
            number = int(file.name.partition(".")[0])
            content = io.BytesIO(results.read(file.name) or b"")
            assert_same(pq.read_table(content).to_pylist(), scored, number)
    puts = [request for request in object_store.requests if request.startswith("PUT")]
    assert sum(".parquet" in request for request in puts) == SHARDS
    with pytest.raises(SettingsError, match="lies in the source"):
        shard_scores.score_shards(engine, "s3://shop/in", "s3://shop/in/out", devices=HERE)
    with pytest.raises(DatasetNotFound, match="no tar shards"):
        shard_scores.score_shards(engine, "s3://shop/out/run.json", "s3://shop/new", devices=HERE)


@needs("energon")
@pytest.mark.parametrize("is_address", [False, True])
def test_samples_that_energon_leaves_out_are_not_scored(
    scored: Path, engine: Engine, tmp_path: Path, object_store: ObjectStore, is_address: bool
) -> None:
    folder = write_shards(tmp_path / "in", FEW, count=1)
    split = "exclude:\n- 00000.tar/0-0001\nsplit_parts:\n  train: ['{00000..00000}.tar']\n"
    (folder / ".nv-meta").mkdir()
    (folder / ".nv-meta" / "split.yaml").write_text(split)
    place, out = str(folder), tmp_path / "out"
    if is_address:
        object_store.upload(folder, "s3://shop/energon")
        place = "s3://shop/energon"
    begun(scored, out, place)
    report = shard_scores.score_shards(engine, place, out, devices=HERE)
    assert (report.failed, report.pairs) == ((), FEW - 1)


def test_a_dataset_comes_from_an_address_and_goes_to_one(
    source: Path, object_store: ObjectStore, workspace: Workspace, tmp_path: Path
) -> None:
    object_store.upload(source, "s3://shop/pairs")
    report = workspace.jobs.import_dataset("s3://shop/pairs")
    assert (report.name, report.added, report.problems) == ("pairs", SHARDS * PAIRS, 0)
    again = workspace.jobs.import_dataset("s3://shop/pairs")
    assert (again.added, again.already_there) == (0, SHARDS * PAIRS)
    with pytest.raises(SettingsError, match="more than fits"):
        import_dataset(workspace.store, "s3://shop/pairs", data_directory=tmp_path, fetch_limit=100)
    target = "s3://shop/cleaned"
    exported = workspace.jobs.export(report.dataset_id, ExportChoice(), target, "webdataset")
    assert (exported.out, exported.written) == (target, SHARDS * PAIRS)
    names = [r.rpartition("/")[2] for r in object_store.requests if r.startswith("PUT /shop/cl")]
    assert names[-1] == "README.md"
    with pytest.raises(SettingsError, match="replaces nothing"):
        workspace.jobs.export(report.dataset_id, ExportChoice(), target, "webdataset")
    cleaned = workspace.jobs.import_dataset(target, name="again")
    assert (cleaned.added, cleaned.problems) == (SHARDS * PAIRS, 0)


def test_what_is_scored_is_ranked_again_without_a_model(
    scored: Path, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(scored, out)
    present = Detector.from_bytes((scored / "detector").read_bytes())
    classifier = Classifier.from_bytes(present.payload)
    file = tmp_path / "learnt"

    def save(changed: Classifier) -> None:
        file.write_bytes(Detector("best", {}, changed.to_bytes()).to_bytes())

    calibration = classifier.calibration
    save(replace(classifier, calibration=replace(calibration, offset=calibration.offset + 1)))

    manifest = json.loads((out / "manifest.json").read_text())
    unreadable = {"9.tar": "It is broken."}
    (out / "manifest.json").write_text(json.dumps({**manifest, "failed": unreadable}))

    def interrupt(done: int, total: int, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_shards(source, out, file, interrupt)
    report = rank_shards(source, out, file)
    assert (report.shards, report.scored_now, report.pairs) == (3, SHARDS - 1, SHARDS * PAIRS)
    assert json.loads((out / "manifest.json").read_text())["failed"] == unreadable
    for number in range(SHARDS):
        for row, earlier in zip(rows(out, number), rows(scored, number), strict=True):
            if present.report["shard"] != f"{number:05d}.tar":
                assert float(str(row["p_error"])) > float(str(earlier["p_error"]))
            assert {**row, "p_error": 0} == {**earlier, "p_error": 0}
    save(classifier)
    assert rank_shards(source, out, file).scored_now == SHARDS
    for number in range(SHARDS):
        if present.report["shard"] != f"{number:05d}.tar":
            expected = [row["p_error"] for row in rows(scored, number)]
            assert [row["p_error"] for row in rows(out, number)] == pytest.approx(expected)
    save(replace(classifier, captioner="another"))
    with pytest.raises(SettingsError, match="another captioner"):
        rank_shards(source, out, file)
    with pytest.raises(SettingsError, match="holds the results of"):
        rank_shards(tmp_path, out, file)
    with pytest.raises(SettingsError, match="no detector"):
        rank_shards(source, out, scored / "run.json")


def test_the_detector_before_is_kept_and_ranks_again(
    scored: Path, source: Path, tmp_path: Path
) -> None:
    out, file = tmp_path / "out", tmp_path / "learnt"
    shutil.copytree(scored, out)
    with pytest.raises(SettingsError, match="No other detector"):
        rank_shards(source, out, None)
    present = Detector.from_bytes((scored / "detector").read_bytes())
    level = VerdictUpdate(intercept=2.0)
    learnt = replace(Classifier.from_bytes(present.payload), update=level)
    file.write_bytes(Detector("best", {}, learnt.to_bytes()).to_bytes())
    for other, expected in ((file, learnt), (file, learnt), (None, None), (None, learnt)):
        rank_shards(source, out, other)
        payload = Detector.from_bytes((out / "detector").read_bytes()).payload
        assert payload == (present.payload if expected is None else expected.to_bytes())
        raised = [
            float(str(row["p_error"])) > float(str(earlier["p_error"]))
            for row, earlier in zip(rows(out, 1), rows(scored, 1), strict=True)
        ]
        assert all(raised) == (expected is not None)


def test_a_detector_without_a_captioner_gives_way_to_one_with_and_back(
    scored: Path, source: Path, tmp_path: Path
) -> None:
    """The first detector ranks by s_0 alone if its shard is small."""
    out, learnt = tmp_path / "out", tmp_path / "learnt"
    shutil.copytree(scored, out)
    detector = Detector.from_bytes((scored / "detector").read_bytes())
    classifier = Classifier.from_bytes(detector.payload)
    assert classifier.captioner
    unaided = Detector("best", {}, replace(classifier, captioner="").to_bytes()).to_bytes()
    (out / "detector").write_bytes(unaided)
    learnt.write_bytes(Detector("best", {}, detector.payload).to_bytes())
    rank_shards(source, out, learnt)
    number = next(n for n in range(SHARDS) if detector.report["shard"] != f"{n:05d}.tar")
    expected = [row["p_error"] for row in rows(scored, number)]
    assert [row["p_error"] for row in rows(out, number)] == pytest.approx(expected)
    learnt.write_bytes(unaided)
    rank_shards(source, out, learnt)
    signs = np.array([[row[name] for name in NAMES] for row in rows(scored, number)], np.float64)
    expected = classifier.predict(without_expectation(signs)).tolist()
    assert [row["p_error"] for row in rows(out, number)] == pytest.approx(expected, abs=1e-6)


def test_results_without_a_manifest_are_known(
    scored: Path, source: Path, engine: Engine, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(scored, tmp_path / "out"))
    (out / "manifest.json").unlink()  # killed before it was written
    report = shard_scores.score_shards(engine, source, out, devices=HERE)
    assert (report.scored_now, report.pairs) == (0, SHARDS * PAIRS)
    stored, manifest = (
        json.loads((folder / "manifest.json").read_text())["shards"] for folder in (scored, out)
    )
    assert manifest.keys() == stored.keys()


def begun(scored: Path, out: Path, source: Path | str) -> None:
    """A destination of this source with the detector of `scored`, and no result yet."""
    out.mkdir()
    shutil.copy(scored / "detector", out)
    run = json.loads((scored / "run.json").read_text()) | {"source": str(source)}
    (out / "run.json").write_text(json.dumps(run))


def test_commands_share_a_destination(
    scored: Path, source: Path, engine: Engine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    begun(scored, out, source)
    others: list[ShardsReport] = []

    def begin_another(done: int, total: int, message: str) -> None:
        if message.startswith("Scored") and not others:
            others.append(shard_scores.score_shards(engine, source, out, devices=HERE))

    report = shard_scores.score_shards(engine, source, out, begin_another, HERE)
    assert [each.scored_now for each in (report, *others)] == [1, SHARDS - 1]
    assert report.pairs == others[0].pairs == SHARDS * PAIRS
    assert not list(out.glob("*.lease"))
    for number in range(SHARDS):
        assert_same(rows(out, number), scored, number)


def test_a_lease_holds_until_it_expires_or_its_process_has_ended(
    scored: Path, engine: Engine, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(_POLL=0.05)
    source, out = write_shards(tmp_path / "source", FEW), tmp_path / "out"
    begun(scored, out, source)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    of_dead, of_other = out / "a.lease", out / "b.lease"
    lease = {"host": socket.gethostname(), "process": ended.pid, "until": time.time() + 1000}
    of_dead.write_text(json.dumps({**lease, "shards": ["00000.tar"]}))
    of_other.write_text(json.dumps({**lease, "host": "elsewhere", "shards": ["00001.tar"]}))

    def expire(done: int, total: int, message: str) -> None:
        if "00001.tar" in message and "another command" in message:
            assert (out / "00000.tar.parquet").exists()
            assert not (out / "00001.tar.parquet").exists()
            past = {**lease, "host": "elsewhere", "until": time.time() - 1}
            of_other.write_text(json.dumps({**past, "shards": ["00001.tar"]}))

    report = shard_scores.score_shards(engine, source, out, expire, HERE)
    assert (report.scored_now, report.failed) == (SHARDS, ())
    assert not list(out.glob("*.lease"))


def test_results_of_shards_that_break_or_vanish_are_set_aside(
    scored: Path, source: Path, engine: Engine, tmp_path: Path
) -> None:
    mine, out = shutil.copytree(source, tmp_path / "source"), tmp_path / "out"
    shutil.copytree(scored, out)
    run = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(run | {"source": str(mine)}))
    whole = (mine / "00001.tar").read_bytes()
    (mine / "00000.tar").unlink()
    (mine / "00001.tar").write_bytes(b"broken")
    report = shard_scores.score_shards(engine, mine, out, devices=HERE)
    stale = ("00000.tar.parquet.stale", "00001.tar.parquet.stale")
    assert (report.shards, report.pairs, report.stale) == (2, PAIRS, stale)
    assert [failure.partition(":")[0] for failure in report.failed] == ["00001.tar"]
    assert "00001.tar" in report.in_words()
    assert stale[0] in report.in_words()
    assert sum(pq.read_table(file).num_rows for file in out.glob("*.parquet")) == report.pairs
    assert shard_scores.scored_shards(Location(out), Location(mine)).keys() == {"00002.tar"}
    (mine / "00001.tar").write_bytes(whole)
    report = shard_scores.score_shards(engine, mine, out, devices=HERE)
    assert (report.scored_now, report.pairs, report.stale) == (1, 2 * PAIRS, stale[:1])


def test_a_long_caption_is_scored_claim_by_claim_imported_and_ranked(
    engine: Engine, tmp_path: Path, open_workspace: OpenWorkspace
) -> None:
    members: dict[str, bytes] = {}
    drawn = list(drawn_pairs(2 * PAIRS, seed=5))
    for row, (picture, caption) in enumerate(drawn):
        content = io.BytesIO()
        picture.save(content, "PNG")
        long = f"{caption} {drawn[row - 1][1]} {caption}" if row < PAIRS else caption
        members[f"{row:04d}.png"], members[f"{row:04d}.txt"] = content.getvalue(), long.encode()
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    make_tar(source / "00000.tar", members)
    shard_scores.score_shards(engine, source, out, devices=HERE)
    table = pq.read_table(out / "00000.tar.parquet")
    spans = table.schema.field("suspects").type.value_type
    assert (str(spans.field("start").type), str(spans.field("score").type)) == ("int32", "float")
    scored_rows = table.to_pylist()
    for row in scored_rows:
        claims, caption = row["claims"], row["caption"]
        assert len(claims) == (3 if int(row["id"]) < PAIRS else 0)
        repeated = [caption[c["start"] : c["end"]] == drawn[int(row["id"])][1] for c in claims]
        assert repeated == [True, False, True][: len(claims)]
        assert [c["p_error"] is None for c in claims] == [False, False, True][: len(claims)]
    detector = Detector.from_bytes((out / "detector").read_bytes())
    classifier = Classifier.from_bytes(detector.payload)
    file = tmp_path / "learnt"
    learnt = replace(classifier, update=VerdictUpdate(intercept=2.0))
    file.write_bytes(Detector("best", {}, learnt.to_bytes()).to_bytes())
    rank_shards(source, out, file)
    ranked = rows(out, 0)
    for before, after in zip(scored_rows, ranked, strict=True):
        assert float(str(after["p_error"])) > before["p_error"]
    workspace = open_workspace()
    report = import_drawn(workspace.store, str(out), Draw(top=100), workspace.settings)
    exported = list(score_rows(workspace.store, report.dataset_id))
    by_id = {row["id"]: row for row in exported}
    for row in ranked:
        same = by_id[f"00000.tar/{row['id']}"]
        assert same["p_error"] == pytest.approx(row["p_error"], abs=1e-6)
        for claim, expected in zip(same["claims"], row["claims"], strict=True):  # type: ignore
            assert claim == pytest.approx(expected, abs=1e-6)


def test_no_store_is_needed(scored: Path, tmp_path: Path) -> None:
    source = write_shards(tmp_path / "source", FEW, count=1)
    (tmp_path / "file").write_text("")
    for state in (tmp_path / "state", tmp_path / "file" / "state"):
        out = tmp_path / f"out-{state.parent.name}"
        begun(scored, out, source)
        environment = {"TRACED_DATA_DIRECTORY": str(state)}
        command = ("score", str(source), "--out", f"{out}/", "--devices", "cpu")
        assert as_json(environment, *command)["pairs"] == FEW
        assert not (state / "traced.db").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), None),
        (("--constant", "ohwx"), ConstantChoice(("ohwx",))),
        (("--no-constants",), ConstantChoice(are_searched=False)),
    ],
)
def test_the_command_says_which_parts_are_constant(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...],
    expected: ConstantChoice | None,
) -> None:  # fmt: skip
    choices: list[ConstantChoice | None] = []

    def score(*_: object, constant_choice: ConstantChoice | None, **__: object) -> ShardsReport:
        choices.append(constant_choice)
        return ShardsReport(0, 0, 0, 0, (), "out")

    monkeypatch.setattr(shard_scores, "score_shards", score)
    state = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    as_json(state, "score", str(source), "--out", f"{tmp_path / 'out'}/", *options)
    assert choices == [expected]


def test_an_interrupted_run_continues(
    scored: Path, source: Path, engine: Engine, tmp_path: Path
) -> None:
    def interrupt(done: int, total: int, message: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        shard_scores.score_shards(engine, source, out, interrupt, HERE)
    assert len(list(out.glob("*.parquet"))) == 2
    report = shard_scores.score_shards(engine, source, out, devices=HERE)
    assert (report.scored_now, report.pairs) == (1, SHARDS * PAIRS)
    for number in range(SHARDS):
        assert rows(out, number) == rows(scored, number)


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # six starts of the program, on a machine of any speed
def test_a_command_that_is_killed_again_and_again_continues(
    scored: Path, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable, "app.py", "score", str(source), "--out", f"{out}/", "--devices", "cpu",
        "--json",
    ]  # fmt: skip
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    # (files, how many of them there are when it is killed)
    for pattern, number in (
        ("run.json", 1),
        ("detector", 1),
        *(("*.parquet", n) for n in (1, 2, 3)),
    ):
        first = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        while len(list(out.glob(pattern))) < number and first.poll() is None:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert len(list(out.glob(pattern))) >= number
    second = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    report = json.loads(second.stdout)
    assert (report["pairs"], report["failed"]) == (SHARDS * PAIRS, [])
    # The tests' own process trains its detectors on fewer noisy copies: probabilities differ.
    for number in range(SHARDS):
        for row, same in zip(rows(out, number), rows(scored, number), strict=True):
            differing = {name for name in row if row[name] != same[name]}
            assert differing <= {"p_error", "suspects"}
