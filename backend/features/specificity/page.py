"""Asking for a richer caption on Review."""

from pathlib import Path

from backend import plugins
from backend.errors import NoLanguageModel
from backend.loaded_models import ChatModels
from traced_ui import rooms
from traced_ui.keyboard import Key
from traced_ui.messages import note
from traced_ui.page_actions import AddedActions, PageAction, PageActions, Parts, message_part
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))


def ask(page: PageActions, act: PageAction) -> Parts:
    """Ask for richer captions of the pair; the page then draws what is stored."""
    pair_id = page.pair_of(act)
    dataset_id = page.review.open_pair(pair_id).dataset_id
    try:
        report = page.workspace.jobs.run("enrich", dataset_id, pair_id=pair_id)
    except NoLanguageModel as problem:
        if (address := _chat_model_page()) not in rooms.ADDED:
            raise
        return message_part(render_in("no_model.html", reason=str(problem), page=address))
    outcome = report.stopped or next(iter(report.outcomes), "nothing to enrich")
    return message_part("" if outcome == "offered" else note(f"No richer caption: {outcome}."))


def _chat_model_page() -> str:
    """The address of the page on which a language model can be named, "" if there is none."""
    pages = (models.page for models in plugins.load("chat_models", ChatModels))
    return next(filter(None, pages), "")


ACTIONS = AddedActions(
    {"richer": ask},
    asking=("richer",),
    keys=(Key(("r", "R"), "richer", "R", "ask for a richer caption than this right one", "Edit"),),
)
