"""A silent film of finding and fixing one word: `python -m tests.browser.film [FILE]`

Serves the scored demo in a new temporary folder and takes pictures of the review page while keys
are pressed; the README shows the film.
"""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, ROOT, chromium, wait_for
from tests.fixtures.ports import free_port

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


@contextmanager
def demo_page(size: tuple[int, int], *arguments: str, address: str = "") -> Iterator[Page]:
    """The review page of a server with its own new folder, without tips. `arguments`: of a command
    that is run before, such as `score FOLDER`; `address`: behind the server's."""
    port = free_port()
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "TRACED_DATA_DIRECTORY": f"{state}/data"}
        if arguments:
            subprocess.run([sys.executable, "app.py", *arguments], cwd=ROOT, env=environment,
                           check=True)  # fmt: skip
        log = Path(state) / "server.log"
        with log.open("w") as file, sync_playwright() as playwright:
            server = subprocess.Popen(
                [sys.executable, "app.py", "serve", "--port", str(port)],
                cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                page = browser.new_page(viewport={"width": size[0], "height": size[1]})
                page.goto(f"http://127.0.0.1:{port}/{address or '?__theme=light'}")
                page.wait_for_function(
                    "Number(document.querySelector('[data-ready]')?.dataset.ready) >= 3"
                )
                page.evaluate(
                    "document.querySelectorAll('.first-hints button').forEach(tip => tip.click())"
                )
                page.wait_for_timeout(1200)  # its first sight is animated
                yield page
                browser.close()
            finally:
                server.terminate()
                server.wait(20)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "assets/screenshots/one-word.webp")
    with demo_page(SIZE) as page:
        first, *rest = pictures(page)
    milliseconds = [shown for _, shown in STORY]
    first.save(out, save_all=True, append_images=rest, duration=milliseconds, loop=0, quality=82)
    assert out.stat().st_size <= LONGEST


if __name__ == "__main__":
    main()
