"""Behind a real nginx, over https and under a path, and in a frame of another site's page."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, expect

from tests.browser.conftest import (
    FLAGS,
    PAIRS,
    PASSWORD,
    PATIENCE,
    ROOT,
    Site,
    chromium,
    go_to,
    served,
)  # fmt: skip
from tests.fixtures.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
ADA = {"Ada": "curator"}
#: The configuration that docs/places.md recommends.
LOCATION = re.search(
    r"```nginx\n(.*?)```", (ROOT / "docs/places.md").read_text(encoding="utf-8"), re.DOTALL
)

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/1; uwsgi_temp_path {folder}/2; scgi_temp_path {folder}/3;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
        {location}
        location = /outside {{
            default_type text/html;
            return 200
                '<iframe src="https://localhost:{port}/curator/" width=1300 height=800></iframe>';
        }}
    }}
}}
"""


@contextmanager
def proxied(folder: Path, site: Site, port: int) -> Iterator[str]:
    """The site's address behind nginx, which also has a page /outside that frames it."""
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("nginx and openssl are not installed: tests/system_packages.sh")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
         "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    assert LOCATION is not None
    location = LOCATION[1].replace("http://127.0.0.1:7860", site.address)
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, location=location))
    nginx = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(configuration)],
                             stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        for _ in range(100):
            if (folder / "pid").exists() or nginx.poll() is not None:
                break
            time.sleep(0.1)
        assert nginx.poll() is None, (folder / "error.log").read_text()
        yield f"https://localhost:{port}/curator/"
    finally:
        nginx.terminate()
        nginx.wait(20)


def test_everything_carries_the_path_of_the_proxy(
    browser: Browser, scored_pairs: Path, tmp_path: Path
) -> None:
    """Login, pictures, verdicts, event streams and an upload; nothing is asked for outside."""
    with (
        served(tmp_path, scored_pairs, ADA, "--root-path", "/curator") as site,
        proxied(tmp_path, site, free_port()) as address,
    ):
        profile = browser.new_context(ignore_https_errors=True)
        page = profile.new_page()
        outside: list[str] = []
        failed: list[str] = []
        page.on("request", lambda request: outside.append(request.url)
                if not request.url.startswith((address, "data:", "blob:")) else None)  # fmt: skip
        page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}")
                if answer.status >= 400 else None)  # fmt: skip
        page.goto(address)
        expect(page).to_have_url(re.compile(r"/curator/login\?to="))
        log_in(page.main_frame)
        (cookie,) = (c for c in profile.cookies() if c["name"] == "traced_login")
        assert cookie["secure"]
        picture = page.locator("#traced-stage .picture img").first
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("image => image.naturalWidth") > 100
        shown = page.locator("#traced-stage [data-pair]").first.get_attribute("data-pair")
        with page.expect_response("**/review/acts"):  # a request under way would end with the login
            page.keyboard.press("a")
        expect(page.locator(f"#traced-stage [data-pair='{shown}']")).to_have_count(0)
        go_to(page, "progress")  # drawn by an event stream
        expect(page).to_have_url(re.compile(r"/curator/progress\?"))
        expect(page.locator("#progress-cards")).to_contain_text(f"of {PAIRS}")
        assert page.evaluate(UPLOAD) == [204, 204]
        page.locator("#traced-who button").click()
        expect(page).to_have_url(re.compile(r"/curator/login$"))
        profile.close()
    assert outside == []
    assert failed == []


def log_in(frame: Frame) -> None:
    frame.get_by_label("Name").fill("Ada")
    frame.get_by_label("Password").fill(PASSWORD)
    frame.get_by_role("button", name="Log in").click()
    frame.wait_for_selector("#traced-stage [data-pair]", timeout=120_000)


def test_only_a_page_that_was_named_may_show_the_app_in_a_frame(
    browser: Browser, scored_pairs: Path, tmp_path: Path
) -> None:
    """Two sites over https, in a browser that blocks the cookies of other sites."""
    port = free_port()
    outside = f"https://127.0.0.1:{port}"
    options = ("--root-path", "/curator", "--frame", outside)
    with (
        served(tmp_path, scored_pairs, ADA, *options) as site,
        proxied(tmp_path, site, port),
    ):
        flags = [*FLAGS, "--test-third-party-cookie-phaseout"]
        strict = browser.browser_type.launch(executable_path=chromium(), args=flags)
        page = strict.new_page(ignore_https_errors=True, viewport={"width": 1400, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(f"{outside}/outside")
        frame = page.frames[1]
        log_in(frame)
        shown = frame.locator("#traced-stage [data-pair]").first.get_attribute("data-pair")
        frame.locator("body").press("a")
        expect(frame.locator(f"#traced-stage [data-pair='{shown}']")).to_have_count(0)
        assert frame.evaluate(UPLOAD) == [204, 204]
        page.goto(f"https://other.localhost:{port}/outside")
        assert "localhost" not in page.frames[1].url
        strict.close()


#: Sends a small file in the way of an upload, and discards it.
UPLOAD = """async () => {
  const { upload } = await (await fetch("uploads", { method: "POST" })).json();
  const sent = await fetch(`uploads/${upload}?path=a.txt`, { method: "PUT", body: "text" });
  const discarded = await fetch(`uploads/${upload}`, { method: "DELETE" });
  return [sent.status, discarded.status];
}"""
