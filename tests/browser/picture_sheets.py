"""Pages as small grey pictures, one sheet a page, which a test compares with those kept here.

A machine with other fonts draws other pages: a line of text (`PROBE`) is kept beside the sheets,
and nothing is compared where it looks different.
"""

import io
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page

FOLDER = Path(__file__).with_name("sheets")
#: Pixels of a picture's width in a sheet, and of the squares that are compared.
WIDTH, SQUARE = 240, 8
#: Grey levels (of 255) by which a square may differ, and the share of squares that may differ more.
TOLERANCE, SHARE = 20, 0.01
#: What differs from run to run, and what moves.
QUIET = """
*, ::before, ::after { transition: none !important; animation: none !important;
  caret-color: transparent !important; scroll-behavior: auto !important; }
time, .session, .when, .age, .duration, .model-card dl, progress, #traced-toast,
#traced-jobs-button, footer, .modebar-container { visibility: hidden !important; }
"""
PROBE = """<div style="position:fixed;inset:0 auto auto 0;z-index:9999;padding:4px;width:600px;
  height:60px;background:white;color:black;font:16px sans-serif">The quick brown fox, 0123456789
  <code style="font:16px monospace">sheep &rarr; dog</code> <b>&#10003; &#9656; &alpha;</b></div>"""
#: Waits for fonts, pictures in view and two frames.
STILL = """async () => {
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


def picture(page: Page) -> Image.Image:
    """What is on the screen, small and grey."""
    page.evaluate(STILL)
    shot = Image.open(io.BytesIO(page.screenshot(type="jpeg", quality=80))).convert("L")
    return shot.resize((WIDTH, round(shot.height * WIDTH / shot.width)), Image.Resampling.BOX)


def probe(page: Page) -> Image.Image:
    """How this machine draws a line of text."""
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", PROBE)
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": 600, "height": 60})
    page.evaluate("document.body.lastElementChild.remove()")
    return Image.open(io.BytesIO(shot)).convert("L")


def sheet_of(pictures: list[Image.Image]) -> Image.Image:
    """The pictures beside each other."""
    sheet = Image.new("L", (WIDTH * len(pictures), max(each.height for each in pictures)), 255)
    for place, each in enumerate(pictures):
        sheet.paste(each, (place * WIDTH, 0))
    return sheet


def differing(sheet: Image.Image, kept: Image.Image) -> list[int]:
    """The pictures of the sheet, by place, that differ from those kept."""
    if sheet.size != kept.size:
        return list(range(sheet.width // WIDTH))
    changed = abs(_squares(sheet) - _squares(kept)) > TOLERANCE
    across = WIDTH // SQUARE
    places = range(changed.shape[1] // across)
    return [at for at in places if changed[:, at * across : (at + 1) * across].mean() > SHARE]


def _squares(sheet: Image.Image) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """The mean grey of each square: rows by columns."""
    high, wide = sheet.height // SQUARE, sheet.width // SQUARE
    grey = np.asarray(sheet, dtype=float)[: high * SQUARE, : wide * SQUARE]
    return grey.reshape(high, SQUARE, wide, SQUARE).mean(axis=(1, 3))
