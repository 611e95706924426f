"""Export page: choose what to keep, see the counts, write."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import gradio as gr
from markupsafe import Markup

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.reading.caption_fields import chosen_names
from backend.datasets.splits import split_in
from backend.errors import SettingsError
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_counts import LIKELY_WRONG
from backend.jobs.export_reports import ExportCounts
from backend.jobs.export_steps import group_names
from backend.jobs.job_view import JobView
from backend.operations.export import ExportOptions
from backend.review.queue_form import KEYS, START
from backend.workspace import Workspace
from traced_ui.jobs import Started, begin, job_html, starting, table
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_kwargs, explain_on_page, note
from traced_ui.option_fields import field
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import Choices, build_parts
from traced_ui.templates import render

#: Which pairs are written: all, those with a verdict, those of the queue that is open in Review, or
#: of a typed filter; or a saved view, by its name after `VIEW`.
EVERYTHING, DECIDED, QUEUE, FILTER, VIEW = "all", "decided", "queue", "filter", "view:"
_PAIRS = [
    ("everything", EVERYTHING),
    ("only pairs with a verdict", DECIDED),
    ("the queue that is open in Review", QUEUE),
]
#: JavaScript: the address of Review as it was left (`board/header.js`).
_REVIEW = "() => sessionStorage.getItem('traced-review') ?? ''"


class Fields(NamedTuple):
    """The fields that choose what to write: their components, or what is entered in them.
    `pairs`: which; `review`: the address of Review as it was left; `filter`: of a queue, typed."""

    pairs: Any
    review: Any
    filter: Any
    wrong: Any
    use_threshold: Any
    threshold: Any
    by_claim: Any
    wrong_claims: Any
    dropped: Any
    abstract: Any
    unsure: Any
    unconfirmed: Any
    keep_pictures_together: Any
    shares: Any
    split_seed: Any
    together: Any
    captions: Any


def build(
    workspace: Workspace, dataset: PageDataset
) -> tuple[Callable[..., tuple[str, ...]], list[Any], list[Any]]:
    """Build the page: how many pairs are written, and the button; below it the choices, what few
    exports need folded, and beside them what becomes of the pairs. Return what refreshes the
    counts: (function, inputs, outputs)."""
    fields: dict[str, Any] = {}
    with gr.Row(elem_id="export-decide", elem_classes="decision-row"):
        total = gr.HTML(elem_id="export-total")
        start = gr.Button("Export", variant="primary", elem_id="export-start")
    job_id = gr.State(None)
    status = gr.HTML(elem_id="export-status", padding=False)
    timer = gr.Timer(0.7, active=False)
    with gr.Row(equal_height=False, elem_id="export-choices"):
        with gr.Column(scale=1, min_width=340):
            format = gr.Dropdown(
                [(export_format.label, name) for name, export_format in EXPORT_FORMATS.items()],
                value=ExportOptions.model_fields["format"].default, label="Format",
                elem_id="export-format",
            )  # fmt: skip
            fields["pairs"] = gr.Dropdown(
                _PAIRS, value=EVERYTHING, label="Which pairs", elem_id="export-pairs"
            )
            # In the document, though hidden: others are not told when it changes.
            fields["review"] = gr.Textbox("", visible="hidden", elem_id="export-review")
            fields["captions"] = field(
                ExportChoice, "captions", "Captions",
                [("as decided", "decided"), ("enriched where suggested, unchecked", "enriched")],
                elem_id="export-captions",
            )  # fmt: skip
            fields["wrong"] = field(
                ExportChoice, "wrong", "Decided Wrong, without a correction",
                [("kept, with a tag", "tag"), ("left out", "leave out")], elem_id="export-wrong",
            )  # fmt: skip
            fields |= _likely_wrong_fields()
            out = field(
                ExportOptions, "out", "Output folder", elem_id="export-out",
                placeholder=f"a new folder in {workspace.jobs.exports}",
            )  # fmt: skip
            with gr.Accordion("More options", open=False, elem_id="export-more"):
                overwrite = field(
                    ExportOptions, "overwrite",
                    "Replace an earlier export of mine in that folder (other files are kept)",
                )  # fmt: skip
                fields |= _more_fields()
            added = build_parts("export", workspace, dataset, total)
        with gr.Column(scale=1, min_width=340):
            counts = gr.HTML(elem_id="export-counts", padding=False)
            first_rows = gr.HTML(elem_id="export-first-rows", padding=False)
            earlier = gr.HTML(elem_id="export-earlier", padding=False)
    card = gr.Markdown(elem_id="export-card")

    page = ExportPage(workspace, added)
    choice = Fields(**fields)
    entered = [*choice, *(component for each in added for component in each.fields)]
    changes, places = (
        [component.change for component in entered],
        [total, counts, first_rows, earlier],
    )
    gr.on(changes, page.counts, [dataset, *entered], places, **QUIET)
    gr.on(
        [dataset.change, choice.pairs.focus], page.choices, [dataset, choice.filter],
        [choice.pairs], **QUIET,
    )  # fmt: skip
    gr.on([dataset.change, choice.pairs.focus], None, None, [choice.review], js=_REVIEW, **QUIET)
    # A filter that is typed is in force at once, and until something else is chosen.
    choice.filter.blur(
        page.choose_filter, [dataset, choice.filter, choice.pairs], [choice.pairs], **QUIET
    )
    choice.pairs.input(
        lambda pairs, filter: filter if pairs == FILTER else "", [choice.pairs, choice.filter],
        [choice.filter], **QUIET,
    )  # fmt: skip
    choice.use_threshold.change(
        lambda use: [gr.update(visible=use)] * 2, [choice.use_threshold],
        [choice.threshold, choice.by_claim], **QUIET,
    )  # fmt: skip
    inputs = [dataset, format, out, overwrite, *entered]
    start.click(starting(page.begin), inputs, [job_id, status, timer], **QUIET)
    timer.tick(**event_kwargs(page.watch, [job_id], [status, timer, card], status))
    return page.counts, [dataset, *entered], places


def _more_fields() -> dict[str, Any]:
    """What few exports need."""
    fields: dict[str, Any] = {}
    fields["dropped"] = field(ExportChoice, "dropped", "Decided Remove")
    fields["abstract"] = field(ExportChoice, "abstract", "Decided Vague")
    fields["unsure"] = field(ExportChoice, "unsure", "Decided Not sure")
    fields["wrong_claims"] = field(ExportChoice, "wrong_claims", "Claims decided wrong")
    fields["unconfirmed"] = field(ExportChoice, "unconfirmed")
    fields["keep_pictures_together"] = field(
        ExportChoice, "keep_pictures_together", elem_id="export-together"
    )
    fields["shares"] = gr.Dropdown(
        [("as in the source", ""), "80/10/10", "90/5/5", "90/10"], value="", label="Splits",
        info="Or type shares for training, validation and test.", allow_custom_value=True,
        elem_id="export-shares",
    )  # fmt: skip
    with gr.Group(visible=False, elem_id="export-new-splits") as drawn:
        fields["split_seed"] = gr.Number(
            0, label="Seed of the draw", precision=0, minimum=0, elem_id="export-split-seed"
        )
        fields["together"] = gr.Textbox(
            label="In one split, beside pairs of one picture", elem_id="export-split-together",
            placeholder=", ".join((*group_names(), "scene")),
            info="Columns of the source whose equal values stay together, or what is known of "
            "pictures, by its name.",
        )  # fmt: skip
    fields["shares"].change(
        lambda shares: gr.update(visible=bool(shares)), [fields["shares"]], [drawn], **QUIET
    )
    fields["filter"] = gr.Textbox(
        label="Only pairs of this filter", elem_id="export-queue",
        placeholder="split=train&p_error_to=0.5&review=all",
        info="As in the address of Review, after the ?. Without review=…: undecided pairs.",
    )  # fmt: skip
    return fields


def _likely_wrong_fields() -> dict[str, Any]:
    """The choice about pairs that nobody has reviewed and the model holds to be wrong."""
    fields: dict[str, Any] = {}
    fields["use_threshold"] = gr.Checkbox(
        False, label="Leave out pairs that are probably wrong, not reviewed",
        elem_id="use-threshold",
    )  # fmt: skip
    fields["threshold"] = field(
        ExportChoice, "drop_above", "… above this chance of error", value=LIKELY_WRONG,
        elem_id="threshold", visible=False,
    )  # fmt: skip
    fields["by_claim"] = gr.Checkbox(
        False, label="… but of captions of several claims, only the claims above it",
        elem_id="threshold-by-claim", visible=False,
    )  # fmt: skip
    return fields


class ExportPage:
    """The handlers of the page; their last arguments are what is entered in the `Fields`, then in
    the `added` ones of features and packages."""

    def __init__(self, workspace: Workspace, added: Sequence[Choices] = ()) -> None:
        self.workspace = workspace
        self.added = added

    def counts(
        self, dataset_id: int | None, request: gr.Request, *values: Any
    ) -> tuple[str, str, str, str]:
        """How many pairs an export would write, as a sentence; what happens to all of them, as a
        table; the first that it would write; and earlier exports."""
        if dataset_id is None:
            return "", "", "", ""
        try:
            fields, choice = self._read(dataset_id, values)
            visible_workspace = seen_by(self.workspace, request)
            only = visible_workspace.review.select_pairs(dataset_id, **pairs_of(dataset_id, fields))
            choice = choice.model_copy(update={"only": only})
            counts = visible_workspace.jobs.export_counts(dataset_id, choice)
        except Exception as error:
            return note(explain_on_page(error), "error"), "", "", ""
        knows_pictures = not visible_workspace.review.is_unfamiliar(dataset_id)
        rows = visible_workspace.jobs.export_preview(dataset_id, choice)
        return (
            render("export/total.html", counts=counts),
            counts_html(counts, knows_pictures),
            render("export/first_rows.html", rows=rows),
            earlier_html(visible_workspace.jobs.exports_of(dataset_id)),
        )

    def choices(self, dataset_id: int | None, filter: str | None) -> gr.Dropdown:
        """Which pairs can be chosen: also those of the dataset's saved views, and of a filter that
        is typed."""
        return gr.Dropdown(self._entries(dataset_id, filter))

    def choose_filter(self, dataset_id: int | None, filter: str | None, pairs: str | None) -> Any:
        """Choose the pairs of a filter that has been typed; all if it is removed."""
        if not (filter or "").strip():
            return gr.update(value=EVERYTHING) if pairs == FILTER else gr.skip()
        return gr.Dropdown(self._entries(dataset_id, filter), value=FILTER)

    def _entries(self, dataset_id: int | None, filter: str | None) -> list[tuple[str, str]]:
        rows = self.workspace.review.saved_views(dataset_id) if dataset_id is not None else []
        views = [(f"saved view: {row.name}", f"{VIEW}{row.name}") for row in rows]
        by_filter = [("the filter under More options", FILTER)] if (filter or "").strip() else []
        return [*_PAIRS, *views, *by_filter]

    def begin(
        self,
        dataset_id: int | None,
        format: str,
        folder: str,
        overwrite: bool,
        request: gr.Request,
        *values: Any,
    ) -> Started:
        """Start the export; returns the job's id, its status and the timer that follows it."""
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        fields, choice = self._read(dataset_id, values)
        return begin(
            seen_by(self.workspace, request), "export", dataset_id, out=folder.strip(),
            choice=choice, format=format, overwrite=bool(overwrite),
            **pairs_of(dataset_id, fields),
        )  # fmt: skip

    def watch(self, job_id: int | None, request: gr.Request | None = None) -> tuple[Any, Any, Any]:
        """The state of the job: status, timer, and the card of what it has written."""
        if job_id is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = seen_by(self.workspace, request).jobs.job(job_id)
        if not job.has_ended:
            return job_html(job), gr.skip(), ""
        if job.status != "done":
            return job_html(job), gr.Timer(active=False), ""
        body = str(job.result["card"]).split("---", 2)[-1]
        return render("export/written.html", job=job), gr.Timer(active=False), body

    def _read(self, dataset_id: int, values: Sequence[Any]) -> tuple[Fields, ExportChoice]:
        """What is entered, and the choice that it makes."""
        fields, rest = Fields(*values[: len(Fields._fields)]), values[len(Fields._fields) :]
        choices: dict[str, Any] = {}
        for each in self.added:
            own, rest = rest[: len(each.fields)], rest[len(each.fields) :]
            choices |= each.read(dataset_id, *own)
        new_splits = None
        if fields.shares:
            new_splits = {
                "shares": fields.shares.strip(), "seed": int(fields.split_seed or 0),
                "together": chosen_names(fields.together),
            }  # fmt: skip
        return fields, ExportChoice.parse(
            {
                **choices,
                "new_splits": new_splits,
                "drop_above": fields.threshold if fields.use_threshold else None,
                "drop_claims_above": (
                    fields.threshold if fields.use_threshold and fields.by_claim else None
                ),
                "wrong_claims": fields.wrong_claims,
                "abstract": fields.abstract,
                "dropped": fields.dropped,
                "unsure": fields.unsure,
                "wrong": fields.wrong,
                "decided_only": fields.pairs == DECIDED,
                "unconfirmed": fields.unconfirmed,
                "keep_pictures_together": fields.keep_pictures_together,
                "captions": fields.captions,
            }
        )


def earlier_html(jobs: Sequence[JobView]) -> Markup:
    """The exports with their downloads."""
    exports = [
        (job, EXPORT_FORMATS[name].label if name in EXPORT_FORMATS else name,
         Path(str(job.result["out"])).is_dir())
        for job in jobs
        for name in [str(job.result.get("format", ""))]
    ]  # fmt: skip
    return render("export/earlier.html", exports=exports)


def pairs_of(dataset_id: int, fields: Fields) -> dict[str, Any]:
    """The pairs selected on the page, as arguments of `Review.select_pairs` and export jobs."""
    choice, filter = fields.pairs or EVERYTHING, (fields.filter or "").strip()
    if filter:
        return {"view": None, "queue": filter}
    if choice.startswith(VIEW):
        return {"view": choice.removeprefix(VIEW), "queue": ""}
    return {
        "view": None,
        "queue": queue_in(fields.review or "", dataset_id) if choice == QUEUE else "",
    }


def queue_in(address: str, dataset_id: int) -> str:
    """The queue in an address of Review; the one that Review opens with if the address is of
    another dataset.

    >>> queue_in("?split=train&dataset=1&pair=3&__theme=dark", 1)
    'review=unreviewed&order=p_error&split=train'
    >>> queue_in("?review=all&dataset=2", 1)
    'review=unreviewed&order=p_error'
    """
    query = dict(parse_qsl(address.lstrip("?")))
    is_other = query.get("dataset") != str(dataset_id)
    fields = {} if is_other else {key: query[key] for key in KEYS if key in query}
    return urlencode(START | fields)


def in_order(split: str) -> tuple[int, str]:
    """Where a split stands among others: as they are used, then all others by name.

    >>> sorted(["extra", "test", "train", "", "val"], key=in_order)
    ['train', 'val', 'test', '', 'extra']
    """
    known = ("train", "validation", "test")
    meaning = split_in(split)
    return known.index(meaning) if meaning else len(known), split


def counts_html(counts: ExportCounts, knows_pictures: bool = True) -> str:
    """A preview of an export, as a table. `knows_pictures`: the model does; chances of one that
    does not are no figures."""
    parts = [
        ("decided Wrong, without a correction", counts.called_wrong),
        ("probably wrong, not reviewed", counts.likely_wrong if knows_pictures else 0),
        ("with a corrected caption", counts.corrected),
        ("edited in bulk", counts.edited),
        ("without some claims", counts.shortened),
        ("with an enriched caption", counts.enriched),
        ("marked in the column “tags”", counts.tagged),
    ]
    rows = [["kept", f"{counts.kept:,}"]]
    rows += [[f"… of them {what}", f"{count:,}"] for what, count in parts if count]
    if set(counts.by_split) != {""}:
        splits = sorted(counts.by_split.items(), key=lambda each: in_order(each[0]))
        rows += [
            [f"… of them in {f'the split {name}' if name else 'no split'}", f"{n:,}"]
            for name, n in splits
        ]
    rows += [[f"left out, {why}", f"{n:,}"] for why, n in sorted(counts.left_out.items())]
    rows.append(["all", f"{counts.total:,}"])
    caveats = filter(None, (counts.level_note, counts.splits_in_words().strip()))
    markup = table(["what happens to the pairs", "pairs"], rows, {1})
    for caveat in caveats:
        markup += note(caveat, "warning")
    return markup
