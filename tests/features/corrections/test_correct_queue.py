"""Bulk correction on a real store with the embedded models and a real server."""

import base64
import io
import json
import re
import shutil
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import update

from backend.engine.language_models.spending import Budget, PriceList, Prices
from backend.errors import ModelUnavailable, PictureUnseen, SettingsError
from backend.features.corrections import correct_queue
from backend.features.corrections.correct_queue import Rule, dry_run
from backend.features.corrections.report import CorrectionReport
from backend.jobs.scoring.stored_rows import in_order
from backend.review.charts import progress_of
from backend.workspace import QueueFilter, Workspace
from db.models import Pair
from db.queries import dataset_queries, pair_queries
from db.queries.suggestion_queries import SuggestionRow
from research.chat_server import chat_server
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.fixtures.features import needs
from tests.fixtures.interrupting import Hanging
from tests.jobs.opening import OpenWorkspace, score_pairs

pytestmark = needs("vision_language")
PAIRS = 10
#: Questions by which a server is asked first whether it sees.
CHECKS = 4


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scored drawn pairs; every second picture has the caption of the one before."""
    base = tmp_path_factory.mktemp("correct")
    captions = [caption for _, caption in drawn_pairs(PAIRS, seed=4)]
    drawn_folder(base / "pairs", PAIRS, 4, lambda number, _: {"caption": captions[number // 2 * 2]})
    return score_pairs(base, detector="nine signs")


@pytest.fixture
def opened(open_workspace: OpenWorkspace, scored: Path, tmp_path: Path) -> OpenWorkspace:
    """Opens a copy of that workspace, with settings."""
    shutil.copytree(scored / "state", tmp_path / "state")
    return partial(open_workspace, detector="nine signs")


def everything() -> QueueFilter:
    return QueueFilter(1, review="unreviewed", order="p_error")


def correct(workspace: Workspace, **options: Any) -> CorrectionReport:
    engine = workspace.engines.of_dataset(1)
    return correct_queue.correct(workspace.store, engine, everything(), **options)


def rewriting(body: dict[str, Any]) -> tuple[int, str]:
    """A model that returns the correct caption of each picture."""
    text = body["messages"][1]["content"][1]["text"]
    caption = re.findall(r"<caption>(.*?)</caption>", text)[0]
    return 200, json.dumps({"caption": caption.replace("A ", "One ", 1)})


def test_suggestions_wait_for_a_curator_and_are_not_requested_twice(opened: OpenWorkspace) -> None:
    with chat_server(rewriting) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        first = correct(workspace, at_once=4)
        sent = len(served.requests)
        again = correct(workspace, at_once=4)
    assert first.looked_at == PAIRS == sum(first.outcomes.values())
    assert (first.requests, first.accepted, first.tokens_in) == (sent, 0, 7 * sent)
    assert again.outcomes == {"asked before": PAIRS}
    assert len(served.requests) == sent
    views = [
        workspace.review.open_pair(row.pair_id)
        for row in workspace.review.queue_page(everything()).rows
    ]
    assert all(view.verdict.decision is None for view in views)
    suggestions = [suggestion for view in views for suggestion in view.suggestions.corrections]
    assert suggestions
    assert all(suggestion.proposer == "vlm · words v1" for suggestion in suggestions)
    assert all(
        suggestion.similarity is not None and suggestion.words_changed == 1
        for suggestion in suggestions
    )


def test_a_budget_ends_a_run_and_says_so(opened: OpenWorkspace) -> None:
    with chat_server(rewriting) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        workspace.engine.spending.budget = Budget(requests=3)
        report = correct(workspace)
        assert report.requests == len(served.requests) == 3
        assert "larger budget" in report.stopped
        workspace.engine.spending.budget = Budget()
        rest = correct(workspace)
    assert rest.outcomes["asked before"] == 3
    assert len(served.requests) == PAIRS


def test_a_server_that_goes_away_loses_nothing(opened: OpenWorkspace) -> None:
    with chat_server(rewriting) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        correct(workspace, limit=2)
    model: Any = workspace.engine.chat_model
    model._client.max_retries = 0
    with pytest.raises(ModelUnavailable, match="Is the server running"):
        correct(workspace)
    with chat_server(rewriting) as served:
        later = opened(corrector="vlm", corrector_url=served.url)
        assert correct(later).outcomes["asked before"] == 2


def test_one_refused_question_costs_its_pair_and_is_not_sent_again(opened: OpenWorkspace) -> None:
    refused: list[str] = []

    def picky(body: dict[str, Any]) -> tuple[int, str]:
        text = str(body["messages"][1]["content"][1]["text"])
        if len(served.requests) == 2:
            refused.append(text)
        return (400, "This picture is too large.") if text in refused else rewriting(body)

    with chat_server(picky) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        report = correct(workspace)
        sent = len(served.requests)
        again = correct(workspace)
    assert report.outcomes["refused by the server"] == 1
    assert sum(report.outcomes.values()) == PAIRS
    assert again.outcomes == {"asked before": PAIRS}
    assert len(served.requests) == sent


def test_a_server_that_refuses_everything_ends_the_run(opened: OpenWorkspace) -> None:
    with chat_server(lambda body: (400, "No.")) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        with pytest.raises(ModelUnavailable, match="No"):
            correct(workspace)

    def soon(body: dict[str, Any]) -> tuple[int, str]:
        return (400, "No.") if len(served.requests) > 1 else rewriting(body)

    with chat_server(soon) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        with pytest.raises(ModelUnavailable, match="No"):
            correct(workspace)


def test_ctrl_c_waits_for_no_answer(opened: OpenWorkspace, hanging: Hanging) -> None:
    def silent(body: dict[str, Any]) -> tuple[int, str]:
        hanging()
        return rewriting(body)

    with chat_server(silent) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        with pytest.raises(KeyboardInterrupt):
            correct(workspace, at_once=4)
        assert hanging.is_begun
        assert not hanging.is_done
        hanging.end()


def test_only_a_rule_accepts_and_it_is_no_person(opened: OpenWorkspace) -> None:
    workspace = opened()
    before = progress_of(workspace.store, 1)
    report = correct(workspace, rule=Rule(p=1.0, gain=1e-6))
    assert report.accepted > 0
    decided = workspace.review.queue_page(QueueFilter(1, review="decided")).rows
    assert len(decided) == report.accepted
    view = workspace.review.open_pair(decided[0].pair_id)
    assert view.verdict.decision == "correction"
    assert view.verdict.history[0].author == report.rule == "rule: p <= 1 and gain >= 1e-06"
    after = progress_of(workspace.store, 1)
    assert after.calibration == before.calibration
    assert (bool(before.expected), after.expected) == (True, ()), "only before the first verdict"
    assert correct(workspace, rule=Rule(p=1.0, gain=1e-6)).accepted == 0


def test_no_rule_accepts_what_a_model_says_of_pictures_that_it_does_not_know(
    opened: OpenWorkspace,
) -> None:
    workspace = opened()
    with workspace.store.writing() as session:
        models = dict(dataset_queries.get_dataset(session, 1).models)
        unfamiliar = {**models, dataset_queries.UNFAMILIAR: True}
        dataset_queries.remember_models(session, 1, unfamiliar)
    with pytest.raises(SettingsError, match="does not know"):
        correct(workspace, rule=Rule(p=1.0, gain=1e-6))
    assert correct(workspace).accepted == 0, "without a rule it only suggests"


@pytest.mark.parametrize(
    ("p_after", "s_after", "is_accepted"),
    [(0.2, 0.75, True), (0.2, 0.74, False), (0.3, 0.9, False), (None, 0.9, False)],
)
def test_a_rule_accepts_only_what_is_both_likely_right_and_better(
    p_after: float | None, s_after: float, is_accepted: bool
) -> None:
    suggestion = SuggestionRow(
        1, "a rule", "A dog", 0.5, s_after, 0.9, p_after, id=1, created_at=datetime.now(UTC)
    )
    (ranked,) = in_order("A cat", [suggestion])
    assert Rule(p=0.2, gain=0.25).accepts(ranked) is is_accepted


@pytest.mark.parametrize(("p", "gain"), [(1.1, 0.1), (-0.1, 0.1), (0.5, 0.0)])
def test_a_rule_without_meaning_is_refused(p: float, gain: float) -> None:
    with pytest.raises(SettingsError):
        Rule(p, gain)


def test_a_budget_in_money_needs_a_price(opened: OpenWorkspace) -> None:
    options = {"vlm": "vlm", "limits": {"budget": 5.0}}
    with pytest.raises(SettingsError, match="needs prices") as refused:
        opened(corrector="vlm", corrector_url="http://x/v1").jobs.start("correct", 1, **options)
    assert "--price-in" in refused.value.remedies["terminal"]


def test_a_dry_run_shows_all_and_sends_nothing(opened: OpenWorkspace) -> None:
    with chat_server(rewriting) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        prices = PriceList(of_others=Prices(2.0, 10.0))
        preview = dry_run(workspace.store, workspace.engine, everything(), prices, count=2)
        few = dry_run(workspace.store, workspace.engine, everything(), prices, limit=3)
        unpriced = dry_run(workspace.store, workspace.engine, everything(), PriceList())
        assert not served.requests
    assert (preview.pairs, len(preview.questions)) == (PAIRS, 2)
    assert "<suspects>" in preview.questions[0].user
    assert preview.questions[0].image_bytes > 500
    forecast = preview.forecast
    assert (forecast.requests, few.forecast.requests) == ((0, PAIRS), (0, 3))
    tokens = sum(len(q.system) + len(q.user) for q in preview.questions) / 2 / 4 + 800
    assert forecast.tokens_in[1] == pytest.approx(PAIRS * tokens, abs=PAIRS)
    assert forecast.cost is not None
    money = (forecast.tokens_in[1] * 2 + forecast.tokens_out[1] * 10) / 1e6
    assert forecast.cost[1] == pytest.approx(money)
    assert (unpriced.forecast.cost, unpriced.forecast.requests) == (None, (0, PAIRS))
    assert "cost" not in unpriced.in_words()
    workspace = opened()
    with pytest.raises(SettingsError, match="none is set up"):
        dry_run(workspace.store, workspace.engine, everything(), PriceList())


def test_one_pair_can_be_corrected_on_the_page(opened: OpenWorkspace) -> None:
    with chat_server(squares) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        pair = workspace.review.queue_page(everything()).rows[0].pair_id
        assert workspace.review.open_pair(pair).suggestions.may_ask == "vlm"
        suggestions = workspace.review.suggest(pair)
        assert any(suggestion.proposer.startswith("vlm") for suggestion in suggestions)
        assert workspace.review.open_pair(pair).suggestions.may_ask == ""
        assert len(served.requests) == 1 + 2, "two for the check"
        workspace.review.suggest(pair + 1)
        assert len(served.requests) <= 2 + 2, "its answers are kept"


def test_one_pair_is_not_asked_about_where_the_server_does_not_see(opened: OpenWorkspace) -> None:
    with chat_server(lambda body: (200, json.dumps({"caption": "A dog."}))) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        pair = workspace.review.queue_page(everything()).rows[0].pair_id
        with pytest.raises(PictureUnseen):
            workspace.review.suggest(pair)
        assert len(served.requests) == CHECKS
        view = workspace.review.open_pair(pair)
        assert not any(each.proposer.startswith("vlm") for each in view.helpful_suggestions)


def test_a_caption_that_a_prompt_does_not_show_as_it_is_is_not_asked_about(
    opened: OpenWorkspace,
) -> None:
    odd = {
        1: "A dog. " * 600 + "The end.", 2: "A dog.\n\nA cat.", 3: "A dog\u2028a cat",
        4: "A sign <EXIT>.",
    }  # fmt: skip
    with chat_server(rewriting) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        with workspace.store.writing() as session:
            for pair_id, caption in odd.items():
                session.execute(update(Pair).where(Pair.id == pair_id).values(caption=caption))
        report = correct(workspace, rule=Rule(1, 0.0001))
    assert report.outcomes["caption too long to ask"] == 1
    assert report.outcomes["caption of several lines"] == 2
    assert report.outcomes["caption with < or >"] == 1
    assert sum(report.outcomes.values()) == report.looked_at == PAIRS
    assert len(served.requests) == PAIRS - len(odd)
    with workspace.store.reading() as session:
        pairs = [pair_queries.get_pair(session, pair_id) for pair_id in odd]
    assert [pair.decision for pair in pairs] == [None] * len(odd)


def test_the_writer_of_captions_is_warned_of_as_their_corrector(opened: OpenWorkspace) -> None:
    with chat_server(rewriting) as served:
        workspace = opened(corrector="org/vlm-7b", corrector_url=served.url)
        with workspace.store.writing() as session:
            session.execute(update(Pair).values(extra={"writer": "vlm"}))
        plan = workspace.jobs.run("correct", 1, dry_run=True)
        report = workspace.jobs.run("correct", 1, limit=1, trust_server=True)
    assert plan.warning == report.warning != ""
    assert plan.warning in plan.in_words()
    assert report.warning in report.in_words()


def squares(body: dict[str, Any]) -> tuple[int, str]:
    """A model that sees the colours of the squares by which a server is checked."""
    url = body["messages"][-1]["content"][0]["image_url"]["url"]
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    text = str(body["messages"][-1]["content"][1]["text"])
    if "<caption>A red square.</caption>" in text:
        red, _, blue = image.resize((1, 1)).getpixel((0, 0))  # type: ignore[misc]
        return 200, json.dumps({"caption": f"A {'red' if red > blue else 'blue'} square."})
    return rewriting(body)


def test_a_server_that_does_not_see_is_refused_before_it_is_paid(opened: OpenWorkspace) -> None:
    with chat_server(lambda body: (200, json.dumps({"caption": "A dog."}))) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        options = {"vlm": "vlm", "vlm_url": served.url}
        with pytest.raises(PictureUnseen):
            workspace.jobs.run("correct", 1, **options)
        assert len(served.requests) == CHECKS
        trusting = workspace.jobs.run("correct", 1, **options, trust_server=True, limit=2)
        assert trusting.looked_at == 2
    with chat_server(squares) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        plan = dry_run(workspace.store, workspace.engine, everything(), PriceList(), check=True)
        assert plan.forecast.requests[1] == PAIRS + CHECKS + 2, "some are repeated"
        report = correct(workspace, check=True)
        assert report.requests == len(served.requests) == PAIRS - 2 + 2, "two for the check"
        correct(workspace, check=True)
        assert len(served.requests) == PAIRS, "its answers are kept as well"


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_no_request_starts_that_could_pass_the_budget(budget: int, opened: OpenWorkspace) -> None:
    """Neither one of many at once, nor one that repeats an unreadable answer."""

    def unreadable(body: dict[str, Any]) -> tuple[int, str]:
        time.sleep(0.05)
        return 200, "Well."

    with chat_server(unreadable) as served:
        workspace = opened(corrector="vlm", corrector_url=served.url)
        workspace.engine.spending.budget = Budget(requests=budget)
        report = correct(workspace, at_once=4)
        assert report.requests == len(served.requests) == budget
        assert f"{PAIRS - report.looked_at} pairs left" in report.stopped


def test_a_model_never_sees_a_constant_part_and_never_loses_it(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    before, behind = "ohwx style, ", ", 8k, masterpiece"
    folder = drawn_folder(
        tmp_path / "pairs", PAIRS, 4,
        lambda number, text: {"caption": f"{before}{text.removesuffix('.')}{behind}"},
    )  # fmt: skip
    with chat_server(rewriting) as served:
        workspace = open_workspace(detector="nine signs", corrector="vlm", corrector_url=served.url)
        dataset = workspace.find_or_import(str(folder))
        parts = ("ohwx style", "8k, masterpiece")
        workspace.jobs.score(dataset, suggestions=False, constant=parts)
        report = correct(workspace)
    assert report.outcomes["offered"]
    texts = [json.dumps(body) for body in served.requests]
    assert texts
    assert not any("ohwx" in text or "masterpiece" in text for text in texts)
    rows = workspace.review.queue_page(everything()).rows
    suggestions = [
        each
        for row in rows
        for each in workspace.review.open_pair(row.pair_id).suggestions.corrections
    ]
    assert suggestions
    assert all(each.caption.startswith(f"{before}One ") for each in suggestions)
    assert all(each.caption.endswith(behind) for each in suggestions)
