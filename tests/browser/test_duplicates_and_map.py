"""Near duplicates and the map, used by keyboard, by mouse and by address."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, box_of, go_to, held, served
from tests.fixtures.features import needs
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import PAIRS, score_copies

pytestmark = pytest.mark.browser

#: The position of a map point on the screen.
POINT = """(place) => {
  const chart = document.querySelector("#map-chart .js-plotly-plot");
  const { xaxis, yaxis } = chart._fullLayout, box = chart.getBoundingClientRect();
  const points = chart._fullData[0];
  return {
    x: box.left + xaxis._offset + xaxis.d2p(points.x[place]),
    y: box.top + yaxis._offset + yaxis.d2p(points.y[place]),
    pair: points.customdata[place], count: points.x.length,
  };
}"""


@pytest.fixture(scope="module")
def site(shared_folder: SharedFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    scored: Path = shared_folder("scored-copies", score_copies)
    with served(tmp_path_factory.mktemp("copies"), scored) as made:
        yield made


@needs("near_duplicates")
def test_a_duplicate_is_kept_by_key_or_click_and_one_undo_restores_the_others(page: Page) -> None:
    go_to(page, "duplicates")
    expect(page.locator("#duplicates-page .empty")).to_contain_text("have not been searched for")
    page.locator("#duplicates-threshold input").fill("0.995")
    page.locator("#duplicates-threshold input").press("Tab")
    page.locator("#duplicates-start").click()
    groups, toast = page.locator("#duplicates-page .group"), page.locator("#duplicates-toast")
    expect(groups.first).to_be_visible(timeout=60_000)
    before = groups.count()
    copies = page.locator("#duplicates-page .group", has_text="<b>A copy</b> ${7*6}")
    expect(copies.locator(".copy")).to_have_count(3)
    expect(copies.locator("b")).to_have_count(0)
    expect(copies.get_by_role("link", name="Open this pair")).to_have_count(3)
    # By mouse: the second picture is kept, two pairs are dropped.
    copies.locator("[data-keep]").nth(1).click()
    expect(toast).to_contain_text("Kept. 2 pairs removed. Press Z to undo.")
    expect(copies).to_have_count(0)
    expect(groups).to_have_count(before - 1)
    page.keyboard.press("z")
    expect(toast).to_contain_text("Undone: 2 pairs")
    expect(groups).to_have_count(before)
    # By keyboard: to the group, then its third picture.
    place = next(n for n in range(before) if "<b>A copy" in groups.nth(n).inner_text())
    page.locator("#duplicates-page").get_by_text("undecided groups of").click()
    for _ in range(place + 1):
        page.keyboard.press("j")
    expect(copies).to_be_focused()
    page.keyboard.press("3")
    expect(toast).to_contain_text("Kept. 2 pairs removed")
    expect(groups).to_have_count(before - 1)
    page.locator("#duplicates-show").get_by_text("all groups").click()
    expect(groups).to_have_count(before)
    expect(copies.locator(".leaving")).to_have_count(2)
    expect(copies.locator("[data-keep]:disabled")).to_have_count(2)
    # Dropped duplicates do not count as errors.
    go_to(page, "review")
    counts = page.locator("#traced-queue .progress").first
    page.reload()
    expect(counts).to_contain_text(f"2 of {PAIRS + 4} pairs reviewed")
    expect(counts).to_contain_text("0 were errors")


@needs("picture_map")
def test_a_lasso_on_the_map_makes_a_queue_that_survives_a_reload(page: Page) -> None:
    go_to(page, "map")
    expect(page.locator("#map-empty")).to_contain_text("No map yet")
    page.locator("#map-start").click()
    expect(page.locator("#map-chart .js-plotly-plot .nsewdrag")).to_be_attached(timeout=90_000)
    expect(page.locator("#map-hint")).to_contain_text(f"{PAIRS + 4} pairs")
    page.wait_for_function("document.querySelector('#map-chart .js-plotly-plot').dataset.listens")
    point = page.evaluate(POINT, 0)
    assert point["count"] == PAIRS + 4
    # Each picture stands for the pairs of its cell; cells divide where the map is enlarged.
    tiles = page.locator("#map-tiles div")
    expect(tiles.first.locator("img")).to_have_attribute(
        "src", re.compile(r"pictures/\d+\?size=104")
    )
    count = tiles.count()
    more = tiles.evaluate_all("all => all.map(tile => Number(tile.dataset.more || 1))")
    assert sum(more) == PAIRS + 4
    # The one under the mouse is shown with its caption.
    tile = box_of(tiles.first)
    pair = tiles.first.get_attribute("data-pair")
    page.mouse.move(tile.x + 10, tile.y + 10)
    page.mouse.move(tile.x + 20, tile.y + 20, steps=4)
    card = page.locator(f'#map-card [data-pair-card="{pair}"]')
    expect(card).to_be_visible()
    expect(card.locator("img")).to_have_attribute("src", f"pictures/{pair}?size=400")
    page.mouse.move(point["x"], point["y"])
    # Until new pictures are there, those of before stand in their place.
    with held(page, "**/pictures/*size=104"):
        for _ in range(12):  # a tenth each
            page.mouse.wheel(0, -100)
        for tiles_of_both in ("waiting", "leaving"):
            expect(page.locator(f"#map-tiles .{tiles_of_both}").first).to_be_attached()
    expect(page.locator("#map-tiles :is(.waiting, .leaving)")).to_have_count(0)
    moved = "width => document.querySelector('#map-tiles div').offsetWidth !== width"
    page.wait_for_function(moved, arg=round(tile.width))
    page.locator("#map-chart .js-plotly-plot").focus()
    page.keyboard.press("0")
    expect(tiles).to_have_count(count)
    # By keyboard alone: what is in view.
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.locator("[data-take-view]").press("Enter")
    expect(page.locator("#map-region a.t-button")).to_have_count(2)
    page.locator("#map-chart .js-plotly-plot").focus()
    page.keyboard.press("0")
    expect(tiles).to_have_count(count)
    # A small circle around a point.
    around = ((-9, -9), (9, -9), (9, 9), (-9, 9), (-9, -8))
    page.mouse.move(point["x"] + around[0][0], point["y"] + around[0][1])
    page.mouse.down()
    for x, y in around[1:]:
        page.mouse.move(point["x"] + x, point["y"] + y, steps=4)
    page.mouse.up()
    region = page.locator("#map-region")
    expect(region.locator(".found span")).to_have_text(re.compile(r"^[1-9] pairs?,"))
    inside = int(region.locator(".found span").inner_text().split()[0])
    expect(region.locator("li")).to_have_count(inside)
    region.locator("a.t-button").last.click()
    queue = page.locator("#traced-queue")
    for _ in range(2):
        expect(queue.locator(".alike")).to_contain_text("a region of the map")
        page.locator("#traced-queue [data-filter=review]").select_option("all")
        expect(queue).to_contain_text(re.compile(f"{inside} pairs? in this queue"))
        expect(page).to_have_url(re.compile("(?=.*map=)(?=.*review=all)"))
        page.reload()
    queue.locator("[data-action=clear-search]").click()
    expect(queue).to_contain_text(f"{PAIRS + 4} pairs in this queue")
    # A click opens the pair.
    go_to(page, "map")
    page.wait_for_function("document.querySelector('#map-chart .js-plotly-plot')?.dataset.listens")
    expect(tiles).to_have_count(count)
    tile, pair = box_of(tiles.first), tiles.first.get_attribute("data-pair")
    page.mouse.click(tile.x + 20, tile.y + 20)
    expect(page).to_have_url(re.compile(rf"pair={pair}\b"))
    expect(page.locator(f'#traced-stage [data-pair="{pair}"]')).to_be_visible()
