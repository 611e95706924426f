"""Keys while a form control has the focus, and after a choice in one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Site, held
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import EDITOR, decisions, wait_until_ready, wait_until_saved

pytestmark = pytest.mark.browser

MEANING = "#traced-queue [data-filter=meaning]"
CONTROLS = (
    "#traced-queue .search input[type=checkbox]",
    "#traced-queue [data-filter=order]",
    "#traced-queue .drawer [data-how][value=any]",
    "#traced-queue .drawer [data-mixed]",
)


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_a_search_by_meaning_is_typed_behind_a_slash(page: Page, site: Site) -> None:
    before, pair = decisions(site), pair_of(page)
    meaning = page.locator("#traced-queue [data-filter=meaning]")
    for ways in (("click",), ("click", "blur"), ("focus", "space")):
        page.reload()
        wait_until_ready(page)
        box = page.get_by_role("checkbox", name="meaning")
        for way in ways:
            if way == "space":
                page.keyboard.press("Space")
            else:
                getattr(box, way)()
        page.keyboard.type("/banana")
        expect(meaning).to_be_focused()
        expect(meaning).to_have_value("banana")
        page.keyboard.press("Escape")
    assert (decisions(site), pair_of(page)) == (before, pair)


def test_the_box_meaning_stays_as_it_was_ticked_while_the_queue_is_drawn(page: Page) -> None:
    wait_until_ready(page)
    box = page.get_by_role("checkbox", name="meaning")
    box.check()
    with page.expect_response("**/review/acts"):
        page.locator("#traced-queue [data-filter=review]").select_option("all")
    expect(page).to_have_url(re.compile("review=all"))
    expect(box).to_be_checked()
    meaning = page.locator("#traced-queue [data-filter=meaning]")
    meaning.fill("an animal")
    meaning.press("Enter")
    expect(page).to_have_url(re.compile("meaning="))
    expect(box).to_be_checked()
    meaning.fill("")
    meaning.press("Enter")
    expect(page).not_to_have_url(re.compile("meaning="))
    expect(box).not_to_be_checked()


@contextmanager
def slow_search(page: Page) -> Iterator[Locator]:
    """A search by meaning, whose answer comes at the end: the first one loads a model. Returns the
    line that says so."""
    wait_until_ready(page)
    page.get_by_role("checkbox", name="meaning").check()
    routes: list[Route] = []

    def keep(route: Route) -> None:
        if '"find-meaning"' in (route.request.post_data or ""):
            routes.append(route)
        else:
            route.continue_()

    page.route("**/review/acts", keep)
    message = page.locator("[data-sought]")
    expect(message).to_be_hidden()
    page.locator(MEANING).fill("an animal")
    page.locator(MEANING).press("Enter")
    expect(message).to_be_visible()
    yield message
    (route,) = routes
    with page.expect_response(lambda response: response.request == route.request):
        route.continue_()
    page.unroute("**/review/acts")
    expect(message).to_be_hidden()


def test_a_search_by_meaning_is_shown_at_once_to_who_waits_for_it(page: Page) -> None:
    with slow_search(page):
        assert "meaning=" not in page.url
    expect(page).to_have_url(re.compile("meaning=an"))
    expect(page.locator("[data-found]")).to_be_hidden()


def test_a_late_search_by_meaning_waits_for_who_has_gone_on(page: Page, site: Site) -> None:
    """Another filter does not wait for it; and no letter of what is typed is a verdict."""
    with slow_search(page) as message:
        page.locator("#traced-queue [data-filter=review]").select_option("all")
        expect(page).to_have_url(re.compile("review=all"))
        before = pair_of(page)
        press(page, "ArrowDown")
        expect(page.locator(f"#traced-stage [data-pair='{before}']")).to_have_count(0)
        expect(message).to_be_visible()
        expect(page.locator(MEANING)).to_have_value("an animal")
        page.keyboard.press("e")
        page.locator(EDITOR).fill("")
        page.keyboard.type("add")
    known, pair = decisions(site), pair_of(page)
    found = page.locator("[data-found]")
    expect(found).to_be_visible()
    page.keyboard.type(" a lad")
    expect(page.locator(EDITOR)).to_have_value("add a lad")
    assert (decisions(site), pair_of(page)) == (known, pair)
    found.get_by_role("button").click()
    expect(page).to_have_url(re.compile("(?=.*meaning=an)(?=.*review=all)"))
    expect(found).to_be_hidden()


def test_another_queue_ends_a_search_by_meaning(page: Page) -> None:
    with slow_search(page):
        page.evaluate(
            """() => { history.pushState(null, "", "/?dataset=1&review=all");
            dispatchEvent(new PopStateEvent("popstate")); }"""
        )
        expect(page.locator("[data-sought]")).to_be_hidden()
        expect(page.locator(MEANING)).to_have_value("")
    expect(page.locator("[data-found]")).to_be_hidden()
    assert "meaning=" not in page.url


def test_an_act_that_takes_long_is_said_below_what_has_to_stay(page: Page) -> None:
    wait_until_ready(page)
    toast = page.locator("#traced-toast")
    working = toast.locator("[data-working]")
    page.evaluate(
        """() => { document.querySelector("#traced-toast").innerHTML =
        '<div class="traced-note error">not saved</div>'; }"""
    )
    with held(page, "**/review/acts"):
        page.locator("#traced-queue [data-filter=order]").select_option("position")
        expect(working).to_be_visible()
        expect(toast.locator(".error")).to_be_visible()
    expect(page).to_have_url(re.compile("order=position"))
    expect(working).to_have_count(0)


@pytest.mark.parametrize("control", CONTROLS)
def test_no_letter_is_a_verdict_while_a_form_control_has_the_focus(
    page: Page, site: Site, control: str
) -> None:
    wait_until_ready(page)
    before, pair, address = decisions(site), pair_of(page), page.url
    if ".drawer" in control:
        page.locator("#traced-queue details.more summary").click()
    page.locator(control).focus()
    page.keyboard.type("adbu123n")
    page.wait_for_timeout(300)
    expect(page.locator(control)).to_be_focused()
    assert (decisions(site), pair_of(page), page.url) == (before, pair, address)
    assert page.locator("#traced-steps details.note[open]").count() == 0


def test_after_a_choice_the_keys_act_on_the_board(page: Page) -> None:
    wait_until_ready(page)
    for name, value in (("order", "s_0"), ("review", "all")):
        field = page.locator(f"#traced-queue [data-filter={name}]")
        field.focus()
        with page.expect_response("**/review/acts"):
            field.select_option(value)
        expect(field).not_to_be_focused()
        wait_until_ready(page)
        press(page, "j")
        expect(field).to_have_value(value)
    # By keyboard: an arrow opens the list, and Enter chooses.
    field = page.locator("#traced-queue [data-filter=review]")
    field.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    with page.expect_response("**/review/acts"):
        page.keyboard.press("Enter")
    expect(field).not_to_be_focused()


def test_a_held_arrow_moves_by_each_repeat(page: Page, site: Site) -> None:
    """The browser repeats a held key: each repeat counts, and none more."""
    page.goto(f"{site.address}/?review=all&order=position")
    wait_until_ready(page)
    pairs = [pair_of(page)]
    for _ in range(39):
        press(page, "ArrowDown")
        pairs.append(pair_of(page))
    assert len(set(pairs)) == 40
    for key, last in (("ArrowUp", pairs[0]), ("ArrowDown", pairs[39])):
        for _ in range(39):
            page.keyboard.down(key)
        page.keyboard.up(key)
        expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", last)
        page.wait_for_timeout(300)  # nothing moves on
        assert pair_of(page) == last


@pytest.mark.parametrize(
    ("button", "box"),
    [
        ("#traced-header [aria-label=Keys]", "#traced-help"),
        ("#traced-jobs-button", "#traced-jobs"),
        ("#traced-queue details.more summary", "#traced-queue .drawer"),
        ("#traced-queue [data-action=history]", "#traced-queue .undo-list"),
    ],
)
def test_escape_closes_what_a_button_opened_and_the_button_has_the_focus(
    page: Page, button: str, box: str
) -> None:
    wait_until_ready(page)
    press(page, "u")  # there is something to undo
    wait_until_saved(page)
    page.locator(button).focus()
    page.keyboard.press("Enter")
    expect(page.locator(box)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(box)).to_be_hidden()
    expect(page.locator(button)).to_be_focused()
    page.keyboard.press("Escape")
    press(page, "j")  # back on the board
    press(page, "z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
