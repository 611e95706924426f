"""Every template as its page draws it, with one text wherever text of other people is inserted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np

from backend.accounts.team_accounts import TeamView
from backend.engine.captions import Caption
from backend.engine.correction.anchoring import UnanchoredWord
from backend.engine.detection.explanations import Reason, Reasons
from backend.engine.detection.types import SuspectWord
from backend.engine.presets import recommend
from backend.engine.statistics.agreement import Agreement, TwoPeople
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.dataset_reports import Deletion
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.export_choice import ExportDecision
from backend.jobs.export_reports import ExportCounts
from backend.jobs.job_view import JobView
from backend.jobs.model_manager import ModelView
from backend.jobs.notices import Sentence
from backend.measures import Measure
from backend.progress import Step
from backend.review.queue_groups import Condition
from backend.review.queue_values import Bar, QueueValues
from backend.review.views import (
    Abstractness,
    BetterPicture,
    CaptionCheck,
    ClaimView,
    DatasetSummary,
    ExpectedErrors,
    Likeness,
    ModelOpinion,
    PairView,
    PhraseView,
    PictureOfPair,
    ProgressView,
    Retraining,
    Suggestions,
    SuggestionView,
    SuspectsHit,
    VerdictOfPair,
    VerdictView,
)  # fmt: skip
from backend.workspace import ClassifierRow, ReviewCounts
from db.queries.opinion_queries import DisputedPair, OpinionRow
from db.queries.pair_queries import CaptionRow
from traced_ui import (
    accounts_form,
    dataset_settings,
    header,
    jobs,
    keyboard,
    login,
    model_cards,
    models_page,
    overview,
    progress,
    queue_panel,
    retrain,
    review_page,
    rooms,
    team,
)  # fmt: skip
from traced_ui.differences import difference
from traced_ui.highlighting import explained_abstractness, highlighted_caption
from traced_ui.messages import note
from traced_ui.model_cards import ModelCard
from traced_ui.reasons import reasons_section
from traced_ui.support import enrichments, phrases_section
from traced_ui.templates import render, render_page
from traced_ui.trajectory_chart import steps_list, trajectory_chart
from traced_ui.undo_list import Undoable

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def described(text: str) -> dict[str, Any]:
    """A description of an API."""
    parameter = {"name": text, "in": text, "schema": {"default": text}}
    body = {"content": {"application/json": {"schema": {"$ref": f"#/{text}"}}}}
    operation = {"description": text, "parameters": [parameter], "requestBody": body}
    schema = {"description": text, "properties": {text: {"description": text}}}
    return {
        "info": {"title": text, "version": text},
        "paths": {text: {text: operation}},
        "components": {"schemas": {text: schema}},
    }


def job(text: str) -> JobView:
    step = Step(text)
    return JobView(1, text, text, 3, "running", False, 3, 9, step, text, text, 3, {}, NOW, NOW)


def first_look(text: str, notices: tuple[Sentence, ...], status: str) -> str:
    look = replace(job(text), status=status, result={"in_words": text})
    return render("datasets/first_look.html", looks=[look], job_html=jobs.job_html, notices=notices)


def trajectory(text: str) -> Trajectory:
    caption = Caption.parse(text)
    count = len(caption)
    return Trajectory(
        caption, np.linspace(0, 1, count + 1).astype(np.float32),
        np.linspace(1, 0, count + 1).astype(np.float32), tuple(range(count)),
        np.linspace(0, 1, count).astype(np.float32),
    )  # fmt: skip


def suspects(text: str) -> tuple[SuspectWord, ...]:
    return tuple(SuspectWord(start, end, 0.9) for start, end in Caption.parse(text).spans)


def reasons(text: str) -> Reasons:
    word = tuple(range(len(Caption.parse(text))))[:1]
    return Reasons((Reason("deletion", 0.8, 0.2, word), Reason("s", -0.4, 0.7)), True)


def suggestion(text: str, **changed: Any) -> SuggestionView:
    suggestion_view = SuggestionView(
        1, f"{text} new", text, 0.2, 0.6, 0.9, 0.1, 2, 0.8, ((text, text, True), ("a", text, False))
    )
    return replace(suggestion_view, **changed)


def pair(text: str, **changed: Any) -> PairView:
    """`changed`: see `with_changes`."""
    pair_view = PairView(
        pair_id=7, dataset_id=3, external_id=text, caption=text, split=text,
        numbers={"s_0": 0.3, "gain": 0.2, "p_error": 0.8, "icc": 0.4, "disagreement": 0.5},
        picture=PictureOfPair(
            "", text, (640, 480),
            captions=(
                CaptionRow(7, text, None, 0.5, None, False),
                CaptionRow(8, "", text, None, "drop", False),
                CaptionRow(8, "", text, None, "drop", False),
            ),
            contradictions=(UnanchoredWord(0, 1, text, text),),
        ),
        verdict=VerdictOfPair(
            2, "correction", f"{text} better", note=text,
            history=(
                VerdictView("correction", text, text, NOW, text),
                VerdictView(None, None, text, NOW),
            ),
        ),
        opinion=ModelOpinion(
            text, text, text, suspects(text), trajectory(text), reasons(text),
            looks_abstract=True, truncated=True, words_read=2,
            likeness=Likeness(text, text, 1000, 3), better_picture=BetterPicture(9, text, 0.1, 0.6),
        ),
        suggestions=Suggestions(
            (suggestion(text),), (suggestion(text, ranks=(3, 1, 21), struck=(text,)),), text
        ),
        wrong_words=Caption.parse(text).spans[:1], guidelines=text,
    )  # fmt: skip
    return with_changes(pair_view, **changed)


def with_changes(view: PairView, **changed: Any) -> PairView:
    """The pair with other values of its fields, or of those of its records."""
    for name in ("picture", "verdict", "opinion", "suggestions", "support", "writers"):
        record = getattr(view, name)
        own = {field: changed.pop(field) for field in vars(record) if field in changed}
        view = replace(view, **{name: replace(record, **own)})
    return replace(view, **changed)


def claim(text: str) -> ClaimView:
    numbers = {"s_0": 0.3, "gain": 0.2, "icc": 0.4, "p_error": 0.8}
    return ClaimView(
        0, len(text), "tag", True, True, True, is_right=False, is_gone=True, numbers=numbers
    )


def row(text: str, number: int, decision: str | None, enriches: bool = False) -> Any:
    return SimpleNamespace(
        corrected_caption=None,
        pair_id=number, external_id=text, caption=text, split=text, p_error=0.7,
        decision=decision, enriches=enriches, verdict_version=1, note=text, image_path=text,
        s_0=0.5, numbers={"p_error": 0.7, "s_0": 0.5, "gain": 0.1, "support": -0.2},
    )  # fmt: skip


def queue(text: str, notices: Sequence[Sentence] = ()) -> str:
    rows = [row(text, 1, None), row(text * 40, 2, "drop")]
    filter = {
        "text": text,
        "like": "image:7",
        "suspect_word": text,
        "order": "random",
        "gain_to": "1",
        "where": f"not {Condition('tag', text)}",
    }
    counts = ReviewCounts(3, 40, 10, 4)
    fields = ("split", "tag", "decided_by", "suspect_kind")
    words: dict[str, tuple[tuple[str, int], ...]] = dict.fromkeys(fields, ((text, 3),))
    values = QueueValues(40, True, {"gain": (Bar(0.0, 0.5, 3),)}, words)
    return queue_panel.QueuePanel(
        rows,
        1,
        counts,
        filter,
        "30",
        True,
        False,
        {text: filter, "b": {}},
        text,
        values=values,
        notices=notices,
    ).draw()


def progress_view(text: str) -> ProgressView:
    return ProgressView(
        40, 20, 5, {text: 5}, (), 0.5, 8, ErrorsLeft(20, 4.0, 5, None, 8, 60.0), (), (),
        (Retraining(text, NOW, True, 0.8, None),), SuspectsHit(9, 0.7, 0.1),
        (ExpectedErrors(text, 40, 9.5, (4,) * 10),),
    )  # fmt: skip


def team_view(text: str) -> TeamView:
    result = Agreement(3, 2, 0.5, (TwoPeople(text, text, 3, 2, None),))
    opinions = (OpinionRow(1, text, "drop", None, False, NOW),
                OpinionRow(1, text, "correction", text, False, NOW, enriches=True))  # fmt: skip
    return TeamView(3, result, result, 2, (DisputedPair(1, text, text, opinions),))


def concreteness(text: str) -> Abstractness:
    gains = (0.1, -0.3, 0.0)
    spans = Caption.parse(text).spans
    words = tuple((start, end, gains[i % 3]) for i, (start, end) in enumerate(spans))
    return Abstractness(text, 0.5, words)


def classifiers(text: str) -> list[ClassifierRow]:
    report = {"auc": 0.8, "detector": text}
    return [
        ClassifierRow(2, 1, text, text, "verdicts", report, False, NOW),
        ClassifierRow(1, 1, text, text, "noise", report, True, NOW),
    ]


def accounts(text: str) -> str:
    people = [SimpleNamespace(name=text, role=text, active=False)]
    accounts = SimpleNamespace(accounts=lambda: people, may_settle=lambda name: True)
    settings = SimpleNamespace(author=text)
    workspace: Any = SimpleNamespace(accounts=accounts, settings=settings)
    return accounts_form.accounts_html(workspace, "Eve")


def model(text: str, is_here: bool = False) -> ModelView:
    return ModelView(text, text, None, text, None, None, None, "", "", is_here, False, None)


#: Functions that draw each template as a page does. Parts are drawn with the pages that contain
#: them.
DRAWN: dict[str, Callable[[str], str]] = {
    "parts.html": lambda text: note(text, "error") + jobs.table([text], [[text]]),
    "review/toolbar.html": lambda text: review_page.toolbar(),
    "icons.html": lambda text: review_page.toolbar(),
    "jobs/job.html": lambda text: jobs.job_html(job(text)),
    "jobs/drawer.html": lambda text: jobs.drawer_html([job(text)], NOW),
    "caption.html": lambda text: (
        highlighted_caption(text, suspects(text), 2, (), {0: 1}, ())
        + highlighted_caption(text, suspects(text), claims=(claim(text),), selected_claim=0)
    ),
    "difference.html": lambda text: difference(f"a {text} b", f"{text} c"),
    "steps.html": lambda text: steps_list(trajectory(text)),
    "abstractness.html": lambda text: explained_abstractness(concreteness(text)),
    "help.html": lambda text: render("help.html", tasks=keyboard.by_task(keyboard.KEYS)),
    "header.html": lambda text: header.bar_html(rooms.PAGES[1]),
    "models_busy.html": lambda text: render("models_busy.html"),
    "api.html": lambda text: render_page("api.html", api=described(text)),
    "team/keys.html": lambda text: render(
        "team/keys.html",
        is_login=True,
        keys=[SimpleNamespace(id=7, label=text, may_review=True, created_at=NOW)],
    ),
    "login.html": lambda text: login.login_page(f"/{text}", text, text),
    "problems.html": lambda text: render(
        "problems.html", count=1, page=1, pages=1, rows=[[text, "3", text, text]], dataset_id=3
    ),
    "deletion_preview.html": lambda text: dataset_settings.deletion_preview_html(
        Deletion(3, text, text, 9, 8, 7, 6)
    ),
    "to_go.html": lambda text: render("to_go.html", verdicts=12, wrong=1),
    "store.html": lambda text: render("store.html", kind="SQLite", place=text),
    "guidelines_intro.html": lambda text: render("guidelines_intro.html"),
    "guidelines_preview.html": lambda text: render(
        "guidelines_preview.html", text=text, example=text
    ),
    "review/tags.html": lambda text: review_page.tags(
        [7, 8], {text: 1}, [text], {"name": text, "new": text}, text
    ),
    "review/guidelines.html": lambda text: render("review/guidelines.html", text=text),
    "models.html": lambda text: models_page.models_html([model(text, is_here=True)], recommend(0)),
    "retrain.html": lambda text: retrain.comparison_html(
        classifiers(text), retrain.candidate_of(classifiers(text)), 3
    ),
    "progress/cards.html": lambda text: progress.cards_html(progress_view(text), 1),
    "progress/expected.html": lambda text: progress.expected_html(progress_view(text), 1),
    "progress/tables.html": lambda text: progress.tables_html(progress_view(text)),
    "team/accounts.html": accounts,
    "team/page.html": lambda text: team.page_html(team_view(text)),
    "export/written.html": lambda text: render(
        "export/written.html", job=replace(job(text), result={"written": 3, "out": text})
    ),
    "datasets/models.html": lambda text: model_cards.cards_html(
        [ModelCard(text, model(text), False, text, text)], text
    ),
    "datasets/upload.html": lambda text: render(
        "datasets/upload.html", limit=20.0, fields={"name": "import-name"}
    ),
    "datasets/first_look.html": lambda text: (
        first_look(text, (), "done") + first_look(text, (Sentence(text, text, "rows"),), "running")
    ),
    "datasets/plan.html": lambda text: render(
        "datasets/plan.html",
        size=models_page.size,
        time=text,
        is_scored=False,
        view=model(text, is_here=True),
    ),
    "export/total.html": lambda text: render(
        "export/total.html", counts=ExportCounts(9, 7, 2, 0, {text: 2}, {})
    ),
    "export/first_rows.html": lambda text: render(
        "export/first_rows.html",
        rows=[(SimpleNamespace(id=1, split=text), ExportDecision(text, text, (text,)))],
    ),
    "export/earlier.html": lambda text: render(
        "export/earlier.html",
        exports=[
            (replace(job(text), result={"out": text, "written": 3}), text, is_there)
            for is_there in (True, False)
        ],
    ),
    "review/phrases.html": lambda text: str(
        phrases_section(text, (PhraseView(0, len(text), "object", 0.1, 0.2),), 0.5, text)
    ),
    "review/reasons.html": lambda text: str(reasons_section(reasons(text), trajectory(text))),
    "review/enrichments.html": lambda text: str(enrichments(pair(text))),
    "review/board.html": lambda text: render(
        "review/board.html",
        keys=text,
        decisions=text,
        writing=text,
        scripts=text,
        forms=text,
        asking=text,
        dataset=3,
        toolbar="",
        help="",
        measures=[Measure(name="length", title=text, explanation=text)],
        named=3,
    ),
    "review/queue.html": queue,
    "review/filters.html": queue,
    "review/queue_row.html": queue,
    "review/stage.html": lambda text: (
        review_page.stage(pair(text, corrections=(suggestion(text), suggestion(text, s_after=0.1))))
        + review_page.stage(pair(text, decision=None, corrected_caption=None))
    ),
    "review/facts.html": lambda text: review_page.side_panel(pair(text, guidelines="")),
    "review/finish.html": lambda text: review_page.finish(
        DatasetSummary(1, text, text, text, 9, 9, 5, 3, {text: 1, "drop": 3}),
        ErrorsLeft(4, 0.1, 0, None, 4, 60.0),
    ),
    "review/suggestion.html": lambda text: review_page.stage(
        pair(text, decision=None, may_ask="", corrections=(suggestion(text),))
    ),
    "review/grid.html": lambda text: (
        overview.grid(
            [row(text, 1, None), row(text, 2, "drop")],
            buttons=[overview.GridButton(text, text, text, text)],
        )
        + overview.table([row(text, 1, None)], {1: {text: text}}, {1: [text]}, "s_0")
    ),
    "review/question.html": lambda text: review_page.question(pair(text), "drop"),
    "review/chart.html": lambda text: trajectory_chart(trajectory(text)),
    "review/undo_list.html": lambda text: render(
        "review/undo_list.html", acts=[Undoable(1, text, text, text, datetime.now(UTC), text)]
    ),
    "review/saved.html": lambda text: render(
        "review/saved.html", saved=[{"verdict": text, "name": text}] * 2, is_last=True
    ),
    "review/returned.html": lambda text: render(
        "review/returned.html",
        measures=[Measure(name="length", title=text, explanation=text)],
        named=3,
    ),
    "review/returned_pairs.html": lambda text: render(
        "review/returned_pairs.html",
        returned=[{"pair": 7, "name": text, "label": text, "text": text, "reason": text}],
    ),
    "review/beside.html": lambda text: review_page.side_panel(pair(text, guidelines="")),
    "review/checked.html": lambda text: review_page.check_view(
        pair(text), CaptionCheck(text, 0.5, 0.4, 0.3, suspects(text))
    ),
}
