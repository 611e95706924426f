"""A dataset as DataFrames, a pair as HTML."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import traced_curator
import traced_ui.notebook
from backend.errors import SettingsError
from backend.features.notebook.display import (
    COLUMNS,
    NotebookDataset,
    open_dataset,
    pair_html,
    render_in,
)
from backend.measures import filter_names
from tests.checkpoints import drawn_folder
from tests.cli.invoking import as_json
from tests.hostile.markup import check_escaping
from tests.jobs.opening import QUICK_CLIP, opened
from tests.traced_ui.samples import pair

PAIRS = 6


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a scored dataset."""
    base = tmp_path_factory.mktemp("notebook")
    workspace = opened(base / "state", **QUICK_CLIP, captioner="none")
    dataset = workspace.find_or_import(str(drawn_folder(base / "pairs", PAIRS, 9)))
    workspace.jobs.score(dataset, suggestions=False)
    workspace.store.close()
    return base / "state"


@pytest.fixture
def photos(state: Path) -> Iterator[NotebookDataset]:
    photos = open_dataset("pairs", data_directory=str(state))
    yield photos
    photos.workspace.store.close()


def test_it_is_named_where_programs_look_for_it() -> None:
    assert traced_curator.open_dataset is traced_ui.notebook.open_dataset is open_dataset


def test_features_are_those_of_the_file_and_steps_those_of_the_trajectories(
    photos: NotebookDataset, state: Path, tmp_path: Path
) -> None:
    out = tmp_path / "features.parquet"
    environment = {"TRACED_DATA_DIRECTORY": str(state)}
    as_json(environment, "score", "pairs", "--no-suggestions", "--features", str(out))
    table, written = photos.features().reset_index(), pd.read_parquet(out)
    assert table.pop("verdict").isna().all()
    assert written.pop("verdict").isna().all()
    pd.testing.assert_frame_equal(table, written, check_dtype=False)
    first = photos.steps().xs(0, level="step").s
    single = table[~table.id.duplicated(keep=False)]
    np.testing.assert_allclose(first.loc[single.id], single.s_0, rtol=1e-6)
    assert len(first) == PAIRS


def test_every_measure_is_a_column(photos: NotebookDataset) -> None:
    assert list(photos.queue("review=all").columns) == COLUMNS
    assert set(filter_names()) < set(COLUMNS)


@pytest.mark.parametrize("query", ["split=tset", "decided_by=Nobdy"])
def test_a_value_that_the_dataset_lacks_is_refused(photos: NotebookDataset, query: str) -> None:
    with pytest.raises(SettingsError, match="There is no"):
        photos.queue(query)


def test_hostile_text_is_escaped() -> None:
    check_escaping("pair.html", lambda text: pair_html(pair(text), b"jpeg"))
    check_escaping("board.html", lambda text: render_in("board.html", url=text, height=9))
