"""Rules over the API."""

from fastapi.testclient import TestClient

from backend.workspace import Workspace
from tests.fixtures.sizes import Sizes
from tests.traced_ui.conftest import imported, workspace
from tests.traced_ui.test_api import client

__all__ = ["client", "imported", "workspace"]


def test_a_rule_decides_a_queue(client: TestClient, workspace: Workspace) -> None:
    url, queue = "datasets/1/rule", "text=a&order=position"
    plan = client.get(url, params={"queue": queue}).json()
    number = plan["number"]
    assert 0 < number == len(plan["sample"])
    wanted = {"queue": queue, "verdict": "drop", "number": number}
    stale = client.post(url, json={**wanted, "number": number - 1})
    assert stale.status_code == 412
    assert stale.json()["type"] == "urn:traced-curator:queue-changed"
    assert workspace.review.counts(1).reviewed == 0
    done = client.post(url, json=wanted)
    assert (done.status_code, done.json()["given"]) == (200, number)
    rows = client.get("datasets/1/queue", params={"review": "decided"}).json()["pairs"]
    assert {(row["verdict"], row["note"]) for row in rows} == {("drop", "rule: text=a")}
    assert client.post("datasets/1/undo").json()["verdict"] is None
    assert workspace.review.counts(1).reviewed == 0
    for wrong in ("correction", "<b>"):
        assert client.post(url, json={**wanted, "verdict": wrong}).status_code == 422


def test_a_long_rule_is_a_job(client: TestClient, workspace: Workspace, sizes: Sizes) -> None:
    sizes(AT_ONCE=1)
    number = client.get("datasets/1/rule").json()["number"]
    wanted = {"verdict": "unsure", "number": number}
    started = client.post("datasets/1/rule", json=wanted)
    assert (started.status_code, started.json()["kind"]) == (202, "rule")
    assert workspace.jobs.background.wait(250)
    job = client.get(f"jobs/{started.json()['id']}").json()
    assert (job["status"], job["done"], job["result"]["given"]) == ("done", number, number)
    assert workspace.review.counts(1).reviewed == number
