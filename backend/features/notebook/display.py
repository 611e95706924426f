"""TRACED in a notebook: a dataset as DataFrames, its pairs as HTML and Plotly charts.

    from traced_curator import open_dataset

    photos = open_dataset("photos", data_directory="curation", model="thorough")
    scores = photos.score()           # a DataFrame, one row per pair
    pair = photos.pair(scores.nlargest(1, "p_error").pair_id.item())
    pair                              # the picture, the suspect words, every step
    pair.figure()                     # s and c along the trajectory
    pair.picture_figure()             # where in the picture the suspect words are
    pair.decide("drop")
    photos.export("cleaned")

A thin layer over `backend.workspace.Workspace`, which is `photos.workspace`.
"""

import base64
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from backend.datasets.cells import split_proof
from backend.engine.detection.features import NAMES
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, SettingsError, TracedError
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_reports import ExportReport
from backend.jobs.export_scores import OF_CLAIMS, feature_rows, score_rows
from backend.jobs.scoring.stored_rows import latest_batches
from backend.measures import filter_names
from backend.review.queue_form import from_text
from backend.review.views import PairView
from backend.settings import load_settings
from backend.workspace import Workspace
from traced_ui.figures import C_COLOUR, S_COLOUR
from traced_ui.highlighting import highlighted_caption
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))

_PAGE = 500
_PICTURE = 400


def open_dataset(name_or_path: str, **settings: Any) -> "NotebookDataset":
    """A dataset of the workspace by its name, or a folder or file that is imported first.

    `settings` are those of the command line, such as `data_directory` and `model`. Raises
    DatasetNotFound, DatasetFormatError, SettingsError.
    """
    workspace = Workspace(load_settings(settings))
    try:
        return NotebookDataset(workspace, workspace.find_or_import(str(name_or_path)))
    except TracedError:
        workspace.store.close()
        raise


class NotebookDataset:
    """One dataset; `workspace` offers everything else."""

    def __init__(self, workspace: Workspace, dataset_id: int) -> None:
        self.workspace = workspace
        self.id = dataset_id

    def score(self, suggestions: bool = False, **options: Any) -> pd.DataFrame:
        """Score the pairs that have no scores yet, and return `scores()`. `suggestions`: also
        prepare corrections of suspect pairs; other options as for `workspace.jobs.score`. Raises
        ModelUnavailable, and UnknownPictures if the model does not know such pictures."""
        self.workspace.jobs.score(self.id, suggestions=suggestions, **options)
        return self.scores()

    def scores(self) -> pd.DataFrame:
        """One row per pair, in import order: `pair_id`, the columns of the queue, and `suspects`
        and `phrases` as in `score --out`."""
        table = self.queue("review=all&order=position")
        rows = score_rows(self.workspace.store, self.id)
        details = pd.DataFrame(rows, columns=["id", "suspects", "phrases"])
        return table.merge(details, left_on="external_id", right_on="id").drop(columns="id")

    def queue(self, query: str = "", limit: int | None = None) -> pd.DataFrame:
        """Pairs of a queue, most likely wrong first unless the query says otherwise. `query`: the
        part of the queue's address after the ?, such as "p_error_from=0.9&review=all"; `limit`:
        maximum number of rows. An accepted enrichment is a *correction* that `enriches`: its
        caption was right. Raises SettingsError."""
        filter = self.workspace.review.filter_of(self.id, from_text(query))
        rows: list[dict[str, Any]] = []
        after = None
        while limit is None or len(rows) < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - len(rows))
            page = self.workspace.review.queue_page(filter, after, most)
            rows += [
                {**vars(row), **row.numbers, "image_path": split_proof(row.image_path)[0]}
                for row in page.rows
            ]
            after = page.next_cursor
            if after is None:
                break
        return pd.DataFrame(rows, columns=COLUMNS)

    def features(self) -> pd.DataFrame:
        """A row for each claim of every scored pair, by the dataset's own `id`: its characters
        `start` and `end` in the caption, `p_error`, the `verdict` on it (right, wrong or None), and
        every feature that the detectors read, named as in
        `backend.engine.detection.features.NAMES`."""
        rows = feature_rows(self.workspace.store, self.id)
        table = pd.DataFrame(rows, columns=["id", *OF_CLAIMS, *NAMES]).set_index("id")
        return table.astype(dict.fromkeys(NAMES, float))

    def steps(self) -> pd.DataFrame:
        """The steps of all trajectories, by the dataset's own `id` and `step`: see
        `NotebookPair.steps`."""
        tables = {
            pair.external_id: steps_of(caption.leading.trajectory)
            for pairs, captions in latest_batches(self.workspace.store, self.id)
            for pair, caption in zip(pairs, captions, strict=True)
        }
        return pd.concat(tables or {"": steps_of(None)}, names=["id", "step"])

    def pair(self, pair_id: int) -> "NotebookPair":
        """Everything about one pair. Raises NotFound."""
        return NotebookPair(self.workspace, int(pair_id))

    def export(
        self, folder: str | Path, format: str = "imagefolder", **choice: Any
    ) -> ExportReport:
        """Write the cleaned dataset; `choice` as in `ExportChoice`. Raises ExportError."""
        export_choice = ExportChoice(**choice)
        return self.workspace.jobs.export(self.id, export_choice, str(folder), format)


class NotebookPair:
    """A snapshot of one pair; a notebook shows it as HTML."""

    def __init__(self, workspace: Workspace, pair_id: int) -> None:
        self.workspace = workspace
        self.view: PairView = workspace.review.open_pair(pair_id)

    def steps(self) -> pd.DataFrame:
        """The trajectory, one row per step: `caption`, the score `s` (higher is a better match) and
        the similarity `c` to the original caption. Empty if the pair is not scored."""
        return steps_of(self.view.opinion.trajectory)

    def figure(self) -> go.Figure:
        """s and c over the steps."""
        table = self.steps()
        hints = {"text": table["caption"], "hovertemplate": "%{y:.3f}<br>%{text}<extra></extra>"}
        figure = go.Figure()
        figure.add_scatter(x=table.index, y=table["s"], name="s, match", yaxis="y",
                           mode="lines+markers", line={"color": S_COLOUR}, **hints)  # fmt: skip
        figure.add_scatter(x=table.index, y=table["c"], name="c, similarity", yaxis="y2",
                           line={"color": C_COLOUR, "dash": "dot"}, **hints)  # fmt: skip
        figure.update_layout(
            height=320, margin={"l": 56, "r": 56, "t": 28, "b": 44}, legend={"orientation": "h"},
            xaxis={"title": "step"}, yaxis={"title": "s"},
            yaxis2={"title": "c", "overlaying": "y", "side": "right"},
        )  # fmt: skip
        return figure

    def picture_figure(self) -> go.Figure:
        """The picture with the outline of each top suspect's region, looked for now if it is not
        stored; hovering tells the word and its weight (what it adds to the match of its phrase).
        The title names the words for which nothing in the picture speaks.

        Raises ImageError; ModelMismatch if the model cannot leave out parts of a picture;
        ModelUnavailable; SettingsError where nothing looks for words in pictures."""
        from traced_ui import api  # describes every operation: half a second

        view, review = self.view, self.workspace.review
        regions_of = api.answer_to("/pairs/{pair}/regions")
        if regions_of is None:
            raise SettingsError("Nothing here looks for words in pictures.")
        if view.picture.size is None:
            raise ImageError(view.picture.problem)
        jpeg = base64.b64encode(review.thumbnail(view.pair_id, _PICTURE)).decode("ascii")
        absent: list[str] = []
        outlines: list[tuple[float, dict[str, Any]]] = []
        for region in regions_of(api.Caller(self.workspace), view.pair_id):
            word = escape(region.word)  # Plotly reads tags
            if region.box is None:
                absent.append(f"“{word}”")
                continue
            x0, y0, x1, y1 = region.box
            outline = {
                "x": [x0, x1, x1, x0, x0], "y": [y0, y0, y1, y1, y0], "name": word,
                "text": f"“{word}” adds {region.weight:.2f} to the match of its phrase",
            }  # fmt: skip
            outlines.append(((x1 - x0) * (y1 - y0), outline))
        figure = go.Figure()
        # The smallest last: what lies above is what is hovered.
        for _, outline in sorted(outlines, key=lambda each: -each[0]):
            figure.add_scatter(
                **outline, mode="lines", line={"color": S_COLOUR, "width": 3}, hoverinfo="text",
                fill="toself", fillcolor="rgba(0,0,0,0)", hoveron="fills",
            )  # fmt: skip
        width, height = view.picture.size
        figure.add_layout_image(
            source=f"data:image/jpeg;base64,{jpeg}", xref="x", yref="y", x=0, y=0, sizex=width,
            sizey=height, sizing="stretch", layer="below",
        )  # fmt: skip
        axis = {"visible": False, "constrain": "domain"}
        figure.update_layout(
            title=f"No region matches {', '.join(absent)}" if absent else None,
            height=_PICTURE, margin={"l": 8, "r": 8, "t": 44, "b": 8}, showlegend=False,
            hovermode="closest", xaxis={**axis, "range": [0, width]},
            yaxis={**axis, "range": [height, 0], "scaleanchor": "x"},
        )  # fmt: skip
        return figure

    def decide(self, verdict: str, caption: str | None = None, note: str = "") -> None:
        """Commit a verdict: correct, drop, abstract, unsure, or correction with its `caption`.
        Raises VerdictConflict if the pair has been decided since it was opened."""
        review, view = self.workspace.review, self.view
        review.decide(view.pair_id, view.verdict.version, verdict, caption, note=note)
        self.view = review.open_pair(view.pair_id)

    def _repr_html_(self) -> str:
        view = self.view
        has_picture = view.picture.size is not None
        jpeg = self.workspace.review.thumbnail(view.pair_id, _PICTURE) if has_picture else b""
        return pair_html(view, jpeg)


def steps_of(trajectory: Trajectory | None) -> pd.DataFrame:
    """See `NotebookPair.steps`."""
    if trajectory is None:
        return pd.DataFrame(columns=["caption", "s", "c"])
    steps = range(trajectory.steps + 1)
    return pd.DataFrame(
        {
            "caption": [trajectory.caption_at(step) for step in steps],
            "s": trajectory.scores.astype(float),
            "c": trajectory.similarities.astype(float),
        },
        index=pd.RangeIndex(len(steps), name="step"),
    )


def pair_html(view: PairView, jpeg: bytes) -> Markup:
    """A pair as self-contained HTML. `jpeg`: its picture, b"" for none."""
    return render_in(
        "pair.html",
        view=view,
        caption=highlighted_caption(
            view.caption, view.opinion.suspects, words_read=view.opinion.words_read
        ),
        picture=base64.b64encode(jpeg).decode("ascii"),
        steps=[
            {"number": step, **row} for step, row in steps_of(view.opinion.trajectory).iterrows()
        ],
    )


COLUMNS = [
    "pair_id", "external_id", "image_path", "caption", "split", *filter_names(), "decision",
    "enriches", "corrected_caption", "note", "verdict_version",
]  # fmt: skip
