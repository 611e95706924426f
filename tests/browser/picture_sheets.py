"""Pages as small pictures, one sheet a page, which a test compares with those in `sheets`.

A machine with other fonts draws other pages: a line of text (`PROBE`) is stored beside the sheets,
and nothing is compared where it looks different.
"""

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops
from playwright.sync_api import Page

FOLDER = Path(__file__).with_name("sheets")
#: Pixels of a picture's width in a sheet, and of the squares that are compared.
WIDTH, SQUARE = 240, 8
#: Levels (of 255) by which a square may differ in red, green and blue, and how many squares may
#: differ more.
TOLERANCE, MOST = 16, 1
#: How often a page that looks different is looked at again, as it may still be drawn, and after how
#: many milliseconds.
LOOKS, PAUSE = 20, 250
#: What moves, and what differs from run to run or between machines: times, folders.
QUIET = """
*, ::before, ::after { transition: none !important; animation: none !important;
  caret-color: transparent !important; scroll-behavior: auto !important; }
.session, .model-card dl, progress, #traced-toast, #traced-jobs-button, .modebar-container,
td[data-name="1,000 pairs here"], #export-out input, #export-out textarea
  { visibility: hidden !important; }
#datasets-overview td[data-name=source], #delete-what-goes, [data-suggestion] small, .store-place
  { display: none !important; }
"""
PROBE = """<div style="position:fixed;inset:0 auto auto 0;z-index:9999;padding:4px;width:600px;
  height:60px;background:white;color:black;font:16px sans-serif">The quick brown fox, 0123456789
  <code style="font:16px monospace">sheep &rarr; dog</code> <b>&#10003; &#9656; &alpha;</b></div>"""
#: Waits for fonts, pictures in view and two frames.
STILL = """async (isDark) => {
  document.body.classList.toggle("dark", isDark);  // as the toolbar's button does
  document.activeElement?.blur();
  scrollTo(0, 0);
  await document.fonts.ready;
  const isNear = (image) => image.checkVisibility() && image.src
    && image.getBoundingClientRect().top < innerHeight;
  const loaded = [...document.images].filter(isNear).map((image) => image.decode());
  const late = new Promise((done) => setTimeout(done, 3000));
  await Promise.race([late, Promise.allSettled(loaded)]);
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""


class Sheet:
    """The pictures of one page, in the order in which they are taken."""

    def __init__(self, name: str, is_retake: bool) -> None:
        self._name, self._file = name, FOLDER / f"{name}.webp"
        self._expected = None
        if not is_retake:
            is_new = not self._file.exists()
            self._expected = Image.new("RGB", (1, 1)) if is_new else Image.open(self._file)
        self._pictures: list[Image.Image] = []
        self._changed: list[Image.Image] = []

    def take(self, page: Page) -> None:
        """What is on the screen, light and dark, as soon as it looks as expected. A page that has
        changed is waited for once."""
        size = page.viewport_size
        assert size is not None
        height = round(size["height"] * WIDTH / size["width"])
        for is_dark in (False, True):
            start = WIDTH * len(self._pictures)
            expected = self._expected and self._expected.crop((start, 0, start + WIDTH, height))
            shown = _still(page, is_dark, expected, 1 if self._changed else LOOKS)
            self._pictures.append(shown)
            if expected and differs(shown, expected):
                self._changed.append(side_by_side(shown, expected))
        page.evaluate("document.body.classList.remove('dark')")

    def save(self) -> None:
        """Replace the pictures that the next runs expect."""
        _joined(self._pictures, down=False).save(self._file, quality=70)

    def differences(self, folder: Path) -> Path | None:
        """A new file in `folder` that shows what has changed; None: nothing has."""
        if not self._changed:
            return None
        file = folder / f"{self._name}.png"
        _joined(self._changed, down=True).save(file)
        return file


def _still(page: Page, is_dark: bool, expected: Image.Image | None, looks: int) -> Image.Image:
    """What is on the screen, small, as soon as it looks as `expected`, or without that as soon as
    it stands still; at the latest after so many looks."""
    before = expected
    shown = _taken(page, is_dark)
    for _ in range(looks - 1):
        if before is not None and not differs(shown, before):
            break
        before = expected or shown
        page.wait_for_timeout(PAUSE)
        shown = _taken(page, is_dark)
    return shown


def _taken(page: Page, is_dark: bool) -> Image.Image:
    page.evaluate(STILL, is_dark)
    shot = Image.open(io.BytesIO(page.screenshot(type="jpeg", quality=80)))
    height = round(shot.height * WIDTH / shot.width)
    return shot.resize((WIDTH, height), Image.Resampling.BOX, reducing_gap=2)


def save_probe(page: Page) -> None:
    """Store how this machine draws a line of text."""
    FOLDER.mkdir(exist_ok=True)
    _probe(page).save(FOLDER / "probe.png")


def _probe(page: Page) -> Image.Image:
    """How this machine draws a line of text."""
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", PROBE)
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": 600, "height": 60})
    page.evaluate("document.body.lastElementChild.remove()")
    return Image.open(io.BytesIO(shot)).convert("L")


def has_same_fonts(page: Page) -> bool:
    """Whether text looks here as it did where the sheets were taken."""
    with Image.open(FOLDER / "probe.png") as stored:
        return ImageChops.difference(stored, _probe(page)).getbbox() is None


def differs(shown: Image.Image, expected: Image.Image) -> bool:
    """Whether more squares differ than the tolerance allows."""
    return bool(_changed(shown, expected).sum() > MOST)


def side_by_side(shown: Image.Image, expected: Image.Image) -> Image.Image:
    """For people: the picture as expected, as it is, and that with what differs in red."""
    marked = shown.copy()
    for row, column in np.argwhere(_changed(shown, expected)).tolist():
        left, top = column * SQUARE, row * SQUARE
        square = (left, top, left + SQUARE, top + SQUARE)
        red = Image.new("RGB", (SQUARE, SQUARE), "red")
        marked.paste(Image.blend(marked.crop(square), red, 0.5), square)
    return _joined([expected, shown, marked], down=False)


def _joined(images: list[Image.Image], down: bool) -> Image.Image:
    """The images below each other or side by side."""
    if down:
        size = (max(each.width for each in images), sum(each.height for each in images))
    else:
        size = (sum(each.width for each in images), max(each.height for each in images))
    joined, place = Image.new("RGB", size), 0
    for each in images:
        joined.paste(each, (0, place) if down else (place, 0))
        place += each.height if down else each.width
    return joined


def _changed(
    shown: Image.Image, expected: Image.Image
) -> "np.ndarray[tuple[int, int], np.dtype[np.bool_]]":
    """Squares that differ by more than the tolerance: rows by columns."""
    return abs(_squares(shown) - _squares(expected)).max(axis=2) > TOLERANCE


def _squares(image: Image.Image) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """The mean colour of each square: rows by columns by channels."""
    high, wide = image.height // SQUARE, image.width // SQUARE
    pixels = np.asarray(image, dtype=float)[: high * SQUARE, : wide * SQUARE]
    return pixels.reshape(high, SQUARE, wide, SQUARE, 3).mean(axis=(1, 3))
