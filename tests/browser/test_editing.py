"""Texts, fields and selections stay as they are until they are sent."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import EDITOR, STAGE, wait_until_ready

pytestmark = pytest.mark.browser
#: Lets the page draw itself anew, as the end of a job does, and waits until it has.
REDRAW = """() => new Promise((done) => {
  const send = window.fetch;
  window.fetch = (to, options) => send(to, options).then((answer) => {
    if (String(options?.body).includes('"redraw":true')) {
      window.fetch = send;
      setTimeout(done, 100);
    }
    return answer;
  });
  document.dispatchEvent(new Event("traced-refresh"));
})"""
#: Where the parts of the stage are that a curator uses for each pair.
PLACES = """() => [".picture", ...[1, 2, 3, 4, 5, 6].map((n) => `.verdicts button:nth-child(${n})`)]
  .map((part) => document.querySelector(`#traced-stage ${part}`).getBoundingClientRect())
  .map(({ left, top, width, height }) => [left, top, width, height].map(Math.round).join(" "))"""


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_a_correction_survives_a_redraw_other_pairs_and_a_reload(page: Page) -> None:
    pair = pair_of(page)
    page.keyboard.press("e")
    area = page.locator(EDITOR)
    expect(area).to_be_focused()
    # Nothing typed yet: the next letters must not act as shortcuts.
    page.evaluate(REDRAW)
    expect(area).to_be_focused()
    area.fill("")
    page.keyboard.type("add a dub")
    page.keyboard.press("ArrowLeft")
    page.evaluate(REDRAW)
    expect(area).to_be_focused()
    page.keyboard.type("u")
    expect(area).to_have_value("add a duub")
    assert pair_of(page) == pair

    page.keyboard.press("Escape")
    expect(area).to_be_hidden()
    press(page, "j")
    page.keyboard.press("e")
    expect(area).to_be_focused()
    expect(area).not_to_have_value(re.compile("duub"))
    page.keyboard.press("Escape")
    press(page, "k")
    assert pair_of(page) == pair
    expect(area).to_have_value("add a duub")
    page.wait_for_url(re.compile(f"pair={pair}"))
    page.reload()
    page.wait_for_selector(f"{STAGE}[data-pair='{pair}']")
    expect(area).to_be_visible()
    expect(area).to_have_value("add a duub")
    wait_until_ready(page)
    page.keyboard.press("e")
    press(page, "Control+Enter")
    expect(page.locator("#traced-toast")).to_contain_text("Corrected")
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
    assert pair_of(page) == pair
    expect(area).to_be_hidden()  # it is saved, and no draft any more
    page.keyboard.press("e")
    expect(area).not_to_have_value(re.compile("duub"))
    page.keyboard.press("Escape")


def test_nothing_moves_from_pair_to_pair_or_for_the_editor(page: Page) -> None:
    wait_until_ready(page)
    before = page.evaluate(PLACES)
    for key in "jju":
        page.keyboard.press("e")
        expect(page.locator(EDITOR)).to_be_focused()
        assert page.evaluate(PLACES) == before
        assert page.evaluate("scrollY") == 0
        page.keyboard.press("Escape")
        press(page, key)
        assert page.evaluate(PLACES) == before
    press(page, "z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")


def test_a_redraw_keeps_a_field_being_filled_in(page: Page) -> None:
    lower, upper = (page.locator(f"#traced-queue [data-filter=p_error_{end}]")
                    for end in ("from", "to"))  # fmt: skip
    page.locator("#traced-queue details.more summary").click()
    lower.focus()
    page.keyboard.type("0.01")
    page.keyboard.press("Tab")  # sends the first; the queue is redrawn during typing
    page.keyboard.type("0.9")
    page.wait_for_url(re.compile(r"p_error_from=0\.01"))
    expect(upper).to_be_focused()
    expect(upper).to_have_value("0.9")
    page.keyboard.type("9")
    expect(upper).to_have_value("0.99")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"p_error_from=0\.01.*p_error_to=0\.99"))


def test_fields_show_what_the_queue_is(page: Page) -> None:
    """Even fields that a person has changed before, whose values the browser itself would keep."""
    show = page.locator("#traced-queue [data-filter=review]")
    for chosen in ("all", "decided", "all", "unreviewed"):
        show.select_option(chosen)
        page.wait_for_url(
            re.compile(f"review={chosen}")
            if chosen != "unreviewed"
            else re.compile(r"^(?!.*review=)")
        )
    page.keyboard.press("p")  # similar pictures, among all pairs
    expect(page.locator("#traced-queue .alike")).to_be_visible()
    expect(show).to_have_value("all")
    page.keyboard.press("p")
    expect(page.locator("#traced-queue .alike")).to_have_count(0)
    expect(show).to_have_value("unreviewed")


def test_two_choices_in_a_row_are_both_kept(page: Page) -> None:
    page.route("**/review/acts", lambda route: (page.wait_for_timeout(300), route.continue_()))
    for name, value in (("review", "all"), ("order", "s_0")):
        page.locator(f"#traced-queue [data-filter={name}]").select_option(value)
    expect(page).to_have_url(re.compile("order=s_0"))
    assert "review=all" in page.url
    page.unroute_all(behavior="wait")


def test_a_redraw_keeps_a_selection_in_the_grid(page: Page) -> None:
    def cards(which: str) -> set[str | None]:
        picked = page.locator(f"#traced-stage .pick{which}").all()
        return {card.get_attribute("data-pick") for card in picked}

    page.keyboard.press("g")
    page.locator("#traced-stage .pick").first.click()
    page.locator("#traced-stage .pick").nth(11).locator("input").click(modifiers=["Shift"])
    chosen = cards(":has(:checked)")
    assert len(chosen) == 12
    page.evaluate(REDRAW)
    assert cards(":has(:checked)") == chosen
    page.locator("#traced-queue [data-filter=order]").select_option("position")
    expect(page).to_have_url(re.compile("order=position"))
    still = chosen & cards("")
    assert still
    expect(page.locator("[data-count]")).to_have_text(f"{len(still)} selected")
    assert cards(":has(:checked)") == still


def test_zooming_into_a_picture_also_applies_to_the_next(page: Page) -> None:
    picture = page.locator("#traced-stage .picture")
    image = picture.locator("img")

    def width() -> float:
        box = image.bounding_box()
        assert box is not None
        return box["width"]

    wait_until_ready(page)
    whole = width()
    page.keyboard.press("x")
    expect(picture).to_have_class(re.compile("large"))
    assert width() == pytest.approx(2.5 * whole)
    page.evaluate(REDRAW)
    assert width() == pytest.approx(2.5 * whole)
    press(page, "j")
    expect(picture).to_have_class(re.compile("large"))
    press(page, "k")
    page.keyboard.press("x")
    expect(picture).not_to_have_class(re.compile("large"))

    # By mouse: the wheel zooms at the pointer, a drag pans, and a double click resets.
    box = picture.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        f"document.querySelector('#traced-stage .picture img').getBoundingClientRect().width"
        f" > {1.5 * whole}"
    )
    before = image.bounding_box()
    page.mouse.down()
    page.mouse.move(middle[0] + 40, middle[1] + 25, steps=4)
    page.mouse.up()
    after = image.bounding_box()
    assert before is not None
    assert after is not None
    assert after["x"] - before["x"] == pytest.approx(40, abs=1)
    assert after["y"] - before["y"] == pytest.approx(25, abs=1)
    page.mouse.dblclick(*middle)
    expect(picture).not_to_have_class(re.compile("large"))
    assert width() == pytest.approx(whole)
