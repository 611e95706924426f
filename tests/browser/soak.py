"""Many verdicts, given as a hurried curator would: in two pages of one browser, in bursts, with
held keys, reloads in the middle of a burst, and a server that restarts.

Each key is written down with the pair that was on the screen, and whether the page accepted it.
Afterwards every accepted verdict must be in the database once, and none on a pair that was not on
the screen.
"""

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Browser, Error, Page
from sqlalchemy import select

from backend.store import open_database
from db.models import Verdict
from research.bench.load import memory_of

if TYPE_CHECKING:
    from tests.browser.latency import Server

#: Starts to press keys, [key, repetitions] each, and writes them down in the page's storage, which
#: survives a reload: [pair on the screen, key, whether the page accepted a verdict].
_BURST = """([keys, apart]) => {
  const stage = () => document.querySelector("#traced-stage [data-pair]")?.dataset.pair;
  const unsent = () => JSON.parse(sessionStorage.getItem("traced-unsent") ?? "[]");
  const press = (key, repeat) => {
    const pair = stage(), before = unsent().length;
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, repeat, bubbles: true }));
    const isAccepted = unsent().length > before && String(unsent().at(-1).pair) === pair;
    const written = JSON.parse(sessionStorage.getItem("soak") ?? "[]");
    sessionStorage.setItem("soak", JSON.stringify([...written, [pair, key, isAccepted]]));
  };
  window.isPressing = true;
  const next = () => {
    if (!keys.length) { window.isPressing = false; return; }
    const [key, times] = keys.shift();
    for (let time = 0; time < times; time++) press(key, time > 0);
    setTimeout(next, apart);
  };
  next();
}"""
_WRITTEN = "() => JSON.parse(sessionStorage.getItem('soak') ?? '[]')"
_SAVED = "(sessionStorage.getItem('traced-unsent') ?? '[]') === '[]'"
#: Verdicts that the page returned to the curator, with the reason.
_RETURNED = """() => [...document.querySelectorAll("#traced-returned li[data-returned]")]
  .map((line) => line.dataset.returned)"""
#: Whether a verdict is to be changed.
_QUESTION = "#traced-toast [data-question]"
DECISIONS = {"a": "correct", "d": "drop", "b": "abstract", "u": "unsure"}
#: Milliseconds for what takes a second on a quiet machine.
PATIENCE = 300_000
#: Keys of a burst, and milliseconds between them.
_LENGTH, _APART = 14, (25, 50, 120, 300)
#: Of 100 bursts: how many end in a reload, and how many see the server restart.
_RELOADS, _RESTARTS = 12, 4


def soak(browser: Browser, server: "Server", verdicts: int, database_url: str) -> bool:
    """Whether each of that many accepted verdicts is in the database once, and no other."""
    rng = random.Random(7)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    pages = [context.new_page() for _ in range(2)]
    for page, order in zip(pages, ("p_error", "position"), strict=True):
        page.goto(f"{server.address}/?order={order}")
        _wait_until_ready(page)
    events: Counter[str] = Counter()
    eighths = 0
    while (accepted := sum(len(_accepted(page)) for page in pages)) < verdicts:
        if accepted * 8 // verdicts > eighths:
            eighths = accepted * 8 // verdicts
            print(f"{accepted} verdicts, server {memory_of(server.pid):.0f} MiB", flush=True)
        page = rng.choice(pages)
        page.bring_to_front()
        _evaluate(page, _BURST, [_keys(rng), rng.choice(_APART)])
        what = rng.randrange(100)
        if what < _RESTARTS:
            page.wait_for_timeout(rng.randrange(400))
            server.stop()
            page.wait_for_timeout(rng.randrange(1500))
            server.start()
            events["restarts"] += 1
        elif what < _RESTARTS + _RELOADS:
            page.wait_for_timeout(rng.randrange(700))
            page.reload()
            events["reloads"] += 1
            _wait_until_ready(page)
        page.wait_for_function("!window.isPressing", timeout=PATIENCE)
        if page.locator(_QUESTION).count():  # about a pair that is decided already
            page.keyboard.press("Escape")
            page.keyboard.press("j")
        page.wait_for_function(_SAVED, timeout=PATIENCE)
        _wait_until_ready(page)
    return _is_sound(pages, database_url, events)


def _keys(rng: random.Random) -> list[tuple[str, int]]:
    """A burst: mostly verdicts, now and then a held verdict or a held arrow key."""
    keys: list[tuple[str, int]] = []
    for _ in range(_LENGTH):
        kind = rng.random()
        if kind < 0.08:
            keys.append((rng.choice("ad"), 12))
        elif kind < 0.16:
            keys.append(("ArrowRight", 20))
        else:
            keys.append((rng.choice([*DECISIONS]), 1))
    return keys


def _wait_until_ready(page: Page) -> None:
    page.wait_for_selector("#traced-stage [data-pair]", timeout=PATIENCE)
    page.wait_for_function(
        "Number(document.querySelector('[data-ready]')?.dataset.ready) >= 3", timeout=PATIENCE
    )


def _evaluate(page: Page, script: str, argument: object = None) -> Any:
    """The script's value. It runs again if the page loads anew meanwhile, as it does by itself
    after its server has restarted."""
    while True:
        try:
            return page.evaluate(script, argument)
        except Error as error:
            if "context was destroyed" not in str(error):
                raise
            _wait_until_ready(page)


def _written(page: Page) -> list[tuple[int, str, bool]]:
    """Keys without a pair on the screen, as before the first one is drawn, decide nothing."""
    keys = _evaluate(page, _WRITTEN)
    return [(int(pair), key, is_accepted) for pair, key, is_accepted in keys if pair]


def _accepted(page: Page) -> list[tuple[int, str]]:
    return [(pair, DECISIONS[key]) for pair, key, is_accepted in _written(page) if is_accepted]


def _is_sound(pages: list[Page], database_url: str, events: Counter[str]) -> bool:
    for page in pages:
        page.wait_for_function(_SAVED, timeout=PATIENCE)
    accepted = {verdict for page in pages for verdict in _accepted(page)}
    pressed = {
        (pair, DECISIONS[key])
        for page in pages
        for pair, key, _ in _written(page)
        if key in DECISIONS
    }
    returned = {int(pair) for page in pages for pair in _evaluate(page, _RETURNED)}
    stored = _stored(database_url)
    pairs = Counter(pair for pair, _ in stored)
    lost = [verdict for verdict in accepted - set(stored) if verdict[0] not in returned]
    doubled = [(pair, count) for pair, count in pairs.items() if count > 1]
    unseen = set(stored) - pressed
    keys = sum(len(_written(page)) for page in pages)
    print(
        f"{len(accepted)} verdicts accepted of {keys} keys in two pages, {events['reloads']} "
        f"reloads, {events['restarts']} restarts of the server: {len(lost)} lost, {len(doubled)} "
        f"doubled, {len(unseen)} on pairs that were not on the screen, {len(returned)} returned "
        "with a reason"
    )
    for name, wrong in (("lost", lost), ("doubled", doubled), ("unseen", sorted(unseen))):
        if wrong:
            pairs_of_them = {pair for pair, _ in wrong[:10]}
            print(f"{name}: {wrong[:10]}; stored: {[v for v in stored if v[0] in pairs_of_them]}")
    return not lost and not doubled and not unseen


def _stored(database_url: str) -> list[tuple[int, Any]]:
    """Pair and decision of each stored verdict."""
    store = open_database(database_url)
    try:
        with store.reading() as session:
            return [
                tuple(row) for row in session.execute(select(Verdict.pair_id, Verdict.decision))
            ]
    finally:
        store.close()
