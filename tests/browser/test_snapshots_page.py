"""A snapshot is taken, compared and restored on the page, and that is undone, by somebody who is
logged in: a comparison is shown to whoever has asked for it alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import Site, go_to, new_page, served
from tests.browser.test_team import log_in
from tests.fixtures.features import needs

pytestmark = [pytest.mark.browser, needs("snapshots")]


@pytest.fixture(scope="module")
def site(scored_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("snapshots"), scored_pairs, {"Eve": "adjudicator"}) as site:
        yield site


def test_a_snapshot_is_taken_compared_restored_and_that_is_undone(
    profile: BrowserContext, site: Site
) -> None:
    with new_page(profile) as page, site.workspace() as workspace:
        log_in(page, site, "Eve")
        go_to(page, "snapshots")
        expect(page.locator("#snapshots")).to_contain_text("No snapshot yet")
        expect(page.locator("#snapshot-compare")).to_be_hidden()
        page.locator("#snapshot-name textarea, #snapshot-name input").fill("before")
        page.keyboard.press("Enter")
        expect(page.locator("#snapshots li")).to_have_count(1)
        version = workspace.review.open_pair(1).verdict.version
        caption = "A corrected caption."
        workspace.review.decide(1, version, "correction", caption, author="Eve")
        page.locator("#diff-start").click()
        changed = page.locator("#diff [data-kind=captions] li")
        expect(changed).to_have_count(1)
        expect(changed.locator("ins").first).to_be_visible()
        page.locator("#restore > button").click()
        page.locator("#restore-preview").click()
        expect(page.locator("#restore-message")).to_contain_text("1 pair would get back")
        assert workspace.review.open_pair(1).verdict.corrected_caption == caption
        page.locator("#restore-start").click()
        expect(page.locator("#restore-message")).to_contain_text("1 pair got back")
        assert workspace.review.open_pair(1).verdict.decision is None
        page.locator("#restore-undo").click()
        expect(page.locator("#restore-message")).to_contain_text("1 pair as before")
        assert workspace.review.open_pair(1).verdict.corrected_caption == caption
        expect(page.locator("#restore-undo")).to_be_hidden()
        page.locator("#snapshot-start").click()
        expect(page.locator("#snapshot-status [role=alert]")).to_be_visible()  # without a name
        changed.get_by_role("link").click()
        expect(page.locator("#traced-stage [data-pair='1']")).to_be_visible()
