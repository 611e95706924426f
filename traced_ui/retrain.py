"""Learn from my verdicts: train on them, say what would change in a sentence, and decide."""

from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.engine.detection.paying_signs import CAPTIONER, OPINION
from backend.errors import SettingsError
from backend.jobs.retrain import verdicts_missing
from backend.learning_texts import learnt_in_words, trained_on
from backend.workspace import ClassifierRow, Workspace
from traced_ui.jobs import IDLE, Started, begin, follow, job_html, starting, table
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import build_parts
from traced_ui.templates import part, render

_FIGURES = {
    "auc": ("AUC, cross-validated", "on pairs not trained on; 0.5 is chance"),
    "auc_s_0": ("AUC of the match (s) alone", "the same for the plain image-text score"),
    "verdict_auc_before": ("AUC on pairs drawn at random, before", "by the current error finder"),
    "verdict_auc_after": ("AUC on pairs drawn at random, after", "by one that had not seen them"),
    "new_in_first_places": ("new among the first 100", "pairs that move to the head of the queue"),
    "rank_correlation": ("rank correlation", "1: the order stays as it was"),
    "detector": ("kind", "the winner of the cross-validation"),
    "estimated_share_wrong": ("estimated share of errors", "in the whole dataset"),
    "trained_on_pairs": ("pairs trained on", ""),
    "noisy_copies": ("planted errors trained on", ""),
    "language": ("language of the captions", "planted errors are made of its words"),
    "verdicts_wrong": ("verdicts: wrong", ""),
    "verdicts_right": ("verdicts: right", ""),
    "verdicts_at_random": ("verdicts on pairs drawn at random", "these teach the most"),
}


class Candidate(NamedTuple):
    """The newest error finder, not in use. `is_better`: its order, or its level, is supported by
    verdicts on pairs drawn at random."""

    classifier_id: int
    sentence: str
    is_better: bool


def candidate_of(classifiers: list[ClassifierRow]) -> Candidate | None:
    """The newest of `classifiers` and what its use would change; None if it is in use or was
    declined."""
    if not classifiers or classifiers[0].active or classifiers[0].report.get("declined"):
        return None
    newest = classifiers[0]
    is_better = newest.report.get("learnt") == "order" or bool(newest.report.get("level_is_known"))
    sentence = learnt_in_words(newest.report) or "Trained on planted errors."
    return Candidate(newest.id, sentence, is_better)


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page."""
    comparison = gr.HTML(elem_id="train-comparison")
    with gr.Row(elem_id="train-decide", elem_classes="decision-row"):
        keep = gr.Button("Keep the current one", visible=False, elem_id="keep")
        adopt = gr.Button("Use the new one", visible=False, elem_id="adopt")
        start = gr.Button(
            "Learn from my verdicts", variant="primary", interactive=False, elem_id="train-start"
        )
        without = gr.Button("Learn without what misleads", visible=False, elem_id="train-without")
        missing = gr.HTML(elem_id="train-missing", elem_classes="decision-missing", padding=False)
    # Verdicts that are given in another window, or by what is below, enable the button.
    waiting = gr.Timer(IDLE, active=False)
    job_id = gr.State(None)
    status = gr.HTML(elem_id="train-status")
    timer = gr.Timer(1.0, active=False)
    with gr.Accordion("Use an earlier error finder", open=False), gr.Row():
        classifier = gr.Dropdown([], label="Error finder", elem_id="classifier", scale=3)
        use = gr.Button("Use this one", elem_id="adopt-chosen", scale=1)
    build_parts("learn", workspace, dataset, comparison)

    def show(dataset_id: int | None) -> tuple[Any, ...]:
        classifiers = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        candidate = candidate_of(classifiers)
        review_count = workspace.review.counts(dataset_id).reviewed if dataset_id is not None else 0
        more = verdicts_missing(workspace.store, dataset_id) if dataset_id is not None else 0
        options = [
            (f"{c.name} ({c.kind})" + (", in use" if c.active else ""), c.id) for c in classifiers
        ]
        return (
            comparison_html(classifiers, candidate, review_count),
            _choice("Keep the current one", candidate, for_better=False),
            _choice("Use the new one", candidate, for_better=True),
            gr.Dropdown(options, value=classifiers[0].id if classifiers else None),
            # One button stands out: the decision, if there is one.
            gr.Button(
                variant="primary" if candidate is None else "secondary",
                interactive=bool(classifiers) and not more,
            ),
            _switch(classifiers),
            render("to_go.html", verdicts=more, wrong=0) if classifiers else "",
            gr.Timer(active=bool(classifiers and more)),
        )

    def under_way(dataset_id: int | None) -> Started | tuple[Any, Any, Any]:
        """Follow the dataset's unfinished training or adoption, also after a reload. If there is
        none, nothing changes: the answer may come after that of a button pressed meanwhile."""
        for job in workspace.jobs.recent(1):
            is_here = job.dataset_id == dataset_id and job.kind in ("train", "adopt")
            if is_here and not job.has_ended:
                return follow(workspace, job.id)
        return gr.skip(), gr.skip(), gr.skip()

    @starting
    def begin_training(dataset_id: int | None) -> Started:
        return begin(workspace, "train", dataset_id)

    @starting
    def begin_without(dataset_id: int | None) -> Started:
        rows = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        harmful = rows[0].report.get("harmful", ()) if rows else ()
        return begin(
            workspace, "train", dataset_id, without_captioner=CAPTIONER in harmful,
            without_opinion=OPINION in harmful,
        )  # fmt: skip

    @starting
    def begin_adopting(dataset_id: int | None, classifier_id: int | None) -> Started:
        if dataset_id is None or classifier_id is None:
            raise SettingsError("There is no error finder yet. Find errors first, under Add data.")
        rows = workspace.jobs.classifiers(dataset_id)
        if any(row.id == classifier_id and row.active for row in rows):
            raise SettingsError("This error finder is already in use; nothing has changed.")
        return begin(workspace, "adopt", dataset_id, classifier_id=int(classifier_id))

    def use_newest(dataset_id: int | None) -> tuple[int | None, Markup, gr.Timer]:
        rows = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        return begin_adopting(dataset_id, rows[0].id if rows else None)

    def decline(dataset_id: int | None) -> tuple[Any, ...]:
        rows = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        if rows:
            workspace.jobs.decline(rows[0].id)
        return show(dataset_id)

    def watch(job_id: int | None, dataset_id: int | None) -> tuple[Any, ...]:
        if job_id is None:
            return gr.skip(), gr.Timer(active=False), *(gr.skip() for _ in tables)
        job = workspace.jobs.job(job_id)
        if not job.has_ended:
            return job_html(job), gr.skip(), *(gr.skip() for _ in tables)
        message = job_html(job)
        if job.status == "done":
            training_text = "Trained. Nothing has changed yet: decide above."
            adoption_text = "Now in use: it ranks the queue."
            message = note(training_text if job.kind == "train" else adoption_text, "good")
        return message, gr.Timer(active=False), *show(dataset_id)

    tables = [comparison, keep, adopt, classifier, start, without, missing, waiting]
    job_outputs = [job_id, status, timer]
    start.click(begin_training, [dataset], job_outputs, **QUIET)
    without.click(begin_without, [dataset], job_outputs, **QUIET)
    adopt.click(use_newest, [dataset], job_outputs, **QUIET)
    use.click(begin_adopting, [dataset, classifier], job_outputs, **QUIET)
    keep.click(**event_kwargs(decline, [dataset], tables, status))
    timer.tick(**event_kwargs(watch, [job_id, dataset], [status, timer, *tables], status))
    gr.on(None, under_way, [dataset], job_outputs, **QUIET)
    waiting.tick(show, [dataset], tables, **QUIET)
    gr.on(None, show, [dataset], tables, **QUIET)


def _switch(classifiers: list[ClassifierRow]) -> gr.Button:
    """Shown if the newest training has found signs that point the wrong way."""
    harmful = classifiers[0].report.get("harmful") if classifiers else None
    label = f"Learn without {' and '.join(harmful)}" if harmful else ""
    return gr.Button(label, visible=bool(harmful))


def _choice(label: str, candidate: Candidate | None, for_better: bool) -> gr.Button:
    """One of the two buttons that decide on a candidate. `for_better`: recommended if the candidate
    is better, else if it is not."""
    is_recommended = candidate is not None and candidate.is_better == for_better
    return gr.Button(
        f"{label} (recommended)" if is_recommended else label,
        visible=candidate is not None,
        variant="primary" if is_recommended else "secondary",
    )


def comparison_html(
    classifiers: list[ClassifierRow], candidate: Candidate | None, review_count: int
) -> str:
    """What is in use or what would change, in a sentence; the figures behind *Details*."""
    if not classifiers:
        return part(
            "empty",
            "No error finder yet",
            "It is trained when errors are found.",
            part("page_link", "datasets", "Find errors under Add data"),
        )
    newest = classifiers[0]
    active = next((c for c in classifiers if c.active), newest)
    entries = [active] if active.id == newest.id else [active, newest]
    return render(
        "retrain.html",
        active=active,
        new=newest.name if len(entries) == 2 else "",
        candidate=candidate,
        reviewed=review_count,
        rows=_rows(entries),
        listing=listing_html(classifiers),
    )


def _rows(classifiers: list[ClassifierRow]) -> list[list[str]]:
    """One row per metric that any classifier has: name, its value for each of them, meaning."""
    rows = []
    for key, (name, meaning) in _FIGURES.items():
        values = [classifier.report.get(key) for classifier in classifiers]
        if any(value is not None for value in values):
            rows.append([name, *map(_show_value, values), meaning])
    return rows


def _show_value(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def listing_html(classifiers: list[ClassifierRow]) -> str:
    """All error finders of the dataset, newest first."""
    rows = [
        [
            c.name,
            c.kind,
            trained_on(c.basis),
            f"{c.created_at:%Y-%m-%d %H:%M}",
            "in use" if c.active else "",
        ]
        for c in classifiers
    ]
    return table(["error finder", "kind", "trained on", "made", ""], rows) if rows else ""
