"""Uploads become datasets; exports and rows left out can be downloaded."""

import csv
import io
import zipfile
from pathlib import Path

import fastapi
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from backend.workspace import ExportChoice, Workspace
from tests.datasets.folders import GOOD, malformed
from traced_ui import transfers


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
