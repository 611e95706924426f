"""Long work, shown while it runs."""

from backend.views import JobView
from traced_ui.markup import safe

NAMES = {
    "import": "Importing",
    "score": "Scoring",
    "train": "Training",
    "adopt": "Ranking",
    "export": "Exporting",
}


def job_html(job: JobView) -> str:
    """One job: what it does, how far it is; when it failed, why."""
    name = NAMES.get(job.kind, job.kind)
    if job.status == "failed":
        return (
            f'<div class="traced-note error" role="alert">{name} failed. {safe(job.message)}</div>'
        )
    if job.status == "done":
        return f'<div class="traced-note good" role="status">{name} is done.</div>'
    share = job.done / job.total if job.total else 0
    told = f"{job.done} of {job.total}" if job.total else ""
    return (
        f'<div class="traced-note" role="status"><div class="progress"><span>{name}: '
        f"{safe(job.message or job.status)}</span><span>{told}</span></div>"
        f'<div class="bar"><i style="width:{share:.1%}"></i></div></div>'
    )


def table(head: list[str], rows: list[list[str]], numeric: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    """An HTML table; every cell is escaped."""

    def kind(index: int) -> str:
        return ' class="n"' if index in numeric else ""

    top = "".join(f"<th{kind(i)} scope='col'>{safe(cell)}</th>" for i, cell in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(i)}>{safe(c)}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<table class="t-table"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
