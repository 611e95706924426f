"""The next pair is shown at once and the verdict is saved in the background: none is lost, and none
is given to a pair that was not on the screen."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site, opened_page, running, site_of, wait_until
from tests.browser.test_main_job import pair_of, press

pytestmark = pytest.mark.browser
STAGE = "#traced-stage [data-pair]"
EDITOR = "#traced-stage .editor textarea"
#: Delays posts of verdicts by a number of milliseconds; None: never sent.
SLOW = """(delay) => {
  const send = window.sentAtOnce ??= window.fetch;
  window.fetch = (to, options) => !String(to).includes("review/acts") ? send(to, options)
    : delay === null ? new Promise(() => {})
    : new Promise((go) => setTimeout(go, delay)).then(() => send(to, options));
}"""
#: Sends nothing but what a page sends when it is left.
ONLY_WHEN_LEFT = """() => {
  const send = window.fetch;
  window.fetch = (to, options) => !String(to).includes("review/acts") || options?.keepalive
    ? send(to, options) : new Promise(() => {});
}"""
#: Presses keys at an interval in milliseconds, and returns for each the pair that was on the stage,
#: whether its verdict was accepted, and the message of the page.
TYPE = """([keys, apart]) => new Promise((done) => {
  const stage = () => document.querySelector("#traced-stage [data-pair]").dataset.pair;
  const pressed = [];
  const next = () => {
    if (!keys.length) { done(pressed); return; }
    const key = keys.shift(), pair = stage();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const unsent = JSON.parse(sessionStorage.getItem("traced-unsent") ?? "[]");
    const said = document.querySelector("#traced-toast").textContent;
    const isFirst = !pressed.some((one) => one.pair === pair && one.isTaken);
    const isTaken = isFirst && String(unsent.at(-1)?.pair) === pair;
    pressed.push({ key, pair, isTaken, said, after: stage() });
    setTimeout(next, apart);
  };
  next();
})"""
#: Holds a key down for that many repetitions, 33 ms apart.
HOLD = """([key, times]) => new Promise((done) => {
  let repeat = false;
  const again = () => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, repeat, bubbles: true }));
    repeat = true;
    if (times-- > 1) setTimeout(again, 33); else done();
  };
  again();
})"""
DECISION = {"a": "correct", "d": "drop", "b": "abstract", "u": "unsure"}


def decisions(site: Site) -> dict[str, str]:
    """The decisions in the database, by pair."""
    (file,) = (site.folder / "state").glob("*.db")
    with sqlite3.connect(file) as database:
        rows = database.execute("SELECT id, decision FROM pairs WHERE decision IS NOT NULL")
        return {str(pair): decision for pair, decision in rows}


def wait_until_ready(page: Page) -> None:
    """Wait until the following pairs are in the page, with their pictures."""
    page.wait_for_function("Number(document.querySelector('[data-ready]')?.dataset.ready) >= 3")


def wait_until_saved(page: Page) -> None:
    page.wait_for_function("(sessionStorage.getItem('traced-unsent') ?? '[]') === '[]'")


def take_back(page: Page, site: Site, before: dict[str, str]) -> None:
    """Undo until the database has its earlier decisions."""
    for left in range(len(decisions(site)) - len(before), 0, -1):
        page.keyboard.press("z")
        wait_until(page, lambda left=left: len(decisions(site)) - len(before) < left)
    assert decisions(site) == before


def test_a_verdict_shows_the_next_pair_before_the_server_answers(page: Page, site: Site) -> None:
    before = decisions(site)
    wait_until_ready(page)
    page.evaluate(SLOW, None)
    pair = pair_of(page)
    (pressed,) = page.evaluate(TYPE, [["u"], 0])
    assert pressed["isTaken"]
    assert pressed["after"] != pair  # in the same task, without waiting
    shown = page.locator(STAGE)
    expect(shown.locator(".picture img")).to_have_js_property("complete", True)
    expect(page.locator("#traced-chart svg")).to_be_visible()
    expect(page.locator("#traced-queue li[aria-current=true] [data-target]")).to_have_attribute(
        "data-target", pressed["after"]
    )
    assert decisions(site) == before
    # Even if that request fails, the reloaded page sends the verdict.
    page.reload()
    page.wait_for_selector(STAGE)
    wait_until_saved(page)
    assert decisions(site) == {**before, pair: "unsure"}
    take_back(page, site, before)


def test_an_undo_is_not_lost_when_the_page_is_left_at_once(page: Page, site: Site) -> None:
    before = decisions(site)
    wait_until_ready(page)
    first = pair_of(page)
    press(page, "d")
    second = pair_of(page)
    press(page, "u")
    wait_until_saved(page)
    assert decisions(site) == {**before, first: "drop", second: "unsure"}
    # The server is slow, and the tab goes to another page: what was pressed is sent on the way.
    page.evaluate(ONLY_WHEN_LEFT)
    for _ in range(2):
        page.keyboard.press("z")
    page.goto(f"{site.address}/progress")
    wait_until(page, lambda: decisions(site) == before)
    # Back on the page, which had no answer, it is sent again: nothing else is taken back.
    with site.workspace() as workspace:
        workspace.review.decide(
            int(first), workspace.review.open_pair(int(first)).verdict.version, "drop"
        )
    page.goto(site.address)
    page.wait_for_selector(STAGE)
    page.wait_for_function("sessionStorage.getItem('traced-unsent-acts') === '[]'")
    assert decisions(site) == {**before, first: "drop"}
    take_back(page, site, before)


def test_tags_notes_and_marked_words_are_not_lost_when_the_page_is_left_at_once(
    page: Page, site: Site
) -> None:
    wait_until_ready(page)
    pair = int(pair_of(page))

    def written() -> tuple[str, int, tuple[str, ...]]:
        with site.workspace() as workspace:
            view = workspace.review.open_pair(pair)
            tags = workspace.review.tags_of([pair]).get(pair, ())
            return view.verdict.note, len(view.wrong_words), tags

    page.keyboard.press("t")
    page.wait_for_selector("#traced-edit [data-edit=name]")
    page.evaluate(ONLY_WHEN_LEFT)
    page.locator("#traced-stage .words .word").first.click()
    page.locator("#traced-edit [data-edit=name]").fill("left")
    page.keyboard.press("Enter")
    page.evaluate("document.querySelector('#traced-steps details.note').open = true")
    page.locator("#traced-steps details.note textarea").fill("on the way")
    page.locator("#traced-steps details.note [data-action=save-note]").click()
    page.goto(f"{site.address}/progress")
    expected = ("on the way", 1, ("left",))
    wait_until(page, lambda: written() == expected)
    page.goto(site.address)
    page.wait_for_selector(STAGE)
    page.wait_for_function("sessionStorage.getItem('traced-unsent-acts') === '[]'")
    assert written() == expected
    with site.workspace() as workspace:
        workspace.review.undo(1)
        workspace.review.mark_word(pair, 0)
        workspace.review.tag([pair], "left", "curator", remove=True)


@pytest.mark.parametrize("delay", [0, 500])
def test_verdicts_at_thirty_keys_a_second_go_to_the_pairs_shown(
    page: Page, site: Site, delay: int
) -> None:
    before = decisions(site)
    wait_until_ready(page)
    page.evaluate(SLOW, delay)
    pressed: list[dict[str, Any]] = page.evaluate(TYPE, [[*"aduabduuadab"], 33])
    wait_until_saved(page)
    taken = {act["pair"]: DECISION[act["key"]] for act in pressed if act["isTaken"]}
    assert len(taken) >= 3
    assert decisions(site) == {**before, **taken}
    for act in pressed:
        assert act["isTaken"] or "was ignored" in act["said"]
    take_back(page, site, before)


def test_a_held_arrow_key_moves_each_time_and_the_next_key_works(page: Page, site: Site) -> None:
    """Tapped twice within a frame, or held: keys were dead for ten seconds."""
    wait_until_ready(page)
    step = page.locator("#traced-steps li[aria-current=step] .t")
    last = page.locator("#traced-chart .point").count() - 1
    page.evaluate(TYPE, [["ArrowRight", "ArrowRight"], 0])
    expect(step).to_have_text("2")
    expect(page.locator("#traced-stage .words .removed")).to_have_count(2)
    expect(page.locator("#traced-chart .dot.at")).to_have_count(1)
    page.locator("#traced-steps li button").nth(3).click()
    expect(step).to_have_text("3")
    page.locator('#traced-chart [data-step="1"] .dot').click()
    expect(step).to_have_text("1")
    page.evaluate(HOLD, ["ArrowLeft", 30])
    expect(step).to_have_text("0")
    page.evaluate(HOLD, ["ArrowRight", 30])
    expect(step).to_have_text(str(min(last, 30)))
    before, pair = decisions(site), pair_of(page)
    page.evaluate(HOLD, ["u", 10])
    wait_until_saved(page)
    assert decisions(site) == {**before, pair: "unsure"}, "a held key decides no pair unseen"
    take_back(page, site, before)


def test_keys_pressed_while_an_act_is_under_way_count_for_the_pair_on_the_screen(
    page: Page, site: Site
) -> None:
    before = decisions(site)
    wait_until_ready(page)
    first = pair_of(page)
    press(page, "u")
    second = pair_of(page)
    wait_until_saved(page)
    page.evaluate(SLOW, 300)
    page.evaluate(TYPE, [["z", "d"], 20])  # the second is meant for a pair that Undo replaces
    expect(page.locator("#traced-toast")).to_contain_text("was ignored")
    expect(page.locator(STAGE)).to_have_attribute("data-pair", first)
    assert decisions(site) == before
    wait_until_ready(page)
    pair = pair_of(page)
    page.locator("#traced-stage .word").first.click()  # on the same pair
    page.evaluate(TYPE, [["d"], 0])
    expect(page.locator(STAGE)).not_to_have_attribute("data-pair", pair)
    wait_until_saved(page)
    assert decisions(site) == {**before, pair: "drop"}
    assert second not in decisions(site)
    page.evaluate(SLOW, 0)
    take_back(page, site, before)


def test_a_verdict_after_a_colleagues_is_returned_with_its_pair(page: Page, site: Site) -> None:
    before = decisions(site)
    wait_until_ready(page)
    colleague = page.context.new_page()
    colleague.goto(page.url)
    colleague.wait_for_selector(STAGE)
    press(colleague, "j")
    second = pair_of(colleague)
    press(colleague, "u")
    wait_until_saved(colleague)
    first = pair_of(page)
    press(page, "b")
    # It was already loaded, in its state before the colleague's verdict.
    assert pair_of(page) == second
    page.keyboard.press("e")
    page.locator(EDITOR).fill("Three lighthouses at dusk.")
    page.keyboard.press("Control+Enter")
    returned = page.locator("#traced-returned .returned")
    expect(returned).to_contain_text("changed in the meantime")
    expect(returned).to_contain_text("Three lighthouses at dusk.")
    assert decisions(site) == {**before, first: "abstract", second: "unsure"}
    page.reload()
    wait_until_ready(page)
    expect(returned).to_contain_text("Three lighthouses at dusk.")
    returned.get_by_role("button", name="Open this pair").click()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)
    expect(page.locator("#traced-stage [data-action=unsure]")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator(EDITOR)).to_have_value("Three lighthouses at dusk.")
    expect(returned).to_be_hidden()
    colleague.close()
    page.keyboard.press("e")
    page.get_by_role("button", name="Discard").click()
    take_back(page, site, before)


@pytest.mark.nightly
def test_a_server_that_dies_loses_no_verdict(
    profile: BrowserContext, scored_pairs: Path, tmp_path: Path
) -> None:
    site = site_of(tmp_path, scored_pairs)
    with running(site) as server, opened_page(profile, site) as page:
        wait_until_ready(page)
        server.kill()
        server.wait(20)
        pair = pair_of(page)
        page.keyboard.press("d")
        expect(page.locator("#traced-returned .unsent")).to_contain_text("1 not saved yet")
        after = pair_of(page)
        assert after != pair
        (refused,) = page.evaluate(TYPE, [["a"], 0])
        assert not refused["isTaken"]
        assert "does not answer" in refused["said"]
        assert decisions(site) == {}
        with running(site):
            wait_until_saved(page)
            assert decisions(site) == {pair: "drop"}
            expect(page.locator("#traced-returned .unsent")).to_be_hidden()
            # The page works on where it was: the server keeps nothing about it.
            assert pair_of(page) == after
            wait_until_ready(page)
            press(page, "u")
            wait_until_saved(page)
            assert decisions(site) == {pair: "drop", after: "unsure"}


def test_what_is_deferred_is_computed_while_a_pair_is_shown(page: Page, site: Site) -> None:
    (file,) = (site.folder / "state").glob("*.db")
    with sqlite3.connect(file) as database:
        query = "SELECT pair_id FROM suggestions WHERE kind = 'correction'"
        (pair,) = database.execute(query).fetchone()
        database.execute("UPDATE trajectories SET whole = 0 WHERE pair_id = ?", (pair,))
        database.execute("UPDATE suggestions SET p_after = NULL WHERE pair_id = ?", (pair,))
    page.goto(f"{site.address}/?pair={pair}")
    expect(page.locator("#traced-steps .traced-steps")).to_have_count(1)
    expect(page.locator("#traced-steps [data-first-step]")).to_have_count(0)
    expect(page.locator("#traced-stage .suggestions small").first).to_contain_text(
        re.compile(r"% → "), timeout=60_000
    )
    assert pair_of(page) == str(pair)
    with sqlite3.connect(file) as database:
        query = "SELECT whole FROM trajectories WHERE pair_id = ?"
        assert database.execute(query, (pair,)).fetchone() == (1,)
