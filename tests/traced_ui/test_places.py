"""Where the server may be shown, and under which name and path: as set, and nothing more."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient

from backend import settings
from backend.errors import SettingsError
from backend.settings import Settings, load_settings
from tests.cli.invoking import invoked
from tests.datasets.folders import malformed
from tests.fixtures import programs
from tests.traced_ui.conftest import workspace_in
from traced_ui.server import create_app

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long password"
FRAMED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
SPACE = {"SPACE_ID": "me/captions", "SPACE_HOST": "me-captions.hf.space",
         "GRADIO_SERVER_NAME": "0.0.0.0"}  # fmt: skip


def client_of(folder: Path, base_url: str = "http://127.0.0.1", **chosen: object) -> TestClient:
    workspace = workspace_in(folder, **chosen)
    workspace.jobs.import_dataset(malformed(folder / "pairs"))
    workspace.accounts.add("Ada", PASSWORD)
    return TestClient(
        create_app(workspace, 1, login=True), base_url=base_url, follow_redirects=False
    )


def test_a_page_that_was_named_may_frame_it(tmp_path: Path) -> None:
    client = client_of(tmp_path, "https://127.0.0.1", frame=["https://huggingface.co"])
    headers = client.get("/login", headers=FRAMED).headers
    policy = headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'self' https://huggingface.co")
    assert "x-frame-options" not in headers
    sent = {"username": "Ada", "password": PASSWORD}
    cookies = client.post("/login", data=sent).headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("SameSite=None; Partitioned; Secure" in cookie for cookie in cookies)
    foreign = {**FRAMED, "Origin": "https://huggingface.co"}
    assert client.post("/logout", headers=foreign).status_code == 403


def test_a_proxy_anywhere_may_say_that_the_browser_came_over_https(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    sent = {"username": "Ada", "password": PASSWORD}
    for forwarded, is_secure in (("https", True), ("https, http", True), ("http", False)):
        answer = client.post("/login", data=sent, headers={"X-Forwarded-Proto": forwarded})
        assert ("; Secure" in answer.headers["set-cookie"]) == is_secure, forwarded
        assert "SameSite=Lax" in answer.headers["set-cookie"]


def test_redirects_and_cookies_carry_the_path(tmp_path: Path) -> None:
    client = client_of(tmp_path, root_path="/curator")
    sent = {"username": "Ada", "password": PASSWORD, "page": "1", "to": "/curator/?pair=1"}
    for start in ("", "/curator"):  # whether the proxy takes the path off
        answer = client.get(f"{start}/?pair=1", headers={"Accept": "text/html"})
        assert answer.headers["location"] == "/curator/login?to=%2Fcurator%2F%3Fpair%3D1"
        answer = client.post(f"{start}/login", data=sent)
        assert answer.headers["location"] == "/curator/?pair=1"
        assert "Path=/curator/login" in answer.headers["set-cookie"]
        assert client.get(f"{start}/pictures/1").status_code == 200
        assert client.get(f"{start}/config").json()["root"].endswith("/curator")
        assert client.post(f"{start}/logout").headers["location"] == "/curator/login"


@pytest.mark.parametrize(
    "given",
    [{"frame": "*"}, {"frame": "https://a.example; script-src *"}, {"frame": "example.org"},
     {"root_path": "curator"}, {"root_path": "//evil.example"}, {"root_path": "/a\n"}],
)  # fmt: skip
def test_what_would_open_more_than_meant_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        load_settings(given, {})


def test_a_space_names_itself() -> None:
    of_space = load_settings({}, SPACE)
    assert (of_space.host, of_space.allow_host, of_space.frame) == (
        "0.0.0.0", ("me-captions.hf.space",), ("https://huggingface.co",),
    )  # fmt: skip
    assert load_settings({"host": "127.0.0.1"}, SPACE).host == "127.0.0.1"
    assert load_settings({}, {"SPACE_HOST": "x"}).allow_host == Settings(Path()).allow_host


def test_without_a_home_data_are_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.chdir(tmp_path)
    assert settings.default_data_directory().parent == tmp_path
    assert settings.user_file().parent == tmp_path


def test_a_space_starts_only_once_it_is_said_who_may_give_verdicts(tmp_path: Path) -> None:
    environment = {**SPACE, "TRACED_DATA_DIRECTORY": str(tmp_path), "COLUMNS": "200"}
    status, _, reported = invoked(environment, "serve")
    assert (status, "no accounts" in " ".join(reported.split())) == (2, True)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without its list of files")
def test_a_container_under_a_path_and_in_a_frame(tmp_path: Path) -> None:
    """As a Space lays it out: code that cannot be written, `/data`, port and host by variables."""
    code, data = tmp_path / "code", tmp_path / "data"
    packed = ["app.py", "assets/demo", "assets/demo-scored.tar.xz", "assets/models/concreteness",
              "assets/models/scenes-blip-itm", "assets/models/scenes-blip-captioner",
              "assets/models/scenes-clip", "backend", "db", "traced_curator",
              "traced_ui"]  # fmt: skip
    listed = subprocess.run(
        ["git", "ls-files", *packed], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, code / name)
    for place in (*code.rglob("*"), code):
        place.chmod(0o555 if place.is_dir() else 0o444)
    before = sorted(path for path in code.rglob("*"))
    environment = {
        **os.environ, **SPACE, "GRADIO_SERVER_PORT": "0", "HF_HUB_OFFLINE": "1",
        "TRACED_DATA_DIRECTORY": str(data), "TRACED_NO_LOGIN": "1", "TRACED_ROOT_PATH": "/curator",
        "PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    server = programs.start(
        ["app.py"], environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, folder=code
    )
    try:
        lines = iter(server.stdout or ())
        (port,) = next(m.groups() for line in lines if (m := re.search(r":(\d+)/", line)))
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{port}/curator/", timeout=200,
            headers={"Host": SPACE["SPACE_HOST"], "X-Forwarded-Proto": "https"},
        ) as client:  # fmt: skip
            assert client.get("", headers={"Host": "evil.example"}).status_code == 403
            page = client.get("", headers=FRAMED)
            assert page.status_code == 200
            assert "https://huggingface.co" in page.headers["content-security-policy"]
            assert "/curator" in page.text
            (row,) = client.get("api/v1/datasets/1/queue", params={"limit": 1}).json()["pairs"]
            assert client.get(f"pictures/{row['id']}").headers["content-type"] == "image/jpeg"
            verdict = client.put(
                f"api/v1/pairs/{row['id']}/verdict", json={"verdict": "drop"},
                headers={"If-Match": row["etag"]},
            )  # fmt: skip
            assert verdict.status_code == 200
        assert (data / "traced.db").is_file()
        # Gradio writes type stubs beside components where it may.
        after = sorted(path for path in code.rglob("*") if path.suffix != ".pyi")
        assert after == before
    finally:
        server.kill()
        server.wait()
        for place in (code, *code.rglob("*")):
            place.chmod(0o755)  # so that it can be removed


@pytest.mark.nightly
def test_a_cell_of_a_notebook_may_start_it() -> None:
    """Gradio asks Matplotlib for its backend, which the kernel has set for its own children."""
    pytest.importorskip("matplotlib")
    of_kernel = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    program = "import app, matplotlib; print(matplotlib.get_backend())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=of_kernel, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1000:]
