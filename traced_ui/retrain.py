"""Retrain: learn from the verdicts, compare, and decide."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.views import ClassifierView
from backend.workspace import Workspace
from traced_ui.jobs import job_html, table
from traced_ui.markup import safe
from traced_ui.messages import guarded, note

_FIGURES = {
    "auc": ("AUC, cross-validated", "finding errors among pairs not trained on; 0.5 is chance"),
    "auc_s_0": ("AUC of s alone", "the same by the plain image-text score"),
    "verdict_auc_before": ("AUC on your verdicts, before", "by the detector in use until now"),
    "verdict_auc_after": ("AUC on your verdicts, after", "by a classifier that had not seen them"),
    "new_in_first_places": ("new among the first 100", "pairs that move to the head of the queue"),
    "rank_correlation": ("rank correlation", "1: the order stays as it was"),
    "detector": ("kind", "the winner of the cross-validation"),
    "estimated_share_wrong": ("estimated share of errors", "in the whole dataset"),
    "trained_on_pairs": ("pairs trained on", ""),
    "noisy_copies": ("injected errors trained on", ""),
    "verdicts_wrong": ("verdicts: wrong", ""),
    "verdicts_right": ("verdicts: correct", ""),
}


def build(workspace: Workspace, dataset: gr.Dropdown) -> None:
    gr.Markdown(
        "Train the detector on your verdicts, beside injected errors. The new one is only a "
        "candidate: see what it would change, then adopt it or keep the one in use."
    )
    start = gr.Button("Train on the verdicts so far", variant="primary", elem_id="train-start")
    job_id = gr.State(None)
    status = gr.HTML(elem_id="train-status")
    timer = gr.Timer(1.0, active=False)
    comparison = gr.HTML(elem_id="train-comparison")
    with gr.Row():
        chosen = gr.Dropdown([], label="Classifier", elem_id="classifier", scale=3)
        adopt = gr.Button("Adopt this one", elem_id="adopt", scale=1)
    listing = gr.HTML(elem_id="classifiers")

    def shown(dataset_id: int | None) -> tuple[str, str, Any]:
        found = workspace.classifiers(dataset_id) if dataset_id is not None else []
        options = [(f"{c.name} ({c.kind})" + (", in use" if c.active else ""), c.id) for c in found]
        first = found[0].id if found else None
        return comparison_html(found), listing_html(found), gr.Dropdown(options, value=first)

    @guarded
    def begin(dataset_id: int | None) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        started = workspace.start_job("train", dataset_id)
        return started, job_html(workspace.job(started)), gr.Timer(active=True)

    @guarded
    def begin_adopting(dataset_id: int | None, classifier_id: int | None) -> tuple[int, str, Any]:
        if classifier_id is None:
            raise SettingsError("There is no classifier yet. Train one first.")
        started = workspace.start_job("adopt", dataset_id, classifier_id=int(classifier_id))
        return started, job_html(workspace.job(started)), gr.Timer(active=True)

    @guarded
    def watch(started: int | None, dataset_id: int | None) -> tuple[Any, ...]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip(), gr.skip(), gr.skip()
        job = workspace.job(started)
        if job.status in ("queued", "running"):
            return job_html(job), *(gr.skip() for _ in range(4))
        told = job_html(job)
        if job.status == "done":
            told = note(
                "Trained. Nothing has changed yet: adopt it below, or keep the one in use."
                if job.kind == "train"
                else "In use now: the queue is ranked by it.",
                "good",
            )
        return told, gr.Timer(active=False), *shown(dataset_id)

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    tables = [comparison, listing, chosen]
    start.click(begin, [dataset], [job_id, status, timer], **options)
    adopt.click(begin_adopting, [dataset, chosen], [job_id, status, timer], **options)
    timer.tick(watch, [job_id, dataset], [status, timer, *tables], **options)
    dataset.change(shown, [dataset], tables, **options)
    context = gr.context.Context.root_block
    if context is not None:
        context.load(shown, [dataset], tables, **options)


def comparison_html(classifiers: list[ClassifierView]) -> str:
    """The newest classifier beside the one in use."""
    if not classifiers:
        return '<div class="empty"><h2>No detector yet</h2>Score the dataset first.</div>'
    newest = classifiers[0]
    active = next((c for c in classifiers if c.active), None)
    if active is None or active.id == newest.id:
        return f"<h3>In use: {safe(newest.name)}</h3>" + _figures(newest)
    return (
        '<div class="two-bars"><div><h3>Candidate: '
        f"{safe(newest.name)}</h3>{_figures(newest)}</div>"
        f"<div><h3>In use: {safe(active.name)}</h3>{_figures(active)}</div></div>"
    )


def _figures(classifier: ClassifierView) -> str:
    rows = []
    for key, (name, told) in _FIGURES.items():
        value = classifier.report.get(key)
        if value is not None:
            rows.append([name, f"{value:.3f}" if isinstance(value, float) else str(value), told])
    return table(["figure", "value", ""], rows, {1})


def listing_html(classifiers: list[ClassifierView]) -> str:
    rows = [
        [
            c.name,
            c.kind,
            "verdicts and injected noise" if c.basis == "verdicts" else "injected noise",
            f"{c.created_at:%Y-%m-%d %H:%M}",
            "in use" if c.active else "",
        ]
        for c in classifiers
    ]
    return table(["classifier", "kind", "trained on", "made", ""], rows) if rows else ""
