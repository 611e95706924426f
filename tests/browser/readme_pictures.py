"""The pictures of README and docs/reviewing.md: `python -m tests.browser.readme_pictures [FOLDER]`

The grid of the demo in the dark theme, and a caption of several claims, the most suspicious one
selected. `tests/browser/film.py` takes the film.
"""

import json
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from research.scenes.long_captions import paragraphs
from research.scenes.renderer import render
from tests.browser.film import demo_page

SIZE = (1280, 800)
#: Pixels of a picture in the README.
WIDTH = 1120


def draw(folder: Path) -> None:
    """Pictures with captions of four or five sentences, one of them wrong in most."""
    folder.mkdir()
    rows = []
    for number, caption in enumerate(paragraphs(12, 31, sentences=(4, 5), errors=(0, 1))):
        render(caption.scene, 384).save(folder / f"{number}.png")
        rows.append(json.dumps({"file_name": f"{number}.png", "caption": caption.text}))
    (folder / "metadata.jsonl").write_text("\n".join(rows), encoding="utf-8")


def take(page: Page, file: Path) -> None:
    page.mouse.move(1, 1)
    page.wait_for_timeout(600)
    page.screenshot(path=file)
    with Image.open(file) as image:
        size = WIDTH, round(image.height * WIDTH / image.width)
        small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        file, optimize=True
    )


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "assets/screenshots")
    with demo_page(SIZE, address="?__theme=dark") as page:
        page.keyboard.press("g")
        page.wait_for_selector("#traced-stage .pick img")
        page.wait_for_timeout(1500)
        take(page, out / "grid.png")
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder) / "paragraphs")
        with demo_page(SIZE, "score", f"{folder}/paragraphs", address="?dataset=1") as page:
            page.wait_for_selector("#traced-stage .claim[aria-current=true]")
            # Its corrections are judged once it is open.
            page.wait_for_selector("#traced-stage .stage:not([data-deferred])")
            take(page, out / "claims.png")


if __name__ == "__main__":
    main()
