"""What a browser that was never here loads before the first picture."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Site
from tests.browser.marks import cold_start

pytestmark = pytest.mark.browser
MOST_REQUESTS, MOST_BYTES = 60, 600_000


def test_the_first_picture_needs_few_requests_and_bytes(browser: Browser, site: Site) -> None:
    """Pages load their components when they are opened."""
    start = cold_start(browser, site.address)
    assert start.requests <= MOST_REQUESTS, str(start)
    assert start.size <= MOST_BYTES, str(start)
