"""One verdict for all pairs of a queue, on the review page."""

import json
import re
from pathlib import Path
from typing import Any

from backend.workspace import ExportChoice, Workspace
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
    assert f"{total} verdicts at once" in page.press("undo")
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


def test_exports_name_the_rule_and_its_queue(workspace: Workspace, tmp_path: Path) -> None:
    page = Page(workspace, text="a", order="position")
    page.press("rule")
    page.press("rule-preview", **rule(page, "wrong"))
    page.press("rule-apply", **rule(page, "wrong"))
    report = workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "jsonl")
    (table,) = Path(report.out).glob("*.jsonl")
    lines = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    notes = {line["note"] for line in lines if line["verdict"] == "wrong"}
    assert notes == {"rule: text=a"}


def test_a_verdict_that_no_rule_gives_is_refused(workspace: Workspace) -> None:
    page = Page(workspace)
    for wrong in ("correction", "<b>"):
        message = page.press("rule-preview", edit={"decision": wrong})
        assert "cannot be given" in message
        assert "<b>" not in message
