"""A caption of several sentences, or a list of tags, is reviewed claim by claim."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from research.scenes.long_captions import LongCaption, paragraphs, tag_lists
from research.scenes.renderer import render
from tests.browser.conftest import (
    SIZE,
    Site,
    box_of,
    environment_of,
    opened_page,
    served,
    wait_until,
)  # fmt: skip
from tests.browser.test_every_page import (
    COLOURS,
    EVERY_SIZE,
    PHONE,
    RULES,
    RUN_AXE,
    TOO_WIDE,
    WITHOUT_FADING,
)
from tests.browser.test_main_job import identity_of, press
from tests.browser.test_verdicts import SLOW, TYPE, wait_until_ready, wait_until_saved
from tests.fixtures import small_cold_start
from tests.fixtures.shared import SharedFolder

pytestmark = pytest.mark.browser
VAGUE = "What a wonderful time to be alive!"
CLAIM, BAR = "#traced-stage .words .claim", "#traced-stage .claim-bar"
SELECTED = f"{CLAIM}[aria-current=true]"
STAGE = "#traced-stage [data-pair]"


def draw(folder: Path) -> None:
    """Paragraphs with a vague sentence, one of them very long, lists of tags, single sentences."""
    images = folder / "pairs" / "images"
    images.mkdir(parents=True)
    prose = list(paragraphs(7, 31, sentences=(4, 5), errors=(1, 2), pronouns=0.0, vague=0.0))
    prose += list(paragraphs(1, 33, sentences=(40,), errors=(2,), pronouns=0.0, vague=0.0))
    tags = list(tag_lists(4, 32, tags=(10,), errors=(1,)))
    short = list(paragraphs(4, 34, sentences=(1,), errors=(0, 1), pronouns=0.0, vague=0.0))
    rows = []
    for name, captions in (("prose", prose), ("tags", tags), ("short", short)):
        for n, caption in enumerate(captions):
            render(caption.scene, 96).save(images / f"{name}{n}.png")
            row = {"file_name": f"images/{name}{n}.png", "id": f"{name}-{n}"}
            rows.append(json.dumps(row | {"caption": text_of(name, caption)}))
    (folder / "pairs" / "metadata.jsonl").write_text("\n".join(rows), encoding="utf-8")
    site = Site("", folder, folder / "pairs", environment_of(folder))
    with pytest.MonkeyPatch.context() as patch, site.workspace() as workspace:
        small_cold_start.shrink(patch)
        dataset = workspace.find_or_import(str(site.pairs))
        assert workspace.jobs.score(dataset).scored == len(rows)


def text_of(name: str, caption: LongCaption) -> str:
    """Of prose with a paragraph of its own for the vague sentence."""
    first = caption.claims[0].end
    if name != "prose":
        return caption.text
    return f"{caption.text[:first]}\n\n{VAGUE}\n\n{caption.text[first + 1 :]}"


@pytest.fixture(scope="module")
def site(shared_folder: SharedFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    scored = shared_folder("claims-for-the-browser", draw)
    with served(tmp_path_factory.mktemp("claims"), scored) as site:
        yield site


@pytest.fixture(autouse=True)
def untouched_pairs(site: Site) -> Iterator[None]:
    """What a test has said about pairs is taken back, also where it failed: `+` takes back a label
    that is left over."""
    yield
    with site.workspace() as workspace:
        while workspace.review.undo(1, author=workspace.settings.author):
            pass


@pytest.fixture
def page(profile: BrowserContext, site: Site) -> Iterator[Page]:
    with opened_page(profile, site, "?dataset=1&review=all&external_id=prose") as opened:
        wait_until_ready(opened)
        yield opened


def row_of(site: Site, name: str) -> dict[str, Any]:
    """What the database has of a pair."""
    (file,) = (site.folder / "state").glob("*.db")
    with sqlite3.connect(file) as database:
        database.row_factory = sqlite3.Row
        row = database.execute("SELECT * FROM pairs WHERE external_id = ?", [name]).fetchone()
    return {**row, "labels": json.loads(row["claim_labels"] or "[]")}


def wait_for_row(page: Page, site: Site, name: str, **values: Any) -> dict[str, Any]:
    """The pair, once its columns have these values."""
    wait_until(page, lambda: values.items() <= row_of(site, name).items())
    return row_of(site, name)


def labels(row: dict[str, Any]) -> dict[int, bool]:
    return {label["start"]: label["is_right"] for label in row["labels"]}


def starts(page: Page) -> list[int]:
    return page.evaluate(
        "(all) => [...document.querySelectorAll(all)].map((c) => Number(c.dataset.claim))", CLAIM
    )


def selected(page: Page) -> int:
    return int(page.locator(SELECTED).get_attribute("data-claim") or -1)


def go_to_claim(page: Page, start: int) -> None:
    every = starts(page)
    by = every.index(start) - every.index(selected(page))
    for _ in range(abs(by)):
        page.keyboard.press("]" if by > 0 else "[")


def first_step(page: Page) -> str:
    return page.locator("#traced-steps .traced-steps .words").first.inner_text()


def test_the_most_suspicious_claim_is_selected_and_chart_and_steps_are_its_own(
    page: Page, site: Site
) -> None:
    caption = row_of(site, identity_of(page))["caption"]
    assert page.locator("#traced-stage .words .traced-caption").evaluate("e => e.textContent") == (
        caption
    )
    chances = page.locator(CLAIM).evaluate_all(
        "(all) => all.map((c) => Number(c.style.getPropertyValue('--chance')))"
    )
    assert selected(page) == starts(page)[chances.index(max(chances))]
    text = page.locator(SELECTED).inner_text().rstrip(".")
    assert first_step(page) == text
    for key in ("[", "]"):
        before = selected(page)
        page.keyboard.press(key)
        if selected(page) != before:
            shown = page.locator(SELECTED).inner_text().rstrip(".!")
            expect(page.locator("#traced-steps .traced-steps .words").first).to_have_text(shown)
    vague = page.locator(f"{CLAIM}.vague")
    assert vague.inner_text() == VAGUE
    vague.click()
    assert selected(page) == caption.index(VAGUE)
    expect(page.locator(BAR)).to_contain_text("vague")


def test_a_row_of_keys_is_kept_however_slow_the_server_is(page: Page, site: Site) -> None:
    name = identity_of(page)
    every = starts(page)
    go_to_claim(page, every[0])
    page.evaluate(SLOW, 400)
    keys = ["+", "]", "-", "]", "+", "]", "+", "[", "[", "-", "]", "-"]
    page.evaluate(TYPE, [[*keys], 15])
    wait_until_saved(page)
    # The third was called right and then wrong, the second wrong and then nothing.
    row = wait_for_row(page, site, name, decision="wrong")
    assert labels(row) == {every[0]: True, every[2]: False, every[3]: True}
    expect(page.locator(f"{CLAIM}[data-label]")).to_have_count(3)
    assert page.locator("#traced-returned .returned li").count() == 0
    assert identity_of(page) == name, "the pair stays"
    for left in range(len([key for key in keys if key in "+-"]), 0, -1):
        page.keyboard.press("z")
        wait_for_row(page, site, name, verdict_version=row["verdict_version"] + 7 - left)
    assert labels(row_of(site, name)) == {}
    assert row_of(site, name)["decision"] is None
    page.keyboard.press("y")
    again = wait_for_row(page, site, name, verdict_version=row["verdict_version"] + 7)
    assert labels(again) == {every[0]: True}
    assert identity_of(page) == name


def test_a_label_survives_a_reload_before_the_server_has_answered(page: Page, site: Site) -> None:
    name = identity_of(page)
    before = row_of(site, name)["verdict_version"]
    page.evaluate(SLOW, None)
    page.keyboard.press("+")
    page.reload()
    page.wait_for_selector(STAGE)
    wait_until_saved(page)
    row = wait_for_row(page, site, name, verdict_version=before + 1)
    assert [label["is_right"] for label in row["labels"]] == [True]


def test_a_claim_is_taken_out_byte_for_byte_and_right_is_asked_for(page: Page, site: Site) -> None:
    name = identity_of(page)
    caption = row_of(site, name)["caption"]
    page.locator(f"{CLAIM}.vague").click()
    page.keyboard.press("Delete")
    row = wait_for_row(page, site, name, decision="correction")
    assert row["corrected_caption"] == caption.replace(f"{VAGUE}\n\n", "")
    expect(page.locator(f"{CLAIM}.gone")).to_have_text(VAGUE)
    go_to_claim(page, starts(page)[0])
    page.keyboard.press("-")
    wait_until_saved(page)
    page.keyboard.press("a")
    expect(page.locator("[data-question]")).to_be_visible()
    page.keyboard.press("Escape")
    assert row_of(site, name)["decision"] == "correction"


def test_of_two_tabs_the_second_is_told_and_nothing_is_lost(
    page: Page, profile: BrowserContext, site: Site
) -> None:
    name, query = identity_of(page), page.url.partition("?")[2]
    other = profile.new_page()
    other.goto(f"{site.address}/?{query}")
    other.wait_for_selector(STAGE)
    other.keyboard.press("+")
    wait_until_saved(other)
    page.keyboard.press("-")
    returned = page.locator("#traced-returned .returned li")
    expect(returned).to_have_count(1)
    expect(page.locator(f"{CLAIM}[data-label=right]")).to_have_count(1)
    page.keyboard.press("-")  # on what is shown now
    row = wait_for_row(page, site, name, decision="wrong")
    assert [label["is_right"] for label in row["labels"]] == [False]


def test_all_claims_right_is_offered_and_not_given(page: Page, site: Site) -> None:
    name = identity_of(page)
    every = page.locator(CLAIM).count()
    go_to_claim(page, starts(page)[0])
    for _ in range(every):
        page.keyboard.press("+")
        page.keyboard.press("]")
    wait_until_saved(page)
    expect(page.locator(BAR)).to_contain_text("A saves")
    expect(page.locator(".verdicts .offered")).to_have_attribute("data-action", "correct")
    assert row_of(site, name)["decision"] is None
    press(page, "a")
    row = wait_for_row(page, site, name, decision="correct")
    assert set(labels(row).values()) == {True}


def test_a_very_long_caption_is_not_judged_unseen(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/?dataset=1&review=all&external_id=prose-7")
    page.wait_for_selector(STAGE)
    wait_until_saved(page)
    box = page.locator("#traced-stage .words .traced-caption")
    frame = box_of(box)
    assert frame.y - 1 <= box_of(page.locator(SELECTED)).y <= frame.bottom
    assert box.evaluate("e => e.scrollHeight > e.clientHeight + 20")
    page.keyboard.press("u")
    expect(page.locator("#traced-toast")).to_contain_text("goes on")
    assert row_of(site, "prose-7")["decision"] is None


def test_tags_are_chips_and_a_single_sentence_is_as_ever(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/?dataset=1&review=all&external_id=tags")
    page.wait_for_selector(f"{CLAIM}.tag")
    name = identity_of(page)
    page.keyboard.press("-")
    row = wait_for_row(page, site, name, decision="wrong")
    (label,) = row["labels"]
    assert row["caption"][label["start"] : label["end"]] == label["text"]
    page.goto(f"{site.address}/?dataset=1&review=all&external_id=short")
    page.wait_for_selector(STAGE)
    assert page.locator(f"{CLAIM}, {BAR}").count() == 0
    page.keyboard.press("]")
    expect(page.locator("#traced-toast")).to_contain_text("one claim")
    page.keyboard.press("-")
    assert row_of(site, identity_of(page))["verdict_version"] == 0


def test_lists_show_the_claim_that_counts(page: Page) -> None:
    text = page.locator(SELECTED).inner_text()
    row = page.locator("#traced-queue li[aria-current=true] .text")
    assert text in row.inner_text()
    page.keyboard.press("g")
    expect(page.locator(".pick .traced-caption").first).to_contain_text(text)
    page.locator(".tool-table").click()
    expect(page.locator("tr.pick .claim-of").first).to_contain_text(text)


def test_vague_sentences_are_removed_from_all_captions_at_once(page: Page, site: Site) -> None:
    page.keyboard.press("f")
    page.locator("[data-form] [data-edit=vague]").check()
    page.locator("[data-bulk=preview]").click()
    expect(page.locator("[data-form] .edits li")).not_to_have_count(0)
    page.locator("[data-bulk=apply]").click()
    row = row_of(site, "prose-0")
    row = wait_for_row(
        page, site, "prose-0", corrected_caption=row["caption"].replace(f"{VAGUE}\n\n", "")
    )
    assert row["decision"] is None
    page.locator("#traced-toolbar .tool-undo").click()
    wait_for_row(page, site, "prose-0", corrected_caption=None)


@pytest.mark.parametrize("query", ["external_id=prose", "external_id=tags"])
def test_claims_are_accessible_and_fit(profile: BrowserContext, site: Site, query: str) -> None:
    with opened_page(profile, site, f"?dataset=1&review=all&{query}") as page:
        page.evaluate(Axe().axe_script)
        page.add_style_tag(content=WITHOUT_FADING)
        page.keyboard.press("+")
        wait_until_saved(page)
        problems = page.evaluate(RUN_AXE, [False, True, COLOURS])
        for width, height in EVERY_SIZE:
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(TOO_WIDE) == []
            if width in (SIZE[0], PHONE[0]):
                problems += page.evaluate(RUN_AXE, [False, False, RULES])
        assert problems == []


def test_at_200_percent_every_suggestion_can_be_brought_above_the_verdicts(
    profile: BrowserContext, site: Site
) -> None:
    size = (SIZE[0] // 2, SIZE[1] // 2)
    with opened_page(profile, site, "?dataset=1&review=all&order=position", size) as page:
        last = page.locator(".decide .suggestions > li").last
        seen = set()
        for pair in (7, 11):  # both with claims or suggestions
            page.goto(f"{site.address}/?dataset=1&review=all&pair={pair}")
            expect(page.locator(f"#traced-stage [data-pair='{pair}']")).to_be_visible()
            expect(last).to_be_visible()
            seen.add(page.locator(BAR).count())
            first = box_of(page.locator(".decide .suggestions > li").first)
            last.evaluate("(e) => e.scrollIntoView({ block: 'nearest' })")
            bar = box_of(page.locator(".decide .verdicts"))
            assert first.bottom <= bar.y + 1, "without scrolling"
            assert box_of(last).bottom <= bar.y + 1
        assert 1 in seen
