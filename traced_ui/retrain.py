"""Retrain page: train on the verdicts, compare, and adopt."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.workspace import ClassifierRow, Workspace
from traced_ui import labels_form
from traced_ui.jobs import Started, begin, job_html, table, unfollowed
from traced_ui.messages import guarded, note
from traced_ui.templates import part, render

_FIGURES = {
    "auc": ("AUC, cross-validated", "on pairs not trained on; 0.5 is chance"),
    "auc_s_0": ("AUC of s alone", "the same for the plain image-text score"),
    "verdict_auc_before": ("AUC on your verdicts, before", "by the current detector"),
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
        "Train the detector on your verdicts and on injected errors. The new detector is only a "
        "candidate: see what it would change, then adopt it or keep the current one."
    )
    start = gr.Button("Train on the verdicts so far", variant="primary", elem_id="train-start")
    job_id = gr.State(None)
    status = gr.HTML(elem_id="train-status")
    timer = gr.Timer(1.0, active=False)
    comparison = gr.HTML(elem_id="train-comparison")
    with gr.Row():
        chosen = gr.Dropdown([], label="Classifier", elem_id="classifier", scale=3)
        adopt = gr.Button("Adopt this one", interactive=False, elem_id="adopt", scale=1)
    listing = gr.HTML(elem_id="classifiers")
    labels_form.build(workspace, dataset)

    def shown(dataset_id: int | None) -> tuple[str, str, Any, Any]:
        classifiers = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        options = [
            (f"{c.name} ({c.kind})" + (", in use" if c.active else ""), c.id) for c in classifiers
        ]
        first = classifiers[0].id if classifiers else None
        return (
            comparison_html(classifiers),
            listing_html(classifiers),
            gr.Dropdown(options, value=first),
            gr.Button(interactive=is_new(classifiers, first)),
        )

    def choose(dataset_id: int | None, classifier_id: int | None) -> Any:
        known = workspace.jobs.classifiers(dataset_id) if dataset_id is not None else []
        return gr.Button(interactive=is_new(known, classifier_id))

    @guarded
    def begin_training(dataset_id: int | None) -> Started:
        return begin(workspace, "train", dataset_id)

    @guarded
    def begin_adopting(dataset_id: int | None, classifier_id: int | None) -> Started:
        if dataset_id is None or classifier_id is None:
            raise SettingsError("There is no classifier yet. Train one first.")
        known = workspace.jobs.classifiers(dataset_id)
        if any(row.id == classifier_id and row.active for row in known):
            raise SettingsError("This detector is already in use; nothing has changed.")
        return begin(workspace, "adopt", dataset_id, classifier_id=int(classifier_id))

    @guarded
    def watch(started: int | None, dataset_id: int | None) -> tuple[Any, ...]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), *(gr.skip() for _ in range(4))
        job = workspace.jobs.job(started)
        if not job.has_ended:
            return job_html(job), *(gr.skip() for _ in range(5))
        message = job_html(job)
        if job.status == "done":
            message = note(
                "Trained. Nothing has changed yet: adopt it below, or keep the current one."
                if job.kind == "train"
                else "Now in use: the queue is ranked by it.",
                "good",
            )
        return message, gr.Timer(active=False), *shown(dataset_id)

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    tables = [comparison, listing, chosen, adopt]
    chosen.input(choose, [dataset, chosen], [adopt], **options)
    start.click(begin_training, [dataset], [job_id, status, timer], **options)
    adopt.click(begin_adopting, [dataset, chosen], [job_id, status, timer], **options)
    timer.tick(watch, [job_id, dataset], [status, timer, *tables], **options)
    dataset.change(unfollowed, None, [job_id, status, timer], **options)
    gr.on(None, shown, [dataset], tables, **options)


def comparison_html(classifiers: list[ClassifierRow]) -> str:
    """The newest classifier compared with the one in use."""
    if not classifiers:
        return part("empty", "No detector yet", "Score the dataset first.")
    newest = classifiers[0]
    active = next((c for c in classifiers if c.active), newest)
    compared = [active] if active.id == newest.id else [active, newest]
    return render(
        "retrain.html",
        active=active.name,
        candidate=newest.name if len(compared) == 2 else "",
        rows=_rows(compared),
    )


def _rows(classifiers: list[ClassifierRow]) -> list[list[str]]:
    """One row per metric that any classifier has: name, its value for each of them, meaning."""
    rows = []
    for key, (name, meaning) in _FIGURES.items():
        values = [classifier.report.get(key) for classifier in classifiers]
        if any(value is not None for value in values):
            rows.append([name, *map(_shown, values), meaning])
    return rows


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def is_new(classifiers: list[ClassifierRow], chosen: int | None) -> bool:
    """Whether the chosen classifier can be adopted: it exists and is not in use."""
    return any(row.id == chosen and not row.active for row in classifiers)


def listing_html(classifiers: list[ClassifierRow]) -> str:
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
