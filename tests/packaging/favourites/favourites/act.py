"""The key 0 on Review: the pair is a favourite."""

from traced_ui.keyboard import Key
from traced_ui.page_actions import AddedActions, PageAction, PageActions

from .tables import Favourite


def like(page: PageActions, act: PageAction) -> None:
    if act.pair is not None:
        with page.workspace.store.writing() as session:
            session.merge(Favourite(pair_id=act.pair, liked_by=page.author))
        page.say("Liked.", "good")


ACTIONS = AddedActions(
    {"like": like}, writing=("like",), keys=(Key(("0",), "like", "0", "like this pair"),)
)
