"""What a server must see before it is paid for a second opinion, by the command."""

import base64
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from backend.engine.language_models.spending import Budget, PriceList
from backend.errors import PictureUnseen
from backend.features.vision_language import model_check, queries
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.sight_check import (
    FEWEST,
    MOST,
    check_course,
    check_sight,
    examples_of,
)
from backend.workspace import Workspace
from db.queries import pair_queries, run_queries
from db.queries.signal_queries import ModelAnswerRow
from research.chat_server import Respond, chat_server
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.cli.invoking import as_json, environment_of, invoked
from tests.fixtures.ranking_server import ranking_server
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace, opened, score_pairs

PAIRS = 16
SCORE = ("score", "pairs", "--detector", "nine signs", "--no-suggestions")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scored drawn pairs; every fourth caption belongs to another picture."""
    base = tmp_path_factory.mktemp("sight")
    captions = [caption for _, caption in drawn_pairs(2 * PAIRS, seed=6)]
    drawn_folder(
        base / "pairs", PAIRS, 6,
        lambda number, _: {"caption": captions[number + PAIRS * (number % 4 == 3)]},
    )  # fmt: skip
    return score_pairs(base, detector="nine signs")


@pytest.fixture(scope="module")
def shared(scored: Path) -> Iterator[Workspace]:
    """For tests that only ask."""
    workspace = opened(scored / "state")
    yield workspace
    workspace.store.close()


class Seeing:
    """Knows the true captions of all pictures; `p_yes` of one of the dataset's by its number."""

    def __init__(self) -> None:
        self.truth = [
            (np.asarray(image.resize((8, 8)), float), text)
            for image, text in drawn_pairs(2 * PAIRS, 6)[:PAIRS]
        ]

    def number_of(self, body: dict[str, Any]) -> int:
        return self.number_at(body["messages"][-1]["content"][0]["image_url"]["url"])

    def number_at(self, url: str) -> int:
        image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
        seen = np.asarray(image.resize((8, 8)), float)
        return int(np.argmin([np.abs(seen - known).mean() for known, _ in self.truth]))

    def p_yes(self, number: int, body: dict[str, Any]) -> float:
        caption = str(body["messages"][-1]["content"][1]["text"]).splitlines()[-1]
        return 0.9 if caption == self.truth[number][1] else 0.2


def honest() -> Respond:
    model = Seeing()
    return lambda body: (200, answer(model.p_yes(model.number_of(body), body)))


def always_the_first() -> Respond:
    model, numbers = Seeing(), list[int]()

    def respond(body: dict[str, Any]) -> tuple[int, dict[str, float]]:
        numbers.append(model.number_of(body))
        return 200, answer(model.p_yes(numbers[0], body))

    return respond


def by_length(body: dict[str, Any]) -> tuple[int, dict[str, float]]:
    text = str(body["messages"][-1]["content"][1]["text"]).splitlines()[-1]
    return 200, answer(1 / (1 + np.exp((40 - len(text)) / 12)))


def by_brightness(body: dict[str, Any]) -> tuple[int, dict[str, float]]:
    """Looks, but not at what the text says."""
    url = body["messages"][-1]["content"][0]["image_url"]["url"]
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    return 200, answer(float(np.asarray(image.convert("L")).mean()) / 256)


def one_behind() -> Respond:
    """Honest, but gives the answer to the question before."""
    respond = honest()
    answers: list[tuple[int, Any]] = [(200, answer(0.9))]

    def late(body: dict[str, Any]) -> tuple[int, Any]:
        answers.append(respond(body))
        return answers[-2]

    return late


def answer(p: float) -> dict[str, float]:
    return {"Yes": p, "No": 1 - p}


def test_a_server_that_sees_is_asked_after_a_few_questions(scored: Path, tmp_path: Path) -> None:
    environment = environment_of(scored, tmp_path)
    with chat_server(honest()) as served:
        options = ("--second-opinion", served.url, "--top", "25%")
        plan = as_json(environment, *SCORE, *options, "--dry-run", "--second-model", "small")
        assert served.requests == []
        report = as_json(environment, *SCORE, *options)["second_opinion"]
        fewest, most = plan["forecast"]["requests"]
        assert fewest <= report["requests"] == len(served.requests) <= most
        looks = served.requests[1 : 1 + FEWEST]
        texts = [body["messages"][-1]["content"][1]["text"] for body in looks]
        assert len(set(texts)) == FEWEST // 2, "each text about two pictures"
        sent = len(served.requests)
        again = as_json(environment, *SCORE, *options)["second_opinion"]
        assert (again["new_answers"], len(served.requests) - sent) == (0, 1), "nothing to ask"


@pytest.mark.parametrize(
    ("server", "sight"),
    [
        (lambda body: (200, answer(0.5)), "blind"),
        (by_length, "blind"),
        (always_the_first(), "stale"),
        (by_brightness, "unclear"),
        (one_behind(), "unclear"),
    ],
)
def test_a_server_that_does_not_see_is_recognised(
    server: Respond, sight: str, shared: Workspace
) -> None:
    with chat_server(server) as served, pytest.raises(PictureUnseen) as refused:
        check_sight(shared.store, 1, ChatEndpoint(served.url, "small"))
    assert refused.value.sight == sight
    assert len(served.requests) <= MOST


def test_it_is_refused_before_it_is_paid(scored: Path, tmp_path: Path) -> None:
    environment = environment_of(scored, tmp_path)
    with chat_server(by_length) as served:
        options = ("--second-opinion", served.url, "--top", "50%")
        status, _, err = invoked(environment, *SCORE, *options)
        assert status == PictureUnseen.exit_status
        assert served.url in "".join(err.split())
        assert "--trust-server" in err
        assert len(served.requests) <= 1 + MOST
        status, out, err = invoked(environment, *SCORE, *options, "--trust-server", "--json")
        assert status == 0, err
        assert json.loads(out)["second_opinion"]["new_answers"] == PAIRS // 2


def test_the_questions_that_check_a_server_count_in_the_budget(
    scored: Path, tmp_path: Path
) -> None:
    environment = environment_of(scored, tmp_path)
    with chat_server(honest()) as served:
        status, _, _ = invoked(
            environment, *SCORE, "--second-opinion", served.url, "--budget-requests", "5"
        )
        assert (status, len(served.requests)) == (4, 5)


def test_the_most_trusted_captions_are_taken_with_unlike_pictures(
    open_workspace: OpenWorkspace, scored: Path
) -> None:
    workspace = open_workspace(copy_of=scored, detector="nine signs")
    pairs = workspace.review.queue_page(workspace.review.filter_of(1, {"order": "p_error"})).rows
    first = pairs[0]  # judged right, it is trusted before all others
    workspace.review.decide(first.pair_id, 0, "correct")
    examples = list(examples_of(workspace.store, 1))
    assert len(examples) >= FEWEST // 2
    assert len(examples) == len({example.text for example in examples})
    assert examples[0].text == first.caption
    assert all(
        example.own_picture.tobytes() != example.unlike_picture.tobytes() for example in examples
    )


def test_pictures_that_are_all_alike_are_no_examples(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    image, _ = drawn_pairs(1)[0]
    folder = drawn_folder(tmp_path / "same", 3)
    for number in range(3):
        image.save(folder / f"{number}.png")
    workspace = open_workspace()
    dataset = workspace.find_or_import(str(folder))
    assert list(examples_of(workspace.store, dataset)) == []


def judged(workspace: Workspace, p_yes: Sequence[float]) -> str:
    """What is said about a run with these answers about the pairs, in their order."""
    endpoint = ChatEndpoint("http://127.0.0.1:9/v1", "m")
    with workspace.store.writing() as session:
        run = run_queries.find_or_start(
            session, kind="second opinion", dataset_id=1, scorer_kind="server", model="m",
            revision="", explorer="none", code_version="", parameters={},
        )  # fmt: skip
        for pair, p in enumerate(p_yes, 1):
            queries.save_opinion(session, run.id, ModelAnswerRow(pair, p))
    try:
        check_course(workspace.store, run.id, endpoint)
    except PictureUnseen as refused:
        return refused.sight
    return ""


def test_answers_that_follow_no_picture_stop_a_run(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    workspace = open_workspace(detector="eight signs", captioner="none", trajectories="first-step")
    dataset = workspace.find_or_import(str(drawn_folder(tmp_path / "more", 40, 3)))
    workspace.jobs.score(dataset, suggestions=False)
    pairs = workspace.store.read(pair_queries.pairs_after, dataset, 0, 40)
    assert dataset == 1
    by_words = [1 / (1 + math.exp(40 - len(pair.caption))) for pair in pairs]
    by_score = [0.1 + 0.8 * (pair.s_0 or 0) for pair in pairs]
    mixed = [0.9 if number % 5 else 0.1 + number / 1000 for number in range(40)]
    assert np.mean([pair.p_error or 0 for pair in pairs]) < 0.6
    assert judged(workspace, by_words) == "length"
    assert judged(workspace, [1 - p for p in by_words]) == "length"
    assert judged(workspace, by_score) == "score"
    assert judged(workspace, [0.1 + (number * 7 % 40) / 1000 for number in range(40)]) == "doubts"
    assert judged(workspace, mixed) == ""
    with chat_server(lambda body: (200, answer(0.1))) as served:
        endpoint = ChatEndpoint(served.url, "small")
        with pytest.raises(PictureUnseen):
            model_check.ask(workspace.store, dataset, endpoint, 1.0)
        kept = len(served.requests)
        with pytest.raises(PictureUnseen):
            model_check.ask(workspace.store, dataset, endpoint, 1.0)
        assert len(served.requests) == kept, "not believed the second time, nor asked again"
        assert workspace.store.read(pair_queries.pairs_after, dataset, 0, 40) == pairs
        report = model_check.ask(workspace.store, dataset, endpoint, 1.0, check=False)
        assert (report.earlier_answers, len(served.requests)) == (40, kept)


def test_answers_since_a_server_was_last_seen_to_see_are_discarded(
    open_workspace: OpenWorkspace, scored: Path, sizes: Sizes
) -> None:
    sizes(_AT_ONCE=4, LEAST_ANSWERS=4)
    workspace = open_workspace(copy_of=scored, detector="nine signs")
    sees, blind, last = honest(), list[int](), 0

    def failing(body: dict[str, Any]) -> tuple[int, Any]:
        return by_length(body) if blind else sees(body)

    def progress(done: int, total: int, what: str) -> None:
        nonlocal last
        last = done
        if done == 7:
            blind.append(done)

    with chat_server(failing) as served:
        endpoint = ChatEndpoint(served.url, "small")
        before = workspace.store.read(pair_queries.pairs_after, 1, 0, PAIRS)
        watch = check_sight(workspace.store, 1, endpoint)
        with pytest.raises(PictureUnseen) as lost:
            model_check.ask(
                workspace.store, 1, endpoint, 1.0, progress=progress, check=False, watch=watch
            )
        assert (lost.value.sight, last) == ("lost", 8)
        assert workspace.store.read(pair_queries.pairs_after, 1, 0, PAIRS) == before
        blind.clear()
        report = model_check.ask(workspace.store, 1, endpoint, 1.0, check=False, watch=watch)
        assert (report.earlier_answers, report.new_answers) == (4, PAIRS - 4)


def test_a_budget_may_end_while_it_is_watched(
    open_workspace: OpenWorkspace, scored: Path, sizes: Sizes
) -> None:
    sizes(_AT_ONCE=4, LEAST_ANSWERS=4)
    workspace = open_workspace(copy_of=scored, detector="nine signs")
    with chat_server(honest()) as served:
        endpoint = ChatEndpoint(served.url, "small")
        watch = check_sight(workspace.store, 1, endpoint)

        def spend(done: int, total: int, what: str) -> None:
            if done == total:
                spent = Budget(requests=endpoint.spending.requests)
                endpoint.spending.limit(PriceList(), spent)

        report = model_check.ask(
            workspace.store, 1, endpoint, 0.25, progress=spend, check=False, watch=watch
        )
    assert report.new_answers == 4
    assert report.stopped


def ranking(picture: str, texts: list[str]) -> list[float]:
    model = Seeing()
    caption = model.truth[model.number_at(picture)][1]
    return [0.9 if text == caption else 0.2 for text in texts]


def test_texts_that_are_ranked_together_are_checked_together(scored: Path, tmp_path: Path) -> None:
    """A server that exchanges the answers of one request would be taken for one that sees if it
    were asked about one text alone."""
    environment = environment_of(scored, tmp_path)
    with ranking_server(lambda picture, texts: ranking(picture, texts)[::-1]) as served:
        options = ("--second-opinion", served.url, "--top", "25%")
        status, _, err = invoked(environment, *SCORE, *options)
        assert status == PictureUnseen.exit_status, err
        assert len(served.bodies) <= 1 + MOST
    with ranking_server(ranking) as served:
        options = ("--second-opinion", served.url, "--top", "25%", "--budget-requests", "60")
        plan = as_json(environment, *SCORE, *options, "--dry-run", "--second-model", "ranker")
        report = as_json(environment, *SCORE, *options)["second_opinion"]
        fewest, most = plan["forecast"]["requests"]
        assert fewest <= report["requests"] == len(served.bodies) <= most
        assert report["new_answers"] == PAIRS // 4
        assert report["tokens_in"] == 40 * len(served.bodies)
