"""A silent film of finding and fixing one word: `python -m tests.browser.film [FILE]`

Serves the scored demo in a new temporary folder and takes pictures of the review page while keys
are pressed; the README shows the film.
"""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, ROOT, chromium, free_port, wait_for

SIZE = (1280, 720)
#: Pixels of the film.
WIDTH, HEIGHT = 960, 540
LONGEST = 2 * 2**20  # bytes
#: What happens, and how many milliseconds it is shown: the picture and the tinted word; the match
#: without it; what it was; the correction, which is accepted; the next pair.
STORY = (("", 2600), ("ArrowRight", 2200), ("ArrowLeft", 1200), ("1", 2600), ("z", 1400))


def pictures(page: Page) -> list[Image.Image]:
    taken = []
    for key, _ in STORY:
        if key:
            page.keyboard.press(key)
            page.wait_for_timeout(700)
            page.wait_for_function("!document.querySelector('[data-painted=false]')")
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        taken.append(image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))
    return taken


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "assets/screenshots/one-word.webp")
    port = free_port()
    with tempfile.TemporaryDirectory() as state:
        log = Path(state) / "server.log"
        with log.open("w") as file, sync_playwright() as playwright:
            server = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--port", str(port)],
                cwd=ROOT, env={**os.environ, "TRACED_DATA_DIRECTORY": f"{state}/data"},
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
                page.goto(f"http://127.0.0.1:{port}/?__theme=light")
                page.wait_for_function(
                    "Number(document.querySelector('[data-ready]')?.dataset.ready) >= 3"
                )
                for tip in page.locator(".first-hints button").all():
                    tip.click()
                page.wait_for_timeout(1200)  # its first sight is animated
                first, *rest = pictures(page)
                browser.close()
            finally:
                server.terminate()
                server.wait(20)
    milliseconds = [shown for _, shown in STORY]
    first.save(out, save_all=True, append_images=rest, duration=milliseconds, loop=0, quality=82)
    assert out.stat().st_size <= LONGEST


if __name__ == "__main__":
    main()
