"""The review page: what the keyboard reaches, what never moves, and what a newcomer sees."""

import sqlite3

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import PAIRS, SIZE, Site, box_of, opened_page
from tests.browser.test_every_page import EVERY_SIZE
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import decisions, wait_until_ready, wait_until_saved

pytestmark = pytest.mark.browser
RIGHT = "#traced-stage [data-action=correct]"
#: Tab stops before the verdicts: header, picture, suggestions.
MOST_PRESSES = 8
#: Whether the element with the focus has a visible ring.
RING = """() => {
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
  return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
}"""
FOCUSED = "() => document.activeElement.outerHTML.slice(0, 160)"
#: Pairs of parts that overlap on the screen.
OVERLAPS = """(parts) => parts.flatMap((one, index) => parts.slice(index + 1).filter((other) => {
  const [a, b] = [one, other].map((part) => document.querySelector(part).getBoundingClientRect());
  return a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
}).map((other) => `${one} ${other}`))"""
PARTS = ["#traced-stage .picture", "#traced-stage .words", ".decide", "#traced-chart"]
#: Of the three strongest signs those that there are, and those that are in view whole.
SIGNS_IN_VIEW = """() => {
  const bottom = document.querySelector(".why-tabs").getBoundingClientRect().bottom;
  const signs = [...document.querySelectorAll(".reasons .reason")].slice(0, 3);
  const inView = signs.filter((sign) => sign.getBoundingClientRect().bottom <= bottom + 1);
  return [signs.length, inView.length];
}"""


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_right_is_a_few_presses_of_tab_away_and_each_stop_has_a_ring(page: Page) -> None:
    wait_until_ready(page)
    for _ in range(MOST_PRESSES):
        page.keyboard.press("Tab")
        assert page.evaluate(RING), page.evaluate(FOCUSED)
        if page.locator(f"{RIGHT}:focus").count():
            break
    else:
        pytest.fail(f"not reached with {MOST_PRESSES} presses")
    # One stop a group: arrow keys move within it, and Enter gives the verdict.
    page.keyboard.press("ArrowRight")
    expect(page.locator("#traced-stage .verdicts [data-local=edit]")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    before = pair_of(page)
    press(page, "Enter")
    expect(page.locator(RIGHT)).to_be_focused()  # on the next pair as well
    page.keyboard.press("z")
    expect(page.locator(f'#traced-stage [data-pair="{before}"]')).to_be_visible()
    for _ in range(20):  # toolbar, search, sort, filter, queue, reasons
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate(RING), page.evaluate(FOCUSED)


def test_at_every_size_nothing_covers_a_pair_and_its_verdicts_are_in_view(page: Page) -> None:
    for width, height in EVERY_SIZE:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        for button in page.locator("#traced-stage .verdicts button").all():
            assert box_of(button).bottom <= height
        if width > 1000:
            assert page.evaluate("document.scrollingElement.scrollHeight") == height
        assert page.evaluate(OVERLAPS, PARTS) == []
        page.locator("#traced-stage .words").scroll_into_view_if_needed()
        page.locator("#traced-stage .traced-caption").click(trial=True)
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})


def test_the_browsers_own_controls_follow_the_theme(page: Page) -> None:
    scheme = "() => getComputedStyle(document.documentElement).colorScheme"
    page.evaluate("() => document.body.classList.add('dark')")
    assert page.evaluate(scheme) == "dark"
    page.evaluate("() => document.body.classList.remove('dark')")
    assert page.evaluate(scheme) != "dark"


def test_an_answer_that_does_not_help_is_marked_and_taken_by_one_key(
    page: Page, site: Site
) -> None:
    (file,) = (site.folder / "state").glob("*.db")
    with sqlite3.connect(file) as database:
        query = "SELECT pair_id FROM suggestions WHERE kind = 'correction'"
        (pair,) = database.execute(query).fetchone()
        # Of a model that was asked, an answer is shown that does not help; no other is.
        change = 'p_after = p_before, provenance = \'{"model": "asked"}\''
        database.execute(f"UPDATE suggestions SET {change} WHERE pair_id = ?", (pair,))
    page.goto(f"{site.address}/?pair={pair}")
    wait_until_ready(page)
    answer = page.locator("#traced-stage .weak [data-action=suggestion-1]")
    expect(answer).to_be_visible()
    expect(answer).to_be_in_viewport(ratio=1)
    press(page, "1")
    wait_until_saved(page)
    assert decisions(site)[str(pair)] == "correction"
    page.keyboard.press("z")
    expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", str(pair))


def test_hints_stay_until_the_first_verdict_and_the_session_is_counted(
    profile: BrowserContext, site: Site
) -> None:
    with opened_page(profile, site) as page:
        page.evaluate(
            "localStorage.clear(); sessionStorage.clear()"
        )  # as pages of other tests left
        page.reload()
        hints, session = page.locator(".first-hints [data-hint=keys]"), page.locator(".session")
        tint, match = page.locator("[data-hint=tint]"), page.locator("[data-hint=match]")
        # One at a time, over nothing; that the match rises is said only where it does.
        rises = page.locator(".stage[data-rises]").count() > 0
        for tip, is_true in ((hints, True), (tint, True), (match, rises)):
            expect(tip).to_be_visible(visible=is_true)
            expect(page.locator("[data-hint]:visible")).to_have_count(int(is_true))
            places = ["[data-hint]:not([hidden])", ".picture", ".words", ".decide",
                      "#traced-right", "#traced-queue"]  # fmt: skip
            assert page.evaluate(OVERLAPS, places) == []
            if is_true and tip != hints:
                tip.locator("button").click()
                expect(tip).to_be_hidden()
            elif is_true:
                page.evaluate("document.querySelector('[data-hint=keys]').hidden = true")
        page.reload()
        expect(hints).to_be_visible()
        # What describes something absent is not shown: nothing, and words without scores.
        page.locator("#traced-queue [data-filter=text]").fill("zzzz")
        page.keyboard.press("Enter")
        expect(page.locator("#traced-stage .empty")).to_be_visible()
        expect(hints).to_be_hidden()
        page.get_by_role("button", name="Clear the filters").click()
        expect(hints).to_be_visible()
        expect(session).to_be_empty()
        wait_until_ready(page)
        press(page, "u")
        expect(hints).to_be_hidden()
        expect(session).to_have_text("1 verdict this session")
        expect(page.locator("#traced-toast")).to_contain_text("Saved")
        assert page.evaluate(OVERLAPS, ["#traced-toast", "#traced-queue .pairs", ".pager"]) == []
        page.reload()
        expect(page.locator("#traced-stage [data-pair]")).to_be_visible()
        expect(hints).to_be_hidden()
        page.keyboard.press("z")
        expect(page.locator("#traced-toast")).to_contain_text("Undone")


@pytest.mark.parametrize("size", [(SIZE[0] // 2, SIZE[1] // 2), (1280, 720)])
def test_every_picture_is_large_and_in_view_whole(
    profile: BrowserContext, site: Site, size: tuple[int, int]
) -> None:
    """At 200 % of a common screen, and on a small one; the verdicts do not cover it."""
    with opened_page(profile, site, "?dataset=1&review=all&order=position", size) as page:
        picture = page.locator("#traced-stage .picture img:visible")
        verdicts = page.locator(".decide .verdicts")
        pair = 0
        for number in range(PAIRS):
            if number:
                page.keyboard.press("j")
                expect(page.locator(f"#traced-stage [data-pair='{pair}']")).to_have_count(0)
            pair = pair_of(page)
            box = box_of(picture.last)
            assert box.height >= 300, pair
            assert box.y >= 0, pair
            assert box.bottom <= box_of(verdicts).y + 1, pair


def test_on_a_small_screen_the_three_strongest_signs_are_in_view(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    shown = []
    for number in range(PAIRS):
        if number:
            pair = pair_of(page)
            page.keyboard.press("j")
            expect(page.locator(f"#traced-stage [data-pair='{pair}']")).to_have_count(0)
        shown.append(page.evaluate(SIGNS_IN_VIEW))
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    assert max(count for count, _ in shown) == 3
    assert all(count == in_view for count, in_view in shown), shown


def test_what_is_said_of_a_suggestion_stays_in_its_box(page: Page) -> None:
    card = page.locator("#traced-stage .suggestions button").first
    beside = card.locator("small")
    beside.evaluate(
        """(small) => { small.innerHTML = `98 % → <b>34 %</b>
        <span class="doubts">doubts <u dir="auto">asleep</u></span>
        <span dir="auto">the caption of scene-0410</span>`; }"""
    )
    for width, height in EVERY_SIZE:
        page.set_viewport_size({"width": width, "height": height})
        assert box_of(beside).bottom <= box_of(card).bottom, (width, height)
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})


def test_on_a_phone_the_grid_keeps_its_verdicts_in_view_and_its_place(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    button, cards = (
        page.locator(".toolbar [data-action=grid]"),
        page.locator("#traced-stage .picks"),
    )
    button.click()
    last = cards.locator(".pick").last
    last.scroll_into_view_if_needed()
    place = cards.evaluate("(list) => list.scrollTop")
    expect(page.locator("[data-many=correct]")).to_be_in_viewport(ratio=1)
    button.click()
    expect(page.locator("#traced-stage [data-pair]")).to_be_visible()
    button.click()
    expect(last).to_be_in_viewport()
    back = cards.evaluate("(list) => list.scrollTop")
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    assert back == place > 0


def test_at_200_percent_caption_and_suggestions_are_beside_the_picture(page: Page) -> None:
    page.set_viewport_size({"width": SIZE[0] // 2, "height": SIZE[1] // 2})
    picture = box_of(page.locator("#traced-stage .picture"))
    beside = [box_of(page.locator(part)) for part in ("#traced-stage .words", ".decide")]
    press(page, "u")
    wait_until_saved(page)
    page.locator("#traced-toast .traced-note").evaluate("(e) => e.append(' name'.repeat(100))")
    toast = box_of(page.locator("#traced-toast"))
    press(page, "z")
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    assert 0 <= toast.y <= toast.bottom <= picture.y
    for box, lowest in zip(beside, (picture.y + 100, picture.bottom), strict=True):
        assert box.x >= picture.right
        assert picture.y <= box.y < lowest
