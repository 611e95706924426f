"""The API: a review by a program, its problem details, and its keys."""

import html
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import fastapi
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from backend.workspace import Workspace
from db.models import Pair
from tests.review import test_claims
from traced_ui import api, rooms, transfers
from traced_ui.server import create_app

PASSWORD = "a long password"
START = "http://127.0.0.1/api/v1/"


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    """The API without the pages beside it, which take a second to build."""
    app = fastapi.FastAPI()
    transfers.add_routes(app, workspace)
    app.mount(rooms.API, api.create_api(workspace))
    return TestClient(app, base_url=START)


@pytest.fixture(scope="module")
def reading(served: Workspace) -> TestClient:
    """A client for requests that are refused or only read."""
    return TestClient(create_app(served, 1), base_url=START)


@pytest.fixture
def team(workspace: Workspace) -> Callable[[str], TestClient]:
    """A function: a client with a key of Ada's of a scope."""
    workspace.accounts.add("Ada", PASSWORD)
    app = create_app(workspace, 1, login=True)

    def with_key(scope: str) -> TestClient:
        _, token = workspace.accounts.keys.add("Ada", "a test", scope)
        return TestClient(app, base_url=START, headers={"Authorization": f"Bearer {token}"})

    return with_key


def decide(client: TestClient, row: dict[str, Any], **sent: object) -> Any:
    headers = {"If-Match": row["etag"]}
    return client.put(f"pairs/{row['id']}/verdict", json=sent, headers=headers)


def test_a_program_reviews_a_queue(client: TestClient, workspace: Workspace) -> None:
    (dataset,) = client.get("datasets").json()
    queue = f"datasets/{dataset['id']}/queue"
    page = client.get(queue, params={"limit": 1}).json()
    rest = client.get(queue, params={"after": page["next"]}).json()
    assert rest["next"] is None
    ids = [row["id"] for row in page["pairs"] + rest["pairs"]]
    assert len(ids) == len(set(ids)) == dataset["pairs"]
    answer = client.get(f"pairs/{ids[0]}")
    whole = answer.json()
    assert answer.headers["etag"] == '"' + whole["etag"] + '"'
    assert (whole["caption"], whole["etag"]) == (
        page["pairs"][0]["caption"],
        page["pairs"][0]["etag"],
    )
    decided = decide(client, whole, verdict="drop", note="blurry")
    assert (decided.json()["verdict"], decided.json()["note"]) == ("drop", "blurry")
    assert decided.json()["etag"] == client.get(f"pairs/{ids[0]}").json()["etag"] != whole["etag"]
    assert workspace.review.open_pair(ids[0]).verdict.history[-1].author == "curator"
    assert client.get("datasets/1/progress").json()["reviewed"] == 1
    assert client.post("datasets/1/undo").json()["verdict"] is None
    assert client.post("datasets/1/redo").json()["verdict"] == "drop"
    undone = client.post("datasets/1/undo", params={"request_id": "first"}).json()
    assert client.post("datasets/1/undo", params={"request_id": "first"}).json() == undone
    assert client.post("datasets/1/undo", params={"request_id": "x" * 33}).status_code == 422
    assert undone["etag"] == client.get(f"pairs/{ids[0]}").json()["etag"]
    assert client.post("datasets/1/undo").json() is None
    assert client.post("datasets/1/next").json()["id"] == ids[0]


def test_a_verdict_is_for_what_was_seen(client: TestClient, workspace: Workspace) -> None:
    row, *_ = client.get("datasets/1/queue").json()["pairs"]
    without = client.put(f"pairs/{row['id']}/verdict", json={"verdict": "drop"})
    assert without.status_code == 428
    assert decide(client, row, verdict="drop").status_code == 200
    late = decide(client, row, verdict="correct")
    assert (late.status_code, late.json()["type"]) == (412, "urn:traced-curator:verdict-conflict")
    row = client.get(f"pairs/{row['id']}").json()
    with workspace.store.writing() as session:
        session.execute(update(Pair).values(caption="Another caption."))
    changed = decide(client, row, verdict="correct")
    assert (changed.status_code, changed.json()["type"]) == (412, "urn:traced-curator:pair-changed")
    assert workspace.review.open_pair(row["id"]).verdict.decision == "drop"


def test_a_program_judges_claims(tmp_path: Path) -> None:
    workspace = test_claims.with_claims(tmp_path)
    (cat, end), (wonder, _) = test_claims.CAT, test_claims.WONDER
    app = fastapi.FastAPI()
    app.mount(rooms.API, api.create_api(workspace))
    client = TestClient(app, base_url=START)

    def judge(claim: int, judgement: str, etag: str | None) -> Any:
        headers = {} if etag is None else {"If-Match": etag}
        sent = {"judgement": judgement}
        return client.put(f"pairs/1/claims/{claim}", json=sent, headers=headers)

    pair = client.get("pairs/1").json()
    assert pair["trajectory"][0]["caption"] == test_claims.TEXT[cat:end]
    other = client.get("pairs/1", params={"claim": 0}).json()
    assert other["trajectory"][0]["caption"] == "A dog runs."
    refused = [
        judge(cat, "wrong", None),
        judge(cat, "maybe", pair["etag"]),
        judge(1, "wrong", pair["etag"]),
    ]
    assert [answer.status_code for answer in refused] == [428, 422, 412]
    wrong = judge(cat, "wrong", pair["etag"])
    assert (wrong.status_code, wrong.json()["verdict"]) == (200, "wrong")
    assert judge(0, "right", pair["etag"]).status_code == 412
    shorter = judge(wonder, "left out", wrong.headers["ETag"].strip('"'))
    assert shorter.json()["corrected_caption"] == "A dog runs.\n\nA cat sleeps. It rains."
    claims = client.get("pairs/1").json()["claims"]
    assert [claim["is_right"] for claim in claims] == [None, None, False, None]
    assert [claim["is_gone"] for claim in claims] == [False, True, False, False]
    workspace.store.close()


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", "pairs/99999", None, 404),
        ("GET", "datasets/99/queue", None, 404),
        ("GET", "datasets/99/progress", None, 404),
        ("GET", "jobs/99", None, 404),
        ("GET", "nothing", None, 404),
        ("DELETE", "datasets", None, 405),
        ("GET", "pairs/x", None, 422),
        ("GET", f"pairs/{2**31}", None, 422),
        ("GET", "datasets/1/queue?order=p_eror", None, 422),
        ("GET", "datasets/1/queue?filters=notes%3Dx", None, 422),
        ("GET", "datasets/1/queue?text=%00", None, 422),
        ("GET", "datasets/1/queue?p_error_from=0.9", None, 422),
        ("GET", "datasets/1/queue?limit=0", None, 422),
        ("GET", "datasets?dataset=1", None, 422),
        ("POST", "pairs/1/check", {"caption": " "}, 422),
        ("POST", "pairs/1/check", {"caption": 2**70}, 422),
        ("POST", "datasets/1/jobs", {"kind": "download"}, 422),
        ("POST", "datasets/1/exports", {"out": "x", "queue": "nonsense=1"}, 422),
        ("POST", "datasets/1/tags", {"name": "todo", "pairs": [1, 9999]}, 422),
        ("POST", "datasets", {"path": "/nowhere"}, 422),
        ("POST", "datasets", {"path": ""}, 422),
    ],
)
def test_problems_have_details(
    reading: TestClient, method: str, path: str, sent: object, status: int
) -> None:
    answer = reading.request(method, path, json=sent)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    about = answer.json()
    assert {"type", "title", "status", "detail"} <= set(about)
    assert about["status"] == status
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("etag", "given"),
    [("x", {"verdict": "drop"}), ("0-", {"verdict": "drop"}), (None, {"verdict": "nonsense"}),
     (None, {"verdict": "correction"}), (None, {}), (None, {"verdict": "drop", "remark": "x"}),
     (None, {"verdict": "correct", "corrected_caption": "x"})],
)  # fmt: skip
def test_a_verdict_that_is_none_is_refused(
    reading: TestClient, etag: str | None, given: dict[str, str]
) -> None:
    row = reading.get("pairs/1").json()
    assert decide(reading, row | ({"etag": etag} if etag else {}), **given).status_code == 422
    assert reading.get("pairs/1").json()["etag"] == row["etag"]


@pytest.mark.parametrize(
    "after",
    ["x", "[]", "[1]", "{}", "1", '["a", 1]', '[0.5, "1"]', "[0.5, 1, 2]", "[NaN, 1]",
     "[0.5, null]", "[1e999, 1]", f"[1{'0' * 400}, 1]", f"[1, {2**70}]", "[[1], 1]", "[true, 1]",
     "[" * 5000],
)  # fmt: skip
def test_an_invalid_cursor_is_refused(reading: TestClient, after: str) -> None:
    assert reading.get("datasets/1/queue", params={"after": after}).status_code == 422


@pytest.mark.parametrize("by", ["picture", "-caption", "-gain", "extra:split"])
def test_a_queue_in_any_order_is_read_page_by_page(reading: TestClient, by: str) -> None:
    order = {"order": by, "review": "all"}
    whole = reading.get("datasets/1/queue", params=order).json()["pairs"]
    after, read = "", list[int]()
    while True:
        page = reading.get("datasets/1/queue", params={**order, "limit": 3, "after": after}).json()
        read += [pair["id"] for pair in page["pairs"]]
        if (after := page["next"]) is None:
            break
    assert read == [pair["id"] for pair in whole]
    of_another = {**order, "after": '["a", 1]' if by == "-gain" else "[0.5, 1]"}
    if by != "extra:split":  # whose values may be of any kind
        assert reading.get("datasets/1/queue", params=of_another).status_code == 422


def test_jobs_and_exports(client: TestClient, workspace: Workspace, tmp_path: Path) -> None:
    sent = {"out": str(tmp_path / "out"), "format": "csv", "choice": {"drop_above": 0.5}}
    answer = client.post("datasets/1/exports", json=sent)
    assert answer.status_code == 202
    assert workspace.jobs.background.wait(250)
    job = client.get(f"jobs/{answer.json()['id']}").json()
    assert (job["kind"], job["status"], job["result"]["format"]) == ("export", "done", "csv")
    assert client.get("jobs").json() == [job]
    archive = client.get(f"http://127.0.0.1/exports/{job['id']}.zip")
    assert archive.content[:2] == b"PK"
    assert client.delete(f"jobs/{job['id']}").status_code == 204
    answer = client.post("datasets/1/jobs", json={"kind": "train"})
    assert workspace.jobs.background.wait(250)
    assert client.get(f"jobs/{answer.json()['id']}").json()["kind"] == "train"


def test_the_description_is_complete(reading: TestClient) -> None:
    described = reading.get("openapi.json").json()
    assert "/pairs/{pair}/verdict" in described["paths"]
    page = html.unescape(reading.get("").text)
    for path, methods in described["paths"].items():
        assert path in page
        for operation in methods.values():
            assert operation["description"].split("\n")[0] in page
    assert "http" not in page.replace("charset", ""), "nothing is loaded from elsewhere"


def test_a_route_that_is_there_cannot_be_added() -> None:
    for method, path, *_ in (api.routes()[0], api.routes()[-1]):
        added = api.Endpoints(((method, path, api.datasets, HTTPStatus.OK),))
        with pytest.raises(ValueError, match=re.escape(f"{method} {path}")):
            api.check_endpoints(added)


def test_a_key_acts_for_its_account_within_its_scope(workspace: Workspace, team: Any) -> None:
    reader, writer = team("read"), team("review")
    row = reader.get("datasets/1/queue").json()["pairs"][0]
    assert reader.get(f"http://127.0.0.1/pictures/{row['id']}").status_code == 200
    open_to_readers = {
        path
        for method, path, *_ in api.routes()
        if method != "GET"
        and reader.request(method, re.sub(r"{\w+}", "1", path[1:])).status_code != 403
    }
    assert open_to_readers == {"/pairs/{pair}/check"}, "which saves nothing"
    assert decide(writer, row, verdict="drop").status_code == 200
    assert workspace.review.open_pair(row["id"]).verdict.history[-1].author == "Ada"
    assert writer.get("http://127.0.0.1/", follow_redirects=False).status_code == 401, "no pages"
    exported = writer.post("datasets/1/exports", json={"out": "/nowhere/else"})
    assert exported.status_code == 403, "confined as the page is"


def test_a_key_ends_when_it_is_revoked_or_its_account_is_closed(
    workspace: Workspace, team: Any
) -> None:
    first, second = team("read"), team("read")
    assert first.get("datasets").status_code == second.get("datasets").status_code == 200
    workspace.accounts.keys.revoke(workspace.accounts.keys.of("Ada")[0].id)
    refused = first.get("datasets")
    assert (refused.status_code, refused.json()["status"]) == (401, 401)
    assert refused.headers["www-authenticate"] == "Bearer"
    workspace.accounts.change("Ada", password="another long password")
    assert second.get("datasets").status_code == 200
    workspace.accounts.change("Ada", active=False)
    assert second.get("datasets").status_code == 401
    workspace.accounts.change("Ada", active=True)
    assert second.get("datasets").status_code == 401, "it does not come back"
    assert workspace.accounts.keys.of() == []


def test_a_pair_handed_out_is_not_handed_to_another(workspace: Workspace, team: Any) -> None:
    workspace.accounts.add("Ben", PASSWORD)
    ada = team("review")
    _, token = workspace.accounts.keys.add("Ben", "a test", "review")
    ben = {"Authorization": f"Bearer {token}"}
    first = ada.post("datasets/1/next").json()["id"]
    assert ada.post("datasets/1/next").json()["id"] == first
    other = ada.post("datasets/1/next", headers=ben).json()
    assert other is None or other["id"] != first
    # Once it is judged, whoever is to judge it as well need not wait.
    etag = ada.get(f"pairs/{first}").headers["etag"]
    ada.put(f"pairs/{first}/verdict", json={"verdict": "drop"}, headers={"If-Match": etag})
    assert workspace.accounts.hold(first, "Ben")


def test_http_is_read_as_it_is_written(team: Callable[[str], TestClient]) -> None:
    """Schemes in any case, If-Match as `*` and as a list, HEAD wherever there is GET."""
    client = team("review")
    client.headers["Authorization"] = client.headers["Authorization"].replace("Bearer", "bEARER")
    row = client.get("datasets/1/queue").json()["pairs"][0]
    place = f"pairs/{row['id']}"
    other = '"999-0123456789abcdef"'
    body = {"verdict": "correct"}
    for match, status in ((f'{other}, "8-0123456789abcdef"', 412), ("*, x", 422), ("*", 200)):
        answer = client.put(f"{place}/verdict", json=body, headers={"If-Match": match})
        assert answer.status_code == status, (match, answer.text)
    tag = client.get(place).headers["ETag"]
    answer = client.put(f"{place}/verdict", json=body, headers={"If-Match": f"{other}, W/{tag}"})
    assert answer.status_code == 200
    for path in ("datasets", place, "jobs", "datasets/1/queue"):
        head = client.head(path)
        assert (head.status_code, head.content) == (200, b"")
    assert client.head("pairs/999999").status_code == 404
