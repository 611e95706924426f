"""What the acts that write say (`tests/traced_ui/test_board.py`)."""

from typing import Any

from tests.traced_ui.pages import Page


def acts_that_write(_: Page) -> dict[str, dict[str, Any]]:
    edit = {"scope": "queue", "prefix": "Photo: "}
    return {"edit-apply": {"edit": edit, "filter": {"review": "all"}}}
