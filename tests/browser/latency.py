"""How long a curator waits, in a real browser: `python -m tests.browser.latency [--pairs 100000]`

Makes a store of that size, opens it in Chromium, and measures from the key to the page that shows
its effect: a verdict (which shows the next pair at once, and is committed behind), next, previous,
and a step. Medians and 95th percentiles in milliseconds; with --soak also the server's
memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from backend.lab.bench.generated_store import generate
from backend.lab.bench.load import memory_of
from backend.settings import load_settings
from backend.store import open_database
from tests.browser.conftest import FLAGS, ROOT, chromium, free_port, wait_for

#: From the key to the first frame after the page shows another pair or step.
_MEASURE = """([key, what]) => new Promise((done) => {
  const now = () => what === 'step'
    ? document.querySelector('#traced-steps [aria-current=step] .t')?.textContent
    : what === 'told' ? document.querySelector('#traced-toast')?.textContent
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
#: Whether the picture of the pair on the page has been there when the pair came.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--data", type=Path, default=None, help="a store made before")
    parser.add_argument(
        "--soak", type=int, default=0, metavar="VERDICTS",
        help="afterwards so many verdicts in a row; tells the memory of the server on the way",
    )  # fmt: skip
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.data or Path(made)
        if given.data is None:
            settings = load_settings({"data_directory": str(folder)})
            generate(open_database(settings.database_url), given.pairs)
        port, log = free_port(), Path(made) / "server.log"
        with log.open("w") as file, sync_playwright() as playwright:
            server = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--data", "generated", "--port", str(port)],
                cwd=ROOT, env={**os.environ, "TRACED_DATA_DIRECTORY": str(folder)},
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"http://127.0.0.1:{port}/")
                page.wait_for_selector("#traced-stage [data-pair]", timeout=60_000)
                page.wait_for_timeout(1500)
                measure(page, "j", "pair", 5)  # the first ones fill caches
                report("next pair", measure(page, "j", "pair", given.times))
                report("previous pair", measure(page, "k", "pair", given.times // 2))
                report("verdict and next pair", measure(page, "a", "pair", given.times))
                report("undo", measure(page, "z", "pair", given.times // 2))
                report("step of the trajectory", measure(page, "ArrowRight", "step", 8))
                on_page = []
                for _ in range(20):
                    measure(page, "j", "pair", 1)
                    on_page.append(bool(page.evaluate(_PICTURE)))
                print(f"the next picture was there at once {sum(on_page)} times of {len(on_page)}")
                for _ in range(8 if given.soak else 0):
                    report(f"memory {memory_of(server.pid):.0f} MiB, then verdicts",
                         measure(page, "a", "pair", given.soak // 8, 0))  # fmt: skip
                if given.soak:
                    print(f"memory {memory_of(server.pid):.0f} MiB at the end")
                browser.close()
            finally:
                server.terminate()
                server.wait()


if __name__ == "__main__":
    main()
