"""The fuzzer finds errors, reports how to repeat them, and survives a crash of its process."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from backend.errors import DatasetFormatError
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.hostile import fuzz, fuzz_http, fuzz_inputs
from traced_ui.server import create_app


def wrong(rng: random.Random, folder: Path) -> None:
    if rng.random() < 0.5:
        raise DatasetFormatError("Refused.")
    raise KeyError("nobody has foreseen this")


def test_an_unexpected_error_is_counted_once_per_place_and_repeatable(tmp_path: Path) -> None:
    target = fuzz.Target("wrong, SQLite", wrong)
    fuzz.run([target], "7", 0, 0.5, tmp_path / "journal")
    tallies = fuzz.tallied(tmp_path / "journal")
    counts = tallies["wrong, SQLite"].counts
    assert counts["refused"] > 0
    assert counts["unexpected"] > 0
    (shown,) = tallies["wrong, SQLite"].unexpected.values()
    assert "nobody has foreseen this" in shown
    case = shown.partition("--case '")[2].partition("'")[0]
    assert fuzz.feed(target, case)[0] == "unexpected"
    text, is_sound = fuzz.table(tallies)
    assert not is_sound
    assert "KeyError in test_fuzz.py" in text


def test_an_input_that_ends_the_program_is_unexpected(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    lines = [{"case": "7:0:tables"}, {"case": "7:0:tables", "outcome": ["taken", "", ""],
             "seconds": 1.5}, {"case": "7:0:folders"}]  # fmt: skip
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tallies = fuzz.tallied(journal)
    assert tallies["tables"].counts == {"taken": 1}
    assert tallies["folders"].unexpected == {"the program ended": "--seed 7 --case '7:0:folders'\n"}
    assert not fuzz.table({})[1]


@pytest.mark.nightly
@pytest.mark.parametrize("form", sorted(fuzz_inputs.FORMS))
def test_a_good_row_is_accepted_in_every_form(tmp_path: Path, form: str) -> None:
    """Otherwise the fuzzer would only feed what is refused immediately."""
    folder = tmp_path / "one"
    folder.mkdir()
    fuzz._pictures(folder)
    row = {"file_name": "a.png", "caption": "A dog."}
    (folder / form).write_bytes(fuzz_inputs.FORMS[form]([row, row]))
    store = fuzz.open_database(f"sqlite:///{tmp_path}/third.db")
    fuzz.import_of(store)(folder / form, tmp_path)
    store.close()


def urls(folder: Path) -> tuple[str, str]:
    return f"sqlite:///{folder}/a.db", f"sqlite:///{folder}/b.db"


def test_a_few_seconds_of_fuzzing_find_nothing(tmp_path: Path) -> None:
    with fuzz.targets_on("SQLite", urls(tmp_path), tmp_path) as targets:
        fuzz.run(targets, "11", 0, 3, tmp_path / "journal")
    text, is_sound = fuzz.table(fuzz.tallied(tmp_path / "journal"))
    assert is_sound, text


def test_a_program_that_ends_badly_after_its_last_input_is_unexpected(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    line = {"case": "7:0:tables", "outcome": ["taken", "", ""], "seconds": 1.5}
    journal.write_text(json.dumps(line) + "\n")
    fuzz.note_end(journal, "7:0:tables", -6)
    text, is_sound = fuzz.table(fuzz.tallied(journal))
    assert not is_sound
    assert "the program itself: status -6" in text


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The workspace that requests go to: a dataset with a row left out, and an export."""
    folder = tmp_path_factory.mktemp("fuzz")
    with fuzz.targets_on("SQLite", urls(folder), folder):
        state = {"data_directory": str(folder / "state SQLite"), "database": urls(folder)[1]}
        workspace = Workspace(load_settings(state, {}))
        yield workspace
        workspace.store.close()


def requested(workspace: Workspace, count: int) -> list[tuple[str, str, bytes]]:
    argument = fuzz.arguments_of(workspace)
    made = [fuzz_http.request(random.Random(f"{number}"), argument) for number in range(count)]
    return [(method, path.partition("?")[0], body) for method, path, _, body in made]


@pytest.mark.nightly
def test_requests_reach_every_route_of_the_server(reviewed: Workspace) -> None:
    reached = {(method, unquote(path)) for method, path, _ in requested(reviewed, 3000)}
    ours = [
        route
        for route in create_app(reviewed, 1, login=True).routes
        if isinstance(route, APIRoute) and route.endpoint.__module__.startswith("traced_ui.")
    ]
    assert len(ours) > 10
    missed = [
        f"{method} {route.path}"
        for route in ours
        for method in (route.methods or set()) - {"HEAD"}
        if not any(method == m and route.path_regex.match(path) for m, path in reached)
    ]
    assert not missed


@pytest.mark.nightly
def test_enough_requests_are_valid(reviewed: Workspace) -> None:
    """Verdicts are saved, exports and left-out rows are downloaded: not everything is refused."""
    client = TestClient(create_app(reviewed, 1), base_url="http://127.0.0.1")
    answers = [
        (
            path,
            client.request(
                method, path, content=body, headers={"Content-Type": "application/json"}
            ),
        )
        for method, path, body in requested(reviewed, 800)
        if method in ("GET", "POST") and path.startswith(("/review", "/exports", "/datasets"))
    ]
    right = [(path, answer) for path, answer in answers if answer.status_code == 200]
    for name in ("exports", "datasets"):
        assert any(path.startswith(f"/{name}") and answer.content for path, answer in right)
    assert any("Undo" in answer.json()["toast"] for path, answer in right if "acts" in path)


@pytest.mark.parametrize(
    ("status", "answer", "is_in", "is_ours"),
    [
        (500, b"", True, True),
        (200, b"root:x:0:0", True, True),
        (200, b"Unexpected error", True, True),
        (200, b"", False, True),
        (200, b"", True, False),
    ],
)
def test_forbidden_answers_are_detected(
    status: int, answer: bytes, is_in: bool, is_ours: bool
) -> None:
    fuzz_http._check("GET", "/config", 200, b"", True, True)
    fuzz_http._check("GET", "/login", 200, b"", False, True)
    with pytest.raises(fuzz_http.Wrong):
        fuzz_http._check("GET", "/config", status, answer, is_in, is_ours)
