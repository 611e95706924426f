"""One tree of loggers, in text or JSON, to the terminal or a file, without captions or secrets."""

import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from backend.cli import log_output
from backend.errors import SettingsError
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.tree import ROOT, modules

SECRETS = (
    "postgresql://ada:hunter2@db.example/traced",
    "https://hub.example/file?token=hunter2&size=3",
    "Authorization: Bearer hunter2",
    "Incorrect API key provided: sk-hunter2hunter2",
    "hf_hunter2hunter2 is not valid",
    "connection failed: host=db password=hunter2 user=ada",
    '{"api_key": "hunter2", "model": "m"}',
)


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    yield
    log_output.set_up()


@pytest.mark.usefixtures("logging_as_before")
def test_a_file_of_json_lines_holds_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "traced.jsonl"
    log_output.set_up("info", path, as_json=True)
    ours, theirs = logging.getLogger("traced.backend.jobs"), logging.getLogger("httpx")
    ours.debug("too much")
    ours.info("line one\nline two \x1b[2J")
    theirs.info("a request")
    try:
        raise ValueError(SECRETS[0])
    except ValueError:
        ours.exception("job %s failed", 3)
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(entry["level"], entry["message"]) for entry in entries] == [
        ("info", "line one\nline two \x1b[2J"), ("error", "job 3 failed"),
    ]  # fmt: skip
    assert "Traceback" in entries[1]["traceback"]
    assert "hunter2" not in path.read_text(encoding="utf-8")
    assert entries[0]["logger"] == "traced.backend.jobs"


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("secret", SECRETS)
def test_no_credentials_are_logged(tmp_path: Path, secret: str, as_json: bool) -> None:
    path = tmp_path / "traced.log"
    log_output.set_up(file=path, as_json=as_json)
    logging.getLogger("traced.x").warning("It failed: %s", secret)
    assert "hunter2" not in path.read_text(encoding="utf-8")
    assert "***" in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize("file", [None, Path("/dev/full")])
def test_an_entry_that_cannot_be_written_is_not_printed_with_what_was_being_handled(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path | None
) -> None:
    """A disk that is full, and a terminal that is closed."""
    closed = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", closed)
        log_output.set_up()
    closed.close()
    if file is not None:
        (handler,) = [each for each in logging.getLogger().handlers if each.name == "traced"]
        handler.stream = file.open("w")  # type: ignore[attr-defined]
    try:
        raise ValueError("a caption of the dataset")
    except ValueError:
        logging.getLogger("traced.x").exception("pair %s failed", "\x1b[2J")
    printed = "".join(capfd.readouterr())
    assert printed.splitlines() == [
        f"An entry of traced.x could not be logged: {'OSError' if file else 'ValueError'}."
    ]


def test_what_cannot_be_logged_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be written"):
        log_output.set_up(file=tmp_path / "file" / "traced.log")
    database = tmp_path / "traced.db"
    sqlite3.connect(database).execute("CREATE TABLE a (b)").connection.close()
    before = database.read_bytes()
    with pytest.raises(SettingsError, match="it is a database"):
        log_output.set_up(file=database)
    assert database.read_bytes() == before
    with pytest.raises(SettingsError, match="no log level 'loud'"):
        log_output.set_up("loud")


def test_errors_of_the_database_name_no_caption(tmp_path: Path) -> None:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    half = text("INSERT INTO pairs (caption) VALUES (:caption)")
    with workspace.store.writing() as session, pytest.raises(IntegrityError) as refused:
        session.execute(half, {"caption": "a secret caption"})
    assert "secret caption" not in str(refused.value)
    workspace.store.close()


def test_all_loggers_are_in_one_tree() -> None:
    loggers = 0
    for module, path in modules(ROOT):
        if "log = logging.getLogger(" in (text := path.read_text(encoding="utf-8")):
            loggers += 1
            assert 'log = logging.getLogger(f"traced.{__name__}")' in text, module
    assert loggers > 5
