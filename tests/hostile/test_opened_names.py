"""The table *Names that a library might read otherwise* of SECURITY.md, walked: each text is tried
where it says, and nothing elsewhere is opened."""

import html
import json
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import ReadOptions
from backend.datasets.safe_files.uploads import place_of
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.errors import TracedError
from backend.jobs.export_choice import ExportChoice
from backend.jobs.model_download import download, remove
from backend.loaded_models import Engine
from backend.settings import load_settings
from backend.store import open_database
from backend.workspace import Workspace
from tests.datasets.folders import dogs, encoded, json_lines, make_tar, write, zip_bytes
from tests.hostile.security import ROOT
from traced_ui.markdown import from_markdown

HEADING = "## Names that a library might read otherwise"
SECRET = "salary-of-ada"


@dataclass(frozen=True)
class Place:
    """Where a text is tried: `folder` is the test's own and the current one."""

    workspace: Workspace
    folder: Path


def refused(open_it: Callable[[Place, str], Any]) -> Callable[[Place, str], None]:
    """Tries a text that has to be refused with a sentence that holds nothing of a file."""

    def attempt(place: Place, text: str) -> None:
        with pytest.raises(TracedError) as problem:
            open_it(place, text)
        assert SECRET not in str(problem.value)

    return attempt


def listed(place: Place, text: str) -> None:
    card = {"configs": [{"config_name": "x", "data_files": text}]}
    folder = place.folder / "clone"
    write(folder / "README.md", f"---\n{json.dumps(card)}\n---\n")
    write(folder / "a.zip", zip_bytes({"x.csv": f"image,text\na.png,{SECRET}\n"}))
    place.workspace.jobs.import_dataset(folder)


def pictured(place: Place, text: str) -> None:
    rows = [{"file_name": text, "caption": "A dog."}]
    write(place.folder / "rows" / "a.zip", zip_bytes({"b.png": encoded()}))
    make_tar(place.folder / "rows" / "a.tar", {"b.txt": SECRET.encode()})
    place.workspace.jobs.import_dataset(
        write(place.folder / "rows" / "rows.jsonl", json_lines(rows))
    )


def with_options(place: Place, **options: Any) -> None:
    place.workspace.jobs.import_dataset(
        dogs(place.folder / "dogs", 1) / "metadata.jsonl", options=ReadOptions(**options)
    )


def exported(place: Place, text: str) -> None:
    dataset = place.workspace.jobs.import_dataset(dogs(place.folder / "dogs", 1)).dataset_id
    assert "huggingface" in EXPORT_FORMATS
    out = place.folder / "out" / text / "x"
    place.workspace.jobs.export(dataset, ExportChoice(), out, "huggingface")


def downloaded(place: Place, text: str) -> None:
    with pytest.raises(TracedError):
        remove(text)
    download(text)


def expression(place: Place, text: str) -> None:
    from backend.features.bulk_edit.applying import BulkEdit, apply_edit

    apply_edit(BulkEdit(text, is_regex=True), ["a dog"], 60)


def shown_inert(place: Place, text: str) -> None:
    assert not re.search(r"<script|<img|href=\"(javascript|data)", from_markdown(text))


def moved(place: Place, text: str) -> None:
    dataset = place.workspace.jobs.import_dataset(dogs(place.folder / "dogs", 1)).dataset_id
    place.workspace.relocate_dataset(dataset, text)


def imported(place: Place, text: str) -> None:
    place.workspace.jobs.import_dataset(text)


def scored(place: Place, text: str) -> None:
    load_scorer(text, None, "cpu")


def asked(place: Place, text: str) -> None:
    settings = {"data_directory": place.folder, "corrector": "x", "corrector_url": text}
    _ = Engine(load_settings(settings, {})).chat_model


#: What tries a text, by the first cell of its row.
ATTEMPTS: dict[str, Callable[[Place, str], None]] = {
    "a dataset on the hub": refused(imported),
    "an address to import from": refused(imported),
    "a path to import from": refused(imported),
    "files that a README.md lists": refused(listed),
    "a picture that a row names": refused(pictured),
    "a folder of pictures (`image_root`)": refused(
        lambda place, text: with_options(place, image_root=text)
    ),
    "a folder that a dataset has moved to": refused(moved),
    "a path in an upload": refused(lambda place, text: place_of(text)),
    "an encoding": refused(lambda place, text: with_options(place, encoding=text)),
    "a folder to export to": refused(exported),
    "a model": refused(scored),
    "a model of open_clip": refused(scored),
    "a vision-language model": refused(scored),
    "a captioner": refused(lambda place, text: load_captioner(text)),
    "a model to download": refused(downloaded),
    "a server of a language model": refused(asked),
    "a regular expression": refused(expression),
    "guidelines in Markdown": shown_inert,
    "a database": refused(lambda place, text: open_database(text)),
}


def rows() -> dict[str, list[str]]:
    """What is tried, by the first cell of each row."""
    section = (ROOT / "SECURITY.md").read_text("utf-8").partition(HEADING)[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines()]
    return {
        row[0]: [html.unescape(text) for text in re.findall("`([^`]+)`", row[1])]
        for row in cells if len(row) == 4 and row[0] != "Threat"
    }  # fmt: skip


def test_every_row_is_tried() -> None:
    assert rows().keys() == ATTEMPTS.keys()
    assert all(rows().values())


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in rows().items() for text in texts]
)
def test_a_name_is_opened_as_it_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    folder = tmp_path / "in"
    for place in (tmp_path / "secret.png", tmp_path / "x" / "train.csv", folder / "csv" / "a.csv"):
        write(place, f"image,text\na.png,{SECRET}\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("backend.datasets.safe_files.locations._PAUSES", ())
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    connections: list[Any] = []

    others = set(threading.enumerate()) - {threading.current_thread()}

    def connect(_: socket.socket, address: Any) -> None:
        if threading.current_thread() not in others:  # those of earlier tests that end late
            connections.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    ATTEMPTS[name](Place(workspace, folder), text)
    assert connections == []
    workspace.store.close()
