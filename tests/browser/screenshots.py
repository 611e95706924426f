"""Screenshots of every page for visual inspection: `python -m tests.browser.screenshots [FOLDER]`

Serves the demo in a new temporary folder, waits until it is scored, and captures each page at
1440 × 900 and 820 × 1180, light and dark. `tests/browser/film.py` takes the film of the README.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from research.evaluation.demo_report import read_truth
from tests.browser.conftest import FLAGS, ROOT, chromium, go_to, wait_for
from tests.fixtures.ports import free_port
from traced_ui import rooms

SIZES = {"wide": (1440, 900), "tablet": (820, 1180)}
PAGES = tuple(page.name for page in rooms.PAGES)
#: Verdicts given before the screenshots are taken: at the top of the queue, and at random.
TOP, DRAWN = 60, 60


def take(page: Page, folder: Path, name: str) -> None:
    for title in PAGES:
        go_to(page, title)
        if title == "try":
            page.wait_for_selector("#playground-result .word", timeout=60_000)
        time.sleep(1.5)
        page.mouse.move(1, 1)
        page.screenshot(path=folder / f"{title}-{name}.png")


def review_some(folder: str) -> None:
    """Decide pairs according to the ground truth, so that Progress has something to show."""
    workspace = Workspace(load_settings({"data_directory": folder}, {}))
    (dataset,) = workspace.datasets()
    truth = read_truth()
    for order, count in (("p_error", TOP), ("random", DRAWN)):
        filter = QueueFilter(dataset.id, "unreviewed", order=order, descending=order == "p_error")
        for row in workspace.review.queue_page(filter, limit=count).rows:
            wrong = row.external_id in truth and truth[row.external_id].is_error
            workspace.review.decide(
                row.pair_id, row.verdict_version, "drop" if wrong else "correct"
            )
    workspace.store.close()


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "data/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "TRACED_DATA_DIRECTORY": state}
        subprocess.run(
            [sys.executable, "app.py", "score", "assets/demo"],
            cwd=ROOT, env=environment, check=True,
        )  # fmt: skip
        for command in (["map", "demo"], ["duplicates", "demo", "--threshold", "0.96"]):
            subprocess.run(
                [sys.executable, "app.py", *command], cwd=ROOT, env=environment, check=True
            )
        review_some(state)
        log = Path(state) / "server.log"
        with log.open("w") as file, sync_playwright() as playwright:
            server = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--port", str(port)],
                cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                for size, (width, height) in SIZES.items():
                    for look in ("light", "dark"):
                        page = browser.new_page(viewport={"width": width, "height": height})
                        page.goto(f"http://127.0.0.1:{port}/?__theme={look}")
                        page.wait_for_selector("#traced-stage [data-pair]", timeout=60_000)
                        take(page, folder, f"{size}-{look}")
                        page.close()
                browser.close()
            finally:
                server.terminate()
                server.wait(20)


if __name__ == "__main__":
    main()
