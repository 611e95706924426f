"""Export: choose what stays, see the counts, write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.views import ExportChoice, ExportCounts
from backend.workspace import Workspace
from traced_ui.jobs import job_html, table
from traced_ui.messages import explained, guarded, note

FORMATS = [
    ("Folder of images with metadata.jsonl", "imagefolder"),
    ("CSV with image paths", "csv"),
    ("JSONL with image paths", "jsonl"),
    ("Parquet with image paths", "parquet"),
    ("Parquet with the images", "parquet-images"),
    ("WebDataset shards (tar)", "webdataset"),
    ("Hugging Face dataset on disk", "huggingface"),
]


def build(
    workspace: Workspace, dataset: gr.Dropdown
) -> tuple[Callable[..., str], list[Any], list[Any]]:
    """The page; returns what refreshes its counts: (function, inputs, outputs)."""
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            use_threshold = gr.Checkbox(
                False, label="Leave out undecided pairs that look wrong", elem_id="use-threshold"
            )
            threshold = gr.Slider(
                0, 1, 0.9, step=0.01, label="… above this probability of error", elem_id="threshold"
            )
            dropped = gr.Radio(["leave out", "tag"], value="leave out", label="Decided wrong: drop")
            abstract = gr.Radio(
                ["leave out", "tag", "keep"], value="leave out", label="Decided abstract"
            )
            unsure = gr.Radio(["keep", "leave out"], value="keep", label="Decided unsure")
            decided_only = gr.Checkbox(False, label="Only pairs with a verdict")
        with gr.Column(scale=1, min_width=340):
            counts = gr.HTML(elem_id="export-counts")
            format = gr.Dropdown(
                FORMATS, value="imagefolder", label="Form", elem_id="export-format"
            )
            out = gr.Textbox(
                str(Path.home() / "traced-export"), label="Folder to write (must be new)",
                elem_id="export-out",
            )  # fmt: skip
            overwrite = gr.Checkbox(False, label="Replace an earlier export there")
            start = gr.Button("Export", variant="primary", elem_id="export-start")
            job_id = gr.State(None)
            status = gr.HTML(elem_id="export-status")
            card = gr.Markdown(elem_id="export-card")
            timer = gr.Timer(0.7, active=False)

    def choice_of(*given: Any) -> ExportChoice:
        use, limit, for_dropped, for_abstract, for_unsure, only = given
        return ExportChoice(
            drop_above=float(limit) if use else None,
            abstract=for_abstract,
            dropped=for_dropped,
            unsure=for_unsure,
            decided_only=bool(only),
        )

    def count(dataset_id: int | None, *given: Any) -> str:
        if dataset_id is None:
            return ""
        try:
            return counts_html(workspace.export_counts(dataset_id, choice_of(*given)))
        except Exception as error:
            return note(explained(error), "error")

    @guarded
    def begin(
        dataset_id: int | None, form: str, folder: str, replace: bool, *given: Any
    ) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        if not folder.strip():
            raise SettingsError("Name the folder to write.")
        started = workspace.start_job(
            "export", dataset_id, choice=choice_of(*given), out=folder.strip(), format=form,
            overwrite=bool(replace),
        )  # fmt: skip
        return started, job_html(workspace.job(started)), gr.Timer(active=True)

    @guarded
    def watch(started: int | None) -> tuple[Any, Any, Any]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = workspace.job(started)
        if job.status in ("queued", "running"):
            return job_html(job), gr.skip(), gr.skip()
        if job.status == "failed":
            return job_html(job), gr.Timer(active=False), gr.skip()
        told = f"{job.result['written']} pairs written to {job.result['out']}, with this card:"
        body = str(job.result["card"]).split("---", 2)[-1]
        return note(told, "good"), gr.Timer(active=False), body

    choice = [use_threshold, threshold, dropped, abstract, unsure, decided_only]
    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    changes = [dataset.change, *(component.change for component in choice)]
    gr.on(changes, count, [dataset, *choice], [counts], **options)
    start.click(
        begin, [dataset, format, out, overwrite, *choice], [job_id, status, timer], **options
    )
    timer.tick(watch, [job_id], [status, timer, card], **options)
    return count, [dataset, *choice], [counts]


def counts_html(counts: ExportCounts) -> str:
    """What an export would do, before anything is written."""
    rows = [["stay", str(counts.kept)]]
    rows.append(["… of them with a corrected caption", str(counts.corrected)])
    if counts.tagged:
        rows.append(["… of them with a tag", str(counts.tagged)])
    rows += [[f"left out, {why}", str(n)] for why, n in sorted(counts.left_out.items())]
    rows.append(["all", str(counts.total)])
    return table(["what becomes of the pairs", "pairs"], rows, {1})
