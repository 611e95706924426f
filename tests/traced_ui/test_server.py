"""What the server serves, and what it does not."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from backend.errors import SettingsError
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import image_folder
from traced_ui.messages import event_kwargs
from traced_ui.server import create_app


@pytest.fixture(scope="module")
def client(served: Workspace) -> TestClient:
    return TestClient(create_app(served, 1))


def test_pictures_are_served_by_id_in_two_sizes(client: TestClient, served: Workspace) -> None:
    pair = served.review.queue_page(QueueFilter(1)).rows[0].pair_id
    small = client.get(f"/pictures/{pair}?size=104")
    assert small.status_code == 200
    assert small.headers["content-type"] == "image/jpeg"
    assert "no-cache" in small.headers["cache-control"]
    held = {"If-None-Match": small.headers["etag"]}
    assert client.get(f"/pictures/{pair}?size=104", headers=held).status_code == 304
    with Image.open(io.BytesIO(small.content)) as image:
        assert max(image.size) <= 104
    assert client.get(f"/pictures/{pair}").status_code == 200
    assert client.head(f"/pictures/{pair}").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/pictures/99999", 404),
        ("/pictures/1?size=9999", 400),
        ("/pictures/..%2F..%2Fetc%2Fpasswd", 422),
        ("/docs", 404),
    ],
)
def test_nothing_else_is_served(client: TestClient, path: str, status: int) -> None:
    result = client.get(path)
    assert "root:" not in result.text
    assert result.status_code in (status, 404)


def test_a_missing_picture_is_reported_without_its_path(
    client: TestClient, served: Workspace, tmp_path: Path
) -> None:
    image_folder(tmp_path / "p", [{"file_name": "a.png", "caption": "A dog"}], ("a.png",))
    dataset = served.jobs.import_dataset(tmp_path / "p").dataset_id
    pair = served.review.queue_page(QueueFilter(dataset)).rows[0].pair_id
    (tmp_path / "p" / "a.png").unlink()
    result = client.get(f"/pictures/{pair}?size=104")
    assert result.status_code == 404
    assert str(tmp_path) not in result.text


def test_the_app_is_served_and_its_listeners_are_private(client: TestClient) -> None:
    assert client.get("/healthy").json()["datasets"] > 0
    assert "TRACED Curator" in client.get("/").text
    information = client.get("/gradio_api/info").json()
    assert information == {"named_endpoints": {}, "unnamed_endpoints": {}}


def test_no_stream_for_developers_is_open(client: TestClient) -> None:
    """It never ends, and each one polls for changes twenty times a second (found by fuzzing)."""
    assert client.get("/gradio_api/dev/reload").status_code == 404


def test_an_unreachable_database_is_reported_by_the_health_check(workspace: Workspace) -> None:
    client = TestClient(create_app(workspace, 1))
    workspace.store.close()
    (file,) = workspace.settings.data_directory.glob("*.db")
    file.unlink()
    file.mkdir()
    answer = client.get("/healthy")
    assert answer.status_code == 503
    assert answer.json() == {"detail": "The database cannot be reached."}


@pytest.mark.parametrize("path", ["/", "/healthy", "/pictures/99999", "/gradio_api/info"])
def test_the_security_policy_allows_no_other_server(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy, "no other server is named"
    assert "frame-ancestors 'self'" in policy
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/gradio_api/queue/join", {"fn_index": 1, "data": {"secret": 1}, "session_hash": "a"}),
        ("/review/acts", {"session": 2**80, "dataset": "x"}),
    ],
)
def test_a_malformed_request_is_explained_and_not_repeated(
    client: TestClient, path: str, body: object
) -> None:
    """With numbers that the web framework's default response could not serialise."""
    refused = client.post(path, json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["problem"]
    assert "secret" not in refused.text


def test_an_upload_without_a_file_is_explained(client: TestClient) -> None:
    refused = client.post("/gradio_api/upload", files={"files": (None, b"text")})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["problem"] == "Not a file."


def test_a_name_that_a_client_claims_is_not_repeated(workspace: Workspace) -> None:
    client = TestClient(create_app(workspace, 1), base_url="http://127.0.0.1")
    for path in ("/config", "/"):
        answer = client.get(path, headers={"X-Forwarded-Host": "evil.example"})
        assert answer.status_code == 200
        assert "evil.example" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/", "/config", "/header", "/healthy", "/pictures/1", "/exports/1.zip", "/gradio_api/info",
     "/api/v1/datasets", "/api/v1/pairs/1", "/api/v1/pairs/999"],
)  # fmt: skip
def test_no_cache_between_may_keep_what_a_curator_sees(client: TestClient, path: str) -> None:
    kept = client.get(path).headers["Cache-Control"]
    assert kept in ("private, no-cache", "no-store")


def test_an_error_is_said_in_its_place_and_what_works_empties_it() -> None:
    with gr.Blocks():
        place, first, second = gr.HTML(), gr.Textbox(), gr.Textbox()

    def refuse() -> tuple[str, str]:
        raise SettingsError("Choose <b>a</b> dataset.")

    def call(handler: Callable[..., Any], *outputs: Any) -> Any:
        event = event_kwargs(handler, None, outputs, place)
        assert place in event["outputs"]
        return event["fn"]()

    for outputs, at in (((first, place, second), 1), ((first, second), 2)):
        answer = call(refuse, *outputs)
        assert "Choose &lt;b&gt;a&lt;/b&gt; dataset." in answer[at]
        assert [value for n, value in enumerate(answer) if n != at] == [gr.skip()] * 2
    assert "Choose" in call(refuse, place)
    assert call(lambda: ("a", "b"), first, second) == ("a", "b", "")
    assert call(lambda: "a", first) == ("a", "")
    assert call(lambda: ("a", "said"), first, place) == ("a", "said")
