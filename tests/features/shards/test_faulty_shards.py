"""A shard that has a fault as a whole is named, teaches no detector and is left out."""

import shutil
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.safe_files.locations import Location
from backend.errors import DatasetError
from backend.features.shards import shard_scores
from backend.features.shards.decisions import Decision
from backend.features.shards.import_drawn import Draw, import_drawn
from backend.features.shards.reports import ShardsReport
from backend.features.shards.select_shards import select_shards
from backend.features.shards.shard_ranking import rank_shards
from backend.loaded_models import Engine
from tests.datasets.folders import encoded, make_tar
from tests.features.shards.test_shard_scores import HERE, write_shards
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace

SHARDS, PAIRS = 2, 24
FAULTY = "00001.tar"


@pytest.fixture(autouse=True)
def few_rows(sizes: Sizes) -> None:
    """So many are compared already, not only fifty."""
    for module in ("search", "row_sequences"):  # else imported later, with fifty
        import_module(f"backend.features.rows.{module}")
    sizes(FEWEST_ROWS=PAIRS)


@pytest.fixture
def engine(open_workspace: OpenWorkspace, tmp_path: Path) -> Engine:
    """Without trajectories, which no fault is told by."""
    settings = {"captioner": "none", "detector": "eight signs", "trajectories": "first-step"}
    return open_workspace(tmp_path / "engine", **settings).engine


def score(engine: Engine, source: Path, out: Path, anyway: bool = False) -> ShardsReport:
    return shard_scores.score_shards(engine, source, out, devices=HERE, anyway=anyway)


def test_a_shard_whose_captions_are_one_row_off(
    engine: Engine, tmp_path: Path, open_workspace: OpenWorkspace
) -> None:
    source = write_shards(tmp_path / "source", PAIRS, shifted=[1], count=SHARDS)
    out = tmp_path / "out"
    report = score(engine, source, out)
    (fault,) = report.faults
    assert fault.startswith(FAULTY)
    assert report.set_aside == PAIRS
    assert fault in report.in_words()
    assert score(engine, source, out).faults == report.faults, "nothing is left to do"
    assert shard_scores.detector_in(Location(str(out))).report["shard"] != FAULTY

    workspace = open_workspace()
    draw = Draw(top=SHARDS * PAIRS)
    drawn = import_drawn(workspace.store, str(out), draw, workspace.settings, "drawn")
    assert (drawn.added, drawn.set_aside) == ((SHARDS - 1) * PAIRS, PAIRS)

    pair = pq.read_table(out / f"{FAULTY}.parquet").to_pylist()[3]["id"]
    decisions = {("", pair): Decision(True)}
    selection = select_shards(str(out), str(tmp_path / "selected"), decisions)
    assert (selection.kept, selection.set_aside) == ((SHARDS - 1) * PAIRS + 1, PAIRS - 1)

    file = tmp_path / "detector"
    shutil.copy(out / "detector", file)
    assert rank_shards(source, out, file).faults == report.faults


def test_results_of_an_earlier_version_set_nothing_aside(tmp_path: Path) -> None:
    file = tmp_path / "result.parquet"
    pq.write_table(pa.table({"id": ["a", "b"]}), file)
    assert shard_scores.read_result(file, ["id"])["set_aside"].to_pylist() == [False, False]


def test_no_detector_is_trained_where_most_captions_are_set_aside(
    engine: Engine, tmp_path: Path
) -> None:
    source = write_shards(tmp_path / "source", PAIRS, shifted=[0, 1], count=SHARDS)
    with pytest.raises(DatasetError, match=r"0000\d\.tar"):
        score(engine, source, tmp_path / "out")
    report = score(engine, source, tmp_path / "out", anyway=True)
    assert (report.pairs, report.set_aside) == (SHARDS * PAIRS, SHARDS * PAIRS)


def test_texts_in_tars_of_their_own_are_named_before_work_begins(
    engine: Engine, tmp_path: Path
) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    members: dict[str, dict[str, bytes]] = {
        "images": {f"{n}.png": encoded() for n in range(3)},
        "texts": {f"{n}.txt": b"A red square." for n in range(3)},
    }
    for kind, files in members.items():
        (source / kind).mkdir(parents=True)
        make_tar(source / kind / "00000.tar", files)
    with pytest.raises(DatasetError, match=r"texts/00000\.tar.*images/00000\.tar"):
        score(engine, source, out)
    assert not out.exists()


def test_a_name_alone_makes_no_tar_one_of_texts(engine: Engine, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for kind in ("image", "text"):
        write_shards(source / kind, pairs=4, count=1)
    assert score(engine, source, tmp_path / "out").failed == ()
