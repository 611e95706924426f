"""Which requests are accepted, by their Host and by the origin of the page that sends them."""

import http.client
import itertools
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.datasets.folders import malformed
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.serving import serving

ELSEWHERE = "http://evil.example"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("hosts")
    names = "Curator.example, [fd00::7], proxy.example:8443"
    workspace = workspace_in(folder, allow_host=names)
    workspace.jobs.import_dataset(malformed(folder / "pairs"))
    with serving(workspace) as address:
        yield address
    workspace.store.close()


def send(
    address: str, path: str, headers: dict[str, str], method: str = "GET", body: str = ""
) -> tuple[int, dict[str, str]]:
    """Status and headers of the response; `headers` are sent unchanged, including Host."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=200)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body.encode())
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def test_an_unknown_host_name_is_refused(address: str) -> None:
    """DNS rebinding: a foreign name that now resolves to this machine."""
    hosts = (
        "evil.example", "evil.example:7860", "localhost.evil.example", "127.0.0.1.evil", "",
        "[::1].evil.example", "[::1]evil", "localhost:x", "localhost@evil.example",
    )  # fmt: skip
    paths = ("/", "/healthy", "/pictures/1", "/gradio_api/info", "/gradio_api/upload", "/config")
    for host, path in itertools.product(hosts, paths):
        status, headers = send(address, path, {"Host": host})
        assert status == 403, (host, path)
        assert "access-control-allow-origin" not in headers
        assert "content-security-policy" in headers


def test_names_of_this_machine_and_allowed_names_are_accepted(address: str) -> None:
    for host in (
        "127.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]:7860", "localhost:1", "LOCALHOST",
        "app.localhost", "[::1]:7860", "127.8.8.8", "curator.example", "curator.example:8443",
        "CURATOR.example.", "[fd00::7]",
    ):  # fmt: skip
        assert send(address, "/healthy", {"Host": host})[0] == 200, host


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": ELSEWHERE},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},  # another program on this machine
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://curator.example:3000"},  # and on the proxy's
        {"Origin": ELSEWHERE, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example/curator.example"},
    ],
)
def test_posts_from_other_pages_are_refused(address: str, headers: dict[str, str]) -> None:
    for path in ["/gradio_api/upload", "/api/v1/datasets/1/undo", "/mcp", "/nowhere"]:
        status, answered = send(address, path, headers, "POST", "{}")
        assert status == 403
        assert "access-control-allow-origin" not in answered


def test_other_pages_can_neither_read_nor_frame_the_app(address: str) -> None:
    for headers in (
        {"Origin": ELSEWHERE},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ):
        assert send(address, "/gradio_api/info", headers)[0] == 403, headers


def test_a_preflight_from_elsewhere_allows_nothing(address: str) -> None:
    headers = {"Origin": ELSEWHERE, "Access-Control-Request-Method": "POST"}
    status, answered = send(address, "/api/v1/datasets/1/undo", headers, "OPTIONS")
    assert status == 403
    assert not [name for name in answered if name.startswith("access-control")]


def test_links_from_elsewhere_open_the_page(address: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
               "Sec-Fetch-Dest": "document"}  # fmt: skip
    assert send(address, "/?dataset=1", headers)[0] == 200


def test_posts_from_the_page_are_accepted_and_no_origin_is_echoed(address: str) -> None:
    its_own = address.rstrip("/")
    for headers in (
        {"Origin": its_own},
        {"Origin": its_own, "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://curator.example", "Host": "127.0.0.1"},  # behind a proxy
        {"Origin": "https://proxy.example:8443", "Host": "127.0.0.1"},  # on a different port
        {},  # programs send neither
    ):
        status, answered = send(
            address, "/api/v1/datasets/1/undo",
            {**headers, "Content-Type": "application/json"}, "POST", "",
        )  # fmt: skip
        assert status == 200, headers
        assert not [name for name in answered if name.startswith("access-control")]


def test_a_refused_upload_is_not_read(address: str) -> None:
    """The response is sent before the body is read, so nothing reaches the disk."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=200)
    connection.putrequest("POST", "/gradio_api/upload")
    connection.putheader("Origin", ELSEWHERE)
    connection.putheader("Content-Type", "multipart/form-data; boundary=x")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders(b"--x\r\n")
    assert connection.getresponse().status == 403  # a server that read it would wait for the rest
    connection.close()
