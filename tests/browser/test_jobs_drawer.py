"""Imports by upload, and the drawer that lists them."""

import re

from PIL import Image
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Site, go_to
from tests.traced_ui.test_transfers import zipped_pairs


def test_an_archive_is_uploaded_and_its_refused_rows_can_be_downloaded(page: Page) -> None:
    go_to(page, "datasets")
    page.locator("#upload [data-files]").first.set_input_files(
        {"name": "from-a-browser.zip", "mimeType": "application/zip", "buffer": zipped_pairs()}
    )
    expect(page.locator("#import-report")).to_contain_text("'from-a-browser': 1 pair added")
    with page.expect_download() as download:
        page.locator("#problems").get_by_role("link", name="Download as CSV").click()
    assert "2.png" in download.value.path().read_text(encoding="utf-8")
    page.locator("#traced-jobs-button").click()
    drawer = page.locator("#traced-jobs")
    expect(drawer.locator("li", has_text="from-a-browser").first).to_contain_text("Done")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_a_connection_that_breaks_during_the_import_request_is_no_proof_of_anything(
    page: Page,
) -> None:
    """The import runs, but its answer is lost."""
    go_to(page, "datasets")

    def lose_answer(route: Route) -> None:
        assert route.fetch().ok
        route.abort()

    page.route(re.compile(r"/uploads/\w+/import"), lose_answer)
    page.locator("#upload [data-files]").first.set_input_files(
        {"name": "lost.zip", "mimeType": "application/zip", "buffer": zipped_pairs()}
    )
    says = page.locator("#upload .upload").get_attribute("data-unknown")
    assert says
    expect(page.locator("#upload [data-problem]")).to_have_text(says)
    page.locator("#traced-jobs-button").click()
    imported = page.locator("#traced-jobs li", has_text=re.compile("lost"))
    expect(imported.first).to_contain_text("Done", timeout=60_000)


def test_an_unusual_table_is_uploaded_with_the_options_of_the_form(page: Page, site: Site) -> None:
    """Options entered in a group that is closed again still apply."""
    go_to(page, "datasets")
    folder = site.folder / "windows"
    folder.mkdir()
    Image.new("RGB", (30, 20), "red").save(folder / "a.png")
    table = 'file_name;caption;id\na.png;"A café by the sea";1\na.png;"A café";1\n'
    (folder / "metadata.csv").write_bytes(table.encode("latin-1"))
    folders = page.locator("#upload [data-files]").last
    folders.set_input_files(folder)
    status = page.locator("#import-status")
    expect(status).to_contain_text("under “Encoding”")
    expect(status).not_to_contain_text("--encoding")
    unusual = page.locator("#import-options").get_by_role("button", name="Options")
    expect(page.get_by_label("Encoding")).to_be_visible()  # the failed import opened the group
    page.get_by_label("Encoding").fill("latin-1")
    page.get_by_label("Delimiter").fill("semicolon")
    page.get_by_label("No column contains ids").check()
    unusual.click()
    expect(page.get_by_label("Encoding")).to_be_hidden()
    folders.set_input_files(folder)
    expect(page.locator("#import-report")).to_contain_text("'windows': 2 pairs added")
