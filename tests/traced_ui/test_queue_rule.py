"""One verdict for all pairs of a queue, on the review page."""

import re
from typing import Any

from backend.workspace import Workspace
from tests.traced_ui.pages import Page


def seen_in(page: Page) -> str:
    """What the page says that its preview was of."""
    match = re.search(r'data-edit="seen"[^>]* value="([^"]*)"', page.shown["edit"])
    assert match is not None
    return match[1].replace("&amp;", "&")


def rule(page: Page, decision: str = "drop", **more: Any) -> dict[str, Any]:
    return {"edit": {"decision": decision, "seen": seen_in(page), **more}}


def test_only_what_was_previewed_is_decided(workspace: Workspace) -> None:
    page = Page(workspace)
    total = workspace.review.counts(1).total
    page.press("rule")
    page.press("rule-apply", **rule(page))
    assert workspace.review.counts(1).reviewed == 0, "nothing was previewed"
    page.press("rule-preview", **rule(page))
    assert f"{total} pairs would get the verdict" in page.shown["edit"]
    assert page.shown["edit"].count("<img") == min(total, 20)
    page.press("rule-apply", **rule(page, "correct"))
    assert workspace.review.counts(1).reviewed == 0, "another verdict than in the preview"
    page.press("rule-preview", **rule(page))
    page.press("filter", filter={"review": "all"})
    page.press("rule-apply", **rule(page))
    assert workspace.review.counts(1).reviewed == 0, "another queue than in the preview"
    assert f"{total} pairs would" in page.shown["edit"], "a new preview"
    message = page.press("rule-apply", **rule(page))
    assert f"{total} pairs decided by a rule" in message
    assert page.shown["edit"] == ""
    assert workspace.review.counts(1).reviewed == total
    assert f"{total} pairs at once" in page.press("undo")
    assert workspace.review.counts(1).reviewed == 0


def test_a_queue_that_has_grown_is_shown_again(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("drop")
    page.press("rule")
    page.press("rule-preview", **rule(page))
    before = rule(page)
    page.press("undo")
    message = page.press("rule-apply", **before)
    assert "pairs match now" in message
    assert seen_in(page) != before["edit"]["seen"]
    assert workspace.review.counts(1).reviewed == 0
    page.press("unsure")
    total = workspace.review.counts(1).total
    assert f"{total - 1} pairs decided" in page.press("rule-apply", **rule(page)), (
        "fewer: it says so"
    )
