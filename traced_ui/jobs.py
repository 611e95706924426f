"""Jobs, shown where they were started and in the header's drawer."""

import functools
import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import BaseModel

from backend.counts import count_of
from backend.errors import SettingsError
from backend.jobs.job_view import JobView
from backend.operations.registry import OPERATIONS
from backend.progress import duration
from backend.workspace import Workspace
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_kwargs, explain_on_page, note
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import part, render

#: Polling intervals in seconds: while a job runs, so that progress is less than two seconds old,
#: and when idle, to notice jobs started elsewhere.
POLL, IDLE = 1.5, 12.0
#: How long the header shows that a job has ended.
NEWS = timedelta(seconds=30)


def name_of(job: JobView) -> str:
    """A description of the job: "Importing photos/"."""
    subject = job.subject
    if job.kind == "import" and job.status != "done":
        path = Path(subject)
        subject = f"{path.name}/" if path.is_dir() else path.name
    operation = OPERATIONS.get(job.kind)
    activity = operation.activity or operation.title if operation is not None else job.kind
    if job.result.get("is_dry_run"):
        activity = f"Preview: {activity.lower()}"
    return f"{activity} {subject}".strip()


def _activity(job: JobView) -> str:
    """What the job does now, and the time left."""
    return " · ".join(filter(None, (job.step.stage, job.step.time_left)))


def state_of(job: JobView, jobs: Sequence[JobView] = ()) -> str:
    """The state of the job. `jobs`: all unfinished jobs, to say what a queued one is waiting
    for."""
    if job.status == "done":
        return unreadable_of(job) or "Done"
    if job.has_ended:
        return job.message or job.status.capitalize()
    if job.is_cancelling:
        return "Cancelling: it stops at its next step."
    if job.status == "queued":
        ahead = sum(other.id < job.id for other in jobs)
        return f"Waiting for {ahead} earlier {'job' if ahead == 1 else 'jobs'}" if ahead else "Next"
    return _activity(job) or "Starting"


def unreadable_of(job: JobView) -> str:
    """What a scoring job that is done could not score; "" if nothing."""
    count = job.result.get("unreadable", 0) if job.kind == "score" else 0
    if not count:
        return ""
    return (
        f"{count:,} of {count_of(job.result['pairs'])} could not be scored: their pictures cannot "
        "be read. If their folder has moved, say where it is under Settings."
    )


def job_html(job: JobView) -> Markup:
    """One job: what it does, its progress, and the reason if it failed."""
    is_done = job.status == "done" and job.result.get("unreadable", 0) < job.result.get("pairs", 1)
    is_usable = job.step.is_usable and not job.has_ended
    is_ranked = job.kind == "score" and (is_done or is_usable)
    return render(
        "jobs/job.html", job=job, name=name_of(job), state=state_of(job), share=job.step.share,
        unreadable=unreadable_of(job) if job.status == "done" else "",
        ranked=job.dataset_id if is_ranked else None,
    )  # fmt: skip


#: What a button that starts a job updates: the job's id, its status, the timer that follows it.
Started = tuple[int, Markup, gr.Timer]


def starting(handler: Callable[..., Started]) -> Callable[..., tuple[int | None, Markup, gr.Timer]]:
    """Wrap a handler that starts a job: why it did not start is said where its progress would
    be, and the next result replaces it."""

    @functools.wraps(handler)
    def wrapper(*arguments: Any) -> tuple[int | None, Markup, gr.Timer]:
        try:
            return handler(*arguments)
        except Exception as error:
            return None, note(explain_on_page(error), "error"), gr.Timer(active=False)

    return wrapper


def begin(workspace: Workspace, kind: str, dataset_id: int | None, **arguments: Any) -> Started:
    """Start a job about the dataset on the page and follow it. Raises SettingsError if there is no
    dataset."""
    if dataset_id is None:
        raise SettingsError("Choose a dataset at the top first.")
    return follow(workspace, workspace.jobs.start(kind, dataset_id, **arguments))


def follow(workspace: Workspace, job_id: int) -> Started:
    """Show the job's status and follow it."""
    return job_id, job_html(workspace.jobs.job(job_id)), gr.Timer(active=True)


def drop_ended(jobs: Sequence[JobView]) -> list[JobView]:
    """Those that wait, run or are being cancelled, in the same order."""
    return [job for job in jobs if not job.has_ended]


def drawer_html(jobs: Sequence[JobView], now: datetime) -> Markup:
    """All of `jobs`, newest first."""
    unfinished_jobs = drop_ended(jobs)
    rows = [
        {
            "job": job,
            "name": name_of(job),
            "state": state_of(job, unfinished_jobs),
            "summary": _first_sentence(job.message) if job.status == "failed" else "",
            "share": job.step.share,
            "since": _since(job, now),
            "can_retry": job.status in ("failed", "cancelled") and job.continued_by is None,
        }
        for job in jobs
    ]
    return render("jobs/drawer.html", rows=rows)


def _first_sentence(message: str) -> str:
    """What is wrong; what to do follows it.

    >>> _first_sentence("'a.b/c' could not be downloaded. Start it again to resume.")
    "'a.b/c' could not be downloaded."
    """
    return re.split(r"(?<=[.!?])\s+(?=[A-Z'])", message, maxsplit=1)[0]


def stages_of(jobs: Sequence[JobView]) -> str:
    """Changes when a job has ended or reached its next stage. Includes ended jobs: a short one may
    start and end between two polls."""
    return " ".join(f"{job.id}:{job.status if job.has_ended else job.step.stage}" for job in jobs)


def _since(job: JobView, now: datetime) -> str:
    if job.has_ended:
        return f"{duration(max((now - job.updated_at).total_seconds(), 0))} ago"
    return f"for {duration(max((now - job.created_at).total_seconds(), 0))}"


class RecentJobs(BaseModel):
    """What the button that opens the drawer says: in words, and in a few characters."""

    summary: str
    share: str
    failed: bool


def summarise_jobs(jobs: Sequence[JobView], now: datetime) -> RecentJobs:
    """The running job, or the one that has just ended."""
    running = drop_ended(jobs)
    ended_jobs = [
        job for job in jobs
        if job.has_ended and not _was_started_again(job, jobs) and now - job.updated_at < NEWS
    ]  # fmt: skip
    failure = next((job for job in ended_jobs if job.status == "failed"), None)
    summary = share = ""
    if failure is not None:
        summary = f"{name_of(failure)} failed"
        share = "!"
    elif running:
        first = running[-1]
        share = f"{first.step.share:.0%}" if first.step.share is not None else "…"
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        summary = f"{name_of(first)} {share}{more}"
    elif ended_jobs:
        is_whole = not unreadable_of(ended_jobs[0])
        summary = f"{name_of(ended_jobs[0])}: {ended_jobs[0].status}"
        share = "✓" if is_whole else "!"
    return RecentJobs(summary=summary, share=share, failed=failure is not None)


def _was_started_again(job: JobView, jobs: Sequence[JobView]) -> bool:
    """Whether a later job does the same: a retry, or what the button on its page has started."""
    if job.continued_by is not None:
        return True
    work = (job.kind, job.dataset_id, job.subject)
    return job.status != "done" and any(
        other.id > job.id and (other.kind, other.dataset_id, other.subject) == work
        for other in jobs
    )


def pace_of(jobs: Sequence[JobView], now: datetime) -> float:
    """Seconds until the next poll: short while a job runs or the header still shows that one has
    ended."""
    is_news = any(not job.has_ended or now - job.updated_at < NEWS for job in jobs)
    return POLL if is_news else IDLE


def table(
    head: list[str], rows: Sequence[Sequence[object]], numeric: Collection[int] = ()
) -> Markup:
    """A table. `numeric`: indices of numeric columns."""
    return part("table", head, rows, numeric)


def start_by(
    button: gr.Button,
    status: gr.HTML,
    workspace: Workspace,
    dataset: PageDataset,
    kind: str,
    redraw: tuple[Any, ...],
    on_change: gr.HTML | None = None,
    **arguments: Any,
) -> None:
    """Make the button start the job, as whoever presses it, and `status` show its progress.
    `redraw`: draws the page when the job is done: (function, inputs, outputs). `on_change`: a
    change of this starts the job too. `arguments`: further inputs, by the names of the job's
    parameters."""
    job_id, completions = gr.State(None), gr.State(0)
    timer = gr.Timer(1.0, active=False)

    @starting
    def start_job(request: gr.Request, dataset_id: int | None, *values: Any) -> Started:
        options = {name: value for name, value in zip(arguments, values, strict=True)
                   if value is not None}  # fmt: skip
        return begin(seen_by(workspace, request), kind, dataset_id, **options)

    def watch(job_id: int | None, count: int) -> tuple[Any, Any, int]:
        if job_id is None:
            return gr.skip(), gr.Timer(active=False), count
        job = workspace.jobs.job(job_id)
        if not job.has_ended:
            return job_html(job), gr.skip(), count
        is_done = job.status == "done"
        message = "" if is_done else job_html(job)
        return message, gr.Timer(active=False), count + is_done

    inputs = [dataset, *arguments.values()]
    button.click(start_job, inputs, [job_id, status, timer], **QUIET)
    if on_change is not None:
        on_change.change(start_job, inputs, [job_id, status, timer], **QUIET)
    tick = event_kwargs(watch, [job_id, completions], [status, timer, completions], status)
    timer.tick(**tick | {"queue": True})  # a state says only through the queue that it has changed
    completions.change(*redraw, **QUIET)
