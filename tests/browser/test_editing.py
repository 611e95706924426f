"""Texts, fields and selections stay as they are until they are sent."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, box_of
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import EDITOR, STAGE, decisions, wait_until_ready, wait_until_saved

pytestmark = pytest.mark.browser
DRAFT = "#traced-stage [data-draft]"
RIGHT = "#traced-stage [data-action=correct]"
#: What the keys open to write in.
BOXES = {
    "e": EDITOR,
    "n": "#traced-steps details.note textarea",
    "t": "#traced-edit [data-edit=name]",
    "f": "#traced-edit [data-edit=find]",
    "v": "#traced-edit [data-edit=decision]",
}
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
#: Presses a key; what would be open after a reload at that moment.
KEPT_AFTER = """key => {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return sessionStorage.getItem("traced-open");
}"""
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
    expect(page.locator(DRAFT)).to_be_visible()  # offered: arrow keys still move through the queue
    expect(area).to_be_hidden()
    page.keyboard.press("e")
    expect(area).to_have_value("add a duub")
    page.wait_for_url(re.compile(f"pair={pair}"))
    page.reload()
    page.wait_for_selector(f"{STAGE}[data-pair='{pair}']")
    expect(area).to_be_focused()
    expect(area).to_have_value("add a duub")
    wait_until_ready(page)
    press(page, "Control+Enter")
    expect(page.locator("#traced-toast")).to_contain_text("Corrected")
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
    assert pair_of(page) == pair
    expect(area).to_be_hidden()  # it is saved, and no draft any more
    page.keyboard.press("e")
    expect(area).not_to_have_value(re.compile("duub"))
    page.keyboard.press("Escape")


@pytest.mark.parametrize(("key", "box"), BOXES.items())
def test_no_key_is_a_verdict_while_a_box_is_open_wherever_the_focus_is(
    page: Page, site: Site, key: str, box: str
) -> None:
    before, pair = decisions(site), pair_of(page)
    page.keyboard.press(key)
    field = page.locator(box).first
    expect(field).to_be_focused()
    start = field.input_value()
    for elsewhere, pressed in (("body", "d"), (RIGHT, "Enter")):
        field.evaluate("field => field.blur()")
        page.locator(elsewhere).evaluate("other => other.focus()")
        page.keyboard.press(pressed)
        expect(field).to_be_focused()
        page.keyboard.type("ua")
    if key != "v":  # its first field is a list
        assert field.input_value() != start
        assert sorted(field.input_value()) == sorted(start + "duaua") or key == "e"
    assert pair_of(page) == pair
    assert decisions(site) == before
    page.keyboard.press("Escape")
    if key in "en":
        page.evaluate("sessionStorage.clear()")


@pytest.mark.parametrize("key", ["e", "n"])
def test_typing_goes_on_after_a_reload(page: Page, site: Site, key: str) -> None:
    before, pair = decisions(site), pair_of(page)
    page.wait_for_url(re.compile(rf"pair={pair}\b"))
    page.keyboard.press(key)
    box = page.locator(BOXES[key])
    box.fill("")
    page.keyboard.type("a du")
    page.reload()
    page.wait_for_selector(STAGE)
    expect(box).to_be_focused()
    page.keyboard.type("b")
    expect(box).to_have_value("a dub")
    assert decisions(site) == before
    page.keyboard.press("Escape")
    page.evaluate("sessionStorage.clear()")


def test_what_is_open_is_kept_at_once(page: Page) -> None:
    """On a busy machine a note's event comes after a reload."""
    kept = [page.evaluate(KEPT_AFTER, key) for key in ("n", "Escape", "e", "Escape")]
    assert [key and key.split(":")[-2] for key in kept] == ["note", None, "caption", None]


def test_a_note_stays_open_when_another_tab_appears_before_it(page: Page) -> None:
    page.wait_for_url(re.compile(rf"pair={pair_of(page)}\b"))
    page.keyboard.press("n")
    box = page.locator(BOXES["n"])
    expect(box).to_be_focused()
    page.keyboard.type("a du")
    page.evaluate(
        """async () => {
          const loaded = performance.getEntriesByType("resource").map((each) => each.name);
          const { paint } = await import(loaded.find((name) => name.endsWith("/page.js")));
          const steps = document.querySelector("#traced-steps").cloneNode(true);
          steps.querySelector("details.note").open = false;
          const before = steps.querySelector(".why-tabs");
          before.innerHTML = `<details name="why" data-tab="new"><summary>New</summary></details>`
            + before.innerHTML;
          paint({ steps: steps.innerHTML });
        }"""
    )
    expect(page.locator("#traced-steps [data-tab=new]")).to_have_count(1)
    expect(box).to_be_focused()
    page.keyboard.type("b")
    expect(box).to_have_value("a dub")
    page.keyboard.press("Escape")
    page.evaluate("sessionStorage.clear()")


@pytest.mark.parametrize("field", ["#traced-queue [data-filter=text]", BOXES["t"]])
def test_what_was_meant_for_a_field_before_a_reload_is_no_verdict(
    page: Page, site: Site, field: str
) -> None:
    before, pair = decisions(site), pair_of(page)
    page.wait_for_url(re.compile(rf"pair={pair}\b"))
    page.keyboard.press("/" if "queue" in field else "t")
    expect(page.locator(field)).to_be_focused()
    page.keyboard.type("a d")
    page.reload()
    wait_until_ready(page)
    page.keyboard.type("ub")
    assert pair_of(page) == pair
    assert decisions(site) == before
    page.keyboard.press("Escape")
    press(page, "j")


def test_another_verdict_leaves_the_draft_to_its_pair(page: Page, site: Site) -> None:
    before, pair = decisions(site), pair_of(page)
    wait_until_ready(page)
    page.keyboard.press("e")
    page.locator(EDITOR).fill("three lighthouses")
    page.keyboard.press("Escape")
    press(page, "u")
    wait_until_saved(page)
    assert decisions(site) == {**before, pair: "unsure"}
    page.keyboard.press("z")
    page.wait_for_selector(f"{STAGE}[data-pair='{pair}']")
    page.locator(DRAFT).click()
    expect(page.locator(EDITOR)).to_be_focused()
    expect(page.locator(EDITOR)).to_have_value("three lighthouses")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(DRAFT)).to_be_hidden()


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


def test_a_picture_is_zoomed_until_the_next_pair_which_opens_whole(page: Page) -> None:
    picture = page.locator("#traced-stage .picture")
    image = picture.locator("img")

    wait_until_ready(page)
    whole = box_of(image).width
    page.keyboard.press("x")
    expect(picture).to_have_class(re.compile("large"))
    assert box_of(image).width == pytest.approx(2.5 * whole)
    page.evaluate(REDRAW)
    assert box_of(image).width == pytest.approx(2.5 * whole)
    press(page, "j")
    expect(picture).not_to_have_class(re.compile("large"))
    press(page, "k")
    expect(picture).not_to_have_class(re.compile("large"))

    # By mouse: the wheel zooms at the pointer, a drag pans, and a double click resets.
    box = box_of(picture)
    middle = box.x + box.width / 2, box.y + box.height / 2
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        f"document.querySelector('#traced-stage .picture img').getBoundingClientRect().width"
        f" > {1.5 * whole}"
    )
    before = box_of(image)
    page.mouse.down()
    page.mouse.move(middle[0] + 40, middle[1] + 25, steps=4)
    page.mouse.up()
    after = box_of(image)
    assert after.x - before.x == pytest.approx(40, abs=1)
    assert after.y - before.y == pytest.approx(25, abs=1)
    page.mouse.dblclick(*middle)
    expect(picture).not_to_have_class(re.compile("large"))
    assert box_of(image).width == pytest.approx(whole)
