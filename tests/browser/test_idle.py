"""An idle page uses no processor time."""

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.conftest import Site, new_page

pytestmark = pytest.mark.browser
#: Counts requested animation frames, from before the first script of a page.
COUNT = """
  const ask = window.requestAnimationFrame;
  window.asked = 0;
  window.requestAnimationFrame = (act) => { window.asked += 1; return ask(act); };
"""
#: Evaluated once a second: whether fewer than five were requested since.
QUIET = "() => { const before = window.before; window.before = asked; return asked - before < 5; }"


def test_a_drawn_page_requests_no_animation_frames(profile: BrowserContext, site: Site) -> None:
    with new_page(profile) as page:
        browser = profile.new_cdp_session(page)
        browser.send("Page.enable")
        browser.send("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
        page.goto(site.address)
        page.wait_for_selector("#traced-stage [data-pair]")
        assert page.evaluate("asked") > 0
        # The animation of Gradio's logo, which the page replaces, takes a few seconds to end.
        page.wait_for_function(QUIET, polling=1000)
        browser.detach()
