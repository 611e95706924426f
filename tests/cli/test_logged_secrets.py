"""No caption and no credential is logged at the lowest level, whatever is provoked."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from backend.cli import log_output
from backend.jobs.scoring.trajectory_stages import TrajectoryStage
from backend.settings import MODELS, load_settings
from backend.store import open_database
from backend.workspace import ExportChoice, Workspace
from research.chat_server import chat_server
from research.scenes import demo
from tests.cli.invoking import invoked
from tests.fixtures.features import needs
from traced_ui.server import create_app

#: In every caption and nowhere else.
MARK = "zebrafinch"
#: In every credential.
KEY = "hunter2hunter2"
PAIRS = 4
PATIENCE = 600

pytestmark = pytest.mark.timeout(2 * PATIENCE)


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "logs" / "traced.jsonl"
    log_output.set_up("debug", path, as_json=True)
    yield path
    log_output.set_up()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    settings = {
        "data_directory": str(tmp_path / "state"), "model": str(MODELS / "scenes-clip"),
        "detector": "nine signs",
    }  # fmt: skip
    opened = Workspace(load_settings(settings, {}))
    yield opened
    opened.store.close()


def marked_pairs(folder: Path) -> Path:
    """Drawn pairs, and rows that cannot be used, all with marked captions."""
    demo.write(folder, PAIRS, 0, 96, seed=9)
    source = (folder / "metadata.jsonl").read_text("utf-8").splitlines()
    rows = [{**row, "caption": f"{row['caption']} {MARK}"} for row in map(json.loads, source)]
    picture = rows[0]["file_name"]
    (folder / "broken.png").write_bytes(b"no picture")
    rows += [
        {"file_name": file, "id": f"row-{number}", "caption": caption}
        for number, (file, caption) in enumerate(
            [("gone.png", f"A {MARK}"), ("broken.png", f"A {MARK}"), (picture, f"{MARK}\0"),
             (picture, {MARK: MARK}), ("../out.png", MARK), (picture, f"{MARK} " * 20_000),
             (picture, [MARK, 7])]
        )
    ]  # fmt: skip
    lines = [json.dumps(row) for row in rows]
    (folder / "metadata.jsonl").write_text(
        "\n".join([*lines, f'{{"caption": "{MARK}', ""]), "utf-8"
    )
    return folder


def unreadable_sources(folder: Path) -> list[Path]:
    """Tables whose errors may quote what is in them."""
    contents = {
        "headerless.csv": f"a {MARK},another {MARK}\n{MARK},{MARK}\n".encode(),
        "unclosed.csv": f'caption,file_name\n"{MARK},a.png\n{MARK},b.png\n'.encode(),
        "list.json": f'["{MARK}", "{MARK}"]'.encode(),
        "half.json": f'[{{"caption": "{MARK}", "image": '.encode(),
        "text.parquet": MARK.encode() * 10,
        "encoded.csv": f"caption,file_name\n{MARK} é,a.png\n".encode("utf-16")[3:],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def raising(problem: Callable[[], Exception]) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise problem() from KeyError(MARK)

    return fail


def entries(log_file: Path) -> list[dict[str, str]]:
    lines = log_file.read_text("utf-8").splitlines() if log_file.exists() else []
    return [json.loads(line) for line in lines]


def assert_nothing_leaked(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = capsys.readouterr()
    for output in (log_file.read_text("utf-8"), printed.err):
        for line in output.splitlines():
            assert MARK not in line, line[:2000]
            assert KEY not in line, line[:2000]


@needs("quality")
@needs("vision_language")
def test_no_job_logs_a_caption_or_a_credential(
    workspace: Workspace,
    log_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from backend.features.vision_language.model_check import ask, open_server

    (tmp_path / "sources").mkdir()
    jobs = workspace.jobs

    def run(kind: str, dataset: int | None, **arguments: Any) -> str:
        job = jobs.start(kind, dataset, **arguments)
        assert jobs.background.wait(PATIENCE)
        return jobs.job(job).status

    def run_here(work: Callable[[], Any]) -> str:
        job = jobs.background.start("score", 1, lambda progress: work())
        assert jobs.background.wait(PATIENCE)
        return jobs.job(job).status

    def insert_twice() -> None:
        with workspace.store.writing() as session:
            pair = {"id": 1, "caption": MARK}
            session.execute(text("INSERT INTO pairs (id, caption) VALUES (:id, :caption)"), pair)

    assert run("import", None, path=str(marked_pairs(tmp_path / "pairs"))) == "done"
    for source in unreadable_sources(tmp_path / "sources"):
        run("import", None, path=str(source))
    with monkeypatch.context() as patch:
        patch.setattr(TrajectoryStage, "save", raising(lambda: ValueError(f"'{MARK}' {KEY}")))
        assert run("score", 1) == "failed"
    assert run("score", 1, suggestions=False) == "done"
    assert run("train", 1) == "failed"  # no verdicts
    assert run("export", 1, choice=ExportChoice(), out=str(tmp_path / "pairs"), format="csv") == (
        "failed"
    )
    next((tmp_path / "pairs" / "images").iterdir()).unlink()
    run("export", 1, choice=ExportChoice(), out=str(tmp_path / "out"), format="csv")
    run("quality", 1)
    assert run_here(insert_twice) == "failed"
    assert run_here(lambda: open_database(f"postgresql://ada:{KEY}@127.0.0.1:1/x")) == "failed"
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{KEY}")
    with chat_server(lambda body: (401, f"Incorrect API key: sk-{KEY}. Said: {body}")) as served:
        server = open_server(served.url, "small")
        assert run_here(lambda: ask(workspace.store, 1, server, 1.0)) == "failed"
        assert served.keys
    failed = [entry for entry in entries(log_file) if "failed" in entry["message"]]
    assert len(failed) >= 8
    assert {entry["level"] for entry in failed} == {"warning", "error"}
    assert any("ValueError" in entry.get("traceback", "") for entry in failed)
    assert any("IntegrityError" in entry.get("traceback", "") for entry in failed)
    assert_nothing_leaked(log_file, capsys)


def test_no_page_logs_a_caption(
    workspace: Workspace,
    log_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workspace.jobs.import_dataset(marked_pairs(tmp_path / "pairs"))
    for picture in (tmp_path / "pairs" / "images").iterdir():
        picture.write_bytes(b"no picture")
    act = {"action": "save-edit", "pair": 1, "version": 7, "text": f"A {MARK}"}
    with TestClient(create_app(workspace, 1), raise_server_exceptions=False) as client:
        client.get("/pictures/1")
        for act in (
            {"action": "drop", "pair": 1, "version": 7, "fingerprint": "0" * 64},
            {"action": "save-edit", "pair": 1, "version": 0, "text": f"A {MARK}"},
            {"action": "check", "pair": 1, "text": f"A {MARK}"}, {"action": MARK},
        ):  # fmt: skip
            client.post("/review/acts", json={"state": {"dataset": 1, "pair": 1}, "acts": [act]})
        client.post("/review/acts", json={"state": MARK, "acts": MARK})
        client.post("/gradio_api/run/check", json={"data": [1, MARK]})
        client.post("/gradio_api/run/queue", json={"data": ["pairs", MARK]})
        for name in ("open_pair", "thumbnail", "queue_page", "decide"):
            broken = raising(lambda: RuntimeError(f"'{MARK}' {KEY}"))
            monkeypatch.setattr(type(workspace.review), name, broken)
        client.get("/pictures/1")
        client.post("/gradio_api/run/pair", json={"data": [1]})
        client.post("/review/acts", json={"state": {"dataset": 1, "pair": 1}, "redraw": True})
        client.post("/review/acts", json={"state": {"dataset": 1, "pair": 1}, "verdicts": [act]})
    unexpected = [entry for entry in entries(log_file) if "RuntimeError" in str(entry)]
    assert len(unexpected) >= 3
    assert_nothing_leaked(log_file, capsys)


@needs("bulk_edit")
def test_no_command_logs_a_caption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    # No model says whether it recognises the pictures.
    environment = {"TRACED_DATA_DIRECTORY": str(state), "TRACED_MODEL": "/nowhere"}
    log = tmp_path / "log"
    options = ("--log-level", "debug", "--log-file", str(log))
    marked_pairs(tmp_path / "pairs")
    assert invoked(environment, *options, "import", str(tmp_path / "pairs"))[0] == 0
    monkeypatch.setattr(
        "backend.features.bulk_edit.editing.apply_edit",
        raising(lambda: ValueError(f"'{MARK}' {KEY}")),
    )
    status, _, printed = invoked(environment, *options, "edit", "pairs", "--suffix", "!")
    log_output.set_up()
    assert status == 1
    assert MARK in printed  # whoever ran the command is told
    logged_text = (state / "traced.log").read_text("utf-8") + log.read_text("utf-8")
    assert "ValueError" in logged_text
    assert MARK not in logged_text
    assert KEY not in logged_text
