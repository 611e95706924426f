"""The table: columns, captions edited in place, and rows copied as CSV."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PAIRS, Site
from traced_ui.page_state import ROWS

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    return separate_site  # how many rows are undecided does not depend on the files before


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_a_table_is_sorted_edited_and_copied(page: Page) -> None:
    show = page.locator("#traced-queue [data-filter=review]")
    show.select_option("all")
    page.locator("#traced-toolbar [data-action=table]").click()
    rows = page.locator("#traced-stage tr.pick")
    expect(rows).to_have_count(ROWS)
    # Near the end more rows follow, and what was scrolled to stays.
    table = page.locator("#traced-stage .rows")
    assert table.evaluate("rows => rows.scrollWidth <= rows.clientWidth"), "no column is cut"
    rows.nth(ROWS - 1).scroll_into_view_if_needed()
    expect(rows).to_have_count(PAIRS)
    assert page.locator("#traced-stage .rows").evaluate("rows => rows.scrollTop") > 0
    head = page.locator("#traced-stage th[data-cell=caption]")
    captions = rows.locator("[data-caption]")
    for direction in ("ascending", "descending"):
        head.locator("button").click()
        expect(head).to_have_attribute("aria-sort", direction)
        texts = captions.evaluate_all("fields => fields.map(({value}) => value)")
        assert len(texts) == ROWS
        assert texts == sorted(texts, reverse=direction == "descending")
    expect(page.locator("#traced-queue [data-filter=order]")).to_have_value("-caption")
    page.set_viewport_size({"width": 1000, "height": 700})  # the table is wider
    match = page.locator("#traced-stage th[data-cell=s_0]")
    match.locator("button").click()
    expect(page.locator("#traced-stage th[aria-sort]")).to_have_attribute("data-cell", "s_0")
    expect(match.locator("button")).to_be_focused()
    place = page.locator("#traced-stage .rows").evaluate(
        "({scrollLeft: x, scrollTop: y}) => [x, y]"
    )
    assert place[0] > 0
    assert place[1] == 0
    page.set_viewport_size({"width": 1440, "height": 900})
    show.select_option("unreviewed")
    expect(page.locator("#traced-stage [data-view='order=s_0 None']")).to_be_visible()
    picks = "rows => rows.map(({dataset}) => dataset.pick)"
    by_match = rows.evaluate_all(picks)
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    pair = next(pick for pick in rows.evaluate_all(picks)[1:] if pick in by_match)
    edited = page.locator(f"#traced-stage tr.pick[data-pick='{pair}']")
    edited.locator("xpath=preceding-sibling::tr[1]").locator("input").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("e")
    caption = edited.locator("[data-caption]")
    expect(caption).to_be_focused()
    caption.fill("half a thought")
    page.keyboard.press("Escape")
    expect(caption).not_to_have_value("half a thought")
    caption.fill("half a thought")
    match.locator("button").evaluate("button => button.click()")  # drawn anew while one writes
    expect(match).to_have_attribute("aria-sort", "ascending")
    expect(caption).to_have_value("half a thought")
    expect(caption).to_be_focused()
    caption.fill("=a dog <b>runs</b>")
    page.keyboard.press("Enter")
    expect(page.locator("#traced-toast")).to_contain_text("Corrected")
    expect(edited).to_have_count(0)  # it is decided, and no longer in this queue
    show.select_option("decided")
    expect(edited.locator("[data-caption]")).to_have_value("=a dog <b>runs</b>")
    columns = page.locator("#traced-stage .columns")
    columns.locator("summary").click()
    gain = columns.locator("[data-column=gain]")
    expect(gain).to_have_css("appearance", "auto")  # with the browser's tick, which can be seen
    gain.uncheck()
    page.keyboard.press("Escape")
    expect(gain).to_be_hidden()
    expect(columns.locator("summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(gain).to_be_visible()
    page.locator("#traced-stage [data-count]").click()
    expect(gain).to_be_hidden()
    expect(page.locator("#traced-stage th[data-cell=gain]")).to_be_hidden()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    edited.locator("input").check()
    page.locator("#traced-stage [data-copy]").click()
    expect(page.locator("#traced-stage [data-copy]")).to_have_text(re.compile("1 rows? copied"))
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(copied) == 2
    assert copied[0].startswith('"Caption","Chance of error","Id","Verdict","Split","Tags","Note"')
    assert copied[0].endswith('"Note","Match (s)"')  # the other numbers are folded
    columns.locator("summary").click()
    columns.locator("[data-column=icc]").check()
    expect(page.locator("#traced-stage th[data-cell=icc]")).to_be_visible()
    page.keyboard.press("Escape")
    assert copied[1].startswith('"\'=a dog <b>runs</b>"')
    edited.locator("input").focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"#traced-stage [data-pair='{pair}']")).to_be_visible()
    page.locator("#traced-toolbar [data-action=table]").click()
    expect(edited.locator("input[type=checkbox]")).to_be_focused()
    expect(edited).to_be_in_viewport()
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")


def test_ctrl_a_takes_every_row_also_those_not_loaded_yet(page: Page) -> None:
    page.locator("#traced-queue [data-filter=review]").select_option("all")
    page.wait_for_url(re.compile("review=all"))
    page.locator(".tool-table").click()
    expect(page.locator("#traced-stage tr.pick").first).to_be_visible()
    page.keyboard.press("Control+a")
    expect(page.locator("[data-count]")).to_have_text(f"{PAIRS} selected")
