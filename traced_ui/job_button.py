"""A button that starts a job for the dataset on the page, and the job's status."""

from typing import Any

import gradio as gr

from backend.workspace import Workspace
from traced_ui.jobs import Started, begin, job_html
from traced_ui.messages import guarded


def start_by(
    button: gr.Button,
    status: gr.HTML,
    workspace: Workspace,
    dataset: gr.Dropdown,
    kind: str,
    redraw: tuple[Any, ...],
    **arguments: Any,
) -> None:
    """Make the button start the job and `status` show its progress. `shown`: redraws the page when
    the job is done: (function, inputs, outputs). `arguments`: further inputs, by the names of the
    job's parameters."""
    job_id, done = gr.State(None), gr.State(0)
    timer = gr.Timer(1.0, active=False)

    @guarded
    def start_job(dataset_id: int | None, *values: Any) -> Started:
        named = {name: value for name, value in zip(arguments, values, strict=True)
                 if value is not None}  # fmt: skip
        return begin(workspace, kind, dataset_id, **named)

    @guarded
    def watch(started: int | None, count: int) -> tuple[Any, Any, int]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), count
        job = workspace.jobs.job(started)
        if not job.has_ended:
            return job_html(job), gr.skip(), count
        is_done = job.status == "done"
        message = "" if is_done else job_html(job)
        return message, gr.Timer(active=False), count + is_done

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    inputs = [dataset, *arguments.values()]
    button.click(start_job, inputs, [job_id, status, timer], **options)
    timer.tick(watch, [job_id, done], [status, timer, done], **options)
    done.change(*redraw, **options)
