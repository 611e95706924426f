"""Datasets page: what a job that has ended says."""

from typing import Any

from markupsafe import Markup

from backend.datasets.read_options import HIDE, TAKE, TICKS
from backend.engine.trajectories.depth import ALL
from backend.jobs.reports import JobView
from backend.progress import duration
from traced_ui.jobs import job_html
from traced_ui.markup import pairs_text
from traced_ui.messages import note


def ended_html(job: JobView) -> Markup:
    """The result of a job that has ended, or why it failed."""
    if job.status != "done":
        return job_html(job)
    if job.kind == "import":
        return imported_note(job.result)
    message = _MESSAGES[job.kind](job.result) if job.kind in _MESSAGES else ""
    if job.kind == "score":
        return job_html(job) + (note(message, "good") if message else "")
    return note(message, "good") if message else job_html(job)


def support_message(result: dict[str, Any]) -> str:
    """The result of a support job, with its notes."""
    message = (
        f"{result['computed']} pairs measured now; {result['untested']} have no phrase to test. "
        "Sort the queue by 'empty phrases first'."
    )
    return " ".join([message, *(f"Note: {line}." for line in result["notes"])])


def depth_message(result: dict[str, Any]) -> str:
    """A note on trajectories with only their first step; "" if all are whole."""
    if result.get("trajectories", ALL) == ALL:
        return ""
    return (
        f"Every pair has the first step of its trajectory, which is enough to rank them; "
        f"{result['completed']:,} whole trajectories were computed. Others are computed when a "
        "pair is opened."
    )


def estimate_message(result: dict[str, Any]) -> str:
    """The time, disk space and memory that scoring needs, as estimated by a job."""
    copies = f" and {result['copies']:,} noisy copies" if result["copies"] else ""
    corrected = result.get("suggestions", 0)
    corrections = f", corrections of about {corrected:,} of them" if corrected else ""
    if result.get("trajectories", ALL) != ALL:
        corrections += f", whole trajectories for {result['whole']:,}, first steps for the others"
    return (
        f"About {duration(result['seconds'])} for {result['pairs']:,} pairs{copies}{corrections}, "
        f"{result['disk'] / 1e6:,.0f} MB of disk and {result['memory'] / 1e9:.1f} GB of memory, "
        f"measured on {result['measured']} pairs."
    )


def quality_message(result: dict[str, Any]) -> str:
    """The image quality issues counted by a job."""
    issues = ", ".join(
        f"{count:,} {issue.replace('_', ' ')}" for issue, count in result["issues"].items() if count
    )
    unreadable = f" {result['unreadable']:,} cannot be read." if result["unreadable"] else ""
    advice = " Filter the queue by “Picture is”." if issues else ""
    return (
        f"{result['measured']:,} pictures checked now. In the whole dataset: "
        f"{issues or 'no issues'}.{unreadable}{advice}"
    )


def imported_note(imported: dict[str, Any]) -> Markup:
    """The result of an import, including what it decided automatically (encoding, ids)."""
    changes = imported.get("changes") or {}
    counts = ", ".join(f"{n:,} {kind}" for kind, n in changes.items() if any(changes.values()))
    message = (
        f"'{imported['name']}': {pairs_text(imported['added'])} added, {imported['already_there']} "
        f"were there already, {imported['problems']} rows were left out. Find its errors next."
        + (f" Compared with the last import: {counts}." if counts else "")
    )
    notes = [*imported["notes"], *_advice(imported)]
    if imported.get("asks_for_model"):
        notes.append(
            f"{imported['asks_for_model']} Choose another under 'Model', then find errors."
        )
    return note(" ".join((message, *notes)), "warning" if imported["problems"] or notes else "good")


def _advice(imported: dict[str, Any]) -> list[str]:
    """What another import could do about rows that changed or are gone."""
    changes = imported.get("changes") or {}
    differs = changes.get("changed") or imported.get("unproved")
    entries = []
    if differs and imported.get("update") != "take":
        entries.append(f"To take the changes, tick “{TICKS[TAKE]}” and import again.")
    if changes.get("gone") and not imported.get("hidden"):
        entries.append(f"To hide what is gone, tick “{TICKS[HIDE]}” and import again.")
    return entries


_MESSAGES = {
    "support": support_message,
    "estimate": estimate_message,
    "score": depth_message,
    "quality": quality_message,
}
