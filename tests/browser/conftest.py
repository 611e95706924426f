"""A real server with a small dataset, and a real Chromium."""

import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)
from playwright.sync_api import Error as PlaywrightError

from backend.settings import load_settings
from backend.workspace import Workspace
from research.scenes import demo
from tests.fixtures import programs, small_cold_start
from tests.fixtures.ports import free_port
from tests.fixtures.programs import Program
from tests.fixtures.shared import SharedFolder
from traced_ui import rooms

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 40
SIZE = (1440, 900)
PASSWORD = "open sesame, please"
FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
]  # fmt: skip

#: Milliseconds until a test gives up waiting for a state of the page: a busy machine is no fault of
#: the page.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True)
class Site:
    """A running server: its address, its folder, and the dataset that it serves."""

    address: str
    folder: Path
    pairs: Path
    environment: dict[str, str]

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """The same database, opened by this process."""
        opened = Workspace(load_settings({}, self.environment))
        yield opened
        opened.store.close()


def chromium() -> str:
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.fail("There is no Chromium. `make test` installs one; by hand: apt install chromium.")


def environment_of(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "TRACED_DATA_DIRECTORY": str(folder / "state"),
        "TRACED_DETECTOR": "nine signs",  # these tests do not depend on the best detector
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HUB_CACHE": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
    }


def draw_and_score(folder: Path) -> None:
    """Write drawn pairs to `pairs` and score them into `state`, with suggestions."""
    demo.write(folder / "pairs", PAIRS, 4, 192, seed=77)
    site = Site("", folder, folder / "pairs", environment_of(folder))
    with pytest.MonkeyPatch.context() as patch, site.workspace() as workspace:
        small_cold_start.shrink(patch)
        dataset = workspace.find_or_import(str(site.pairs))
        assert workspace.jobs.score(dataset).scored == PAIRS


@contextmanager
def served(
    folder: Path, scored: Path, people: Mapping[str, str] | None = None, *options: str
) -> Iterator[Site]:
    """A server with options on a copy of the state in `scored`. `people`: accounts and their
    roles."""
    site = site_of(folder, scored)
    if people:
        with site.workspace() as workspace:
            for name, role in people.items():
                workspace.accounts.add(name, PASSWORD, role)
    with running(site, *options):
        yield site


def site_of(folder: Path, scored: Path) -> Site:
    """A copy of the state in `scored`, with the address at which it may be served."""
    shutil.copytree(scored / "state", folder / "state")
    address = f"http://127.0.0.1:{free_port()}"
    return Site(address, folder, scored / "pairs", environment_of(folder))


@contextmanager
def running(site: Site, *options: str) -> Iterator[Program]:
    """The server of a site, from its start to its end."""
    log, port = site.folder / "server.log", site.address.rpartition(":")[2]
    with log.open("w") as file:
        arguments = ["app.py", "serve", "--data", str(site.pairs), "--port", port, *options]
        server = programs.start(arguments, site.environment, stdout=file, stderr=file)
        try:
            wait_for(site.address + "/healthy", server, log)
            yield server
        finally:
            server.terminate()
            server.wait(20)


@pytest.fixture(scope="package")
def scored_pairs(shared_folder: SharedFolder) -> Path:
    return shared_folder("scored-for-the-browser", draw_and_score)


@pytest.fixture(scope="package")
def site(scored_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Forty drawn pairs, open to everybody on this machine."""
    with served(tmp_path_factory.mktemp("site"), scored_pairs) as site:
        yield site


@pytest.fixture(scope="module")
def separate_site(scored_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same pairs for a single file, whose jobs would change what other tests see. `page` opens
    it in files that return it as their `site`."""
    with served(tmp_path_factory.mktemp("separate"), scored_pairs) as site:
        yield site


@pytest.fixture(scope="package")
def team_site(scored_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same pairs for two curators and an adjudicator."""
    people = {"Ada": "curator", "Ben": "curator", "Eve": "adjudicator"}
    with served(tmp_path_factory.mktemp("team"), scored_pairs, people) as site:
        yield site


def wait_for(
    address: str, server: Program | subprocess.Popen[bytes], log: Path, seconds: int = 120
) -> None:
    for _ in range(seconds * 4):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    pytest.fail(f"The server did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="package")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """The browser profile that all pages share, because a new one loads and compiles Gradio's
    scripts again for each page, which takes three seconds. Data that a page stores is removed."""
    shared = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]})
    shared.set_default_timeout(PATIENCE)
    yield shared
    shared.close()


@contextmanager
def new_page(profile: BrowserContext, size: tuple[int, int] = SIZE) -> Iterator[Page]:
    """An empty page in the shared profile, without cookies or stored settings.

    Afterwards the page is emptied and all others are closed.
    """
    opened = tab_of(profile)
    opened.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        yield opened
    finally:
        clean(profile)


def tab_of(profile: BrowserContext) -> Page:
    """An empty page, reused: a new one for each test would need a process and two seconds."""
    return profile.pages[0] if profile.pages else profile.new_page()


def clean(profile: BrowserContext) -> None:
    """Leave a single empty page, and remove what all pages stored."""
    for page in profile.pages[1:]:
        page.close()
    first = tab_of(profile)
    first.unroute_all(behavior="ignoreErrors")
    try:
        # First leave the program's page, which may store something when it is left.
        first.goto(urljoin(first.url, "/healthy"))
        first.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        first.goto("about:blank")
        first.mouse.move(0, 0)
    except PlaywrightError:  # the page is still loading, or its server has stopped
        first.close()
    profile.clear_cookies()
    profile.clear_permissions()


@contextmanager
def watched(page: Page, site: Site) -> Iterator[None]:
    """Fail the test on script errors and on requests to other servers."""
    wrong: list[str] = []

    def remember(error: PlaywrightError) -> None:
        wrong.append(str(error))

    def check(request: Request) -> None:
        if not request.url.startswith((site.address, "data:", "blob:")):
            wrong.append(f"called {request.url}")

    page.on("pageerror", remember)
    page.on("request", check)
    try:
        yield
    finally:
        with suppress(PlaywrightError):
            page.evaluate("0")  # earlier errors are reported before it returns
        page.remove_listener("request", check)
        page.remove_listener("pageerror", remember)
    assert wrong == []


def load(page: Page, site: Site, query: str = "") -> None:
    """Open the review page and wait until it is drawn."""
    page.goto(f"{site.address}/{query}")
    page.wait_for_selector("#traced-stage [data-pair]", timeout=PATIENCE)
    wait_for_input(page)


def go_to(page: Page, name: str) -> None:
    """Open a page by its name, as people do: its room, then its part of the room, each once the
    page before is drawn."""
    target = next(page for page in rooms.PAGES if page.name == name)
    room, link = rooms.room_of(target), page.locator(f"a[data-page='{target.path}']").first
    if room is not None and not link.count():
        part = room.pages[1 if room == rooms.DATASET else 0]
        _follow(page.locator(f"#traced-header a[data-page='{part.path}']"), part)
    _follow(link, target)


def _follow(link: Locator, target: rooms.Page) -> None:
    """Press a link, and wait until its page is drawn and can be used."""
    page = link.page
    link.click()
    page.wait_for_url(at(target))
    page.wait_for_selector("#traced-stage [data-pair], #traced-stage .empty, #traced-content")
    wait_for_input(page)


def wait_for_input(page: Page) -> None:
    """Wait until the page receives the mouse. On a busy machine Chromium 156 shows a new page for a
    moment while what is pressed still goes to the page before, and is lost."""
    page.evaluate(
        "addEventListener('mousemove', () => { window.hasMouse = true; }, { capture: true })"
    )
    until = time.monotonic() + PATIENCE / 1000
    while not page.evaluate("window.hasMouse ?? false"):
        assert time.monotonic() < until, "the page never received the mouse"
        page.mouse.move(1, 0)
        page.mouse.move(0, 0)


def at(page: rooms.Page) -> re.Pattern[str]:
    """The address of a page, whatever it shows."""
    return re.compile(rf"^[^?]*/{page.path}(\?|$)")


@contextmanager
def opened_page(
    profile: BrowserContext, site: Site, query: str = "", size: tuple[int, int] = SIZE
) -> Iterator[Page]:
    """The review page, drawn and watched for errors."""
    with new_page(profile, size) as opened, watched(opened, site):
        load(opened, site, query)
        yield opened


@pytest.fixture
def page(profile: BrowserContext, site: Site) -> Iterator[Page]:
    """The review page, loaded for this test."""
    with opened_page(profile, site) as opened:
        yield opened


#: Goes to the first pair of the queue that a bare address opens, as Back does; closes what is open,
#: and removes drafts and a message that a test might mistake for its own.
TO_THE_START = """() => {
  document.body.tabIndex = -1;  // Tab begins from here
  document.body.focus();
  document.body.removeAttribute("tabindex");
  document.querySelectorAll("#traced-review details[open] > summary")
    .forEach((summary) => summary.click());
  document.querySelector("#traced-toast .traced-note")?.remove();
  document.querySelector("#traced-edit").replaceChildren();
  localStorage.clear();
  Object.keys(sessionStorage).filter((key) => key.startsWith("traced-draft"))
    .forEach((key) => sessionStorage.removeItem(key));
  scrollTo(0, 0);
  history.pushState(null, "", "/?dataset=1");
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def is_visit(request: Request) -> bool:
    return '"visit"' in (request.post_data or "")


class KeptPage:
    """One review page for all tests of a file. It is reloaded after a test that failed."""

    def __init__(self, profile: BrowserContext, site: Site) -> None:
        self._profile, self._site = profile, site
        self._page: Page | None = None
        self._failures = 0

    @contextmanager
    def at_the_start(self, failures: int) -> Iterator[Page]:
        """The page as a bare address shows it. `failures`: the number of failed tests so far."""
        page = self._page
        if page is not None and not page.is_closed() and failures == self._failures:
            with watched(page, self._site):
                self._go_to_the_start(page)
                yield page
            return
        clean(self._profile)
        self._page, self._failures = tab_of(self._profile), failures
        self._page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
        with watched(self._page, self._site):
            load(self._page, self._site)
            yield self._page

    def _go_to_the_start(self, page: Page) -> None:
        for other in self._profile.pages[1:]:
            other.close()
        page.unroute_all(behavior="ignoreErrors")
        page.mouse.move(0, 0)
        page.keyboard.press("Escape")
        if not page.locator("#traced-stage").count():  # another page than Review
            load(page, self._site)
            return
        with page.expect_response(lambda response: is_visit(response.request)) as visited:
            page.evaluate(TO_THE_START)
        pair = visited.value.json()["state"]["pair"]
        page.wait_for_selector(f"#traced-stage [data-pair='{pair}']")
        page.wait_for_url(f"**/?*pair={pair}*")


@pytest.fixture(scope="module")
def kept(profile: BrowserContext, site: Site) -> Iterator[KeptPage]:
    yield KeptPage(profile, site)
    clean(profile)


@pytest.fixture
def kept_page(kept: KeptPage, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the previous test, reset to its start, at a quarter of the cost of a reload. It
    is the `page` of files whose tests do not depend on what others leave behind: drafts, fields of
    other pages, undo steps."""
    with kept.at_the_start(request.session.testsfailed) as page:
        yield page


def press_at_once(page: Page, *keys: str) -> None:
    """Press keys without any time between them, however slow the machine is."""
    page.evaluate(
        """keys => keys.forEach(key =>
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })))""",
        keys,
    )


def wait_until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait, at most ten seconds, until something outside of the page is so."""
    for _ in range(100):
        if is_so():
            return
        page.wait_for_timeout(100)
    pytest.fail("It never was so.")


class Box(NamedTuple):
    """Where something is on the screen, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


def box_of(part: Locator) -> Box:
    """Where a visible part of the page is."""
    box = part.bounding_box()
    assert box is not None
    return Box(**box)


@contextmanager
def held(page: Page, address: str) -> Iterator[None]:
    """What the page sends there in this block goes on at its end: no answer can come too soon."""
    routes: list[Route] = []
    page.route(address, lambda route: routes.append(route))
    yield
    for route in routes:
        route.continue_()
    page.unroute(address)
