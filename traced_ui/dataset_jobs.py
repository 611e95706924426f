"""Datasets page: start jobs from its buttons, follow them until they end, and say what they did."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.counts import count_of
from backend.datasets.read_options import HIDE, TAKE, TICKS
from backend.engine.trajectories.depth import ALL
from backend.errors import SettingsError
from backend.jobs.job_view import JobView
from backend.jobs.notices import notices_of
from backend.jobs.scoring_reports import about_depth
from backend.operations.operation import never
from backend.operations.registry import OPERATIONS
from backend.review.views import ClaimsFound
from backend.workspace import Workspace
from traced_ui import models_page
from traced_ui.import_form import FIELDS, import_options
from traced_ui.jobs import Started, begin, follow, job_html
from traced_ui.login import seen_by
from traced_ui.messages import event_value, note
from traced_ui.model_cards import ModelCards, cards_html, chosen_for, time_of
from traced_ui.templates import render


class Update(NamedTuple):
    """What following a job changes on the page; `gr.skip()` for what stays. `reading`: the progress
    of an import, or why it failed; `report`: what it found; `download`: of a model; `status`: what
    any other job says; `options`: the fold of an import's options."""

    reading: Any = gr.skip()
    report: Any = gr.skip()
    download: Any = gr.skip()
    status: Any = gr.skip()
    timer: Any = gr.skip()
    dataset: Any = gr.skip()
    cards: Any = gr.skip()
    plan: Any = gr.skip()
    options: Any = gr.skip()


#: A choice of the list of models.
OWN = "the dataset's own model"
#: Where the page says what a job does; of any other kind in its status.
_PLACES = {"import": "reading", "download": "download"}


class DatasetJobs:
    """The handlers of the page's buttons."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._cards = ModelCards(workspace)

    def begin_import(self, path: str | None, *values: str | bool | None) -> Started:
        """`values`: the import options, in the order of `FIELDS`."""
        source = (path or "").strip()
        if not source:
            raise SettingsError("Enter a folder or a file first.")
        entries = dict(zip(FIELDS, values, strict=True))
        job_id = self.workspace.jobs.start("import", None, path=source, **import_options(entries))
        return follow(self.workspace, job_id)

    def follow_upload(self, event: gr.EventData) -> Started:
        """Follow the import job started by an upload, like that of any other import."""
        return follow(self.workspace, int(event_value(event, "job", 0)))

    def starting(self, kind: str, **arguments: Any) -> Callable[[int | None], Started]:
        """The handler that starts a job of this kind."""
        return functools.partial(begin, self.workspace, kind, **arguments)

    def scoring(self, kind: str) -> Callable[..., Started]:
        """The handler that starts a job of the kind "score" or "estimate", without the defaults."""

        def start(
            dataset_id: int | None, model: str | None, which: str, anyway: bool, captioner: bool,
            claims: str, constants: str | None, judge_all: bool, request: gr.Request,
        ) -> Started:  # fmt: skip
            arguments: dict[str, Any] = {"claims": claims} if claims else {}
            if stated := [line.strip() for line in (constants or "").splitlines() if line.strip()]:
                arguments["constant"] = stated
            if judge_all:
                arguments["constants"] = False
            if anyway:
                arguments["anyway"] = True
            if which:
                arguments["trajectories"] = which
            if captioner:
                arguments["captioner"] = "auto"
            if model and dataset_id is not None:
                arguments["model"] = models_page.chosen_by(self.workspace, model, request)
            if kind == "score" and ("model" in arguments or captioner):
                arguments["download"] = True
            return begin(self.workspace, kind, dataset_id, **arguments)

        return start

    def offer(self, dataset_id: int | None) -> tuple[Any, Any, Any]:
        """The models to score the dataset with, one of them chosen: as cards, with the plan, and
        all by name. Nothing is said of them before the browser has named the dataset."""
        if dataset_id is None:
            return "", "", gr.skip()
        cards = self._cards.of(dataset_id)
        choice = chosen_for(cards)
        names = [(view.name, view.name) for view in self.workspace.models.list_models()]
        models = gr.Dropdown([(OWN, ""), *names], value=choice)
        return cards_html(cards, choice), self._plan(dataset_id, choice), models

    def cards_and_plan(self, dataset_id: int | None, model: str | None) -> tuple[str, str]:
        """The cards, and what finding errors will do. `model`: the one that is chosen, on a card or
        not."""
        plan = "" if dataset_id is None else self._plan(dataset_id, model)
        return cards_html(self._cards.of(dataset_id), model or ""), plan

    def _plan(self, dataset_id: int, model: str | None) -> str:
        """What finding errors with this model will do, and how long that takes."""
        view = self.workspace.models.view(model or self.workspace.jobs.model_of(dataset_id))
        summary = self.workspace.summary(dataset_id)
        return render(
            "datasets/plan.html", view=view, size=models_page.size,
            time=time_of(view, summary.total), is_scored=summary.scored > 0,
        )  # fmt: skip

    def choose(self, event: gr.EventData, model: str | None) -> str:
        """The model of the chosen card."""
        return str(event_value(event, "model", model or ""))

    def download(self, event: gr.EventData, request: gr.Request) -> Started:
        """Download the model of a card."""
        name = models_page.chosen_by(self.workspace, event_value(event, "model", ""), request)
        return follow(self.workspace, self.workspace.jobs.start("download", None, model=name))

    def first_look(self, dataset_id: int | None, request: gr.Request) -> tuple[str, gr.Timer]:
        """What the jobs that follow an import do, or have found."""
        if dataset_id is None:
            return "", gr.Timer(active=False)
        workspace = seen_by(self.workspace, request)
        looks = [
            job
            for operation in OPERATIONS.values()
            if operation.follows_import is not never
            and (job := workspace.jobs.last(operation.name, dataset_id)) is not None
        ]
        notices = notices_of(workspace.store, dataset_id)
        html = render("datasets/first_look.html", looks=looks, job_html=job_html, notices=notices)
        return html, gr.Timer(active=any(not job.has_ended for job in looks))

    def watch(self, job_id: int | None, dataset_id: int | None, model: str | None) -> Update:
        """The state of the job that the page follows. `model`: the one that is chosen."""
        if job_id is None:
            return Update(timer=gr.Timer(active=False))
        job = self.workspace.jobs.job(job_id)
        place = _PLACES.get(job.kind, "status")
        if not job.has_ended:
            return Update(**{place: job_html(job)})
        over = Update(**{place: ended_html(job)}, timer=gr.Timer(active=False))
        if job.kind == "download":
            cards, plan = self.cards_and_plan(dataset_id, model)
            return over._replace(cards=cards, plan=plan)
        if job.kind == "import":
            over = over._replace(options=gr.Accordion(open=job.status != "done"))
        if job.kind == "import" and job.status == "done":
            dataset, report = job.result["dataset_id"], imported_note(job.result)
            over = over._replace(reading="", report=report, dataset=dataset)
        return over


def choices(workspace: Workspace) -> list[tuple[str, int]]:
    """The datasets, as choices of a dropdown."""
    return [
        (f"{summary.name} ({count_of(summary.total)})", summary.id)
        for summary in workspace.datasets()
    ]


def ended_html(job: JobView) -> Markup:
    """The result of a job that has ended, or why it failed."""
    if job.status != "done":
        return job_html(job)
    if job.kind == "import":
        return imported_note(job.result)
    if job.kind == "score":
        if job.result.get("trajectories", ALL) == ALL:
            return job_html(job)
        return job_html(job) + note(about_depth(job.result["completed"]), "good")
    operation = OPERATIONS.get(job.kind)
    advice = operation.advice if operation is not None else None
    words = job.result.get("in_words")
    if not words or advice is None:
        return job_html(job)
    notes = [f"Note: {line}." for line in job.result.get("notes", ())]
    if "issues" in job.result and not any(job.result["issues"].values()):
        advice = ""  # there are none to look at
    return note(" ".join(filter(None, (words, advice, *notes))), "good")


def claims_message(form: ClaimsFound) -> str:
    """
    >>> claims_message(ClaimsFound(9, 9, 3, 5.3, 1, 15.0))
    '3 of 9 captions have several sentences (5 on average); 1 is a list of 15 tags'
    >>> claims_message(ClaimsFound(4000, 300, 300, 7.3, 0, 0.0))
    'All of 300 captions, chosen at random from 4,000, have several sentences (7 on average)'
    >>> claims_message(ClaimsFound(9, 9, 0, 0.0, 0, 0.0))
    'Each of 9 captions is one sentence'
    """
    captions = count_of(form.sampled, "caption")
    if form.sampled < form.pairs:
        captions += f", chosen at random from {form.pairs:,},"
    sentences = f"has {form.sentences_each:.0f} sentences"
    if form.several > 1:
        sentences = f"have several sentences ({form.sentences_each:.0f} on average)"
    tags = f"is a list of {form.tags_each:.0f} tags"
    if form.lists > 1:
        tags = f"are lists of tags ({form.tags_each:.0f} on average)"
    shares = [(n, words) for n, words in ((form.several, sentences), (form.lists, tags)) if n]
    if not shares:
        return f"{'Each of ' if form.sampled > 1 else ''}{captions} is one sentence"
    (number, words), *others = shares
    count = "All" if number == form.sampled > 1 else f"{number:,}"
    return "; ".join((f"{count} of {captions} {words}", *(f"{n:,} {words}" for n, words in others)))


def imported_note(result: dict[str, Any]) -> Markup:
    """The result of an import, including what it decided automatically (encoding, ids)."""
    message = result.get("in_words", f"'{result['name']}' is imported.")
    notes = [*result["notes"], *_advice(result)]
    notes += filter(None, [result.get("asks_for_model")])
    return note(" ".join((message, *notes)), "warning" if result["problems"] or notes else "good")


def _advice(result: dict[str, Any]) -> list[str]:
    """What another import could do about rows that changed or are gone."""
    changes = result.get("changes") or {}
    differs = changes.get("changed") or result.get("unproved")
    entries = []
    if differs and result.get("update") != "take":
        entries.append(f"To take the changes, tick “{TICKS[TAKE]}” and import again.")
    if changes.get("gone") and not result.get("hidden"):
        entries.append(f"To hide what is gone, tick “{TICKS[HIDE]}” and import again.")
    return entries
