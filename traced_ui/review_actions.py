"""The actions of the keys and clicks on the review page, together."""

from traced_ui.bulk_actions import BulkActions
from traced_ui.queue_actions import QueueActions
from traced_ui.verdict_actions import VerdictActions


class OpenPage(QueueActions, VerdictActions, BulkActions):
    """An open page during one request, with everything that can be done on it."""
