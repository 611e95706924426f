"""The bar at the top of every page, and what it asks the server: datasets, jobs, the curator."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import fastapi
import gradio as gr
from fastapi import Path, Query
from markupsafe import Markup
from pydantic import BaseModel

from backend.workspace import Workspace
from traced_ui import board, dataset_jobs, rooms
from traced_ui.jobs import RecentJobs, drawer_html, pace_of, stages_of, summarise_jobs
from traced_ui.login import curator_of, seen_by
from traced_ui.messages import explain_on_page, note
from traced_ui.templates import render

#: Ids of the store.
_MOST = 2**63 - 1


class Header(BaseModel):
    """What the bar shows. `datasets`: name and id; `dataset`: the chosen one; `who`: the curator
    who is logged in; `drawer`: all jobs as HTML; `stages` changes when a job has ended or reached
    its next stage; `pace`: seconds until the bar asks again."""

    datasets: list[tuple[str, int]]
    dataset: int | None
    who: str | None
    news: RecentJobs
    drawer: str
    stages: str
    pace: float


def bar_html(page: rooms.Page) -> Markup:
    """The bar of this page."""
    return render(
        "header.html", page=page, room=rooms.room_of(page), rooms=rooms.ROOMS,
        corner=rooms.DATASET, alone=rooms.ALONE, is_review=page == rooms.REVIEW,
    )  # fmt: skip


def build(page: rooms.Page) -> None:
    """Build the bar of this page."""
    gr.HTML(
        bar_html(page),
        js_on_load=board.starting("header.js"),
        apply_default_css=False,
        padding=False,
    )


def add_routes(app: fastapi.FastAPI, workspace: Workspace, dataset_id: int | None) -> None:
    """Add /header, what the bar shows, and the buttons of its jobs. `dataset_id`: the dataset of
    an address that names none."""

    @app.get("/header")
    def header(
        request: fastapi.Request, dataset: Annotated[int | None, Query(le=_MOST)] = None
    ) -> Header:
        visible_workspace = seen_by(workspace, request)
        jobs, now = visible_workspace.jobs.recent(), datetime.now(UTC)
        datasets = dataset_jobs.choices(visible_workspace)
        ids = [id for _, id in datasets]
        current = next((id for id in (dataset, dataset_id, *ids[:1]) if id in ids), None)
        return Header(
            datasets=datasets, dataset=current, who=curator_of(request),
            news=summarise_jobs(jobs, now), drawer=drawer_html(jobs, now),
            stages=stages_of(jobs), pace=pace_of(jobs, now),
        )  # fmt: skip

    @app.post("/jobs/{job}/{action}")
    def act(
        request: fastapi.Request,
        job: Annotated[int, Path(ge=0, le=_MOST)],
        action: Literal["cancel", "retry"],
    ) -> dict[str, str]:
        """`problem`: why not, as HTML."""
        jobs = seen_by(workspace, request).jobs
        try:
            (jobs.cancel if action == "cancel" else jobs.retry)(job)
        except Exception as error:
            return {"problem": note(explain_on_page(error), "error")}
        return {"problem": ""}
