"""Nothing is served without a login."""

import re

import anyio
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Receive, Scope, Send

from backend.workspace import QueueFilter, Workspace
from tests.fixtures.sizes import Sizes
from traced_ui.login import Guard, inner, login_page
from traced_ui.server import create_app

PASSWORD = "a long password"


@pytest.fixture(scope="module")
def app(served: Workspace) -> FastAPI:
    """The app with Ada's account, shared by tests; those that lock her out have a separate app."""
    served.accounts.add("Ada", PASSWORD)
    return create_app(served, 1, login=True)


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    return TestClient(app, follow_redirects=False)


@pytest.fixture
def own_client(workspace: Workspace) -> TestClient:
    workspace.accounts.add("Ada", PASSWORD)
    return TestClient(create_app(workspace, 1, login=True), follow_redirects=False)


def log_in(client: TestClient, name: str = "Ada", password: str = PASSWORD) -> int:
    return client.post("/login", data={"username": name, "password": password}).status_code


@pytest.mark.parametrize("path", ["/pictures/1", "/gradio_api/info", "/config", "/assets/index.js"])
def test_programs_without_a_login_are_refused(client: TestClient, path: str) -> None:
    result = client.get(path)
    assert result.status_code == 401
    assert "Log in" in result.json()["detail"]


def test_people_are_redirected_to_the_login_page_and_back(client: TestClient) -> None:
    result = client.get("/?pair=3", headers={"Accept": "text/html"})
    assert result.status_code == 303
    assert result.headers["location"] == "/login?to=%2F%3Fpair%3D3"
    assert 'value="/?pair=3"' in client.get(result.headers["location"]).text
    given = {"username": "Ada", "password": PASSWORD, "page": "1", "to": "/?pair=3"}
    came_in = client.post("/login", data=given)
    assert (came_in.status_code, came_in.headers["location"]) == (303, "/?pair=3")
    cookie = came_in.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert client.get("/", headers={"Accept": "text/html"}).status_code == 200


def test_a_login_opens_pictures_and_a_logout_closes_them(
    client: TestClient, served: Workspace
) -> None:
    pair = served.review.queue_page(QueueFilter(1)).rows[0].pair_id
    assert log_in(client) == 200
    assert client.get(f"/pictures/{pair}?size=104").status_code == 200
    assert client.post("/logout").status_code == 303
    assert client.get(f"/pictures/{pair}?size=104").status_code == 401


def test_a_token_is_valid_until_the_account_is_closed(
    own_client: TestClient, workspace: Workspace
) -> None:
    answer = own_client.post("/login", data={"username": "Ada", "password": PASSWORD})
    own_client.cookies.clear()
    header = {"Authorization": f"Bearer {answer.json()['token']}"}
    assert own_client.get("/gradio_api/info", headers=header).status_code == 200
    assert (
        own_client.get("/gradio_api/info", headers={"Authorization": "Bearer x"}).status_code == 401
    )
    workspace.accounts.change("Ada", active=False)
    assert own_client.get("/gradio_api/info", headers=header).status_code == 401
    assert log_in(own_client) == 401


def test_a_request_whose_login_ends_meanwhile_is_refused(
    workspace: Workspace, sizes: Sizes
) -> None:
    sizes(_CHECKED_EVERY=0.01)
    workspace.accounts.add("Ada", PASSWORD)

    async def end_login(scope: Scope, receive: Receive, send: Send) -> None:
        workspace.accounts.change("Ada", active=False)
        await anyio.sleep_forever()

    header = {"Authorization": f"Bearer {workspace.accounts.log_in('Ada', PASSWORD)}"}
    client = TestClient(Guard(end_login, workspace.accounts))
    assert client.post("/review/acts", headers=header).status_code == 401


def test_a_token_is_stored_as_a_digest(client: TestClient, served: Workspace) -> None:
    token = client.post("/login", data={"username": "Ada", "password": PASSWORD}).json()["token"]
    with served.store.reading() as session:
        kept = session.connection().exec_driver_sql("SELECT token_digest FROM logins").scalars()
        assert token.encode() not in list(kept)


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1", "/a\nb", ""]
)
def test_a_login_redirects_only_within_the_app(to: str) -> None:
    assert inner(to) == "/"


def test_the_login_page_escapes_text() -> None:
    assert "<script>" not in login_page('/"><script>', "<script>alert(1)</script>")


def test_a_wrong_password_does_not_lose_the_name(client: TestClient) -> None:
    given = {"username": ' Ada "x"', "password": "a wrong password", "page": "1", "to": "/"}
    answer = client.post("/login", data=given)
    assert answer.status_code == 401
    name, password = re.findall("<input name=.*?>", answer.text, re.DOTALL)[:2]
    assert 'value="Ada &#34;x&#34;"' in name
    assert "autofocus" not in name
    assert "autofocus" in password
