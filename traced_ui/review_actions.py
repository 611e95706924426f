"""The actions of the keys and clicks on the review page, together."""

from backend import plugins
from traced_ui.keyboard import KEYS
from traced_ui.page_actions import ADDED_KEYS, AddedActions, add_actions
from traced_ui.queue_actions import QueueActions
from traced_ui.verdict_actions import VerdictActions


class OpenPage(QueueActions, VerdictActions):
    """An open page during one request, with everything that can be done on it."""


plugins.load("actions", AddedActions, add_actions)
#: The keys of the page, with those of features and packages.
ALL_KEYS = (*KEYS, *ADDED_KEYS)
