"""`export` on the command line: some pairs, and to the hub."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import app as program
from backend.cli import dataset_commands
from backend.cli.dataset_commands import ExportCommand
from backend.errors import SettingsError
from tests.datasets.folders import dogs
from tests.fixtures.hub_server import TOKEN, Hub, Repository, hub_server, set_constants, use_hub
from tests.jobs.opening import opened

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server() as opened:
        yield opened


@contextmanager
def terminal(typed: str) -> Iterator[int]:
    """The program's side of a terminal at which a person has typed ahead."""
    person, program = pty.openpty()
    try:
        os.write(person, typed.encode())
        yield program
    finally:
        os.close(person)
        os.close(program)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a workspace that holds four pairs, for each test to copy."""
    folder = tmp_path_factory.mktemp("imported")
    pairs = dogs(folder / "pairs", 4, ["train", "test", "train", "holdout"])
    workspace = opened(folder / "state")
    workspace.jobs.import_dataset(pairs)
    workspace.store.close()
    return folder / "state"


@pytest.fixture
def environment(imported: Path, tmp_path: Path, hub: Hub) -> dict[str, str]:
    shutil.copytree(imported, tmp_path / "state")
    variables = {
        **os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1",
    }  # fmt: skip
    variables.pop("HF_HUB_OFFLINE", None)
    return variables


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path, hub: Hub) -> Iterator[Run]:
    """The command in this process, without a terminal."""
    with pytest.MonkeyPatch.context() as patched:
        use_hub(patched, hub.url, tmp_path / "hf" / "hub")
        token = str(tmp_path / "hf" / "token")
        set_constants(patched, HF_HUB_OFFLINE=False, HF_HUB_DISABLE_XET=True, HF_TOKEN_PATH=token)

        def command(*arguments: str, **more: str) -> tuple[int, str, str]:
            done = CliRunner().invoke(program.app, arguments, env={**environment, **more})
            return done.exit_code, done.stdout, " ".join(done.stderr.split())

        yield command


@pytest.fixture
def answered(environment: dict[str, str]) -> Run:
    """The command in a separate process at a terminal where a person types `answer`."""

    def command(*arguments: str, answer: str) -> tuple[int, str, str]:
        with terminal(answer) as typed:
            done = subprocess.run(
                [sys.executable, "app.py", *arguments], cwd=ROOT, env=environment, stdin=typed,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    return command


def test_an_export_is_limited_to_selected_pairs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("p0\np1\np3\n")
    out = tmp_path / "out"
    status, printed, message = run(
        "export", "pairs", str(out), "--format", "jsonl", "--queue", "text=dog", "--split", "test",
        "--split", "train", "--ids", str(tmp_path / "ids.txt"), "--json",
    )  # fmt: skip
    assert status == 0, message
    assert json.loads(printed)["written"] == 2
    status, _, message = run("export", "pairs", str(out), "--queue", "p_eror_from=0.5")
    assert status == 2
    assert "p_eror_from" in message
    assert "Traceback" not in message


@pytest.mark.parametrize("option", [{"seed": 5}, {"together": ["scene"]}])
def test_what_goes_with_new_splits_is_refused_without_them(option: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"--{next(iter(option))}"):
        dataset_commands._new_splits((), ExportCommand.parse(option))


def test_a_push_needs_consent_and_is_private(run: Run, tmp_path: Path, hub: Hub) -> None:
    arguments = ("export", "pairs", str(tmp_path / "out"), "--push-to-hub", "ada/pairs")
    status, _, message = run(*arguments)
    assert (status, hub.repositories) == (2, {}), "nobody was there to say yes"
    assert "--yes" in message
    assert not (tmp_path / "out").exists()
    status, result, message = run(*arguments, "--yes")
    assert status == 0, message
    assert f"{hub.url}/datasets/ada/pairs" in result
    repository = hub.repositories["ada/pairs"]
    assert repository.private
    export = {p.relative_to(tmp_path / "out").as_posix(): p.read_bytes()
              for p in (tmp_path / "out").rglob("*") if p.is_file()}  # fmt: skip
    assert repository.files == export


def test_a_person_is_asked_before_an_upload(answered: Run, tmp_path: Path, hub: Hub) -> None:
    hub.repositories["ada/pairs"] = before = Repository(False, {"LICENSE": b"mine"})
    arguments = ("export", "pairs", str(tmp_path / "out"), "--push-to-hub", "ada/pairs", "--public")
    status, _, message = answered("--quiet", *arguments, answer="\n")
    question = f"Upload 4 pairs with their images to {hub.url}/datasets/ada/pairs (PUBLIC), "
    assert question + "which already has 1 file? [y/N]" in message
    assert (status, "Nothing was written, and nothing uploaded." in message) == (2, True)
    assert not (tmp_path / "out").exists()
    assert (before.files, before.commits) == ({"LICENSE": b"mine"}, [])
    assert not any(name.startswith("POST") for name in hub.requests)
    status, _, message = answered(*arguments, answer="y\n")
    assert status == 0, message
    assert hub.repositories["ada/pairs"].files["SHA256SUMS"]


def test_a_second_push_removes_only_files_of_the_first(run: Run, tmp_path: Path, hub: Hub) -> None:
    to_hub = ("--push-to-hub", "ada/pairs", "--yes")
    assert run("export", "pairs", str(tmp_path / "1"), *to_hub)[0] == 0
    repository = hub.repositories["ada/pairs"]
    repository.files["LICENSE"] = b"mine"
    status, _, message = run(
        "export", "pairs", str(tmp_path / "2"), "--format", "parquet-images", *to_hub
    )
    assert status == 0, message
    assert set(repository.files) - {"croissant.json"} == {
        "LICENSE", "README.md", "SHA256SUMS", ".traced-export",
        "holdout-00000.parquet", "test-00000.parquet", "train-00000.parquet",
    }  # fmt: skip
    assert len(repository.commits) == 2


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (("--format", "csv"), 2, "cannot be used on the hub"),
        (("--push-to-hub", "nobody"), 2, "OWNER/NAME"),
        (("--push-to-hub", "a//b"), 2, "not a valid name on the hub"),
        (("--push-to-hub", "ada/public"), 2, "add --public"),
        (("--push-to-hub", "ada/private", "--public"), 2, "leave out --public"),
    ],
)
def test_an_invalid_push_is_refused_before_anything_is_written(
    run: Run, tmp_path: Path, hub: Hub, more: tuple[str, ...], status: int, message: str
) -> None:
    hub.repositories |= {"ada/public": Repository(False), "ada/private": Repository(True)}
    options = ("--push-to-hub", "ada/pairs", "--yes", *more)
    ended, _, err = run("export", "pairs", str(tmp_path / "out"), *options)
    assert (ended, message in err) == (status, True), err
    assert not (tmp_path / "out").exists()
    assert not any(name.startswith("POST") for name in hub.requests)


def test_a_push_refused_by_the_hub_keeps_the_export(run: Run, tmp_path: Path, hub: Hub) -> None:
    hub.fail_with = 403
    arguments = ("export", "pairs", str(tmp_path / "out"), "--push-to-hub", "ada/pairs", "--yes")
    status, _, message = run(*arguments)
    assert status == 6
    assert "is written, but was not uploaded" in message
    assert (tmp_path / "out" / "SHA256SUMS").is_file()
    status, _, message = run(*arguments[:2], str(tmp_path / "o2"), *arguments[3:], HF_TOKEN="no")
    assert (status, "cannot be looked up" in message) == (6, True)
    status, _, message = run(*arguments[:2], str(tmp_path / "o3"), *arguments[3:], HF_TOKEN="")
    assert (status, "hf auth login" in message) == (2, True)
