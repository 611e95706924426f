"""Fields of one row, and the button beside a field, stand on one line."""

from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser
_BOTTOM = "element => Math.round(element.getBoundingClientRect().bottom)"


@pytest.mark.parametrize(
    ("page_name", "pairs"),
    [
        (
            "settings",
            [
                ("#rename-name input, #rename-name textarea",
                 "#relocate-folder input, #relocate-folder textarea"),
                ("#rename-start", "#relocate-start"),
            ],
        ),
        (
            "language-model",
            [
                ("#language-model-url textarea", "#language-model-key input"),
                ("[aria-label^='Price per million input']", "[aria-label='Limit on cost']"),
            ],
        ),
        ("snapshots", [("#snapshot-name input, #snapshot-name textarea", "#snapshot-start")]),
    ],
)  # fmt: skip
def test_fields_and_buttons_of_a_row_end_on_one_line(
    page: Page, page_name: str, pairs: list[tuple[str, str]]
) -> None:
    page.goto(urljoin(page.url, f"/{page_name}"))
    for first, second in pairs:
        page.locator(first).wait_for()
        ends = [page.locator(each).evaluate(_BOTTOM) for each in (first, second)]
        assert abs(ends[0] - ends[1]) <= 1, (first, second, ends)
