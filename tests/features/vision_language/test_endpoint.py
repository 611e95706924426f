"""A chat endpoint over real HTTP: answers, refusals, the cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.engine.language_models.chat_model import Question
from backend.errors import ModelUnavailable, SettingsError
from backend.features.vision_language.endpoint import ChatEndpoint
from research.chat_server import chat_server

Respond = Callable[[dict[str, Any]], tuple[int, str]]


def always(status: int, text: str) -> Respond:
    return lambda body: (status, text)


def test_a_question_is_sent_unchanged_and_paid_for_once(tmp_path: Path) -> None:
    with chat_server(always(200, "Hello.")) as served:
        endpoint = ChatEndpoint(served.url, "small", key="secret", cache=tmp_path, retries=0)
        question = Question("Be brief.", "Hi")
        first, second = endpoint.ask(question), endpoint.ask(question)
        other = endpoint.ask(Question("Be brief.", "Hi", seed=1))
    with pytest.raises(ModelUnavailable):  # the server is gone, its answers are not
        endpoint.ask(Question("Be brief.", "Who?"))
    assert endpoint.ask(question).kept
    assert first.text == second.text == other.text == "Hello."
    assert first.finished
    assert (first.kept, second.kept, other.kept) == (False, True, False)
    assert [body["messages"][1]["content"] for body in served.requests] == ["Hi", "Hi"]
    assert served.keys == ["Bearer secret"] * 2
    assert (endpoint.spending.requests, endpoint.spending.kept) == (2, 2)
    assert (endpoint.spending.tokens_in, endpoint.spending.tokens_out) == (14, 6)
    assert "secret" not in "".join(path.read_text() for path in tmp_path.iterdir())


def test_a_busy_server_is_retried() -> None:
    answers = iter([(429, "slow down"), (503, "starting"), (200, "At last.")])
    with chat_server(lambda body: next(answers)) as served:
        assert ChatEndpoint(served.url, "m").ask(Question("", "x")).text == "At last."
    assert len(served.requests) == 3


@pytest.mark.parametrize(
    ("status", "message"), [(401, "key"), (404, "/v1"), (429, "too many"), (400, "status 400")]
)
def test_an_error_status_says_what_to_do(status: int, message: str) -> None:
    with chat_server(always(status, "no")) as served:
        endpoint = ChatEndpoint(served.url, "m", retries=1)
        with pytest.raises(ModelUnavailable, match=message):
            endpoint.ask(Question("", "x"))


def test_a_missing_server_and_an_invalid_address_are_reported() -> None:
    endpoint = ChatEndpoint("http://127.0.0.1:9/v1", "m", retries=0)
    with pytest.raises(ModelUnavailable, match="Is the server running"):
        endpoint.ask(Question("", "x"))
    with pytest.raises(SettingsError, match="is not the address of a server"):
        ChatEndpoint("localhost", "m")


def test_a_damaged_cached_answer_is_requested_again(tmp_path: Path) -> None:
    with chat_server(always(200, "Yes.")) as served:
        endpoint = ChatEndpoint(served.url, "m", cache=tmp_path)
        endpoint.ask(Question("", "x"))
        (path,) = tmp_path.iterdir()
        path.write_text("{half")
        assert endpoint.ask(Question("", "x")).text == "Yes."
    assert endpoint.spending.requests == 2
