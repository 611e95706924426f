"""What the acts that write say (`tests/traced_ui/test_board.py`)."""

from typing import Any

from backend.review.queue_form import as_query
from tests.traced_ui.pages import Page


def acts_that_write(_: Page) -> dict[str, dict[str, Any]]:
    queue = {"review": "all"}
    rule = {"decision": "drop", "seen": f"1000 drop False {as_query(queue)}"}
    return {"rule-apply": {"edit": rule, "filter": queue}}
