"""The results in the playground belong to the picture and caption shown with them."""

import io
from pathlib import Path
from urllib.parse import quote, urljoin

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.conftest import Site, box_of, go_to, held, opened_page
from tests.fixtures.features import needs

pytestmark = [pytest.mark.browser, needs("playground")]
EVENTS = "**/queue/join*"


def test_results_of_an_earlier_caption_are_marked_as_stale(page: Page) -> None:
    go_to(page, "try")
    page.locator("#playground-examples button").first.click()
    caption = page.locator("#playground-caption textarea")
    expect(caption).not_to_have_value("")
    whole = caption.input_value()
    page.get_by_label("Model", exact=True).click()
    page.get_by_role("option", name="embedded").click()
    busy = page.locator("#playground-busy")
    expect(busy).to_be_hidden()
    with held(page, EVENTS):
        page.locator("#playground-run").click()
        expect(busy).to_be_visible()
    result = page.locator("#playground-result .word").first
    expect(result).to_be_visible(timeout=120_000)
    expect(busy).to_be_hidden()
    stale = page.locator("#playground-stale")
    expect(stale).to_be_hidden()
    expect(page.locator("#playground-result .for")).to_contain_text("scene-")
    caption.fill(f"{whole} and a dog")
    expect(stale).to_be_visible()
    dimmed = page.locator("#playground-results > :not(#playground-stale, #playground-busy)").first
    expect(dimmed).to_have_css("opacity", "0.38")
    caption.fill(whole)
    expect(stale).to_be_hidden()


@needs("regions")
def test_an_example_shows_its_chance_and_a_suspect_word_lights_its_part(page: Page) -> None:
    """The first example is already answered; the others answer by a click."""
    requests: list[Request] = []

    def note(request: Request) -> None:
        if "queue/join" in request.url:
            requests.append(request)

    page.on("request", note)
    go_to(page, "try")
    result, field = page.locator("#playground-result"), page.locator("#playground-caption textarea")
    shown = "#playground-picture :is(.region, .where-note)"
    expect(result.locator(".for")).to_be_visible()
    expect(result.locator(".chance")).to_contain_text("likely wrong")
    expect(result).not_to_contain_text("--model")
    for example in page.locator("#playground-examples button").all()[1:]:
        text = example.locator("span").inner_text()
        example.click()
        expect(field).to_have_value(text)
        expect(result).to_contain_text(text)
        if result.locator(".word.suspect").count():
            break
    else:
        pytest.fail("no example has a suspect word")
    expect(page.locator("#playground-stale")).to_be_hidden()
    words = result.locator(".word.suspect")
    words.first.focus()
    expect(page.locator(shown)).to_have_count(1)
    number = len(requests)
    words.first.blur()
    expect(page.locator(shown)).to_have_count(0)
    words.last.hover()
    expect(page.locator(shown)).to_have_count(1)
    assert len(requests) == number, "all words of a claim are looked for together"
    image, where = box_of(page.locator("#playground-picture img")), box_of(page.locator(shown))
    assert image.x - 1 <= where.x
    assert where.right <= image.right + 1
    field.fill("A dog")
    expect(page.locator("#playground-stale")).to_be_visible()
    page.mouse.move(1, 1)
    words.first.hover()
    page.wait_for_timeout(300)
    expect(page.locator(shown)).to_have_count(0)


def test_on_a_phone_work_and_results_are_in_view_without_scrolling_by_hand(
    profile: BrowserContext, site: Site
) -> None:
    with opened_page(profile, site, size=(390, 844)) as page:
        go_to(page, "try")
        words = page.locator("#playground-result .word")
        expect(words.first).to_be_visible()
        page.locator("#playground-caption textarea").fill("A dog")
        with held(page, EVENTS):
            page.locator("#playground-run").click()
            expect(page.locator("#playground-busy")).to_be_in_viewport()
            expect(page.locator("#playground-busy")).to_have_css("opacity", "1")
        expect(words).to_have_count(2, timeout=120_000)
        expect(words.first).to_be_in_viewport()
        example = page.locator("#playground-examples button").last
        text = example.locator("span").inner_text()
        example.click()
        expect(page.locator("#playground-result")).to_contain_text(text)
        expect(words.first).to_be_in_viewport()


def test_a_link_leads_to_a_page_that_takes_long(page: Page) -> None:
    """Also while an answer is on its way, which Gradio takes for a lost connection."""
    go_to(page, "try")
    with held(page, "**/queue/data?*"), held(page, "**/progress?*"):
        with page.expect_request("**/queue/data?*"):
            page.locator("#playground-examples button").last.click()
        page.locator("#traced-header a[data-page=progress]").click(no_wait_after=True)
        page.wait_for_timeout(3000)  # it would have loaded this page again
    page.wait_for_url("**/progress?*")


def chosen(page: Page, path: Path) -> bytes:
    """What the server has of the file that is chosen as the picture."""
    with page.expect_response("**/gradio_api/upload?*") as answer:
        page.locator("#playground-picture input[type=file]").set_input_files(path)
    stored = answer.value.json()[0]
    return page.request.get(urljoin(page.url, f"gradio_api/file={quote(stored)}")).body()


def remove_picture(page: Page) -> None:
    page.locator("#playground-picture button[aria-label='Remove Image']").click()
    expect(page.locator("#playground-picture img")).to_have_count(0)


def test_a_large_picture_is_reduced_before_it_is_sent(page: Page, tmp_path: Path) -> None:
    """Upright, though it lies on its side in the file; small files stay as they are."""
    go_to(page, "try")
    remove_picture(page)
    noise = np.random.default_rng(0).integers(0, 256, (2200, 3000, 3), dtype=np.uint8)
    noise[:, :600] = (255, 0, 0)
    orientation = Image.Exif()
    orientation[0x0112] = 6  # what is left in the file is at the top
    large, small = tmp_path / "IMG 1.2.JPG", tmp_path / "small.jpg"
    Image.fromarray(noise).save(large, "JPEG", quality=95, exif=orientation)
    Image.fromarray(noise[:300, :300]).save(small, "JPEG", exif=orientation)
    assert large.stat().st_size > 6e6
    message = page.locator("#playground-clipboard [data-reduced]")
    sent = chosen(page, large)
    assert len(sent) < large.stat().st_size / 2
    with Image.open(io.BytesIO(sent)) as image:
        assert image.format == "JPEG"
        assert image.size == (1502, 2048)
        pixels = np.asarray(image.convert("RGB"))
        assert (pixels[:380].mean((0, 1)) > (240, -1, -1)).all()
        assert (pixels[:380].mean((0, 1)) < (256, 20, 20)).all()
        assert pixels[600:].mean() > 100
    expect(message.locator("[data-from]")).to_have_text("2200 × 3000")
    expect(message.locator("[data-to]")).to_have_text("1502 × 2048")
    remove_picture(page)
    expect(message).to_be_hidden()
    assert chosen(page, small) == small.read_bytes()
    expect(message).to_be_hidden()


def test_a_clipboard_without_a_picture_is_said_until_there_is_one(
    page: Page, tmp_path: Path
) -> None:
    go_to(page, "try")
    remove_picture(page)
    message = page.locator("#playground-clipboard [data-clipboard]")
    paste = """(kind) => {
      const clipboardData = new DataTransfer();
      if (kind === "text") clipboardData.setData("text/plain", "a dog");
      document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }"""
    for kind in ("text", "nothing"):
        page.evaluate(paste, kind)
        expect(message).to_be_visible()
        Image.new("RGB", (32, 32)).save(tmp_path / "small.png")
        chosen(page, tmp_path / "small.png")
        expect(message).to_be_hidden()
        remove_picture(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('a dog')")
    page.locator("#playground-picture button[aria-label='Paste from clipboard']").click()
    expect(message).to_be_visible()


def test_a_large_file_that_is_no_picture_is_sent_as_it_is(page: Page, tmp_path: Path) -> None:
    go_to(page, "try")
    remove_picture(page)
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no picture " * 500_000)
    assert chosen(page, broken) == broken.read_bytes()
    expect(page.get_by_role("alert")).to_contain_text("'broken.jpg' is not an image")
    expect(page.locator("#playground-picture img")).to_have_count(0)
    expect(page.locator("#playground-clipboard [data-reduced]")).to_be_hidden()
