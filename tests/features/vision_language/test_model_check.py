"""Second opinions on a real store, with the embedded models and a real server."""

import base64
import io
import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import update

from backend.datasets.cells import split_proof
from backend.engine.detection.localisation import VISIBLE
from backend.engine.language_models.spending import Budget, PriceList, Prices
from backend.errors import (
    ImageError,
    ModelMismatch,
    ModelUnavailable,
    NotScored,
    QuestionRefused,
    SettingsError,
)
from backend.features.vision_language import model_check
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.model_check import open_server
from backend.features.vision_language.sight_check import FEWEST, MOST
from backend.options import parse_share
from backend.workspace import Workspace
from db.models import Claim
from db.queries import pair_queries, signal_queries
from db.queries.pair_queries import PairRow
from research.chat_server import Respond, RunningServer, chat_server
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.cli.invoking import as_json, environment_of, invoked
from tests.jobs.opening import OpenWorkspace, score_pairs

PAIRS = 12
Answer = str | Mapping[str, float]  # of `Respond`
YES, NO = {"Yes": 0.9, "No": 0.1}, {"No": 0.8, "Yes": 0.2}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a workspace that has scored drawn pairs; every second caption belongs to another
    picture."""
    base = tmp_path_factory.mktemp("second-opinion")
    captions = [caption for _, caption in drawn_pairs(2 * PAIRS, seed=6)]
    drawn_folder(
        base / "pairs",
        PAIRS,
        6,
        lambda number, _: {"caption": captions[number + PAIRS * (number % 2)]},
    )
    return score_pairs(base, detector="nine signs")


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored, detector="nine signs")


def pairs_of(workspace: Workspace) -> list[PairRow]:
    return workspace.store.read(pair_queries.pairs_after, 1, 0, 100)


def caption_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"][1]["text"]).splitlines()[-1]


def knowing(workspace: Workspace) -> Respond:
    """A model that doubts the wrong captions."""
    wrong = {pair.caption for pair in pairs_of(workspace)[1::2]}
    return lambda body: (200, NO if caption_of(body) in wrong else YES)


def ask(workspace: Workspace, served: RunningServer, share: float = 1.0, **options: Any) -> Any:
    return model_check.ask(workspace.store, 1, open_server(served.url, None), share, **options)


def test_what_the_model_doubts_becomes_more_likely_wrong(workspace: Workspace) -> None:
    before = pairs_of(workspace)
    with chat_server(knowing(workspace)) as served:
        report = ask(workspace, served)
    after = pairs_of(workspace)
    assert (report.new_answers, report.agrees, report.doubts) == (PAIRS, 6, 6)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        assert old.p_error is not None
        assert new.p_error is not None
        assert (new.p_error > old.p_error) == bool(number % 2)
        assert new.numbers["second_opinion"] == pytest.approx(-1 if number % 2 else 1, abs=1e-3)
        assert new.numbers["disagreement"] is not None
    # One question a pair, three more about each that it doubts: without a suspect word it agrees.
    assert report.requests == len(served.requests) == PAIRS + 3 * 6
    assert served.requests[0]["max_tokens"] == 1
    doubted = next(pair for pair in after if pair.id % 2 == 0)
    (opinion,) = workspace.store.read(signal_queries.latest_opinions, [doubted.id]).values()
    assert opinion.p_yes == pytest.approx(0.2)
    assert [p for *_, p in opinion.deletions] == pytest.approx([0.9] * 3, abs=0.01)
    view = workspace.review.open_pair(doubted.id)
    score_of = {(word.start, word.end): word.score for word in view.opinion.suspects}
    assert min(score_of[start, end] for start, end, _ in opinion.deletions) > 0.7 > VISIBLE
    assert view.opinion.reasons is not None
    (reason,) = (r for r in view.opinion.reasons.listed if r.sign == "second opinion")
    assert reason.contribution == pytest.approx(1, abs=1e-3)


def test_answers_from_before_a_repair_are_asked_for_again(workspace: Workspace) -> None:
    before = pairs_of(workspace)
    rules: list[Respond] = [lambda body: (200, NO if len(caption_of(body)) % 2 else YES)]
    with chat_server(lambda body: rules[-1](body)) as served:
        assert ask(workspace, served).new_answers == PAIRS
        assert [p.p_error for p in pairs_of(workspace)] != [p.p_error for p in before]
        rules.append(knowing(workspace))
        model_check.discard(workspace.store, 1, open_server(served.url, None))
        after = pairs_of(workspace)
        assert [p.p_error for p in after] == pytest.approx([p.p_error for p in before])
        assert {p.numbers["second_opinion"] for p in after} == {None}
        report = ask(workspace, served)
    assert (report.new_answers, report.agrees, report.doubts) == (PAIRS, 6, 6)


def test_only_the_most_suspicious_share_is_asked_about_and_nothing_twice(
    workspace: Workspace,
) -> None:
    before = pairs_of(workspace)
    first = sorted(before, key=lambda pair: -(pair.p_error or 0))[:3]
    with chat_server(knowing(workspace)) as served:
        report = ask(workspace, served, share=0.25)
        sent = len(served.requests)
        numbers = pairs_of(workspace)
        again = ask(workspace, served, share=0.25)
        more = ask(workspace, served, share=0.5)
    ids = {pair.id for pair in numbers if pair.numbers["second_opinion"] is not None}
    assert ids == {pair.id for pair in first}
    assert [r.new_answers for r in (report, again, more)] == [3, 0, 3]
    assert again.earlier_answers == 3
    assert again.requests == 0
    assert sent < len(served.requests)
    for old, new in zip(before, numbers, strict=True):
        if new.id not in ids:
            assert new.p_error == old.p_error


def test_other_numbers_keep_the_opinion(
    workspace: Workspace, open_workspace: OpenWorkspace
) -> None:
    """The detector is trained anew: the opinion is still a sign of it."""
    other = open_workspace(detector="eight signs")
    other.jobs.score(1, suggestions=False, anew=True)
    with chat_server(knowing(workspace)) as served:
        ask(workspace, served)
    p_errors = [pair.p_error for pair in pairs_of(workspace)]
    workspace.jobs.score(1, suggestions=False, anew=True)
    assert [pair.p_error for pair in pairs_of(workspace)] != p_errors
    other.jobs.score(1, suggestions=False, anew=True)
    assert [pair.p_error for pair in pairs_of(workspace)] == pytest.approx(p_errors)
    for number, pair in enumerate(pairs_of(workspace)):
        workspace.review.decide(pair.id, 0, "drop" if number % 2 else "correct")
    trained = workspace.jobs.run("train", 1)
    assert trained.report["opinion_weight"] > 1


def test_a_server_that_fails_halfway_leaves_every_number_and_is_resumed(
    workspace: Workspace,
) -> None:
    answer = knowing(workspace)
    number, lock = iter(range(1000)), threading.Lock()

    def failing(body: dict[str, Any]) -> tuple[int, Answer]:
        with lock:
            return answer(body) if next(number) < 11 else (500, "no more")

    before = pairs_of(workspace)
    with chat_server(failing) as served:
        endpoint = ChatEndpoint(served.url, "small", retries=0)
        with pytest.raises(ModelUnavailable):
            model_check.ask(workspace.store, 1, endpoint, 1.0, at_once=1)
    assert pairs_of(workspace) == before
    with chat_server(answer, int(served.url.split(":")[2].removesuffix("/v1"))) as served:
        report = ask(workspace, served)
    assert report.earlier_answers + report.new_answers == PAIRS
    assert report.earlier_answers > 0
    # Only questions that belong to pairs without a stored answer are sent.
    assert report.requests <= 4 * report.new_answers
    assert all(pair.numbers["second_opinion"] is not None for pair in pairs_of(workspace))


def plan(workspace: Workspace, respond: Respond, timeout: float = 5) -> Any:
    with chat_server(respond) as served:
        endpoint = ChatEndpoint(served.url, "small", retries=0, timeout=timeout)
        try:
            return model_check.plan(workspace.store, 1, endpoint, 0.5)
        finally:
            assert len(served.requests) < PAIRS // 2, "without asking about every pair"


def test_the_plan_tells_what_the_rest_takes(workspace: Workspace) -> None:
    planned = plan(workspace, lambda body: (200, YES))
    assert (planned.pairs, planned.total) == (6, PAIRS)
    assert planned.forecast.requests == (planned.pairs, 4 * planned.pairs)
    assert planned.forecast.tokens_in == (7 * planned.pairs, 28 * planned.pairs)
    assert planned.forecast.assumed == ""
    assert planned.forecast.cost is None
    assert planned.model == "small"
    assert all(pair.numbers["second_opinion"] is None for pair in pairs_of(workspace))


@pytest.mark.parametrize(
    ("status", "answer", "error", "message"),
    [
        (200, "Yes", ModelUnavailable, r"without log-probabilities.*vLLM"),
        (400, "logprobs are not supported", ModelUnavailable, "vLLM"),
        (200, {"Maybe": 0.7, "A": 0.1}, ModelMismatch, "'Maybe'"),
    ],
)
def test_a_model_that_cannot_be_asked_is_recognised_by_the_first_answers(
    workspace: Workspace, status: int, answer: Answer, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan(workspace, lambda body: (status, answer))


def test_a_server_that_is_down_or_slow_is_reported(workspace: Workspace) -> None:
    with pytest.raises(ModelUnavailable, match="The server http"):
        open_server("http://127.0.0.1:9/v1", None, timeout=1)
    release = threading.Event()

    def hang(body: dict[str, Any]) -> tuple[int, Answer]:
        release.wait(20)
        return 200, YES

    with pytest.raises(ModelUnavailable, match="does not answer"):
        plan(workspace, hang, timeout=0.2)
    release.set()


def test_fewer_alternatives_are_requested_if_the_server_allows_fewer(workspace: Workspace) -> None:
    def strict(body: dict[str, Any]) -> tuple[int, Answer]:
        if body["top_logprobs"] > 5:
            return 400, "top_logprobs must be at most 5"
        return 200, YES

    with chat_server(strict) as served:
        endpoint = ChatEndpoint(served.url, "small", retries=0)
        for _ in range(2):
            model_check.plan(workspace.store, 1, endpoint, 0.5)
    assert [body["top_logprobs"] for body in served.requests] == [20, 5, 5]


def test_neither_yes_nor_no_is_no_opinion_and_not_asked_again(workspace: Workspace) -> None:
    odd = pairs_of(workspace)[0].caption

    def answer(body: dict[str, Any]) -> tuple[int, Answer]:
        return 200, {"Well": 1.0} if caption_of(body) == odd else YES

    with chat_server(answer) as served:
        report = ask(workspace, served)
        again = ask(workspace, served)
    assert (report.unanswered, report.agrees) == (1, PAIRS - 1)
    assert (again.new_answers, again.unanswered) == (0, 1)
    assert pairs_of(workspace)[0].numbers["second_opinion"] is None


def test_one_refused_question_is_left_out_and_asked_again_next_time(workspace: Workspace) -> None:
    odd = pairs_of(workspace)[0].caption

    def answer(body: dict[str, Any]) -> tuple[int, Answer]:
        return (400, "unsafe picture") if caption_of(body) == odd else (200, YES)

    with chat_server(answer) as served:
        report = ask(workspace, served)
        assert (report.new_answers, report.left_out) == (PAIRS - 1, 1)
        assert "unsafe picture" in report.problem
        assert ask(workspace, served).left_out == 1
    before = pairs_of(workspace)
    with chat_server(lambda body: (400, "unsafe")) as served:
        endpoint = ChatEndpoint(served.url, "other", retries=0)
        with pytest.raises(QuestionRefused):
            model_check.ask(workspace.store, 1, endpoint, 1.0, at_once=1)
    assert 5 <= len(served.requests) < PAIRS
    assert pairs_of(workspace) == before


def test_an_unreadable_picture_is_left_out(
    workspace: Workspace, scored: Path, tmp_path: Path
) -> None:
    pictures = shutil.copytree(scored / "pairs", tmp_path / "pairs")
    workspace.relocate_dataset(1, pictures)
    missing, _ = split_proof(pairs_of(workspace)[0].image_path)
    (pictures / missing).unlink()
    with chat_server(knowing(workspace)) as served:
        report = ask(workspace, served)
    assert (report.new_answers, report.left_out) == (PAIRS - 1, 1)
    assert missing in report.problem
    for picture in pictures.glob("*.png"):
        picture.unlink()
    with chat_server(knowing(workspace)) as served, pytest.raises(ImageError):
        model_check.plan(workspace.store, 1, open_server(served.url, None), 0.2)


def test_a_spent_budget_ends_the_questions_and_the_answers_count(workspace: Workspace) -> None:
    with chat_server(lambda body: (200, YES)) as served:
        endpoint = open_server(served.url, None)
        endpoint.spending.limit(PriceList(of_others=Prices(1.0, 1.0)), Budget(requests=4))
        report = model_check.ask(workspace.store, 1, endpoint, 1.0, at_once=1)
        assert "budget" in report.stopped
        assert (report.new_answers, report.requests) == (4, 4)
        assert report.cost == pytest.approx(4 * 10 / 1e6)
        assert sum(p.numbers["second_opinion"] is not None for p in pairs_of(workspace)) == 4
        assert ask(workspace, served).earlier_answers == 4


def test_pictures_are_sent_small_and_captions_in_one_line(workspace: Workspace) -> None:
    with chat_server(knowing(workspace)) as served:
        ask(workspace, served, share=0.1)
    (part, text) = served.requests[0]["messages"][0]["content"]
    sent = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    assert Image.open(io.BytesIO(sent)).format == "JPEG"
    assert len(text["text"].splitlines()) == 2
    question = model_check.question_about(Image.new("RGB", (9, 9)), "a\nb\n{caption} <image>")
    assert question.user.endswith("\na b {caption} <image>")


def test_the_servers_model_and_address_are_checked() -> None:
    with chat_server(lambda body: (200, YES)) as served:
        assert open_server(served.url, None).name == "small"
        served.models = ["a", "b"]
        with pytest.raises(SettingsError, match="a, b"):
            open_server(served.url, None)
        assert open_server(served.url, "b").name == "b"
    with pytest.raises(SettingsError, match="password"):
        open_server("http://me:secret@127.0.0.1/v1", "m")


@pytest.mark.parametrize("text", ["20", "0%", "120%", "few", "%", "nan%", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="20%"):
        parse_share(text)


def test_a_dataset_without_scores_is_refused(open_workspace: OpenWorkspace, scored: Path) -> None:
    workspace = open_workspace()
    dataset_id = workspace.find_or_import(str(scored / "pairs"))
    with chat_server(lambda body: (200, YES)) as served, pytest.raises(NotScored):
        model_check.ask(workspace.store, dataset_id, open_server(served.url, None), 0.2)


def test_a_dry_run_asks_no_server_and_scores_nothing(scored: Path, tmp_path: Path) -> None:
    environment = environment_of(scored, tmp_path)
    nowhere = ("--second-opinion", "http://127.0.0.1:9/v1", "--dry-run")
    model = ("--second-model", "small", "--top", "25%")
    for prices in ("", "small=0/100"):
        planned = as_json(
            environment | {"TRACED_PRICES": prices}, "score", "pairs", *nowhere, *model
        )  # fmt: skip
        assert (planned["pairs"], planned["total"]) == (3, 12)
        requests = [1 + FEWEST + 3, 1 + MOST + 3 * 4]
        assert planned["forecast"]["requests"] == requests, "with the check"
        assert planned["forecast"]["tokens_out"] == requests, "an answer is one token"
        assert planned["question"]["image_bytes"] > 0
        assert "scored" not in planned
        cost = planned["forecast"]["cost"]
        assert cost == ([pytest.approx(n / 1e4) for n in requests] if prices else None)
    status, _, err = invoked(environment, "score", "pairs", "--dry-run")
    assert status == SettingsError.exit_status
    assert "--estimate" in err


def test_the_command_tells_the_cost_before_it_scores(scored: Path, tmp_path: Path) -> None:
    environment = environment_of(scored, tmp_path)
    score = ("score", "pairs", "--detector", "nine signs", "--no-suggestions")
    with chat_server(lambda body: (200, YES)) as served:
        options = ("--second-opinion", served.url, "--top", "25%", "--price-in", "100",
                   "--trust-server")  # fmt: skip
        status, out, err = invoked(environment, *score, *options, "--json")
        assert status == 0, err
        err = " ".join(err.split())  # a terminal breaks lines
        outlook = err.index("3 of 12 pairs: 3 to 12 requests")
        assert "cost 0.0021 to 0.0084" in err[outlook:]
        assert outlook < err.index("Second opinion")
        report = json.loads(out)["second_opinion"]
        assert (report["new_answers"], report["agrees"], report["requests"]) == (3, 3, 4)
    status, _, err = invoked(environment, *score, "--second-opinion", served.url)
    assert status == ModelUnavailable.exit_status
    assert "Is the server running" in err
    status, _, err = invoked(environment, *score, "--top", "20%")
    assert status == SettingsError.exit_status
    assert "--second-opinion" in err


def test_no_question_holds_a_constant_part(open_workspace: OpenWorkspace, tmp_path: Path) -> None:
    folder = drawn_folder(
        tmp_path / "pairs", PAIRS, 6, lambda number, text: {"caption": f"ohwx style, {text}"}
    )
    workspace = open_workspace(detector="nine signs")
    dataset = workspace.find_or_import(str(folder))
    workspace.jobs.score(dataset, suggestions=False, constant=("ohwx style",))
    with chat_server(lambda body: (200, NO)) as served:
        report = ask(workspace, served)
        with workspace.store.writing() as session:  # no claim says anything that can be wrong
            session.execute(update(Claim).values(icc=0.0))
        model_check.discard(workspace.store, dataset, open_server(served.url, None))
        again = ask(workspace, served)
    assert (report.doubts, again.doubts) == (PAIRS, PAIRS)
    questions = {caption_of(body) for body in served.requests}
    assert questions >= {caption for _, caption in drawn_pairs(PAIRS, seed=6)}
    assert not any("ohwx" in question.lower() for question in questions)
