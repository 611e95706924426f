"""Try one picture: analyse one image and one caption, over any page."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from gradio.data_classes import ImageData

from backend.datasets.safe_files.containers import Member, file_of
from backend.datasets.safe_files.images import load_image
from backend.engine.presets import EMBEDDED_NAME
from backend.errors import SettingsError, UnknownPictures
from backend.features.playground.checking import Analysis, analyse
from backend.features.playground.shared_result import SharedResult, digest_of, share, shared_in
from backend.jobs.model_manager import ModelView
from backend.progress import duration
from backend.review.queue_form import id_in
from backend.review.views import Abstractness
from backend.workspace import QueueFilter, Workspace
from traced_ui import models_page
from traced_ui.differences import parts_that_differ, readable
from traced_ui.highlighting import explained_abstractness, highlighted_caption
from traced_ui.jobs import job_html
from traced_ui.messages import QUIET, event_value, explain_on_page, note, selecting
from traced_ui.models_page import about, size
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page, build_parts
from traced_ui.support import phrase_chips
from traced_ui.templates import part, renderer_of
from traced_ui.trajectory_chart import steps_list, trajectory_chart

EXAMPLES = 6
#: JavaScript: an answer is seen, wherever the page is scrolled to.
_SCROLLS = (
    "const { top } = results.getBoundingClientRect();"
    " if (top < 0 || top > innerHeight / 2) results.scrollIntoView();"
)
#: Polling interval of a download, in seconds.
LOOK_EVERY = 0.5
_FOLDER = Path(__file__).parent
render = renderer_of(_FOLDER / "templates")

#: Entry of the model dropdown: (label, value).
DATASETS_OWN = ("the dataset's own model", "")


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page, which opens with the result of its address, or with an example and its
    answer."""
    from traced_ui import board  # which loads actions of features, perhaps while this is loaded

    script = (_FOLDER / "playground.js").read_text(encoding="utf-8")
    with gr.Row():
        with gr.Column(scale=2, min_width=320, elem_id="playground-pair"):
            image = Picture(
                type="filepath",
                label="Picture",
                height=340,
                sources=["upload", "clipboard", "webcam"],
                elem_id="playground-picture",
            )
            gr.HTML(render("clipboard.html"), elem_id="playground-clipboard", padding=False)
            unread = gr.HTML(elem_id="playground-unread", padding=False)
            caption = gr.Textbox(
                label="Caption", lines=2, max_lines=6, elem_id="playground-caption"
            )
            model = gr.Dropdown(
                [DATASETS_OWN], value=DATASETS_OWN[1], label="Model", elem_id="playground-model",
                info="Those on this machine; the page Model downloads others.",
            )  # fmt: skip
            anyway = gr.Checkbox(
                label="Even if the model does not know such pictures", value=False,
                elem_id="playground-anyway",
            )  # fmt: skip
            run = gr.Button("Check this pair", variant="primary", elem_id="playground-run")
            stop = gr.Button("Cancel", elem_id="playground-stop")
            examples = _examples(workspace)
            if examples:  # makes copies of their pictures, which everybody may see
                gr.Examples(
                    [[each.picture, each.caption] for each in examples], [image, caption],
                    visible=False,
                )  # fmt: skip
                copies = {Path(path).name: path for path in image.keep_in_cache}
                examples = [
                    each._replace(picture=copies[Path(each.picture).name]) for each in examples
                ]
            gallery = gr.HTML(
                render("examples.html", examples=examples) if examples else "",
                elem_id="playground-examples", js_on_load=selecting("pair"),
            )  # fmt: skip
        # In the document, though hidden: the query of the page's address.
        link = gr.Textbox("", visible="hidden", elem_id="playground-link")
        with gr.Column(scale=3, min_width=380, elem_id="playground-results"):
            shared = gr.HTML(elem_id="playground-shared", padding=False)
            gr.HTML(render("stale.html"), elem_id="playground-stale")
            gr.HTML(render("busy.html"), elem_id="playground-busy")
            result = gr.HTML(
                part(
                    "empty",
                    "Nothing checked yet",
                    f"Choose {'an example, or ' if examples else ''}your own picture and caption.",
                ),
                elem_id="playground-result",
                js_on_load=f"const smallerPictures = {board.importing('smaller.js')};\n{script}",
            )
            build_parts("try", workspace, dataset, result, image, caption, model)
            chart = gr.HTML(elem_id="playground-chart")
            steps = gr.HTML()
            abstract = gr.HTML()

    options: dict[str, Any] = {**QUIET, "queue": True, "concurrency_limit": 2}
    pair = [image, caption]
    outputs = [result, chart, steps, abstract]
    begins = _in_browser(
        "results.dataset.asked = pair; results.dataset.began = Date.now();"
        " results.classList.add('running');"
        " document.getElementById('playground-busy').scrollIntoView({ block: 'nearest' });"
    )
    check, inputs = checking(workspace), [*pair, dataset, anyway, model]
    check_event = gr.on([run.click, caption.submit], check, inputs, outputs, js=begins, **options)
    use_event = result.select(
        using(workspace), [*pair, dataset], [*outputs, model], js=begins, **options
    )
    compare = (
        # Not before the picture of the first answer is there, too.
        "if (shown === undefined && image && caption && results.querySelector('.facts'))"
        " shown = results.dataset.shown = pair;"
        " results.classList.toggle('stale', shown !== undefined && pair !== shown);"
    )
    over = "results.classList.remove('running');"
    for event in (check_event, use_event):
        event.success(
            None, pair, None,
            js=_in_browser(
                f"shown = results.dataset.shown = results.dataset.asked; {compare} {_SCROLLS}"
            ),
            **QUIET,
        )  # fmt: skip
        event.then(None, pair, None, js=_in_browser(over), **QUIET)
    answer_event = gallery.select(
        answering(workspace, examples), None, [image, caption, *outputs], **options
    )
    answer_event.success(
        None, pair, None,
        js=_in_browser(f"shown = results.dataset.shown = pair; {compare} {_SCROLLS}"),
        **QUIET,
    )  # fmt: skip
    stop.click(None, pair, None, js=_in_browser(over), cancels=[check_event, use_event], **QUIET)
    image.change(check_picture, [image], [image, unread], **QUIET)
    gr.on([image.change, caption.change], None, pair, None, js=_in_browser(compare), **QUIET)

    def list_models(model_name: str) -> gr.Dropdown:
        entries = [DATASETS_OWN, *((name, name) for name in workspace.models.names_here())]
        still = model_name if (model_name, model_name) in entries else DATASETS_OWN[1]
        return gr.Dropdown(choices=entries, value=still)

    def open_picture(query: str | None, picture: str | None, model_name: str) -> tuple[Any, ...]:
        first: tuple[Any, ...] = (gr.skip(),) * 6
        message = ""
        if (wanted := shared_in(query)) is not None:
            message, first = open_shared(workspace, wanted, examples)
        elif picture is None and examples:
            example = examples[0]
            first = (example.picture, example.caption, *stored_answer(workspace, example))
        return list_models(model_name), message, *first

    opening = gr.on(None, None, None, [link], js="() => location.search", **QUIET)
    opening.then(
        open_picture, [link, image, model], [model, shared, image, caption, *outputs], **QUIET
    )
    check_event.then(compare_with_link, [link, image, caption], [shared], **QUIET)


def open_shared(
    workspace: Workspace, wanted: SharedResult, examples: Sequence["Example"]
) -> tuple[str, tuple[Any, ...]]:
    """What is said about a link, and its picture, caption and answer: the picture only if it is an
    example of this server, and still the one of the link."""
    example = next((each for each in examples if each.pair_id == wanted.example), None)
    if example is not None and digest_of(Path(example.picture)) == wanted.digest:
        message = render("shared.html", shared=wanted, state="example", digest="")
        answers: tuple[Any, ...] = ("", "", "", "")
        if example.caption == wanted.caption:
            answers = stored_answer(workspace, example)
        return message, (example.picture, wanted.caption, *answers)
    message = render("shared.html", shared=wanted, state="missing", digest="")
    return message, (None, wanted.caption, "", "", "", "")


def compare_with_link(query: str | None, picture: str | None, caption: str | None) -> str:
    """Whether the picture and the caption that were checked are those of the link; "" without a
    link."""
    wanted = shared_in(query)
    if wanted is None or picture is None:
        return ""
    digest = digest_of(Path(picture))
    is_same_caption = (caption or "").strip() == wanted.caption.strip()
    state = "another" if digest != wanted.digest else "same" if is_same_caption else "reworded"
    return render("shared.html", shared=wanted, state=state, digest=digest)


def _in_browser(does: str) -> str:
    """JavaScript that runs `does` with `pair`, the current inputs, and `shown`, the inputs of the
    results on the page: results are dimmed if the inputs have changed since."""
    return (
        "(image, caption, ...others) => {"
        " const results = document.getElementById('playground-results');"
        " const pair = JSON.stringify([image?.path ?? image?.url, caption]);"
        f" let shown = results.dataset.shown; {does} return [image, caption, ...others]; }}"
    )


class Picture(gr.Image):
    """Passes on an upload's path: Gradio would open any file before we can validate it."""

    is_template = True  # uses the frontend of gr.Image

    def preprocess(self, payload: ImageData | None) -> str | None:
        """The path of an upload; None for anything outside the upload folder, without a look at
        it. `FileGuard` has refused the uploads of others."""
        if payload is None:
            return None
        # Links are resolved on both sides: the folder itself may lie behind one.
        folder = Path(self.GRADIO_CACHE).resolve()
        if payload.path is None or not Path(payload.path).resolve().is_relative_to(folder):
            return None
        return payload.path


def check_picture(picture: str | None) -> tuple[Any, Any]:
    """What is below the picture: why the file cannot be read, in place of a broken picture."""
    if picture is None:  # also after a refusal, which stays
        return gr.skip(), gr.skip()
    try:
        load_image(Path(picture))
    except Exception as problem:
        return None, note(explain_on_page(problem), "error")
    return gr.skip(), ""


def checking(workspace: Workspace) -> Callable[..., tuple[str, str, str, str]]:
    """The button's handler: from an uploaded file and a caption to (result, chart, steps,
    abstractness) as HTML."""

    def check(
        picture: str | None,
        text: str | None,
        dataset_id: int | None = None,
        anyway: bool = False,
        model: str | None = None,
    ) -> tuple[str, str, str, str]:
        try:
            if picture is None:
                raise SettingsError("Choose a picture first.")
            if model and model not in workspace.models.names_here():
                raise SettingsError(f"'{model}' is not on this machine. Choose another model.")
            path = Path(picture)
            image = load_image(path)
            result = analyse(workspace, image, text or "", dataset_id, anyway, model or None)
        except UnknownPictures as refusal:
            models = alternatives(workspace.models.list_models())
            html = render("refused.html", why=str(refusal), alternatives=models)
            return html, "", "", ""
        except Exception as problem:  # said where the answer would be
            return note(explain_on_page(problem), "error"), "", "", ""
        chart = trajectory_chart(result.trajectory)
        why = render("why.html", abstractness=explained_abstractness(result.abstractness))
        link = share(result, digest_of(path))
        return result_html(result, path.name, link), chart, steps_list(result.trajectory), why

    return check


def using(workspace: Workspace) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """The handler of a click on an offered model: like the button's with this model, downloaded
    first if it is not on this machine; also returns the dropdown of models, this one chosen."""
    check = checking(workspace)

    def fetch_model(model: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Download the model; yields its progress, and finally the reason if it failed."""
        name = models_page.chosen_by(workspace, model, request)
        job_id = workspace.jobs.start("download", None, model=name)
        while not (job := workspace.jobs.job(job_id)).has_ended:
            yield job_html(job), "", "", "", gr.skip()
            time.sleep(LOOK_EVERY)
        if job.status != "done":
            yield job_html(job), "", "", "", gr.skip()

    def use(
        picture: str | None, text: str | None, dataset_id: int | None, event: gr.EventData,
        request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        model = str(event_value(event, "model", ""))
        try:
            if model not in workspace.models.names_here():
                yield from fetch_model(model, request)
        except Exception as error:
            yield note(explain_on_page(error), "error"), "", "", "", gr.skip()
        names = workspace.models.names_here()
        if model in names:
            entries = [DATASETS_OWN, *((name, name) for name in names)]
            outputs = check(picture, text, dataset_id, False, model)
            yield *outputs, gr.Dropdown(choices=entries, value=model)

    return use


class Alternative(NamedTuple):
    """A model that may know a picture: what a click does, and what that costs."""

    model: str
    action: str
    cost: str


def alternatives(views: Sequence[ModelView]) -> list[Alternative]:
    """The models for pictures that the embedded one does not know: those on this machine, then
    those to download."""
    alternatives = []
    for view in sorted(views, key=lambda view: not view.is_here):
        if view.name == EMBEDDED_NAME or not (view.is_here or view.download):
            continue
        place = "on this machine" if view.is_here else f"{size(view.download or 0)} to download"
        costs = [place]
        if view.seconds is not None:
            costs.append(f"{about(view)} {short_time(view.seconds / 1000)} a pair")
        action = f"{view.name}" if view.is_here else f"Download {view.name}"
        alternatives.append(Alternative(view.name, action, " · ".join(costs)))
    return alternatives


def short_time(seconds: float) -> str:
    """
    >>> short_time(0.173), short_time(0.01), short_time(12)
    ('0.2 s', 'less than 0.1 s', '12 s')
    """
    if seconds < 0.05:
        return "less than 0.1 s"
    return f"{seconds:.1f} s" if seconds < 9.95 else duration(seconds)


def result_html(result: Analysis, picture: str, link: SharedResult | None = None) -> str:
    """The result for a pair, without its trajectory and concreteness. `picture`: the file's
    name; `link`: to the result."""
    words_read = len(result.trajectory.first_step_scores)
    phrases = phrase_chips(result.caption, result.phrases or (), result.suspects)
    gains = result.trajectory.deletion_gains.tolist()
    return render(
        "result.html",
        result=result,
        picture=picture,
        link=link.address if link is not None else "",
        caption=highlighted_caption(
            result.caption,
            result.suspects,
            words_read,
            gains,
            claims=result.claims,
            selected_claim=result.selected if result.claims else None,
            is_unfamiliar=result.is_beyond_model,
            is_reachable=True,
        ),
        suggestions=[
            (
                suggestion,
                readable(*parts_that_differ(result.caption, suggestion.caption, result.claim)),
            )
            for suggestion in result.suggestions
        ],
        phrases=phrases,
    )


class Example(NamedTuple):
    """A pair of a dataset, with its picture's file."""

    pair_id: int
    picture: str
    caption: str


def stored_answer(workspace: Workspace, example: Example) -> tuple[str, str, str, str]:
    """What scoring has stored about the example, as (result, chart, steps, abstractness)."""
    view = workspace.review.open_pair(example.pair_id)
    opinion, trajectory = view.opinion, view.opinion.trajectory
    assert trajectory is not None
    s_0 = view.claim.s_0 if view.claim is not None else view.s_0
    assert s_0 is not None
    assert view.icc is not None
    result = Analysis(
        caption=view.caption, s_0=s_0, p_error=view.p_error, p_note=opinion.basis, icc=view.icc,
        looks_abstract=opinion.looks_abstract, truncated=opinion.truncated,
        suspects=opinion.suspects, trajectory=trajectory, suggestions=view.helpful_suggestions,
        scored_by=opinion.scored_by, limits=opinion.limits,
        abstractness=Abstractness(view.caption, view.icc, ()), phrases=view.support.phrases,
        claims=view.claims, selected=view.selected, is_unfamiliar=view.is_unfamiliar,
        unread_language=view.unread_language,
    )  # fmt: skip
    chart = trajectory_chart(trajectory)
    picture = Path(example.picture)
    link = share(result, digest_of(picture), example.pair_id)
    return result_html(result, picture.name, link), chart, steps_list(trajectory), ""


def answering(
    workspace: Workspace, examples: Sequence[Example]
) -> Callable[[gr.EventData], tuple[Any, ...]]:
    """The handler of a click on an example: its picture and caption, and what is stored of it."""

    def answer(event: gr.EventData) -> tuple[Any, ...]:
        pair_id = id_in(str(event_value(event, "pair", "")))
        try:
            example = next((each for each in examples if each.pair_id == pair_id), None)
            if example is None:
                raise SettingsError("This example is gone. Reload the page.")
            return example.picture, example.caption, *stored_answer(workspace, example)
        except Exception as problem:
            return gr.skip(), gr.skip(), note(explain_on_page(problem), "error"), "", "", ""

    return answer


def _examples(workspace: Workspace) -> list[Example]:
    """A few evenly spaced pairs among the first 60 of a dataset: scored, with a picture in a file
    of its own that is still there; from the first dataset that has any."""
    for summary in workspace.datasets():
        rows = workspace.review.queue_page(
            QueueFilter(summary.id, order="position", descending=False), None, 60
        )
        example_rows = rows.rows[:: max(1, len(rows.rows) // EXAMPLES)][:EXAMPLES]
        examples = []
        for row in example_rows:
            try:
                image = workspace.review.image_path(row.pair_id)
                is_file = not isinstance(image, Member) and file_of(image).is_file()
                if row.s_0 is not None and is_file:  # Gradio shows files alone
                    examples.append(Example(row.pair_id, str(file_of(image)), row.caption))
            except Exception:
                continue  # a missing example is skipped
        if examples:
            return examples
    return []


PAGE = AddedPage(
    Page("try", "Try one picture"),
    "",
    build,
    _FOLDER / "playground.css",
    earlier={"playground": "try"},
)
