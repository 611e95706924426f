"""Words marked as wrong, saved and shared views, and progress in the browser."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site, box_of, opened_page
from tests.browser.test_main_job import pair_of, press
from tests.fixtures.features import needs

pytestmark = pytest.mark.browser
PASTE_PICTURE = """async () => {
  const canvas = new OffscreenCanvas(8, 8);
  canvas.getContext("2d").fillRect(0, 0, 8, 8);
  const picture = await canvas.convertToBlob();
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([picture], "a.png", { type: "image/png" }));
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_a_word_is_marked_as_wrong_by_keyboard_and_by_click(page: Page) -> None:
    page.keyboard.press("w")
    first = page.locator("#traced-stage .word:focus")
    expect(first).to_have_count(1)
    place = int(first.get_attribute("data-word") or 0)
    expect(first).to_have_attribute("title", re.compile(r"removed at step \d+"))
    page.keyboard.press("ArrowLeft" if place else "ArrowRight")
    other = place - 1 if place else 1
    page.keyboard.press("Enter")
    expect(page.locator("#traced-toast")).to_contain_text("is marked as wrong")
    word = page.locator(f'#traced-stage .word[data-word="{other}"]')
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(word).to_be_focused()  # across the redraw
    before = pair_of(page)
    page.keyboard.press("Escape")
    expect(page.locator("#traced-stage .word:focus")).to_have_count(0)
    expect(page.locator("#traced-toast .traced-note")).to_have_count(0)  # it fades by itself
    word.click()
    expect(word).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#traced-toast .traced-note")).to_be_visible()
    assert pair_of(page) == before
    page.keyboard.press("Escape")
    press(page, "j")


def test_a_skip_link_leads_to_the_verdicts_and_a_button_explains_the_numbers(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#traced-stage .verdicts button").first).to_be_focused()
    page.locator("#traced-steps [data-tab=details] summary").click()
    page.get_by_role("button", name="What the numbers mean").click()
    expect(page.locator("#traced-numbers")).to_contain_text("Correct captions usually gain less")
    page.keyboard.press("Escape")
    expect(page.locator("#traced-numbers")).to_be_hidden()


def test_a_custom_key_is_shown_on_its_button(page: Page) -> None:
    page.keyboard.press("?")
    change = page.get_by_role("button", name="Change the key: not sure")
    expect(change).to_be_hidden()
    page.locator("[data-keys-edit]").check()
    status = page.locator("[data-keys-say]")
    change.click()
    page.keyboard.press("d")  # already in use
    expect(status).to_contain_text("Change that one first")
    change.click()
    page.keyboard.press("9")
    expect(page.locator("[data-key-of=unsure]")).to_have_text("9")
    page.keyboard.press("Escape")
    button = page.locator("#traced-stage [data-action=unsure] kbd")
    expect(button).to_have_text("9")
    pair = pair_of(page)
    page.keyboard.press("u")  # unassigned now
    press(page, "9")
    expect(page.locator("#traced-toast")).to_contain_text("Not sure. Saved")
    expect(button).to_have_text("9")
    press(page, "z")
    assert pair_of(page) == pair
    page.keyboard.press("?")
    page.locator("[data-keys-reset]").click()
    page.wait_for_selector("#traced-stage [data-pair]")
    expect(button).to_have_text("U")


def test_a_view_is_saved_and_a_link_restores_it(page: Page, site: Site) -> None:
    queue = page.locator("#traced-queue")
    queue.locator("[data-filter=review]").select_option("all")
    expect(page).to_have_url(re.compile("review=all"))  # the queue is drawn anew
    queue.locator("[data-filter=order]").select_option("random")
    expect(queue).to_contain_text("A random sample")
    queue.locator("details.more summary").click()
    queue.locator("[data-filter=s_0_to]").fill("0.9")
    queue.locator("[data-filter=s_0_to]").press("Tab")
    expect(page).to_have_url(re.compile("s_0_to=0.9"))
    # An open drawer stays open when the page is redrawn.
    expect(queue.locator("[data-filter=icc_from]")).to_be_visible()
    queue.locator("[data-filter=icc_from]").focus()
    page.keyboard.press("Escape")  # shortcuts are off while a field has the focus
    press(page, "j")
    queue.locator("[data-view-name]").fill("my audit")
    queue.locator("[data-action=save-view]").click()
    expect(page.locator("#traced-toast")).to_contain_text("my audit")
    pair = pair_of(page)
    expect(page).to_have_url(re.compile(rf"pair={pair}\b"))  # updated a moment after the stage
    link = page.url
    colleague = page.context.new_page()
    colleague.goto(link)
    colleague.wait_for_selector(f'#traced-stage [data-pair="{pair}"]')
    theirs = colleague.locator("#traced-queue")
    expect(theirs.locator("[data-filter=order]")).to_have_value("random")
    expect(theirs.locator("[data-filter=s_0_to]")).to_have_value("0.9")
    colleague.goto(site.address)
    colleague.wait_for_selector("#traced-stage [data-pair]")
    expect(theirs.locator("[data-filter=order]")).to_have_value("p_error")
    theirs.locator(".views [data-name='my audit']").click()
    expect(theirs.locator("[data-filter=order]")).to_have_value("random")
    expect(theirs.locator(".chips.set")).to_contain_text("Match (s) to: 0.9")
    theirs.locator("details.more summary").click()
    theirs.locator("[data-action=delete-view]").click()
    expect(colleague.locator("#traced-toast")).to_contain_text("was deleted")
    expect(theirs.locator(".views")).to_have_count(0)
    colleague.close()


def test_one_verdict_in_the_grid_applies_to_many_pairs(page: Page) -> None:
    queue = page.locator("#traced-queue")
    before = queue.locator(".progress").first.text_content() or ""
    page.keyboard.press("g")
    cards = page.locator("#traced-stage .pick")
    expect(cards.first).to_be_visible()
    expect(cards.locator(".word.suspect").first).to_be_visible()
    expect(queue.locator(".pairs")).to_be_hidden()  # the cards show the same pairs
    small = box_of(cards.first)
    page.locator("[data-card-size]").fill("400")
    assert box_of(cards.first).width > 1.5 * small.width
    cards.first.locator("[data-enlarge]").click()
    expect(page.locator("dialog.enlarged img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.enlarged")).to_be_hidden()
    expect(page.locator("[data-count]")).to_have_text("none selected")
    page.locator("[data-card-size]").fill("190")
    cards.nth(0).click()
    cards.nth(3).locator("input").click(modifiers=["Shift"])
    expect(page.locator("[data-count]")).to_have_text("4 selected")
    cards.nth(1).click()
    expect(page.locator("[data-count]")).to_have_text("3 selected")
    page.keyboard.press("b")
    expect(page.locator("#traced-toast")).to_contain_text("3 pairs saved")
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("3 pairs at once")
    expect(queue.locator(".progress").first).to_have_text(before)
    page.keyboard.press("Control+a")
    expect(page.locator("[data-count]")).to_have_text(re.compile("^[0-9]+ selected"))
    page.keyboard.press("Control+a")
    expect(page.locator("[data-count]")).to_have_text("none selected")
    page.keyboard.press("g")
    expect(page.locator("#traced-stage [data-pair]")).to_be_visible()


def test_similar_pairs_are_listed_and_the_queue_is_restored(page: Page) -> None:
    queue, before = page.locator("#traced-queue"), pair_of(page)
    word = page.locator("#traced-steps [data-action=same-word]")
    page.locator("#traced-steps summary", has_text="Looks like").click()
    expect(word).to_be_visible()
    label = word.inner_text()
    count = int(label.rsplit("·", 1)[1])
    page.keyboard.press("m")
    expect(queue.locator(".alike")).to_contain_text("suspect word")
    expect(queue).to_contain_text(re.compile(f"{count} pairs? in this queue"))
    expect(page).to_have_url(re.compile("suspect_word="))
    page.keyboard.press("m")
    expect(queue.locator(".alike")).to_have_count(0)
    assert pair_of(page) == before, "one is back where one was"
    page.keyboard.press("p")
    expect(queue.locator(".alike")).to_contain_text("pictures like")
    # The most similar picture is the picture itself.
    expect(queue.locator(".pairs [data-action=open]").first).to_have_attribute(
        "data-target", before
    )
    queue.locator("[data-action=clear-search]").click()
    expect(queue.locator(".alike")).to_have_count(0)


@needs("picture_map")
def test_a_box_among_pairs_by_their_numbers_is_a_queue(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/plane?dataset=1")  # the address of an earlier version
    expect(page).to_have_url(re.compile(r"/map\?layout=icc"))
    expect(page.locator("#map-tiles img").first).to_be_visible()
    expect(page.locator("#map-tiles span")).to_have_count(3)  # the names of the regions
    expect(page.locator("#plane-thresholds")).to_contain_text("For vague captions")
    ground = box_of(page.locator("#map-chart .nsewdrag").first)
    page.mouse.move(ground.x + ground.width * 0.5, ground.y + 5)
    page.mouse.down()
    page.mouse.move(ground.x + ground.width * 0.98, ground.y + ground.height * 0.9, steps=5)
    page.mouse.up()
    link = page.locator("#map-region a.t-button").first
    expect(link).to_have_attribute("href", re.compile(r"p_error_from=0\.[45]"))
    expect(link).to_have_attribute("href", re.compile(r"icc_from=0\."))
    link.click()
    expect(page.locator("#traced-stage .grid-view")).to_be_visible()
    expect(page).to_have_url(re.compile(r"p_error_from=0\.[45]"))
    expect(page.locator("#traced-queue [data-filter=p_error_from]")).to_have_value(
        re.compile(r"0\.[45]")
    )


def test_the_words_that_make_a_caption_abstract_are_shown(page: Page) -> None:
    page.locator("#traced-queue [data-filter=review]").select_option("all")
    expect(page).to_have_url(re.compile("review=all"))  # the queue is drawn anew
    page.locator("#traced-queue [data-filter=order]").select_option("icc")
    expect(page).to_have_url(re.compile("order=icc"))
    page.locator("#traced-queue .pairs button").first.click()
    expect(page.locator("#traced-stage")).to_contain_text("vague caption")
    words = page.locator("#traced-abstract .traced-words .word")
    expect(words.first).to_be_visible(timeout=20_000)
    expect(words.first).to_have_attribute("title", re.compile("without this word it changes by"))
    expect(page.locator("#traced-abstract")).to_contain_text("Vaguer because of")


def test_one_verdict_for_a_whole_queue_is_previewed_and_undone(page: Page) -> None:
    page.keyboard.press("v")
    form = page.locator("#traced-edit [data-form=rule]")
    form.locator("[data-edit=decision]").select_option("unsure")
    form.locator("[data-edit=decision]").press("Enter")
    expect(form.locator(".sample img")).not_to_have_count(0)
    number = int(form.locator(".counts").inner_text().split()[0])
    form.locator("[data-edit=decision]").select_option("drop")
    form.locator("[data-bulk=apply]").click()
    toast = page.locator("#traced-toast")
    expect(toast).to_contain_text("look again")  # another verdict than in the preview
    form.locator("[data-bulk=apply]").click()
    expect(toast).to_contain_text(f"{number} pairs decided by a rule")
    expect(form).to_have_count(0)
    page.keyboard.press("z")
    expect(toast).to_contain_text(f"{number} pairs at once")
    in_queue = re.compile(f"{number} pairs? in this queue")
    expect(page.locator("#traced-queue")).to_contain_text(in_queue)


def test_text_is_pasted_into_a_field_also_with_a_picture_of_it(page: Page) -> None:
    """As spreadsheets and word processors copy it."""
    field = page.locator('#traced-queue [data-filter="text"]')
    before = pair_of(page)
    is_prevented = field.evaluate(
        """field => {
          const clipboardData = new DataTransfer();
          clipboardData.items.add(new File(["picture"], "a.png", { type: "image/png" }));
          clipboardData.setData("text/plain", "a dog");
          const how = { clipboardData, bubbles: true, cancelable: true };
          const event = new ClipboardEvent("paste", how);
          field.dispatchEvent(event);
          return event.defaultPrevented;
        }"""
    )
    assert not is_prevented
    assert pair_of(page) == before


def test_the_first_picture_that_is_pasted_is_looked_for(page: Page) -> None:
    """What reads it is loaded only then."""
    with (
        page.expect_request(re.compile(r"/pasted\.js$")),
        page.expect_request(lambda sent: '"find-picture"' in (sent.post_data or "")),
    ):
        page.evaluate(PASTE_PICTURE)


def test_a_picture_is_pasted_and_its_script_does_not_come(
    profile: BrowserContext, site: Site
) -> None:
    """The program was replaced since, or does not answer."""
    with opened_page(profile, site) as page:
        page.route("**/pasted.js", lambda route: route.fulfill(status=404))
        page.evaluate(PASTE_PICTURE)
        expect(page.locator("#traced-toast .traced-note.warning")).to_be_visible()
