"""With login, pages read and write only in the folders that the administrator has configured."""

import json
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi.testclient import TestClient
from pydantic import create_model

from backend.datasets.safe_files import locations
from backend.errors import SettingsError, UnsafePath
from backend.jobs.export_choice import ExportChoice
from backend.options import INPUT_FILE, ComposedOptions, Options
from backend.workspace import Workspace
from tests.datasets.folders import malformed
from tests.datasets.reading.test_hub_download import HOSTILE
from tests.fixtures.hub_server import Repository, dataset_hub
from tests.traced_ui.conftest import workspace_in
from traced_ui.server import create_app


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Workspace]:
    workspace = workspace_in(
        tmp_path, import_root=[str(tmp_path / "in")], export_root=[str(tmp_path / "out")]
    )
    workspace.jobs.import_dataset(malformed(tmp_path / "in" / "pairs"))
    workspace.confine()  # as a server with login does: `test_by_default_…`
    yield workspace
    workspace.store.close()


def secret(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "payroll.csv"
    table.write_text("salary of Ada 90000,salary of Ben 20000\n1,2\n")
    return table


def test_only_addresses_that_the_administrator_names_are_imported_from(tmp_path: Path) -> None:
    team = workspace_in(tmp_path, import_root=["s3://shop/in", str(tmp_path / "in")])
    team.confine()
    guard = team.jobs.guard
    assert guard is not None
    assert guard("import", {"path": "s3://shop/in/a.csv"}) == {}
    for path in ("s3://shop/inner/a.csv", "s3://shop/in/../b", "https://example.org/a.csv?key=1"):
        with pytest.raises(UnsafePath, match="s3://shop/in") as refused:
            guard("import", {"path": path})
        assert "key=1" not in str(refused.value)
    team.store.close()


def test_an_import_stays_in_its_folders_and_reveals_nothing_of_others(
    team: Workspace, tmp_path: Path
) -> None:
    table = secret(tmp_path / "private")
    (tmp_path / "in" / "link.csv").symlink_to(table)
    (tmp_path / "in" / "there").symlink_to(table.parent)
    for path in (
        table, tmp_path / "in" / ".." / "private" / "payroll.csv", tmp_path / "in" / "link.csv",
        tmp_path / "in" / "there" / "payroll.csv", tmp_path / "private" / "nothing.csv",
    ):  # fmt: skip
        with pytest.raises(UnsafePath) as refused:
            team.jobs.start("import", None, path=str(path))
        assert "salary" not in str(refused.value)
        assert "--import-root" in refused.value.remedies["terminal"]
        assert str(tmp_path / "in") in str(refused.value)
    assert [dataset.name for dataset in team.datasets()] == ["pairs"]


class FileOptions(Options):
    one: Annotated[str, INPUT_FILE] = ""
    optional: Annotated[Path, INPUT_FILE] | None = None
    several: Annotated[tuple[str, ...], INPUT_FILE] = ()


@pytest.mark.parametrize("name", FileOptions.model_fields)
def test_files_that_options_name_lie_where_imports_may(
    team: Workspace, tmp_path: Path, name: str
) -> None:
    def options(file: str) -> FileOptions:
        return FileOptions.parse({name: (file,) if name == "several" else file})

    guard = team.jobs.guard
    assert guard is not None
    assert guard("words", options(str(tmp_path / "in" / "words.txt"))) == {}
    with pytest.raises(UnsafePath):
        guard("words", options(str(secret(tmp_path / "private"))))


@pytest.mark.parametrize("kind", [dict[str, str], set[Path] | None])
def test_options_that_name_files_have_a_type_that_is_checked(kind: Any) -> None:
    with pytest.raises(TypeError, match="words"):
        create_model("Odd", __base__=ComposedOptions, words=(Annotated[kind, INPUT_FILE], None))


def test_exports_are_not_imported_from_a_page(tmp_path: Path) -> None:
    """They belong to those who started them."""
    team = workspace_in(tmp_path, import_root=[str(tmp_path)], export_root=[str(tmp_path / "out")])
    team.confine()
    for folder in ("out/of-ada", "out", "."):
        with pytest.raises(UnsafePath, match="exports are not imported"):
            team.jobs.start("import", None, path=str(tmp_path / folder))
    team.store.close()


def test_the_image_folder_of_an_import_stays_in_its_folders(
    team: Workspace, tmp_path: Path
) -> None:
    rows = [{"file_name": "payroll.csv", "caption": "a picture"}]
    table = tmp_path / "in" / "mine.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    secret(tmp_path / "private")
    with pytest.raises(UnsafePath):
        team.jobs.start("import", None, path=str(table), image_root=str(tmp_path / "private"))


def test_an_export_stays_in_its_folders(team: Workspace, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "private")
    for name in ("private/x", "in/x", "out/../private/x", "out2", "out", "out/link/x"):
        out = str(tmp_path / name)
        with pytest.raises((UnsafePath, SettingsError)):
            team.jobs.start("export", 1, choice=ExportChoice(), out=out, format="csv")
    assert list((tmp_path / "private").iterdir()) == []


def test_an_invalid_path_is_refused_with_the_reason(
    team: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "circle").symlink_to("circle")
    for path in ("a\0b", "half \ud83d", "~nobody-of-that-name/x", "circle/x"):
        for start in (
            partial(team.jobs.start, "import", 1, path=path),
            partial(team.jobs.start, "export", 1, out=path, choice=ExportChoice()),
            partial(team.jobs.import_dataset, path),
            partial(team.jobs.export, 1, ExportChoice(), path),
        ):
            with pytest.raises(SettingsError, match=r"is not a path|is not text in UTF-8"):
                start()


def test_import_and_export_work_inside_their_folders(team: Workspace, tmp_path: Path) -> None:
    folder = malformed(tmp_path / "in" / "more")
    imported = team.jobs.start("import", None, path=str(folder))
    exported = team.jobs.start(
        "export", 1, choice=ExportChoice(), out=str(tmp_path / "out" / "x"), format="csv"
    )
    team.jobs.background.wait(250)
    assert team.jobs.job(imported).status == "done"
    assert team.jobs.job(exported).status == "done"
    assert (tmp_path / "out" / "x" / "data.csv").is_file()


def test_by_default_the_data_folder_is_the_only_allowed_one(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    create_app(workspace, None, login=True)
    state = tmp_path / "state"
    for place in (secret(tmp_path / "private"), state / "exports", tmp_path):
        with pytest.raises(UnsafePath) as refused:
            workspace.jobs.start("import", None, path=str(place))
        assert str(state) not in str(refused.value).replace(f"'{place}'", "")
    with pytest.raises(UnsafePath):
        workspace.jobs.start("export", 1, choice=ExportChoice(), out=str(state / "thumbnails"))
    started = workspace.jobs.start("import", None, path=str(malformed(state / "pairs")))
    workspace.jobs.background.wait(250)
    dataset = workspace.jobs.job(started).result["dataset_id"]
    job = workspace.seen_by("Ada").jobs.start("export", dataset, choice=ExportChoice())
    workspace.jobs.background.wait(250)
    out = Path(workspace.jobs.job(job).result["out"])
    assert out.parent.parent == state / "exports"
    assert [dataset.name for dataset in workspace.datasets()] == ["pairs"]
    workspace.store.close()


def test_a_server_without_login_is_not_restricted(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path, import_root=[str(tmp_path / "in")])
    create_app(workspace, None, login=False)
    started = workspace.jobs.start("import", None, path=str(malformed(tmp_path / "anywhere")))
    workspace.jobs.background.wait(250)
    assert workspace.jobs.job(started).status == "done"
    workspace.store.close()


def test_the_command_line_is_not_restricted(team: Workspace, tmp_path: Path) -> None:
    report = team.jobs.import_dataset(malformed(tmp_path / "elsewhere"))
    assert report.added


def test_a_name_on_the_hub_is_no_way_around(
    team: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the API, by the key of a curator: nothing is read here, and no server asked."""
    monkeypatch.chdir(secret(tmp_path / "private").parent)
    team.accounts.add("Ada", "a long password")
    _, token = team.accounts.keys.add("Ada", "a program", "review")
    with dataset_hub(monkeypatch, tmp_path / "hub") as hub:
        client = TestClient(create_app(team, 1, login=True), base_url="http://127.0.0.1/api/v1/")
        client.headers["Authorization"] = f"Bearer {token}"
        for name in HOSTILE:
            answer = client.post("datasets", json={"path": name})
            assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
            assert "salary" not in answer.text
        assert hub.requests == []
    assert team.jobs.recent() == []


def test_a_curator_has_no_use_of_the_token_of_the_server(
    team: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dataset_hub(monkeypatch, tmp_path / "hub") as hub:
        files = {"train.csv": b"image,text\n"}
        hub.repositories["boss/salaries"] = Repository(private=True, files=files)
        started = team.jobs.start("import", None, path="hf:boss/salaries")
        team.jobs.background.wait(250)
        assert set(hub.credentials) == {None}
    assert team.jobs.job(started).status == "failed"


def test_an_address_that_the_administrator_allows_is_fetched_by_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "_PAUSES", ())
    team = workspace_in(tmp_path, import_root=["https://192.0.2.1/in"])
    team.confine()
    started = team.jobs.start("import", None, path="https://192.0.2.1/in/a.csv")
    team.jobs.background.wait(250)
    assert "could not read" in team.jobs.job(started).message.lower()
    team.store.close()
