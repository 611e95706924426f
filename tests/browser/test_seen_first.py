"""Nobody judges what was not on the screen, and an address opens what it names."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from research.scenes import demo
from tests.browser.conftest import Site, held, opened_page, press_at_once
from tests.browser.test_editing import DRAFT
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import EDITOR, STAGE, decisions, wait_until_saved

pytestmark = pytest.mark.browser
LONG = "\n\n".join([" ".join(f"A sentence with a dog, the {n}." for n in range(26))] * 6)
CAPTION = "#traced-stage .words .traced-caption"
TOAST = "#traced-toast"
PLACE = "#traced-stage .stage > .empty"


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    return separate_site


@pytest.fixture
def page(profile: BrowserContext, site: Site) -> Iterator[Page]:
    with opened_page(profile, site) as opened:
        yield opened


def add_dataset(site: Site, name: str, *captions: str) -> int:
    """Import drawn pictures with these captions; the id of the dataset."""
    folder = site.folder / name
    demo.write(folder, len(captions), 1, 64, seed=5)
    metadata = folder / "metadata.jsonl"
    rows = [json.loads(line) for line in metadata.read_text().splitlines()]
    texts = [json.dumps(row | {"caption": text}) for row, text in zip(rows, captions, strict=False)]
    metadata.write_text("\n".join(texts))
    with site.workspace() as workspace:
        return workspace.find_or_import(str(folder))


def test_a_long_caption_is_judged_once_it_was_seen_whole_or_the_curator_knows(
    page: Page, site: Site
) -> None:
    dataset = add_dataset(site, "long", LONG, LONG, "A dog.")
    page.goto(f"{site.address}/?dataset={dataset}&order=position&review=all")
    page.wait_for_selector(STAGE)
    caption, more = page.locator(CAPTION), page.locator("[data-read-on]")
    assert caption.inner_text() == LONG
    expect(more).to_be_visible()
    before, pair = decisions(site), pair_of(page)
    press_at_once(page, "a", "a")  # a key that bounces is no answer
    expect(page.locator(TOAST)).to_contain_text("goes on")
    assert pair_of(page) == pair
    more.click()
    caption.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(more).to_be_hidden()
    page.wait_for_function("Number(document.querySelector('[data-ready]')?.dataset.ready) >= 1")
    with held(page, "**/review/acts"):  # the first is confirmed after the second was refused
        press(page, "a")  # read to its end
        pair = pair_of(page)
        expect(more).to_be_visible()
        page.keyboard.press("d")
        expect(page.locator(TOAST)).to_contain_text("goes on")
    wait_until_saved(page)
    expect(page.locator(TOAST)).to_contain_text("goes on")
    page.wait_for_timeout(600)
    press(page, "d")  # told
    expect(page.locator(CAPTION)).to_have_text("A dog.")
    expect(more).to_be_hidden()
    wait_until_saved(page)
    assert sorted(set(decisions(site).values()) - set(before.values())) == ["correct", "drop"]


def test_a_picture_that_cannot_be_shown_is_not_judged_unless_the_curator_says_so(
    page: Page, site: Site
) -> None:
    dataset = add_dataset(site, "moved", "A dog.", "A cat.")
    (site.folder / "moved").rename(site.folder / "elsewhere")
    page.goto(f"{site.address}/?dataset={dataset}")
    page.wait_for_selector(STAGE)
    expect(page.locator(PLACE)).to_contain_text(str(site.folder / "moved"))
    before, pair = decisions(site), pair_of(page)
    page.keyboard.press("a")
    expect(page.locator(TOAST)).to_contain_text("nothing was saved")
    page.keyboard.press("e")
    page.keyboard.type("A bird.")
    page.keyboard.press("Control+Enter")
    assert pair_of(page) == pair
    assert decisions(site) == before
    page.keyboard.press("Escape")
    page.locator(PLACE).get_by_role("link", name="Settings").click()
    expect(page.locator("#relocate-folder")).to_be_visible()
    page.wait_for_url(re.compile("/settings"))
    page.go_back()
    page.locator(PLACE).get_by_role("button", name="Judge without pictures").click()
    press(page, "d")
    wait_until_saved(page)
    assert decisions(site) == {**before, pair: "drop"}


def test_scoring_says_what_it_could_not_read(page: Page, site: Site) -> None:
    dataset = add_dataset(site, "gone", "A dog.", "A cat.", "A bird.")
    (site.folder / "gone").rename(site.folder / "away")
    page.goto(f"{site.address}/datasets?dataset={dataset}")
    expect(page.locator("#traced-dataset")).to_have_value(str(dataset))
    page.locator("#score-start").click()
    status = page.locator("#job-status .traced-note")
    expect(status).to_contain_text("3 of 3 pairs could not be scored")
    expect(status).to_have_class(re.compile("warning"))
    status.get_by_role("link", name="Settings").click()
    expect(page.locator("#relocate-folder")).to_be_visible()


def test_an_address_opens_its_pair_and_draft_whatever_dataset_was_used_last(
    page: Page, site: Site
) -> None:
    dataset = add_dataset(site, "other", "A dog.", "A cat.", "A bird.")
    page.goto(f"{site.address}/?dataset={dataset}&order=position")
    expect(page.locator("#traced-dataset")).to_have_value(str(dataset))
    press(page, "j")
    pair = pair_of(page)
    page.wait_for_url(re.compile(rf"pair={pair}\b"))
    page.keyboard.press("e")
    page.locator(EDITOR).fill("A cow.")
    page.reload()
    expect(page.locator("#traced-dataset")).to_have_value(str(dataset))
    page.wait_for_timeout(1000)  # for what the header might do
    assert pair_of(page) == pair
    expect(page.locator(EDITOR)).to_be_focused()
    expect(page.locator(EDITOR)).to_have_value("A cow.")
    page.keyboard.press("Escape")
    expect(page.locator(DRAFT)).to_be_visible()
