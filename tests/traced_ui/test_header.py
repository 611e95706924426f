"""The bar of every page: datasets, jobs and buttons; and addresses that lead to pages."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from backend.workspace import Workspace
from tests.datasets.folders import malformed
from tests.fixtures.features import needs
from tests.traced_ui.conftest import workspace_in
from traced_ui import rooms
from traced_ui.server import create_app


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    return TestClient(create_app(workspace, 1), follow_redirects=False)


def test_each_page_has_its_own_address_and_components(client: TestClient) -> None:
    for page in rooms.PAGES:
        answer = client.get(f"/{page.path}")
        assert answer.status_code == 200, page
        assert "no-cache" in answer.headers["cache-control"]
        names = ("team-accounts", "playground-run", "export-start", "traced-stage")
        is_there = {name for name in names
                    if f'"{name}"' in answer.text or f"{name}\\u0022" in answer.text
                    or f'id=\\"{name}\\"' in answer.text}  # fmt: skip
        wanted = {"team": "team-accounts", "try": "playground-run", "export": "export-start",
                  "review": "traced-stage"}  # fmt: skip
        assert is_there == ({wanted[page.name]} if page.name in wanted else set()), page


#: A page that it was part of once.
MAP = (
    ("/plane?dataset=2", "/map?layout=icc&dataset=2"),
    ("/?tab=plane", "/map?layout=icc"),
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/?tab=team&dataset=2&text=a%20b", "/team?dataset=2&text=a+b"),
        pytest.param("/?dataset=1&tab=playground", "/try?dataset=1", marks=needs("playground")),
        ("/?tab=review&pair=4", "/?pair=4"),
        ("/?tab=nothing", "/"),
        ("/?tab=//evil.example/", "/"),
        ("/team/?dataset=2", "/team?dataset=2"),
        *(pytest.param(*each, marks=needs("picture_map")) for each in MAP),
    ],
)
def test_earlier_addresses_lead_to_their_page(client: TestClient, before: str, after: str) -> None:
    answer = client.get(before)
    assert (answer.status_code, answer.headers["location"]) == (308, after)


def test_they_carry_the_path_of_a_proxy(tmp_path: Path) -> None:
    app = create_app(workspace_in(tmp_path, root_path="/c"))
    client = TestClient(app, follow_redirects=False)
    for start in ("", "/c"):  # whether the proxy takes the path off
        assert client.get(f"{start}/?tab=team").headers["location"] == "/c/team"
        assert client.get(f"{start}/team").status_code == 200


def test_the_bar_names_the_datasets_and_chooses_the_one_of_the_address(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    other = workspace.jobs.import_dataset(malformed(tmp_path / "other")).dataset_id
    for query, dataset in (("", 1), (f"?dataset={other}", other), ("?dataset=999", 1)):
        shown = client.get(f"/header{query}").json()
        assert shown["dataset"] == dataset
        assert [id for _, id in shown["datasets"]] == [1, other]
        assert shown["who"] is None
    workspace.delete_dataset(1)
    assert client.get("/header").json()["dataset"] == other
    assert client.get(f"/header?dataset={2**70}").status_code == 422


@needs("quality_gate")
def test_a_job_is_cancelled_by_its_button_or_the_reason_is_said(
    client: TestClient, workspace: Workspace
) -> None:
    workspace.jobs.start("check", 1, at_most="90%")
    assert workspace.jobs.background.wait(200)
    (job,) = workspace.jobs.recent()
    shown = client.get("/header").json()
    assert f"{shown['datasets'][0][0].split()[0]}" in shown["drawer"]
    assert f"{job.id}:done" in shown["stages"]
    assert "error" in client.post(f"/jobs/{job.id}/retry").json()["problem"]
    assert "error" in client.post("/jobs/999/cancel").json()["problem"]
    assert client.post(f"/jobs/{job.id}/delete").status_code == 422
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post(f"/jobs/{job.id}/cancel", headers=foreign).status_code == 403
