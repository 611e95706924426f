"""The page *Favourites*."""

from typing import Any

import gradio as gr
from sqlalchemy import select

from backend.workspace import Workspace
from db.models import Pair
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page

from .tables import Favourite


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    table = gr.Dataframe(headers=["pair", "liked by"], datatype="str")

    def draw(dataset_id: int | None) -> list[list[str]]:
        likes = select(Pair.external_id, Favourite.liked_by).join(Pair)
        with workspace.store.reading() as session:
            rows = session.execute(likes.where(Pair.dataset_id == dataset_id)).all()
        return [list(row) for row in rows]

    return draw, [dataset], [table]


PAGE = AddedPage(Page("favourites", "Favourites"), "Improve", build)
