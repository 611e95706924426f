"""Uploads become datasets; exports and rows left out can be downloaded."""

import csv
import io
import json
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

import fastapi
import httpx2
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.safe_files.uploads import ABANDONED
from backend.datasets.writing.export_folder import digest_of, zip_export
from backend.errors import ExportError
from backend.workspace import ExportChoice, Workspace
from db.queries import job_queries
from tests.datasets.folders import GOOD, malformed
from tests.traced_ui.serving import serving
from traced_ui import transfers
from traced_ui.dataset_settings import deletion_preview_html


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    app = fastapi.FastAPI()
    transfers.add_routes(app, workspace)
    return TestClient(app)


def wait_for_job(workspace: Workspace, job_id: int) -> None:
    assert workspace.jobs.background.wait(200)
    assert workspace.jobs.job(job_id).status == "done", workspace.jobs.job(job_id).message


def zipped_pairs() -> bytes:
    picture, archive = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(picture, "PNG")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("1.png", picture.getvalue())
        file.writestr("metadata.csv", "file_name,caption\n1.png,A red field.\n2.png,Not there.\n")
    return archive.getvalue()


def test_an_archive_becomes_a_dataset(client: TestClient, workspace: Workspace) -> None:
    upload = client.post("/uploads").json()["upload"]
    assert (
        client.put(f"/uploads/{upload}?path=pairs.zip", content=zipped_pairs()).status_code == 204
    )
    job = client.post(f"/uploads/{upload}/import?name=Mine").json()["job"]
    wait_for_job(workspace, job)
    (dataset,) = [summary for summary in workspace.datasets() if summary.name == "Mine"]
    assert (dataset.total, dataset.problems) == (1, 1)
    # It belongs to a dataset now, and the browser can no longer delete it.
    refused = client.delete(f"/uploads/{upload}")
    assert refused.status_code == 400
    assert "dataset" in refused.json()["detail"]
    assert workspace.remove_abandoned_uploads() == 0
    # Its pictures go with it, those that were never uploaded do not.
    assert [workspace.deletion_preview(id).is_upload for id in (1, dataset.id)] == [False, True]
    going = workspace.delete_dataset(dataset.id)
    assert going.is_upload
    page = deletion_preview_html(going)
    assert going.about_images in page
    assert going.root not in page
    tomorrow = time.time() + 2 * ABANDONED
    paths = [summary.root for summary in workspace.datasets()]
    assert workspace.uploads.remove_abandoned(paths, tomorrow) == 1


def test_a_folder_becomes_a_dataset(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    folder = malformed(tmp_path / "other")
    upload = client.post("/uploads").json()["upload"]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"other/{path.relative_to(folder).as_posix()}"
        sent = client.put(f"/uploads/{upload}", params={"path": name}, content=path.read_bytes())
        assert sent.status_code == 204
    wait_for_job(workspace, client.post(f"/uploads/{upload}/import?name=").json()["job"])
    dataset = workspace.datasets()[-1]
    assert dataset.total == GOOD


def test_refused_uploads_say_why(client: TestClient, workspace: Workspace) -> None:
    upload = client.post("/uploads").json()["upload"]
    outside = client.put(f"/uploads/{upload}?path=../../traced.db", content=b"x")
    assert outside.status_code == 400
    assert "cannot be the name" in outside.json()["detail"]
    assert client.put(f"/uploads/{'0' * 32}?path=a", content=b"x").status_code == 404
    assert client.post(f"/uploads/{upload}/import").status_code == 400
    assert client.delete(f"/uploads/{upload}").status_code == 204
    assert client.delete(f"/uploads/{upload}").status_code == 404
    assert list(workspace.uploads.folder.iterdir()) == []


def test_what_is_being_imported_cannot_be_discarded(
    client: TestClient, workspace: Workspace
) -> None:
    """A page that has lost the answer to its request does not know that the import runs."""
    upload = client.post("/uploads").json()["upload"]
    client.put(f"/uploads/{upload}?path=pairs.zip", content=zipped_pairs())
    path = str(workspace.uploads.path_of(upload))
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "import", None, {"path": path})
    assert client.delete(f"/uploads/{upload}").status_code == 400
    assert Path(path).is_file()
    workspace.store.write(job_queries.update_job, job.id, status="failed")
    assert client.delete(f"/uploads/{upload}").status_code == 204


def test_an_export_is_downloaded_as_it_was_written(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    out = tmp_path / "clean"
    job = workspace.jobs.start(
        "export", 1, choice=ExportChoice(), out=str(out), format="imagefolder"
    )
    wait_for_job(workspace, job)
    (out / "somebody's own.txt").write_text("not the export's")
    answer = client.get(f"/exports/{job}.zip")
    assert answer.status_code == 200
    assert "clean.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        assert "SHA256SUMS" in names
        assert "somebody's own.txt" not in names
        for name in names:
            assert archive.read(name) == (out / name).read_bytes()
    assert client.get(f"/exports/{job + 1}.zip").status_code == 404
    for path in out.iterdir():
        if path.is_file():
            path.unlink()
    assert client.get(f"/exports/{job}.zip").status_code == 400


@pytest.mark.parametrize(
    "format",
    sorted({"csv", "jsonl", "conversations", "messages", "imagefolder"} & {*EXPORT_FORMATS}),
)
def test_a_downloaded_export_has_the_pictures_that_its_table_names(
    client: TestClient, workspace: Workspace, tmp_path: Path, format: str
) -> None:
    job = workspace.jobs.start("export", 1, choice=ExportChoice(), out=str(tmp_path / "out"),
                               format=format)  # fmt: skip
    wait_for_job(workspace, job)
    answer = client.get(f"/exports/{job}.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = archive.namelist()
        (table, *_) = (name for name in names if name.endswith(("data.jsonl", ".csv", "a.jsonl")))
        text = archive.read(table).decode("utf-8-sig")
    lines = text.splitlines()
    rows = csv.DictReader(lines) if table.endswith(".csv") else map(json.loads, lines)
    fields = ("image_path", "image", "file_name")
    named = [next((row[key] for key in fields if key in row), None) or row["images"][0]
             for row in rows]  # fmt: skip
    assert named
    assert {str(PurePosixPath(table).parent / name) for name in named} <= set(names)
    assert not [name for name in names if "images/images/" in name]


def test_rows_left_out_can_be_downloaded_as_a_table(
    client: TestClient, workspace: Workspace
) -> None:
    answer = client.get("/datasets/1/left-out.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == workspace.summary(1).problems > 0
    assert {row["kind"] for row in rows}
    assert "attachment" in answer.headers["content-disposition"]
    assert not any(cell[:1] in "=+-@" for row in rows for cell in row.values() if cell)
    assert client.get("/datasets/99/left-out.csv").status_code == 404


@pytest.fixture
def team(workspace: Workspace) -> Iterator[dict[str, httpx2.Client]]:
    """Ada and Ben, each with a key, at a server on a real port."""
    with ExitStack() as opened:
        tokens = {}
        for name in ("Ada", "Ben"):
            workspace.accounts.add(name, "a long password")
            _, tokens[name] = workspace.accounts.keys.add(name, "a program", "review")
        address = opened.enter_context(serving(workspace, login=True))
        yield {
            name: opened.enter_context(
                httpx2.Client(
                    base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60
                )
            )
            for name, token in tokens.items()
        }


def export(client: httpx2.Client, workspace: Workspace, **wanted: Any) -> httpx2.Response:
    """The answer to a request for an export, once its job has ended."""
    answer = client.post("api/v1/datasets/1/exports", json={"format": "csv", **wanted})
    workspace.jobs.background.wait(250)
    return answer


def test_each_export_has_its_own_folder_and_link(
    team: dict[str, httpx2.Client], workspace: Workspace
) -> None:
    jobs = [export(team[name], workspace).json()["id"] for name in ("Ada", "Ada", "Ben")]
    places = [Path(workspace.jobs.job(job).result["out"]) for job in jobs]
    assert len(set(places)) == 3
    assert places[0].parent == places[1].parent != places[2].parent
    for name, number, status in (
        ("Ada", 0, 200), ("Ada", 1, 200), ("Ada", 2, 404), ("Ben", 2, 200), ("Ben", 0, 404),
    ):  # fmt: skip
        assert team[name].get(f"exports/{jobs[number]}.zip").status_code == status


def test_a_link_serves_what_was_written_or_nothing(
    team: dict[str, httpx2.Client], workspace: Workspace
) -> None:
    out = str(workspace.settings.data_directory / "exports" / "shared")
    job = export(team["Ada"], workspace, out=out).json()["id"]
    assert team["Ada"].get(f"exports/{job}.zip").status_code == 200
    # The server's administrator, who is not confined, replaces it.
    workspace.jobs.export(1, ExportChoice(), out, "jsonl", overwrite=True)
    assert team["Ada"].get(f"exports/{job}.zip").status_code == 400
    again = export(team["Ada"], workspace, out=out, overwrite=True)
    assert again.status_code == 403, "it is another's by now"


def test_a_file_that_changed_is_not_served(workspace: Workspace, tmp_path: Path) -> None:
    report = workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "csv")
    (tmp_path / "out" / "data.csv").write_text("another's")
    served: list[bytes] = []
    with pytest.raises(ExportError):
        served.extend(zip_export(tmp_path / "out", report.digest))
    assert b"another's" not in b"".join(served)


def test_only_an_export_of_ones_own_is_replaced(
    team: dict[str, httpx2.Client], workspace: Workspace
) -> None:
    folder = workspace.settings.data_directory / "exports"
    of_ada, of_operator = str(folder / "of-ada"), str(folder / "of-operator")
    job = export(team["Ada"], workspace, out=of_ada).json()["id"]
    workspace.jobs.export(1, ExportChoice(), of_operator, "csv")
    before = workspace.jobs.job(job).result["digest"]
    for place in (of_ada, f"{of_ada}/", f"{of_ada}/../of-ada", f"{of_ada}/inside", of_operator):
        answer = export(team["Ben"], workspace, out=place, overwrite=True)
        assert answer.status_code == 403, place
    assert digest_of(Path(of_ada)) == before
    assert team["Ada"].get(f"exports/{job}.zip").status_code == 200
    again = export(team["Ada"], workspace, out=of_ada, overwrite=True).json()["id"]
    assert workspace.jobs.job(again).status == "done"
    assert team["Ada"].get(f"exports/{again}.zip").status_code == 200
