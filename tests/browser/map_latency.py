"""How long a curator waits on the Map page: `python -m tests.browser.map_latency [--pairs 100000]`

Draws a map of that many pairs at generated places, and measures in Chromium: opening the page,
changing colours, the card under the mouse, the region that a lasso selects, and the time between
frames during all this. Headless Chromium renders WebGL on the CPU: a graphics card is faster.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from backend.store import open_database
from db.queries import pairs, plots, runs
from tests.browser.latency import generated, report, served_page

_CHART = "document.querySelector('#map-chart .js-plotly-plot')"
#: The time from a click on the Map tab, or on a colour, to the frame that shows the new chart.
_DRAWN = (
    "([selector, text]) => new Promise((done) => {"
    f"const chart = () => {_CHART}, before = chart()?._fullData, began = performance.now();"
    """
  const look = () => {
    const data = chart()?._fullData, isNew = data && data !== before && chart().dataset.listens;
    if (!isNew) requestAnimationFrame(look);
    else requestAnimationFrame(() => done(performance.now() - began));
  };
  const all = [...document.querySelectorAll(selector)];
  all.find((control) => (control.value || control.textContent).trim() === text).click();
  look();
})"""
)
#: Records the milliseconds between frames from now on.
_FRAMES = """() => {
  window.framesSeen = [];
  let last = performance.now();
  const next = (now) => {
    window.framesSeen.push(now - last);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
#: The position of a map point on the screen.
_POINT = (
    f"(n) => {{ const chart = {_CHART}, box = chart.getBoundingClientRect();"
    """
  const { xaxis, yaxis } = chart._fullLayout, { x, y } = chart._fullData[0];
  return [box.left + xaxis._offset + xaxis.d2p(x[n]), box.top + yaxis._offset + yaxis.d2p(y[n])];
}"""
)
_CARD = """() => {
  const card = document.querySelector('#map-card .map-card');
  return card && !card.hidden;
}"""
_REGION = "(before) => document.querySelector('#map-region').innerHTML !== before"
#: The lasso's corners around a point, in pixels.
_AROUND = ((40, -40), (40, 40), (-40, 40), (-40, -38))


def draw_places(database_url: str, dataset: int) -> None:
    """Give each pair a place on a map, in clusters like those of real pictures."""
    rng = np.random.default_rng(0)
    store = open_database(database_url)
    try:
        with store.reading() as session:
            ids = [pair.id for pair in pairs.iterate_pairs(session, dataset)]
        places = rng.uniform(0.1, 0.9, (40, 2))[rng.integers(40, size=len(ids))]
        places = np.clip(places + rng.normal(scale=0.03, size=places.shape), 0, 1)
        with store.writing() as session:
            plots.replace_places(
                session,
                dataset,
                [
                    plots.PlaceRow(pair, float(x), float(y))
                    for pair, (x, y) in zip(ids, places, strict=True)
                ],
            )
            run = runs.start_run(
                session, kind="map", dataset_id=dataset, scorer_kind="clip", model="generated",
                revision="0", explorer="", parameters={}, code_version="0",
            )  # fmt: skip
            runs.finish_run(session, run.id)
    finally:
        store.close()


def milliseconds_until(page: Page, condition: str, argument: object = None) -> float:
    began = time.perf_counter()
    page.wait_for_function(condition, arg=argument, polling="raf")
    return 1000 * (time.perf_counter() - began)


def cards(page: Page, times: int) -> list[float]:
    """Milliseconds from moving the mouse to a point until the card with its picture appears."""
    waited = []
    for n in range(times):
        page.mouse.move(5, 5)
        page.wait_for_function(f"() => !({_CARD})()", polling="raf")
        x, y = page.evaluate(_POINT, n)
        page.mouse.move(x - 20, y)
        page.mouse.move(x, y, steps=3)
        waited.append(milliseconds_until(page, _CARD))
    return waited


def regions(page: Page, times: int) -> list[float]:
    """Milliseconds from the end of a lasso to the region's queue and first pictures."""
    waited = []
    for n in range(times):
        (x, y), before = page.evaluate(_POINT, n), page.locator("#map-region").inner_html()
        page.mouse.move(x - 40, y - 40)
        page.mouse.down()
        for dx, dy in _AROUND:
            page.mouse.move(x + dx, y + dy, steps=6)
        page.mouse.up()
        waited.append(milliseconds_until(page, _REGION, before))
    return waited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--data", type=Path, default=None, help="a store made before")
    args = parser.parse_args()
    with generated(args.pairs, args.data) as (folder, url):
        draw_places(url, 1)
        with served_page(folder) as (page, _):
            opened = page.evaluate(_DRAWN, ["button[role=tab]", "Map"])
            print(f"the map was there after {opened:.0f} ms")
            colours = ("concrete to vague", "verdict", "chance of error")
            report("other colours", [
                float(page.evaluate(_DRAWN, ["#map-colour input", name])) for name in colours
            ])  # fmt: skip
            page.evaluate(_FRAMES)
            report("card under the mouse", cards(page, args.times))
            report("region after a lasso", regions(page, args.times))
            report("between frames meanwhile", page.evaluate("window.framesSeen"))


if __name__ == "__main__":
    main()
