"""Several curators at once, each in a separate browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import PASSWORD, PATIENCE, Site, clean, go_to, new_page, tab_of
from tests.browser.test_main_job import pair_of, press

pytestmark = pytest.mark.browser


class People(dict[str, Page]):
    """The page of each person by name; a person is logged in on first access."""

    def __init__(self, profiles: dict[str, BrowserContext], browser: Browser, site: Site) -> None:
        super().__init__()
        self._profiles, self._browser, self._site = profiles, browser, site

    def __missing__(self, name: str) -> Page:
        if name not in self._profiles:
            self._profiles[name] = self._browser.new_context()
            self._profiles[name].set_default_timeout(PATIENCE)
        page = self[name] = tab_of(self._profiles[name])
        log_in(page, self._site, name)
        return page


@pytest.fixture(scope="module")
def profiles() -> Iterator[dict[str, BrowserContext]]:
    """Each person's browser context, which keeps loaded scripts between tests."""
    opened: dict[str, BrowserContext] = {}
    yield opened
    for profile in opened.values():
        profile.close()


@pytest.fixture
def people(
    profiles: dict[str, BrowserContext], browser: Browser, team_site: Site
) -> Iterator[People]:
    opened = People(profiles, browser, team_site)
    yield opened
    for name in opened:
        clean(profiles[name])


def log_in(page: Page, site: Site, name: str) -> None:
    page.goto(site.address)
    expect(page).to_have_url(re.compile("/login"))
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("#traced-stage [data-pair]")


def test_two_people_judge_a_pair_independently_and_a_third_settles_it(
    people: People, team_site: Site
) -> None:
    ada, ben, eve = people["Ada"], people["Ben"], people["Eve"]
    for page, buttons in (
        ("team", ["team-save"]),
        ("settings", ["rename-start", "relocate-start"]),
        ("guidelines", ["guidelines-save"]),
    ):
        go_to(ada, page)
        expect(ada.get_by_text("Only an adjudicator")).to_be_visible()
        for button in buttons:
            expect(ada.locator(f"#{button}")).to_be_disabled()
    go_to(ada, "review")
    go_to(eve, "team")
    share = eve.locator("#team-share input[type=number]")
    share.fill("100")
    share.press("Tab")
    number = eve.locator("#team-people input")
    number.fill("-3")
    number.press("Tab")
    expect(number).to_have_value("2")
    eve.locator("#team-save").click()
    expect(eve.locator("#team-message")).to_contain_text("Saved. Each pair goes to 2 people")
    pair = pair_of(ada)
    press(ada, "d")
    ben.goto(f"{team_site.address}/?pair={pair}")
    ben.wait_for_selector(f'#traced-stage [data-pair="{pair}"]')
    expect(ben.locator('#traced-stage [aria-pressed="true"]')).to_have_count(0)
    expect(ben.locator("#traced-steps")).not_to_contain_text("Ada")
    press(ben, "a")
    expect(ben.locator("#traced-toast")).to_contain_text("Saved")

    go_to(eve, "review")
    eve.locator("#traced-queue [data-filter=review]").select_option("disputed")
    eve.wait_for_selector(f'#traced-stage [data-pair="{pair}"]')
    history = eve.locator("#traced-steps details", has_text="History")
    history.locator("summary").click()
    expect(history).to_contain_text("Ada")
    expect(history).to_contain_text("Ben")
    go_to(eve, "team")
    expect(share).to_have_value("100")
    expect(eve.locator("#team-share input[type=range]")).to_have_attribute("min", "0")
    page = eve.locator("#team-page")
    expect(page).to_contain_text("Disputed: 1")
    expect(page).to_contain_text("Ada and Ben")
    go_to(eve, "review")
    eve.locator("#traced-stage .traced-caption").click()
    eve.keyboard.press("a")
    expect(eve.locator("#traced-queue")).to_contain_text("0 pairs in this queue")
    go_to(eve, "team")
    expect(page).to_contain_text("No pair is waiting for an adjudicator")


def test_an_added_account_logs_in_and_out_and_not_by_a_wrong_password(
    people: People, team_site: Site, profile: BrowserContext
) -> None:
    eve = people["Eve"]
    go_to(eve, "team")
    eve.get_by_text("Add a person").click()
    eve.locator("#account-name :is(input, textarea)").fill("Flo")
    eve.locator("#account-password input").fill(PASSWORD)
    eve.locator("#account-add").click()
    expect(eve.locator("#account-message")).to_contain_text("Flo can now log in")
    expect(eve.locator("#team-accounts")).to_contain_text("Flo")
    expect(eve.locator("#account-password input")).to_have_value("")
    with new_page(profile) as page:
        page.goto(team_site.address)
        page.get_by_label("Name").fill("Flo")
        page.get_by_label("Password").fill("not the password")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        log_in(page, team_site, "Flo")
        expect(page.locator("#traced-who")).to_contain_text("Flo")
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(re.compile("/login"))
        page.goto(team_site.address)
        expect(page).to_have_url(re.compile("/login"))


def test_a_login_and_a_key_end_only_after_a_second_press(
    people: People, team_site: Site, profile: BrowserContext
) -> None:
    with team_site.workspace() as workspace:
        workspace.accounts.add("Gus", PASSWORD, "curator")
    eve = people["Eve"]
    go_to(eve, "team")
    disable = eve.get_by_role("button", name="Disable the login of Gus")
    disable.click()
    question = eve.locator("#account-disabling")
    expect(question).to_contain_text("Gus")
    eve.locator("#account-disabling-keep").click()
    expect(question).to_be_hidden()
    with new_page(profile) as page:
        log_in(page, team_site, "Gus")
    disable.click()
    eve.locator("#account-disabling-sure").click()
    expect(eve.get_by_role("button", name="Enable the login of Gus")).to_be_visible()
    expect(question).to_be_hidden()

    eve.get_by_text("Keys for programs").click()
    eve.locator("#key-label :is(input, textarea)").fill("nightly report")
    eve.locator("#key-add").click()
    expect(eve.locator("#key-message")).to_contain_text("Copy it now")
    revoke = eve.get_by_role("button", name="Revoke nightly report")
    revoke.click()
    question = eve.locator("#key-revoking")
    expect(question).to_contain_text("nightly report")
    eve.locator("#key-revoking-keep").click()
    expect(question).to_be_hidden()
    expect(revoke).to_be_visible()
    revoke.click()
    eve.locator("#key-revoking-sure").click()
    expect(revoke).to_have_count(0)
