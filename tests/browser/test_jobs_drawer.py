"""The drawer of jobs: running jobs, cancel and retry, by mouse and by keyboard."""

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, go_to
from tests.datasets.folders import malformed
from tests.traced_ui.test_transfers import zipped_pairs

DRAWER = "#traced-jobs"


def open_drawer(page: Page) -> None:
    page.locator("#traced-jobs-button button").click()
    expect(page.locator(DRAWER)).to_be_visible()


def begin_import(page: Page, path: str) -> None:
    go_to(page, "datasets")
    page.locator("#import-path textarea, #import-path input").fill(path)
    page.locator("#import-start").click()


def test_a_finished_import_is_listed_in_the_drawer_and_the_page_stays(
    page: Page, site: Site
) -> None:
    folder = malformed(site.folder / "for-the-drawer")
    begin_import(page, str(folder))
    expect(page.locator("#import-status")).to_contain_text("pairs added")
    open_drawer(page)
    row = page.locator(f"{DRAWER} li", has_text="for-the-drawer").first
    expect(row).to_contain_text("Done")
    page.keyboard.press("Escape")
    expect(page.locator(DRAWER)).to_be_hidden()
    expect(page.locator("#traced-jobs-button")).to_be_visible()


def test_an_archive_is_uploaded_and_its_refused_rows_can_be_downloaded(page: Page) -> None:
    go_to(page, "datasets")
    page.locator("#upload [data-files]").first.set_input_files(
        {"name": "from-a-browser.zip", "mimeType": "application/zip", "buffer": zipped_pairs()}
    )
    expect(page.locator("#import-status")).to_contain_text("'from-a-browser': 1 pairs added")
    with page.expect_download() as download:
        page.locator("#problems").get_by_role("link", name="Download as CSV").click()
    assert "2.png" in download.value.path().read_text(encoding="utf-8")


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
    unusual = page.get_by_role("button", name="If the file is unusual")
    expect(page.get_by_label("Encoding")).to_be_hidden()
    unusual.click()
    page.get_by_label("Encoding").fill("latin-1")
    page.get_by_label("Delimiter").fill("semicolon")
    page.get_by_label("No column contains ids").check()
    unusual.click()
    expect(page.get_by_label("Encoding")).to_be_hidden()
    folders.set_input_files(folder)
    expect(status).to_contain_text("'windows': 2 pairs added")


def test_a_mistyped_path_is_refused_before_it_becomes_a_job(page: Page) -> None:
    begin_import(page, "/no/such/folder-at-all")
    expect(page.get_by_text("There is no file or folder").first).to_be_visible()
    open_drawer(page)
    expect(page.locator(DRAWER)).not_to_contain_text("folder-at-all")
