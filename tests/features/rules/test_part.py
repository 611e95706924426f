"""One verdict for all pairs of a queue, on the review page."""

import re
from dataclasses import replace
from typing import Any

import pytest

from backend.features.rules import part
from backend.features.rules.deciding import RulePreview
from backend.workspace import QueueFilter, Workspace
from tests.hostile.markup import check_escaping
from tests.traced_ui.conftest import imported, workspace
from tests.traced_ui.pages import Page
from tests.traced_ui.samples import row
from traced_ui.keyboard import key_table
from traced_ui.review_actions import ALL_KEYS

__all__ = ["imported", "workspace"]


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


@pytest.mark.parametrize("state", [{"shows_skipped": True}, {"found": [1, 2]}])
def test_what_is_done_to_a_queue_is_not_done_to_such_a_list(
    workspace: Workspace, state: dict[str, Any]
) -> None:
    page = Page(workspace)
    page.press("skip")
    page.state = page.state.model_copy(update=state)
    decision = {"decision": "drop", "replaces": ""}
    for action, more in (
        ("rule", {}), ("rule-preview", {"edit": decision}),
        ("rule-apply", {"edit": {**decision, "seen": "40 drop False review=all"}}),
    ):  # fmt: skip
        assert "error" in page.press(action, filter={"review": "all"}, **more), action
    every = workspace.review.queue_page(QueueFilter(1, "all")).rows
    assert {row.decision for row in every} == {None}


def test_each_verdict_is_named_once(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("rule")
    options = re.findall(r"<option[^>]*>([^<]*)<", page.shown["edit"])
    assert options == ["Right: the caption is correct", *options[1:-1], "Not sure"]


def test_skipped_pairs_are_back_before_something_is_done_to_the_whole_queue(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    page.press("skip")
    message = page.press("rule", filter={"review": "all"})
    assert page.state.skipped == []
    assert "1 skipped pair" in message
    assert "reaches it too" in message
    assert page.press("rule", filter={"review": "all"}) == ""


def test_the_grid_and_the_queue_have_its_button_and_the_page_its_key(workspace: Workspace) -> None:
    page = Page(workspace)
    assert key_table(ALL_KEYS)["v"] == "rule"
    assert page.shown["queue"].count('data-action="rule"') == 1
    page.press("grid")
    assert page.shown["stage"].count('data-action="rule"') == 1


def test_hostile_text_is_escaped() -> None:
    plan = RulePreview(2000, 1, 2, (row("", 7, None),))
    check_escaping(
        "rule.html",
        lambda text: part.form(
            {"decision": "drop"}, replace(plan, sample=(row(text, 7, None),)), text
        ),
    )
