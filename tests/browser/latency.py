"""How long a curator waits, in a real browser: `python -m tests.browser.latency [--pairs 100000]`

Generates a store of that size, opens it in Chromium, and measures the time from a key to its effect
on the page: a verdict (which shows the next pair at once and is committed in the background), next,
previous, and a step. Medians and 95th percentiles in milliseconds. --soak then gives that many
verdicts in one page, and reports the memory growth of server and page and whether each verdict is
in the database exactly once. --job measures while the same server scores that many drawn pairs of
another dataset.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright
from sqlalchemy import select

from backend.settings import load_settings
from backend.store import open_database
from db.models import Verdict
from research.bench.generated_store import generate
from research.bench.load import memory_of
from research.scenes import demo
from tests.browser.conftest import FLAGS, ROOT, chromium, free_port, go_to, wait_for

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
_PAIR = "() => document.querySelector('#traced-stage [data-pair]').dataset.pair"
#: Parts of a soak, which are reported separately.
SHARES = 8
#: Whether the picture was already loaded when its pair was shown.
_PICTURE = "() => document.querySelector('#traced-stage .picture img')?.complete"


def measure(page: Page, key: str, what: str, times: int, pause: int = 250) -> list[float]:
    milliseconds = []
    for _ in range(times):
        milliseconds.append(float(page.evaluate(_MEASURE, [key, what])))
        page.wait_for_timeout(pause)  # a curator looks before the next key
    return [value for value in milliseconds if value >= 0]


def report(name: str, times: list[float]) -> None:
    if times:
        low, high = np.percentile(times, [50, 95])
        print(f"{name:28} p50 {low:6.0f} ms   p95 {high:6.0f} ms   ({len(times)} times)")
    else:
        print(f"{name:28} no effect seen")


def soak(page: Page, server: int, verdicts: int, database_url: str) -> bool:
    """Give verdicts as fast as the page accepts them and print the memory after each eighth.
    Returns whether the database contains each verdict exactly once and no others."""
    given: Counter[int] = Counter()
    refused = 0
    before = stored(database_url)
    for _ in range(SHARES):
        milliseconds: list[float] = []
        while len(milliseconds) < verdicts // SHARES:
            pair = int(page.evaluate(_PAIR))
            waited = float(page.evaluate(_MEASURE, ["a", "pair"]))
            if waited < 0:
                refused += 1
                if refused > verdicts // 100:
                    print(f"{refused} keys had no effect: given up")
                    return False
                continue
            given[pair] += 1
            milliseconds.append(waited)
        report(
            f"server {memory_of(server):.0f} MiB, page {page_memory(page):.0f} MiB after",
            milliseconds,
        )
    page.wait_for_function("(sessionStorage.getItem('traced-unsent') ?? '[]') === '[]'")
    kept = stored(database_url) - before
    lost, extra = given - kept, kept - given
    print(
        f"{given.total()} verdicts given, {lost.total()} lost, {extra.total()} doubled or on pairs "
        f"that were not shown; {refused} keys without effect"
    )
    return not lost and not extra


def stored(database_url: str) -> Counter[int]:
    """The number of verdicts of each pair."""
    store = open_database(database_url)
    try:
        with store.reading() as session:
            return Counter(session.scalars(select(Verdict.pair_id)))
    finally:
        store.close()


def page_memory(page: Page) -> float:
    """MiB of the page's JavaScript heap after a garbage collection."""
    browser = page.context.new_cdp_session(page)
    browser.send("HeapProfiler.collectGarbage")
    used = browser.send("Runtime.getHeapUsage")["usedSize"]
    browser.detach()
    return float(used) / 2**20


@contextmanager
def served_page(folder: Path) -> Iterator[tuple[Page, int]]:
    """The review page of the generated dataset in Chromium, and the server's process id."""
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        port, log = free_port(), Path(made) / "server.log"
        with log.open("w") as file:
            server = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--data", "generated", "--port", str(port)],
                cwd=ROOT, env={**os.environ, "TRACED_DATA_DIRECTORY": str(folder)},
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_selector("#traced-stage [data-pair]", timeout=60_000)
            page.wait_for_timeout(1500)
            yield page, server.pid
            browser.close()
        finally:
            server.terminate()
            server.wait()


@contextmanager
def generated(pairs: int, data: Path | None) -> Iterator[tuple[Path, str]]:
    """The folder and the database of a generated store: `data`, or a new one."""
    with tempfile.TemporaryDirectory() as made:
        folder = data or Path(made)
        url = load_settings({"data_directory": str(folder)}).database_url
        if data is None:
            generate(open_database(url), pairs)
        yield folder, url


def score_meanwhile(page: Page, folder: Path, pairs: int) -> Page:
    """Let the server score that many drawn pairs, started by a curator on another page."""
    demo.write(folder / "drawn", pairs, pairs // 10, 192, seed=11)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#traced-stage [data-pair]", timeout=60_000)
    go_to(other, "datasets")
    other.locator("#import-path").locator("input, textarea").fill(str(folder / "drawn"))
    other.locator("#import-start").click()
    expect(other.locator("#import-status")).to_contain_text("Find its errors next", timeout=120_000)
    other.locator("#score-start").click()
    expect(other.locator("#import-status")).to_contain_text("Caption trajectories", timeout=60_000)
    page.bring_to_front()
    return other


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--data", type=Path, default=None, help="a store made before")
    parser.add_argument(
        "--soak", type=int, default=0, metavar="VERDICTS",
        help="afterwards so many verdicts in a row, with the memory of server and page",
    )  # fmt: skip
    parser.add_argument(
        "--job", type=int, default=0, metavar="PAIRS",
        help="let the server score so many drawn pairs meanwhile",
    )  # fmt: skip
    args = parser.parse_args()
    with generated(args.pairs, args.data) as (folder, url), served_page(folder) as (page, server):
        job = score_meanwhile(page, folder, args.job) if args.job else None
        measure(page, "j", "pair", 5)  # warm-up
        report("next pair", measure(page, "j", "pair", args.times))
        report("previous pair", measure(page, "k", "pair", args.times // 2))
        report("verdict and next pair", measure(page, "a", "pair", args.times))
        report("undo", measure(page, "z", "pair", args.times // 2))
        report("step of the trajectory", measure(page, "ArrowRight", "step", 8))
        on_page = []
        for _ in range(20):
            measure(page, "j", "pair", 1)
            on_page.append(bool(page.evaluate(_PICTURE)))
        print(f"the next picture was there at once {sum(on_page)} times of {len(on_page)}")
        if job is not None:
            shown = " ".join(job.locator("#import-status").inner_text().split())
            print(f"the job at the end: {shown[:100]}")
        is_sound = not args.soak or soak(page, server, args.soak, url)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
