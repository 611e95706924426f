"""The pages say no more than is known: of all pairs of the demo, and of pictures that the model
does not know."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.safe_files.images import load_image
from backend.engine.correction.suggestion_chance import ALIKE
from backend.engine.statistics.stopping import ENOUGH
from backend.errors import ExportError
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_counts import LIKELY_WRONG
from backend.jobs.export_facts import ERRORS_LEFT
from backend.jobs.export_reports import ExportCounts
from backend.operations.registry import OPERATIONS
from backend.review.views import ClaimView, PairView
from backend.verdict_texts import UNDECIDED
from backend.workspace import QueueFilter, Workspace
from db.queries import dataset_queries
from tests.cli.invoking import invoked
from tests.datasets.folders import image_folder
from tests.fixtures.demo import open_demo
from tests.fixtures.features import needs
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.samples import with_changes
from traced_ui import queue_panel, review_page
from traced_ui.dataset_jobs import claims_message
from traced_ui.progress import cards_html, expected_html, left_figure
from traced_ui.trajectory_chart import steps_list


@pytest.fixture
def fresh_demo(unpacked_demo: Path, tmp_path: Path) -> Iterator[Workspace]:
    workspace = open_demo(unpacked_demo, tmp_path)
    yield workspace
    workspace.store.close()


def mark_unfamiliar(workspace: Workspace) -> None:
    """As scoring with `--anyway` does where the model does not know the pictures."""
    with workspace.store.writing() as session:
        models = dict(dataset_queries.get_dataset(session, 1).models)
        dataset_queries.remember_models(session, 1, {**models, dataset_queries.UNFAMILIAR: True})


def random_order(workspace: Workspace) -> list[tuple[int, int]]:
    filter = QueueFilter(1, "unreviewed", order="random", descending=False)
    rows = workspace.review.queue_page(filter, None, 1000).rows
    return [(row.pair_id, row.verdict_version) for row in rows]


def stage_attributes(view: PairView) -> str:
    opening = re.search(r'<div class="stage"[^>]*>', review_page.stage(view))
    assert opening is not None
    return opening[0]


def test_the_tips_are_about_what_is_on_the_screen(demo_views: list[PairView]) -> None:
    accused = 0
    for view in demo_views:
        opening = stage_attributes(view)
        if "data-accused" in opening:
            accused += 1
            assert view.p_error is not None
            assert view.p_error >= 0.5
            assert 'class="word suspect' in review_page.stage(view)
        if "data-rises" in opening:
            assert "data-accused" in opening
            reason, trajectory = review_page.why(view), view.opinion.trajectory
            assert reason is not None
            assert trajectory is not None
            low, high = map(float, re.findall(r"\d\.\d\d", reason.after))
            assert high - low >= 0.04, "two decimals of a rise by 0.05"
            assert high <= float(trajectory.scores.max()) + 0.005
    assert accused > 100


@pytest.mark.parametrize("beyond", [{"is_unfamiliar": True}, {"unread_language": "German"}])
def test_nothing_is_accused_by_a_model_that_does_not_know_the_pictures_or_the_language(
    demo_views: list[PairView], beyond: dict[str, Any]
) -> None:
    for view in demo_views[::20]:
        unknown = replace(view, **beyond)
        assert 'class="chance"' not in review_page.stage(unknown)
        assert unknown.helpful_suggestions == ()
        opening = stage_attributes(unknown)
        assert "data-accused" not in opening
        assert "data-rises" not in opening
        reason = review_page.why(unknown)
        assert reason is None or reason.after == ""
        assert "data-reasons" in review_page.side_panel(view)
        assert "data-reasons" not in review_page.side_panel(unknown), "of no chance"


@needs("caption_pairs")
def test_a_model_that_does_not_know_the_pictures_offers_nothing(fresh_demo: Workspace) -> None:
    """One key would store what it made up, and another row's picture is no better known."""
    from backend.features.caption_pairs import comparisons as caption_pairs

    pairs = [row.pair_id for row in fresh_demo.review.queue_page(QueueFilter(1), None, 60).rows]
    offered = [pair for pair in pairs if fresh_demo.review.open_pair(pair).helpful_suggestions]
    assert len(offered) > 10
    with_unconfirmed = ExportChoice(unconfirmed=True)
    assert caption_pairs.contents(fresh_demo.store, 1, with_unconfirmed)
    mark_unfamiliar(fresh_demo)
    for pair in pairs:
        view = fresh_demo.review.open_pair(pair)
        assert view.helpful_suggestions == ()
        assert view.opinion.better_picture is None
        assert "data-suggestion" not in review_page.stage(view)
        asked = with_changes(
            view, corrections=tuple(replace(s, is_asked=True) for s in view.suggestions.corrections)
        )
        assert len(asked.helpful_suggestions) == len(view.suggestions.corrections), (
            "somebody asked for them"
        )
    with pytest.raises(ExportError):
        caption_pairs.contents(fresh_demo.store, 1, with_unconfirmed)


def test_the_step_called_highest_is_the_highest(demo_views: list[PairView]) -> None:
    for view in demo_views:
        trajectory = view.opinion.trajectory
        assert trajectory is not None
        steps = re.split(r"<li class=\"step", steps_list(trajectory))[1:]
        called = [number for number, step in enumerate(steps) if 'class="highest"' in step]
        highest = float(trajectory.scores.max())
        if highest > trajectory.scores[0]:
            (step,) = called
            assert float(trajectory.scores[step]) == highest
        else:
            assert called == []


def test_what_is_wrong_or_probably_wrong_is_counted_and_can_be_left_out(
    fresh_demo: Workspace, tmp_path: Path
) -> None:
    filter = QueueFilter(1, "unreviewed", order="p_error", descending=True)
    rows = fresh_demo.review.queue_page(filter, limit=1000).rows
    wrong, *undecided = rows
    likely = sum((row.p_error or 0) > LIKELY_WRONG for row in undecided)
    assert 0 < likely < len(undecided)
    fresh_demo.review.decide_many([(wrong.pair_id, wrong.verdict_version)], "wrong")

    def counts(**choice: Any) -> ExportCounts:
        return fresh_demo.jobs.export_counts(1, ExportChoice(**choice))

    every, cleaned = counts(), counts(wrong="leave out", drop_above=LIKELY_WRONG)
    assert (every.called_wrong, every.likely_wrong) == (1, likely)
    assert (cleaned.called_wrong, cleaned.likely_wrong) == (0, 0)
    assert every.kept - cleaned.kept == 1 + likely
    for each in (every, cleaned):
        assert sum(each.by_split.values()) == each.kept
    report = fresh_demo.jobs.export(1, ExportChoice(wrong="leave out"), tmp_path / "out", "csv")
    assert report.counts.left_out == counts(wrong="leave out").left_out
    assert report.counts.by_split == counts(wrong="leave out").by_split


def test_one_estimate_in_all_places(fresh_demo: Workspace) -> None:
    """Review, Progress, the command line: before any verdict, with some, and once enough random
    pairs are decided; with verdicts of each kind."""
    first = check_places(fresh_demo)
    assert first.trusts_the_model
    order = random_order(fresh_demo)
    verdicts = ("correct", "abstract", "unsure", "wrong", "drop")
    for place, verdict in enumerate(verdicts):
        fresh_demo.review.decide_many(order[place:20:5], verdict)
    left = check_places(fresh_demo)
    assert left.trusts_the_model
    assert 0 < left.sample < ENOUGH
    curve = fresh_demo.review.progress(1).left_by_decided
    assert curve[0] == (0, pytest.approx(first.errors))
    assert curve[-1] == (20, pytest.approx(left.errors))
    for place, verdict in enumerate(verdicts):
        fresh_demo.review.decide_many(order[20 + place : 80 : 5], verdict)
    left = check_places(fresh_demo)
    assert left.estimate is not None
    assert left.sample >= ENOUGH
    curve = fresh_demo.review.progress(1).left_by_decided
    assert curve[-1] == (80, pytest.approx(left.estimate.errors))
    view = fresh_demo.review.progress(1)
    assert sum(count for _, _, count in view.pace) == view.reviewed == 80
    # Verdicts that say whether a caption is right: what the page announces before the first.
    assert sum(each.pairs for each in view.calibration) == 80 * 3 // 5
    errors = left.estimate.errors + view.errors_found
    assert curve[0] == (0, pytest.approx(errors))
    fresh_demo.review.decide_many(order[80:], "correct")
    left = check_places(fresh_demo)
    assert (left.errors, left.trusts_the_model) == (0, False)


def check_places(workspace: Workspace) -> ErrorsLeft:
    """What is left, which each place says in the same words."""
    counts = workspace.review.counts(1)
    left = workspace.review.errors_left(counts, is_anew=True)
    view = workspace.review.progress(1)
    assert view.left == left
    filter = {"review": "unreviewed", "order": "p_error"}
    panel = queue_panel.QueuePanel([], None, counts, filter, "0", False, True, {}, errors_left=left)
    corner = panel.draw()
    if left.undecided:
        assert left.in_words() in corner
    page = cards_html(view, 1) if view.reviewed else expected_html(view, 1)
    for words in (left.figure, left.basis, left.effort):
        assert words.casefold() in page.casefold()
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory)}
    _, out, err = invoked(environment, "progress", "demo")
    assert left.in_words() in " ".join((out + err).split())
    return left


def test_no_figure_for_pictures_that_the_model_does_not_know(fresh_demo: Workspace) -> None:
    mark_unfamiliar(fresh_demo)
    left = check_places(fresh_demo)
    assert (left.errors, left.effort, left.trusts_the_model) == (None, "", False)
    assert not fresh_demo.review.progress(1).expected
    order = random_order(fresh_demo)
    fresh_demo.review.decide_many(order[:10], "correct")
    left = check_places(fresh_demo)
    assert (left.errors, left.sample) == (None, 10)
    view = fresh_demo.review.progress(1)
    assert left_figure(view) is None
    assert not left.is_few(1000)
    fresh_demo.review.decide_many(order[10 : 2 * ENOUGH], "correct")
    left = check_places(fresh_demo)
    assert left.estimate is not None
    assert left.effort == "", "where they are, only the model says"


@pytest.mark.parametrize("expected", [None, 4.2])
@pytest.mark.parametrize(
    ("undecided", "sample", "can_be_reached"),
    [(1, 0, False), (12, 0, False), (12, 17, False), (12, 18, True), (600, 3, True)],
)
def test_nobody_is_asked_for_more_pairs_than_there_are(
    undecided: int, sample: int, can_be_reached: bool, expected: float | None
) -> None:
    left = ErrorsLeft(undecided, expected, sample, None)
    assert (str(ENOUGH) in left.basis) == can_be_reached
    assert can_be_reached or re.search(rf"\b{undecided} pairs?\b", left.basis)


def export(workspace: Workspace, folder: Path, **options: Any) -> tuple[dict[str, str], str | None]:
    """The verdicts and the estimate on the card of an export."""
    report = workspace.jobs.export(1, ExportChoice(**options), folder, "csv", overwrite=True)
    left = re.search(rf"^- {ERRORS_LEFT}: (.*)$", report.card, re.MULTILINE)
    table = report.card.split("| verdict | pairs |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"\| ([^|]+) \| (\d+) \|", table))
    assert sum(map(int, rows.values())) == report.counts.kept
    return rows, left and left[1]


def test_the_card_is_about_what_is_exported(fresh_demo: Workspace, tmp_path: Path) -> None:
    order = random_order(fresh_demo)
    review = fresh_demo.review
    for place, verdict in enumerate(("correct", "abstract", "unsure", "wrong", "drop")):
        review.decide_many(order[place:25:5], verdict)
    rows, left = export(fresh_demo, tmp_path / "out")
    assert rows == {"right": "5", "not sure": "5", "wrong": "5", UNDECIDED: "575"}
    few = ErrorsLeft(575, None, 20, None)
    assert left == f"{few.figure}. {few.basis}", "20 random pairs, and no word of the model's"
    rows, left = export(fresh_demo, tmp_path / "out", decided_only=True)
    assert rows == {"right": "5", "not sure": "5", "wrong": "5"}
    done = ErrorsLeft(0, None, 0, None)
    assert left == f"{done.figure}. {done.basis}"
    review.decide_many(order[25:100], "correct")
    shown = review.progress(1).left
    assert shown.estimate is not None
    assert export(fresh_demo, tmp_path / "out")[1] == f"{shown.figure}. {shown.basis}"
    # Of the pairs below a threshold only the random ones below it tell.
    _, left = export(fresh_demo, tmp_path / "out", drop_above=0.3)
    truth = {pair_id: review.open_pair(pair_id) for pair_id, _ in order[:100]}
    sample = [
        view for view in truth.values()
        if (view.p_error or 0) <= 0.3 and view.verdict.decision != "unsure"
    ]  # fmt: skip
    assert left is not None
    assert f"by {len(sample)} randomly" in left
    assert ENOUGH <= len(sample) < 95


def test_the_forms_of_captions_are_counted(tmp_path: Path) -> None:
    tags = ", ".join(f"tag {number}" for number in range(15))
    texts = ["A dog runs. It is brown. The sky is blue. A cat sits. Rain falls."] * 3
    texts += [tags] + ["A dog on a lawn."] * 4 + ["A dog on a lawn. Photo by Jane Doe"]
    rows = [
        {"file_name": "a.png", "id": str(number), "caption": text}
        for number, text in enumerate(texts)
    ]
    image_folder(tmp_path / "pairs", rows, ("a.png",))
    workspace = workspace_in(tmp_path)
    workspace.jobs.import_dataset(tmp_path / "pairs")
    form = workspace.review.claims_found(1)
    assert (form.pairs, form.sampled, form.several, form.lists) == (9, 9, 3, 1)
    assert (form.sentences_each, form.tags_each) == (5, 15)
    words = claims_message(form)
    assert re.findall(r"\d+", words) == ["3", "9", "5", "1", "15"]
    workspace.store.close()


def test_a_single_claim_is_judged_by_the_verdict_alone(demo_views: list[PairView]) -> None:
    """As where a credit behind the caption is no claim."""
    first = ClaimView(0, 5, "sentence", False, False, True, numbers={})
    shown = [
        review_page.stage(replace(demo_views[0], claims=claims))
        for claims in ((first,), (first, replace(first, start=5, end=9)))
    ]
    assert ["claim-bar" in each for each in shown] == [False, True]


def test_what_does_not_help_is_offered_nowhere(demo_views: list[PairView]) -> None:
    left_out = 0
    for view in demo_views:
        shown = review_page.stage(view)
        numbers = re.findall(r"data-action=\"suggestion-(\d)\"", shown)
        assert len(numbers) == len(view.helpful_suggestions[: review_page.SUGGESTIONS_SHOWN])
        left_out += len(view.suggestions.corrections) - len(view.helpful_suggestions)
        assert [
            (before, after)
            for before, after in re.findall(r"<small>(\d+) % → <b>(\d+) %", shown)
            if int(after) > min(int(before) - 4, 50)
        ] == []
    assert left_out > 40


def test_no_model_is_said_to_know_other_pictures_alone_where_it_knows_these(
    fresh_demo: Workspace, demo_views: list[PairView]
) -> None:
    assert {view.opinion.limits for view in demo_views} == {""}
    mark_unfamiliar(fresh_demo)
    pair = fresh_demo.opening_pair(1) or 0
    assert fresh_demo.review.open_pair(pair).opinion.limits


def test_nothing_is_doubted_that_only_opens_a_caption(demo_views: list[PairView]) -> None:
    suggestions = [each for view in demo_views for each in view.helpful_suggestions]
    opens = [each for each in suggestions if each.caption.startswith("A picture of")]
    assert opens
    assert not [each.doubts for each in opens if "picture" in each.doubts]


def test_only_where_few_words_change_is_both_said_what_goes_and_what_comes(
    demo_views: list[PairView],
) -> None:
    for view in demo_views:
        page = str(review_page.stage(view))
        for card in re.findall(r'data-action="suggestion-.*?</button>', page, re.DOTALL):
            gone, added = (
                [len(text.split()) for text in re.findall(f"<{tag}>([^<]*)</{tag}>", card)]
                for tag in ("del", "ins")
            )
            assert not gone or len(gone) <= 1 or sum(gone) + sum(added) <= 6, card


@needs("playground")
def test_try_offers_what_review_offers_first(
    scored_demo: Workspace, demo_views: list[PairView]
) -> None:
    from backend.features.playground.page import Example, stored_answer

    for view in demo_views[::10]:
        example = Example(view.pair_id, "a.png", view.caption)
        page = stored_answer(scored_demo, example)[0]
        suggestions = view.helpful_suggestions
        assert page.count('<li class="offer"') == len(suggestions)
        assert all((each.p_after or 0) <= 0.5 for each in suggestions)
        tinted = re.findall(r'class="word suspect[^>]*>([^<]*)<', page)
        untested = re.findall(r'<span dir="auto">([^<]*)</span><small>not tested', page)
        assert not [word for word in tinted if any(word in text.split() for text in untested)]
        assert ("<summary>Phrases" in page) is ('<li class="phrase' in page)


@needs("playground")
def test_a_live_check_offers_what_helps(scored_demo: Workspace, demo_views: list[PairView]) -> None:
    from backend.features.playground.checking import analyse

    offered = 0
    for view in (*demo_views[:2], *demo_views[-2:]):
        picture = load_image(scored_demo.review.image_path(view.pair_id))
        result = analyse(scored_demo, picture, view.caption, 1)
        offered += len(result.suggestions)
        for each in result.suggestions:
            assert each.p_before is not None
            assert each.p_after is not None
            assert each.p_after <= 0.5
            assert each.p_before - each.p_after >= ALIKE
    assert offered


@pytest.mark.parametrize("kind", ["duplicates", "map"])
def test_what_is_said_to_open_no_picture_opens_none(
    kind: str, fresh_demo: Workspace, opened_pictures: list[object]
) -> None:
    if kind not in OPERATIONS:
        pytest.skip("its feature is not there")
    fresh_demo.jobs.run(kind, 1)
    assert opened_pictures == []
