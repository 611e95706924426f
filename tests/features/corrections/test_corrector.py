"""A model behind a real HTTP server, including bad answers, refusals and delays."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.engine.language_models.chat_model import ChatModel
from backend.engine.language_models.spending import Budget, PriceList, Prices, Spending
from backend.errors import BudgetSpent
from backend.features.corrections.corrector import Corrector, propose
from research.chat_server import CUT, chat_server
from tests.engine.correction.contexts import context
from tests.fixtures.features import needs

pytestmark = needs("vision_language")
GOOD = '{"caption": "A brown dog on the sand"}'


def model_at(url: str, name: str, **options: Any) -> ChatModel:
    from backend.features.vision_language.endpoint import ChatEndpoint

    return ChatEndpoint(url, name, **options)


def in_turn(*texts: str) -> Callable[[dict[str, Any]], tuple[int, str]]:
    answers = iter(texts)
    return lambda body: (200, next(answers))


def test_picture_and_words_are_sent_and_the_answer_is_used(tmp_path: Path) -> None:
    with chat_server(in_turn(GOOD)) as served:
        corrector = Corrector(model_at(served.url, "org/small", cache=tmp_path), "words")
        first, again = propose(context(), corrector), propose(context(), corrector)
    assert (first.outcome, first.caption) == ("corrected", "A brown dog on the sand")
    assert again == first
    assert corrector.proposer == "small · words v1"
    (body,) = served.requests
    picture, text = body["messages"][1]["content"]
    kind, _, data = picture["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/jpeg"
    assert base64.b64decode(data).startswith(b"\xff\xd8")
    assert "<suspects>" in text["text"]
    assert body["temperature"] == 0


@pytest.mark.parametrize("bad", ["The dog is brown.", GOOD + CUT, ""])
def test_a_bad_or_truncated_answer_is_repaired_once(bad: str) -> None:
    with chat_server(in_turn(bad, GOOD)) as served:
        proposal = propose(context(), Corrector(model_at(served.url, "m")))
    assert (proposal.outcome, proposal.repaired) == ("corrected", True)
    assert "could not be read" in served.requests[1]["messages"][1]["content"][1]["text"]


@pytest.mark.parametrize("token", ["<|eot_id|>", "</s>", "<end_of_turn>", "<|im_end|></s>"])
@pytest.mark.parametrize("form", ['{{"caption": "A cat{}"}}', '{{"caption": "A cat"}}{}'])
@pytest.mark.parametrize("escaped", [False, True])
def test_special_tokens_at_the_end_are_no_part_of_a_caption(
    token: str, form: str, escaped: bool
) -> None:
    answer = form.format(token.replace("<", "\\u003c") if escaped else token)
    with chat_server(in_turn(answer)) as served:
        proposal = propose(context(), Corrector(model_at(served.url, "m")))
    assert (proposal.caption, proposal.repaired) == ("A cat", False)
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        (["no", "still no"], "unreadable"),
        (["I'm sorry, but I can't help with images of dogs."] * 2, "refused"),
        ([json.dumps({"caption": "A red dog on the sand"})], "unchanged"),
    ],
)
def test_without_a_correction_there_is_an_outcome(answers: list[str], outcome: str) -> None:
    with chat_server(in_turn(*answers)) as served:
        proposal = propose(context(), Corrector(model_at(served.url, "m")))
    assert (proposal.outcome, proposal.caption) == (outcome, None)
    assert len(served.requests) == len(answers)


def test_a_spent_budget_stops_requests_and_cached_answers_cost_nothing(tmp_path: Path) -> None:
    # A question of 7 and 3 tokens: 13.
    spending = Spending(PriceList({"m": Prices(1e6, 2e6)}), Budget(cost=20.0))
    with chat_server(lambda body: (200, GOOD)) as served:
        corrector = Corrector(model_at(served.url, "m", cache=tmp_path, spending=spending))
        for text in ("A red dog", "A red cat", "A red dog"):
            propose(context(text), corrector)
        assert (spending.requests, spending.kept, spending.cost) == (2, 1, 26.0)
        with pytest.raises(BudgetSpent, match="larger budget"):
            propose(context("A red cow"), corrector)
        propose(context("A red cat"), corrector)
        assert len(served.requests) == 2
        larger = Spending(PriceList({"m": Prices(1e6, 2e6)}), Budget(cost=100.0))
        corrector = Corrector(model_at(served.url, "m", cache=tmp_path, spending=larger))
        for text in ("A red dog", "A red cat", "A red cow"):
            propose(context(text), corrector)
        assert (larger.requests, larger.kept) == (1, 2)


def test_a_correction_sends_the_schema_and_costs_one_request(tmp_path: Path) -> None:
    reply = f"Certainly! Here is the corrected caption:\n\n```json\n{GOOD}\n```\nLet me know."
    with chat_server(lambda body: (200, reply)) as served:
        corrector = Corrector(model_at(served.url, "m", cache=tmp_path))
        assert propose(context(), corrector).caption == "A brown dog on the sand"
    (body,) = served.requests
    form = body["response_format"]["json_schema"]
    assert form["schema"]["required"] == ["caption"]
    assert json.loads(GOOD).keys() == form["schema"]["properties"].keys()
    assert corrector.model.spending.requests == 1
