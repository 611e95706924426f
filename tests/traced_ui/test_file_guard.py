"""No request reads a file of the server but what its own browser uploaded."""

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from fastapi.testclient import TestClient
from gradio.data_classes import ImageData
from PIL import Image

from backend.settings import load_settings
from backend.workspace import Workspace
from tests.checkpoints import drawn_folder
from tests.docs.pages import ROOT
from tests.fixtures.features import needs
from traced_ui import page_dataset
from traced_ui.file_guard import COOKIE
from traced_ui.server import create_app
from traced_ui.sessions import mounted_in

#: Its page is where pictures are uploaded.
pytestmark = needs("playground")
FILE = {"_type": "gradio.FileData"}
_JSON = {"Content-Type": "application/json"}
#: Values that name a file: as Gradio sends them, bare, and hidden in others.
SHAPES: dict[str, Callable[[str], Any]] = {
    "file": lambda path: {"path": path, "meta": FILE},
    "bare": lambda path: {"path": path},
    "address": lambda path: {"url": f"/gradio_api/file={path}", "meta": FILE},
    "stream": lambda path: {"path": path, "is_stream": True, "meta": FILE},
    "listed": lambda path: [[{"path": path, "meta": FILE}]],
    "nested": lambda path: {"value": {"x": {"path": path, "meta": FILE}}},
    "inner": lambda path: {"path": "", "meta": {**FILE, "x": {"path": path, "meta": FILE}}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Workspace]:
    one_megabyte = {"data_directory": str(folder / "state"), "upload_limit": 0.001}
    opened = Workspace(load_settings(one_megabyte, {}))
    opened.jobs.import_dataset(drawn_folder(folder / "pairs", 10))
    opened.jobs.score(1)  # examples are scored pairs
    yield opened
    opened.store.close()


@pytest.fixture(scope="module")
def client(served: Workspace, folder: Path) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "cache"))
        with TestClient(create_app(served, 1), raise_server_exceptions=False) as client:
            yield client


@pytest.fixture(scope="module")
def blocks(client: TestClient) -> gr.Blocks:
    (mounted,) = mounted_in(client.app)  # pyrefly: ignore[bad-argument-type]
    return mounted.get_blocks()


@pytest.fixture(params=["nothing", "public"])
def foreign(request: pytest.FixtureRequest, folder: Path) -> Path:
    """What a request may not name, and harms nobody: a file that does not exist, and a picture that
    the program is shipped with."""
    (public, *_) = sorted((ROOT / "assets" / "demo" / "images").iterdir())
    return {"nothing": folder / "nothing-7f3a.png", "public": public}[request.param]


def copies_of(folder: Path, foreign: Path) -> list[Path]:
    return list((folder / "cache").rglob(foreign.name))


def upload(client: TestClient, color: str = "red") -> str:
    """Upload a picture; return its path."""
    data = io.BytesIO()
    Image.new("RGB", (30, 20), color).save(data, "PNG")
    answer = client.post("/gradio_api/upload", files={"files": ("dog.png", data.getvalue())})
    (path,) = answer.json()
    return str(path)


def event_of(blocks: gr.Blocks, name: str) -> int:
    """The playground's event of this name."""
    return next(
        number
        for number, event in blocks.fns.items()
        if event.name == name
        and any(isinstance(b, gr.Image) for b in (*event.inputs, *event.outputs))
    )


def body(blocks: gr.Blocks, number: int, **values: Any) -> dict[str, Any]:
    """A page's request for an event. `values`: of its inputs, as `at_0`."""
    data = [values.get(f"at_{at}") for at in range(len(blocks.fns[number].inputs))]
    return {"data": data, "fn_index": number, "session_hash": "a-page", "event_data": None}


@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=[pytest.mark.nightly] * (shape != "nested")) for shape in SHAPES],
)
def test_no_input_of_any_event_takes_a_file_of_the_server(
    client: TestClient, blocks: gr.Blocks, folder: Path, foreign: Path, shape: str
) -> None:
    places = [(n, at) for n, event in blocks.fns.items() for at in range(len(event.inputs))]
    assert len(places) > 200
    for number, at in places:
        value = SHAPES[shape](str(foreign))
        sent = body(blocks, number, **{f"at_{at}": value})
        for address in ("run/predict", "queue/join"):
            answer = client.post(f"/gradio_api/{address}", json=sent)
            assert answer.status_code == 422, (address, number, at, answer.text)
            assert foreign.name not in answer.text
    assert not copies_of(folder, foreign)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_request_takes_a_file(
    client: TestClient, blocks: gr.Blocks, folder: Path, foreign: Path, shape: str
) -> None:
    value, number = SHAPES[shape](str(foreign)), event_of(blocks, "check")
    requests: list[tuple[str, Any]] = [
        ("queue/join", {**body(blocks, number), "event_data": value}),
        ("queue/join", {**body(blocks, number), "batched": True, "data": [[value]]}),
    ]
    for address, sent in requests:
        answer = client.post(f"/gradio_api/{address}", json=sent)
        assert answer.status_code == 422, (address, answer.text)
        assert foreign.name not in answer.text
    for event in filter(None, (event.api_name for event in blocks.fns.values())):
        for way in ("run", "call", "call/v2"):
            answer = client.post(f"/gradio_api/{way}/{event}", json={"data": [value]})
            assert answer.status_code == 404, (way, event)
    component = {"session_hash": "a", "component_id": 1, "fn_name": "ls", "data": value}
    assert client.post("/gradio_api/component_server", json=component).status_code == 404
    assert not copies_of(folder, foreign)


@pytest.mark.parametrize(
    ("address", "event"),
    [
        ("queue/join", {"fn_index": 9999}),
        ("run/predict", {"fn_index": -1}),
        ("run/predict", {"fn_index": True}),
        ("run/predict", {}),
        ("queue/join", {"fn_index": 2**70}),
        ("queue/join", {}),
    ],
)
def test_an_event_that_does_not_exist_is_refused(
    client: TestClient, address: str, event: dict[str, Any]
) -> None:
    sent = {"data": [], "session_hash": "a-page", **event}
    answer = client.post(f"/gradio_api/{address}", json=sent)
    assert (answer.status_code, answer.json()["detail"][0]["at"]) == (422, "fn_index")


#: A password, and what operates a terminal.
_SECRET = "sesame\x1b[2J"
#: Values that not every component takes.
_ODD: tuple[Any, ...] = (
    _SECRET, -1, 1e400, True, [_SECRET], [[_SECRET]], {_SECRET: 1}, {"value": _SECRET},
    {"headers": ["a"], "data": [[_SECRET]], "metadata": None},
)  # fmt: skip


def test_a_malformed_event_is_not_printed(
    client: TestClient, blocks: gr.Blocks, capfd: pytest.CaptureFixture[str]
) -> None:
    """Gradio prints the values of an event that it cannot read."""
    statuses, tried = set(), set[str]()
    for number, event in blocks.fns.items():
        count = len(event.inputs)
        lists = [[_SECRET] * length for length in {0, count - 1, count, count + 1} - {-1}]
        for at, block in enumerate(event.inputs):
            if (kind := type(block).__name__) not in tried:
                tried.add(kind)
                lists += [[None] * at + [odd] + [None] * (count - at - 1) for odd in _ODD]
        sent: list[dict[str, Any]] = [{"data": values} for values in (*lists, {_SECRET: 1}, None)]
        sent += [{"event_data": {_SECRET: _SECRET}}, {"data": [[_SECRET]], "batched": True}]
        for more in sent:
            text = json.dumps({**body(blocks, number), **more})
            answer = client.post("/gradio_api/run/predict", content=text, headers=_JSON)
            statuses.add(answer.status_code)
    assert 422 in statuses
    printed = "".join(capfd.readouterr())
    assert not [line for line in printed.splitlines() if "sesame" in line or "\x1b" in line]


@pytest.mark.parametrize("session", [None, 7, [], {}, "", "\0"])
@pytest.mark.parametrize("address", ["queue/join", "run/predict", "cancel"])
def test_a_session_that_is_no_name_is_refused(
    client: TestClient, address: str, session: object
) -> None:
    sent = {"data": [], "fn_index": 1, "session_hash": session, "event_id": "none"}
    answer = client.post(f"/gradio_api/{address}", json=sent)
    assert (answer.status_code, answer.json()["detail"][0]["at"]) == (422, "session_hash")


def test_pictures_count_against_the_limit_of_uploads(client: TestClient) -> None:
    file = {"files": ("dog.png", b"x" * 400_000)}
    sent = client.build_request("POST", "/gradio_api/upload", files=file)
    both = {**sent.headers, "Transfer-Encoding": "chunked", "Content-Length": "1"}
    body = sent.read()
    for unclear in ({"content": iter([b"x"])}, {"content": body, "headers": both}):
        assert client.post("/gradio_api/upload", **unclear).status_code == 411  # pyrefly: ignore[bad-argument-type]
    answers = [client.post("/gradio_api/upload", files=file) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 413]
    assert "larger than" in answers[-1].text


@pytest.mark.parametrize("text", ["not JSON", "[" * 100_000, '{"data": [' + "1" * 5000 + "]}"])
def test_what_the_guard_cannot_read_goes_no_further(client: TestClient, text: str) -> None:
    answer = client.post("/gradio_api/queue/join", content=text, headers=_JSON)
    assert (answer.status_code, answer.json()["detail"][0]["at"]) == (422, "body")


def test_an_upload_is_for_image_fields_and_for_the_browser_that_sent_it(
    client: TestClient, blocks: gr.Blocks
) -> None:
    client.cookies.clear()
    path, number = upload(client), event_of(blocks, "check")
    file = {"path": path, "url": f"/gradio_api/file={path}", "orig_name": "dog.png", "meta": FILE}
    assert client.get(f"/gradio_api/file={path}").headers["content-type"] == "image/png"

    def joins(sender: TestClient, **values: Any) -> int:
        sent = body(blocks, number, **values)
        return sender.post("/gradio_api/queue/join", json=sent).status_code

    assert joins(client, at_0=file) == 200
    assert joins(client, at_0=[file]) == 422
    assert joins(client, at_2=file) == 422
    other = TestClient(client.app)
    for stranger in (other, TestClient(client.app, cookies={COOKIE: "guessed"})):
        assert stranger.get(f"/gradio_api/file={path}").status_code == 404
        assert joins(stranger, at_0=file) == 422
    assert upload(other) == path, "the same picture"
    assert other.get(f"/gradio_api/file={path}").status_code == 200
    assert upload(other, "blue") != path
    assert client.get(f"/gradio_api/file={path}").status_code == 200


def test_a_login_in_the_same_browser_does_not_see_what_another_uploaded(served: Workspace) -> None:
    for name in ("ann", "bob"):
        served.accounts.add(name, "a long password", "curator")
    client = TestClient(create_app(served, 1, login=True))

    def log_in(name: str) -> dict[str, str]:
        sent = {"username": name, "password": "a long password"}
        return {"Authorization": f"Bearer {client.post('/login', data=sent).json()['token']}"}

    client.headers.update(log_in("ann"))
    path = upload(client)
    assert client.get(f"/gradio_api/file={path}").status_code == 200
    client.headers.update(log_in("bob"))
    assert client.get(f"/gradio_api/file={path}").status_code == 404


def test_pictures_that_are_gone_are_no_examples(served: Workspace, folder: Path) -> None:
    from backend.features.playground.page import build

    def has_examples() -> bool:
        with gr.Blocks() as blocks:
            build(served, page_dataset.build(blocks)[0])
        return any(function.name == "load_example" for function in blocks.fns.values())

    assert has_examples()
    moved = (folder / "pairs").rename(folder / "elsewhere")
    try:
        assert not has_examples()
    finally:
        moved.rename(folder / "pairs")


def test_examples_are_for_everybody(client: TestClient, blocks: gr.Blocks) -> None:
    sent = body(blocks, event_of(blocks, "load_example"), at_0=0)
    answer = TestClient(client.app).post("/gradio_api/run/predict", json=sent)
    file = answer.json()["data"][0]["value"]
    assert client.get(file["url"]).headers["content-type"] == "image/png"
    check = body(blocks, event_of(blocks, "check"), at_0=file)
    assert client.post("/gradio_api/queue/join", json=check).status_code == 200


@pytest.mark.parametrize("path", ["{public}", "/", "/nowhere", "{folder}/cache", "{folder}/state"])
def test_no_file_or_folder_can_be_told_from_a_missing_one(
    client: TestClient, folder: Path, path: str
) -> None:
    path = path.format(folder=folder, public=ROOT / "README.md")
    missing = client.get(f"/gradio_api/file={folder}/nothing")
    for form in ("file=", "file=%2F..", "file/", "file=./", "proxy=file://", "stream/"):
        answer = client.get(f"/gradio_api/{form}{path}")
        assert (answer.status_code, answer.text) == (404, missing.text)


def test_the_picture_field_takes_only_uploads(
    folder: Path, foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.features.playground.page import Picture as Upload

    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder / "cache"))
    link = folder / "cache" / "link.png"
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    os.symlink(foreign, link)
    for path in (foreign, link, folder, folder / "cache" / ".." / foreign.name):
        assert Upload().preprocess(ImageData(path=str(path))) is None
