"""The marks of the review page, each measured in a browser: what was measured, and its goal."""

import time
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, expect

from research.scenes import demo
from tests.browser.conftest import go_to
from tests.browser.test_fixed_places import MOST_PRESSES, RIGHT

#: Whether the first picture is on the page.
_FIRST_PICTURE = """() => {
  const image = document.querySelector("#traced-stage .picture img");
  return image?.complete && image.naturalWidth > 0;
}"""
#: Holds → and ← for three seconds, 33 ms apart: [keys, keys with an effect, longest pause in ms].
_HELD = """() => new Promise((done) => {
  const step = () => document.querySelector("#traced-steps [aria-current=step] .t")?.textContent;
  const last = document.querySelectorAll("#traced-chart .point").length - 1;
  let keys = 0, effects = 0, pause = 0, at = performance.now(), key = "ArrowRight";
  const press = () => {
    if (Number(step()) >= last) key = "ArrowLeft";
    if (Number(step()) <= 0) key = "ArrowRight";
    const before = step();
    const options = { key, repeat: keys > 0, bubbles: true };
    document.body.dispatchEvent(new KeyboardEvent("keydown", options));
    keys += 1;
    if (step() !== before) effects += 1;
    pause = Math.max(pause, performance.now() - at);
    at = performance.now();
    if (keys < 90) setTimeout(press, 33); else done([keys, effects, pause]);
  };
  press();
})"""


#: The sum of the layout shifts in which a part of the bottom bar took part.
_SHIFTS = """() => {
  window.shiftsInBar = 0;
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) {
      const isInBar = shift.sources.some(({ node }) => node?.parentElement?.closest(".decide"));
      if (isInBar) window.shiftsInBar += shift.value;
    }
  }).observe({ type: "layout-shift" });
}"""


class ColdStart(NamedTuple):
    """The first picture in a browser with an empty cache: `requests` and `size` (bytes, as they are
    sent) until then, and in all, a few seconds later."""

    milliseconds: float
    requests: int
    size: float
    all_requests: int
    all_size: float

    def __str__(self) -> str:
        return (
            f"first picture, cold browser  {self.milliseconds:.0f} ms   goal 1,500 ms\n"
            f"requests                     {self.requests} until then, {self.all_requests} in all"
            "   goal 60\n"
            f"compressed                   {self.size / 1e3:.0f} kB until then, "
            f"{self.all_size / 1e3:.0f} kB in all   goal 600 kB"
        )


def cold_start(browser: Browser, address: str) -> ColdStart:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    requests: list[str] = []
    sizes: list[float] = []

    def remember(sent: dict[str, Any]) -> None:
        if sent["request"]["url"].startswith(address):
            requests.append(sent["request"]["url"])

    network.on("Network.requestWillBeSent", remember)
    network.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    page.goto(address, wait_until="commit")
    page.wait_for_function(_FIRST_PICTURE, timeout=60_000)
    milliseconds = float(page.evaluate("performance.now()"))
    first, size = len(requests), sum(sizes)
    page.wait_for_timeout(3000)
    context.close()
    return ColdStart(milliseconds, first, size, len(requests), sum(sizes))


def held_key(page: Page) -> str:
    keys, effects, pause = page.evaluate(_HELD)
    return (
        f"held arrow key               {effects} of {keys} keys moved, longest pause {pause:.0f} ms"
        "   goal: all, 33 ms apart"
    )


def shifts(page: Page) -> str:
    """The layout shift in the bottom bar over twenty keys."""
    page.evaluate(_SHIFTS)
    for key in ("a", "ArrowRight", "d", "j", "z") * 4:
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    return f"layout shift, bottom bar     {page.evaluate('window.shiftsInBar'):.4f}   goal 0"


def presses_of_tab(page: Page) -> str:
    """From the top of the page to *Right*."""
    page.evaluate("() => { document.body.tabIndex = -1; document.body.focus(); }")
    for presses in range(1, 100):
        page.keyboard.press("Tab")
        if page.locator(f"{RIGHT}:focus").count():
            return f"presses of Tab to Right      {presses}   goal {MOST_PRESSES}"
    return "presses of Tab to Right      not reached in 100"


def example(page: Page) -> str:
    """From a click on an example to its answer."""
    go_to(page, "try")
    subject = page.locator("#playground-result .for")
    expect(subject).to_be_visible()
    before = subject.inner_text()
    began = time.perf_counter()
    page.locator("#playground-examples button").nth(2).click()
    expect(subject).not_to_have_text(before)
    seconds = time.perf_counter() - began
    return f"an example answers in        {seconds:.2f} s   goal 1 s"


def first_ranked_pair(page: Page, folder: Path) -> str:
    """From *Add data* to the first ranked pair of 60 drawn pictures. What is clicked must be in the
    window: nothing scrolls there."""
    demo.write(folder / "drawn", 60, 6, 192, seed=12)
    began = time.perf_counter()
    go_to(page, "datasets")
    page.locator("#import-path").locator("input, textarea").fill(str(folder / "drawn"))
    below = []
    for button in ("#import-start", "#score-start"):
        box = page.locator(button).bounding_box()
        if box is None or box["y"] + box["height"] > 900:
            below.append(button)
        page.locator(button).click()
        if button == "#import-start":
            import_report = page.locator("#import-report")
            expect(import_report).to_contain_text("added", timeout=120_000)
    # Review opens by itself.
    expect(page.locator("#traced-stage .chance")).to_be_visible(timeout=300_000)
    seconds = time.perf_counter() - began
    scrolled = f", below the fold: {', '.join(below)}" if below else ", without a scroll"
    return f"Add data to first ranked     {seconds:.0f} s{scrolled}   goal 60 s"
