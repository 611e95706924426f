"""The review page beside code that goes on: what is judged there is a frame here."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import pytest
from PIL import Image

import traced_curator
from backend.bundled import DEMO
from backend.errors import DatasetFormatError
from backend.features.notebook.display import open_dataset
from backend.features.notebook.service import Board
from tests.fixtures import programs

CAPTIONS = {"a": "A red circle", "b": "A blue square", "c": "Two dogs, \u2028 one \U0001f415"}


@pytest.fixture
def frame() -> pd.DataFrame:
    pictures = [Path(f"scene-{number:04}.webp") for number in range(len(CAPTIONS))]
    table = pd.DataFrame({"file_name": pictures, "caption": list(CAPTIONS.values())})
    table["score"] = [0.5, None, 0.25]
    return table.set_index(pd.Index(list(CAPTIONS)))


@pytest.fixture
def board(frame: pd.DataFrame, tmp_path: Path) -> Iterator[Board]:
    with opened(frame, tmp_path) as board:
        yield board


def opened(data: Any, folder: Path, **more: Any) -> Board:
    more = {"images": DEMO / "images", "score": False, **more}
    return traced_curator.review(data, data_directory=str(folder / "state"), **more)


def judge(board: Board, text: str, **verdict: str) -> None:
    with httpx2.Client(base_url=board.url.partition("?")[0]) as client:
        assert client.get("/").status_code == 200
        about = f"/api/v1/datasets/{board.dataset.id}/queue"
        (pair,) = client.get(about, params={"text": text}).json()["pairs"]
        answer = client.put(
            f"/api/v1/pairs/{pair['id']}/verdict", json=verdict, headers={"If-Match": pair["etag"]}
        )
        assert answer.status_code == 200, answer.text


def test_verdicts_come_back_by_the_index_of_the_frame(
    board: Board, frame: pd.DataFrame, tmp_path: Path
) -> None:
    assert board.verdicts().empty
    judge(board, "dogs", verdict="correction", corrected_caption="One dog")
    judge(board, "circle", verdict="drop")
    verdicts = board.verdicts()
    assert verdicts["decision"].to_dict() == {"a": "drop", "c": "correction"}
    assert verdicts.loc["c", "corrected_caption"] == "One dog"
    assert frame.join(verdicts[["decision"]])["decision"].isna().to_dict()["b"]
    board.close()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(board.url)
    with opened(frame, tmp_path) as again:
        assert again.verdicts()["decision"].to_dict() == {"a": "drop", "c": "correction"}
    frame.loc["a", "caption"] = "Another circle"
    with opened(frame, tmp_path) as other:
        assert other.verdicts().empty


def test_a_notebook_shows_a_link_and_a_frame_where_that_is_allowed(
    board: Board, frame: pd.DataFrame, tmp_path: Path
) -> None:
    assert board.url in board._repr_html_()
    assert "<iframe" not in board._repr_html_()
    with opened(frame, tmp_path, frame=["http://localhost:8888"]) as framed:
        assert "<iframe" in framed._repr_html_()


def test_a_dataset_that_is_open_is_reviewed_under_its_own_ids(tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.mkdir()
    Image.new("RGB", (32, 32)).save(few / "a.png")
    (few / "metadata.csv").write_text("file_name,caption,id\na.png,A dog,first\n")
    dataset = open_dataset(str(few), data_directory=str(tmp_path / "state"))
    with traced_curator.review(dataset, score=False) as board:
        judge(board, "dog", verdict="drop")
        assert board.verdicts()["decision"].to_dict() == {"first": "drop"}


def test_frames_that_cannot_be_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    pictures: list[Any] = [Image.new("RGB", (8, 8)) for _ in CAPTIONS]
    with_pictures = frame.assign(picture=pictures)
    for wrong in (with_pictures, frame.assign(row_of_frame=1), frame[["score"]]):
        with pytest.raises(DatasetFormatError):
            opened(wrong, tmp_path)


def test_the_name_is_there_without_what_it_needs() -> None:
    script = (
        "import traced_curator, sys; assert 'review' in traced_curator.__all__\n"
        "print(len({'pandas', 'gradio'} & {*sys.modules}))"
    )
    assert programs.run(["-c", script], os.environ)[1] == "0\n"
