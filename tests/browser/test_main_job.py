"""The main workflow: review by keyboard, undo, retrain, export, check the exported decisions; and
the end of the review, what was found and what comes next."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from backend.review.charts import progress_of
from backend.workspace import QueueFilter
from tests.browser.conftest import PAIRS, Site, box_of, go_to
from tests.browser.test_every_page import EVERY_SIZE, TOO_WIDE

pytestmark = pytest.mark.browser
END = "#traced-stage .finish"


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """Ten pairs are decided, and the others are ranked by them: its first pairs have suggestions,
    whatever other files have decided."""
    return separate_site


def pair_of(page: Page) -> str:
    return page.locator("#traced-stage [data-pair]").get_attribute("data-pair") or ""


def identity_of(page: Page) -> str:
    """The id of the pair in its dataset, as shown."""
    return page.locator("#traced-stage .judged .name").inner_text()


def press(page: Page, key: str) -> None:
    """Press a key and wait until another pair is on the screen."""
    before = pair_of(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.querySelector('#traced-stage [data-pair]').dataset.pair !== before"
        " && !document.querySelector('[data-painted=false]')",
        arg=before,
    )


def test_ten_pairs_by_keyboard_undo_retrain_export(page: Page, site: Site, tmp_path: Path) -> None:
    decided: dict[str, tuple[str, str]] = {}  # id -> (decision, expected exported caption)
    counts = page.locator("#traced-queue .progress").first.inner_text()
    before_all = int(counts.split()[0])

    def caption() -> str:
        return page.locator("#traced-stage .traced-caption").first.inner_text()

    meant = {"a": "correct", "d": "drop", "b": "abstract", "u": "unsure"}
    for key in "adbudada":
        decided[identity_of(page)] = (meant[key], caption())
        press(page, key)

    # The ninth: the first suggestion. All pairs at the top of the ranking have one.
    if page.locator(".suggestions li").count() == 0:
        page.keyboard.press("s")
    page.wait_for_selector(".suggestions li")
    offered = page.locator("[data-action=suggestion-1]").get_attribute("title") or ""
    decided[identity_of(page)] = ("correction", offered.partition("\n")[0])
    press(page, "1")

    # The tenth: a typed correction. Shortcuts must not fire during typing.
    mine = "A bad dauber drew this: abdu 123 <b>&amp;</b> ${7*6}"
    decided[identity_of(page)] = ("correction", mine)
    before = pair_of(page)
    page.keyboard.press("e")
    area = page.locator("#traced-stage .editor textarea")
    expect(area).to_be_focused()
    area.fill("")
    page.keyboard.type(mine)
    assert pair_of(page) == before
    checked = page.locator("#traced-stage .editor .checked")
    expect(checked).to_contain_text("likely wrong")
    expect(checked.locator(".suspect").first).to_be_visible()
    expect(checked).to_be_in_viewport()
    press(page, "Control+Enter")
    expect(page.locator("#traced-queue")).to_contain_text(
        f"{before_all + 10} of {PAIRS} pairs reviewed"
    )

    # Undo the last and decide it differently.
    last = list(decided)[-1]
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
    expect(page.locator("#traced-queue")).to_contain_text(
        f"{before_all + 9} of {PAIRS} pairs reviewed"
    )
    assert identity_of(page) == last
    decided[last] = ("drop", "")
    press(page, "d")

    # Retrain and adopt.
    go_to(page, "retrain")
    page.locator("#train-start").click()
    expect(page.locator("#train-status")).to_contain_text("Trained", timeout=180_000)
    expect(page.locator("#train-comparison")).to_contain_text("Candidate")
    page.locator("#adopt").click()
    expect(page.locator("#train-status")).to_contain_text("Now in use")
    expect(page.locator("#train-comparison")).to_contain_text("In use: Retrained 1")

    # Export.
    out = tmp_path / "clean"
    go_to(page, "export")
    expect(page.locator("#export-counts")).to_contain_text("left out, decided: removed")
    page.locator("#export-out textarea, #export-out input").fill(str(out))
    page.locator("#export-start").click()
    expect(page.locator("#export-status")).to_contain_text("pairs written to")

    exported = {
        row["id"]: row
        for row in map(
            json.loads, (out / "train" / "metadata.jsonl").read_text("utf-8").splitlines()
        )
    }
    originals = {
        row["id"]: row["caption"]
        for row in map(json.loads, (site.pairs / "metadata.jsonl").read_text("utf-8").splitlines())
    }
    for identity, (decision, text) in decided.items():
        if decision in ("drop", "abstract"):
            assert identity not in exported
        else:
            assert exported[identity]["verdict"] == decision
            wanted = text if decision == "correction" else originals[identity]
            assert exported[identity]["caption"] == wanted
            assert exported[identity]["original_caption"] == originals[identity]
            assert (out / "train" / exported[identity]["file_name"]).is_file()
    # Other tests use the same server: what they have decided is not looked at.
    untouched = {identity for identity, row in exported.items() if not row["verdict"]}
    assert untouched
    assert untouched.isdisjoint(decided)
    assert all(exported[i]["caption"] == originals[i] for i in untouched)
    assert "Retrained 1" in (out / "README.md").read_text()


def test_the_last_verdict_leads_to_what_was_found_and_to_the_export(page: Page, site: Site) -> None:
    with site.workspace() as workspace:
        rows = workspace.review.queue_page(QueueFilter(1, "unreviewed"), limit=PAIRS).rows
        for place, row in enumerate(rows[:-1]):
            decision = "drop" if place % 2 else "correct"
            workspace.review.decide(row.pair_id, row.verdict_version, decision)
        removed = progress_of(workspace.store, 1).by_decision["drop"]
    page.goto(f"{site.address}/?dataset=1")
    shown = page.locator("#traced-stage [data-pair]")
    expect(shown).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(END)).to_be_visible()
    expect(page.locator(END)).to_contain_text(f"{removed} removed")
    for width, height in EVERY_SIZE:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert page.evaluate(TOO_WIDE) == []
        sentence, following = (
            box_of(page.locator(f"{END} {part}")) for part in ("p:not(.next)", ".next")
        )
        assert sentence.bottom <= following.y
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("z")  # also the last verdict can be taken back
    expect(shown).to_be_visible()
    page.keyboard.press("a")
    page.locator(END).get_by_role("link", name="Progress").click()
    page.wait_for_url("**/progress**")
    expect(page.locator("#progress-cards .finish")).to_be_visible()
    page.locator("#progress-cards .finish").get_by_role("link", name="Export").click()
    page.wait_for_url("**/export**")
