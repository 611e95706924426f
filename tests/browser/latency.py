"""How long a curator waits, in a real browser: `python -m tests.browser.latency`

Serves the embedded demo, opens it in Chromium, and prints each mark with its goal: a verdict key to
the next picture, a held arrow key, a cold start, layout shifts, presses of Tab, an example, and the
way from *Add data* to the first ranked pair. --pairs 100000 measures keys in a generated store of
that size instead, --job while the same server scores that many drawn pairs of another dataset.
--soak then gives that many verdicts in two pages, see `tests.browser.soak`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect, sync_playwright

from backend.settings import load_settings
from backend.store import open_database
from research.bench.generated_store import generate
from research.scenes import demo
from tests.browser import marks
from tests.browser.conftest import FLAGS, ROOT, chromium, go_to, wait_for
from tests.browser.soak import soak
from tests.fixtures.ports import free_port

#: The time from the key to the first frame after the page shows another pair or step.
_MEASURE = """([key, what]) => new Promise((done) => {
  const now = () => what === 'step'
    ? document.querySelector('#traced-steps [aria-current=step] .t')?.textContent
    : what === 'message' ? document.querySelector('#traced-toast')?.textContent
    : document.querySelector('#traced-stage [data-pair]')?.dataset.pair;
  const before = now(), began = performance.now();
  const watch = new MutationObserver(() => {
    if (now() !== before) {
      watch.disconnect();
      requestAnimationFrame(() => done(performance.now() - began));
    }
  });
  watch.observe(document.body, { childList: true, subtree: true, characterData: true,
                                 attributes: true });
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  setTimeout(() => { watch.disconnect(); done(-1); }, 5000);
})"""
#: Whether the picture was already loaded when its pair was shown.
_PICTURE = "() => document.querySelector('#traced-stage .picture img')?.complete"
#: The outline of a word's region, or the sentence that there is none.
_LIT = "#traced-stage .picture :is(.region, .where-note)"
STAGE = "#traced-stage [data-pair]"


def measure(page: Page, key: str, what: str, times: int, pause: int = 250) -> list[float]:
    milliseconds = []
    for _ in range(times):
        milliseconds.append(float(page.evaluate(_MEASURE, [key, what])))
        page.wait_for_timeout(pause)  # a curator looks before the next key
    return [value for value in milliseconds if value >= 0]


def report(name: str, times: list[float], goal: str = "") -> None:
    if times:
        low, high = np.percentile(times, [50, 95])
        figures = f"p50 {low:6.0f} ms   p95 {high:6.0f} ms   ({len(times)} times)"
        print(f"{name:28} {figures}" + (f"   goal {goal}" if goal else ""))
    else:
        print(f"{name:28} no effect seen")


class Server:
    """The program, serving the folder's data on one port; it can be restarted."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._folder, self._arguments, self._port = folder, arguments, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        log = self._folder / "server.log"
        with log.open("a") as file:
            self._process = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--port", str(self._port), *self._arguments],
                cwd=ROOT, env={**os.environ, "TRACED_DATA_DIRECTORY": str(self._folder)},
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
        wait_for(f"{self.address}/healthy", self._process, log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[Server, Browser]]:
    """A server of the data in the folder, and a Chromium without a page."""
    server = Server(folder, *arguments)
    with sync_playwright() as playwright:
        try:
            server.start()
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            yield server, browser
            browser.close()
        finally:
            server.stop()


def opened(browser: Browser, server: Server) -> Page:
    """The review page in a window of its own."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{server.address}/")
    page.wait_for_selector(STAGE, timeout=60_000)
    page.wait_for_timeout(1500)
    return page


@contextmanager
def served_page(folder: Path) -> Iterator[tuple[Page, int]]:
    """The review page of the generated dataset in Chromium, and the server's process id."""
    with served(folder, "--data", "generated") as (server, browser):
        yield opened(browser, server), server.pid


@contextmanager
def generated(pairs: int, data: Path | None) -> Iterator[tuple[Path, str]]:
    """The folder and the database of a generated store: `data`, or a new one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = data or Path(temporary)
        url = load_settings({"data_directory": str(folder)}).database_url
        if data is None:
            generate(open_database(url), pairs)
        yield folder, url


def score_meanwhile(page: Page, folder: Path, pairs: int) -> Page:
    """Let the server score that many drawn pairs, started by a curator on another page."""
    demo.write(folder / "drawn", pairs, pairs // 10, 192, seed=11)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(STAGE, timeout=60_000)
    go_to(other, "datasets")
    other.locator("#import-path").locator("input, textarea").fill(str(folder / "drawn"))
    other.locator("#import-start").click()
    expect(other.locator("#import-report")).to_contain_text("added", timeout=120_000)
    other.locator("#score-start").click()
    expect(other.locator("#job-status")).to_contain_text("Comparing", timeout=60_000)
    page.bring_to_front()
    return other


def measure_keys(page: Page, times: int) -> None:
    measure(page, "j", "pair", 5)  # warm-up
    report("next pair", measure(page, "j", "pair", times))
    report("previous pair", measure(page, "k", "pair", times // 2))
    report("verdict and next pair", measure(page, "a", "pair", times), "p95 60 ms")
    report("undo", measure(page, "z", "pair", times // 2))
    report("step of the trajectory", measure(page, "ArrowRight", "step", 8))
    on_page = []
    for _ in range(20):
        measure(page, "j", "pair", 1)
        on_page.append(bool(page.evaluate(_PICTURE)))
    print(f"the next picture was there at once {sum(on_page)} times of {len(on_page)}")


def measure_regions(page: Page, times: int) -> None:
    """Verdicts with nothing lit, and with the region of a word lit, in turn."""
    dark: list[float] = []
    lit: list[float] = []
    for _ in range(times):
        page.wait_for_timeout(1000)
        dark += measure(page, "a", "pair", 1)
        page.keyboard.press("w")
        page.wait_for_timeout(1000)
        if page.locator(_LIT).count():
            lit += measure(page, "a", "pair", 1)
    report("verdict, nothing lit", dark)
    report("verdict, a region lit", lit)


def measure_demo(times: int) -> None:
    """Every mark, on the embedded demo in a new folder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with served(folder) as (server, browser):
            marks.cold_start(browser, server.address)  # compiles the program's own pages
            print(marks.cold_start(browser, server.address))
            page = opened(browser, server)
            measure_keys(page, times)
            measure_regions(page, times)
            for mark in (marks.held_key, marks.shifts, marks.presses_of_tab, marks.example):
                print(mark(page))
            print(marks.first_ranked_pair(page, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=0, help="in a generated store of this size")
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--data", type=Path, default=None, help="a generated store of before")
    parser.add_argument(
        "--soak", type=int, default=0, metavar="VERDICTS",
        help="so many verdicts in two pages, with held keys, reloads and restarts of the server",
    )  # fmt: skip
    parser.add_argument(
        "--job", type=int, default=0, metavar="PAIRS",
        help="let the server score so many drawn pairs meanwhile",
    )  # fmt: skip
    args = parser.parse_args()
    if args.pairs or args.data:
        with generated(args.pairs, args.data) as (folder, _), served_page(folder) as (page, _):
            job = score_meanwhile(page, folder, args.job) if args.job else None
            measure_keys(page, args.times)
            if job is not None:
                shown = " ".join(job.locator("#job-status").inner_text().split())
                print(f"the job at the end: {shown[:100]}")
    elif not args.soak:
        measure_demo(args.times)
    if not args.soak:
        return 0
    with (
        generated(3 * args.soak, None) as (folder, url),
        served(folder, "--data", "generated") as (server, browser),
    ):
        return 0 if soak(browser, server, args.soak, url) else 1


if __name__ == "__main__":
    sys.exit(main())
