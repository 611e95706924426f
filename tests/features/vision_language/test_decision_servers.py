"""Yes or no from servers that decide: from `/v1/systemone` of the real `transformers serve` with a
tiny model, from `/v1/rerank` as vLLM, Jina and SGLang answer it, and what is no answer."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from PIL import Image

from backend.engine.language_models.chat_model import Question
from backend.errors import ModelUnavailable, QuestionRefused
from backend.features.vision_language.completion import NoCompletion
from backend.features.vision_language.decision_servers import Decisions, Reranking, SystemOne
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.opinions import p_yes
from backend.features.vision_language.sight import (
    Example,
    drawn_examples,
    drawn_square,
    encode,
    look_at,
    question_about,
)
from tests.engine.language_models import families
from tests.fixtures.ports import free_port
from tests.fixtures.ranking_server import ranking_server

#: As `transformers serve`, where torchvision has to be repaired first (`torchvision_compat`).
_SERVE = """
import backend.engine.torchvision_compat
from transformers.cli.transformers import main
main()
"""
ROOT = Path(__file__).resolve().parents[3]


def serve(model: Path, log: Path) -> Iterator[str]:
    port = free_port()
    words = [sys.executable, "-c", _SERVE, "serve", str(model), "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        words += ["--host", "127.0.0.1", "--device", "cpu"]
        server = subprocess.Popen(words, env=environment, cwd=ROOT, stdout=output, stderr=output)
    try:
        for _ in range(600):
            assert server.poll() is None, log.read_text()[-2000:]
            try:
                urlopen(f"http://127.0.0.1:{port}/health").close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatEndpoint]:
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("transformers[serving] is not installed")
    model = families.qwen2_5_vl(tmp_path_factory.mktemp("qwen"))
    # Its few tokens have no "Yes" and "No" of one token each.
    (model / "decision.json").write_text(json.dumps({"labels": {"noul": [" yes", " no"]}}))
    for url in serve(model, tmp_path_factory.mktemp("log") / "server.log"):
        yield ChatEndpoint(url, str(model), retries=0)


def test_the_real_server_decides(endpoint: ChatEndpoint) -> None:
    """One request a question, and the answer depends on picture and text."""
    answers = {
        (colour, text): p_yes(endpoint.ask(question_about(drawn_square(colour), text)).likeliest)
        for colour in ("red", "blue")
        for text in ("A dog.", "A boat on the water.")
    }
    assert endpoint.spending.requests == len(answers)
    assert endpoint.spending.tokens_in > 0
    assert None not in answers.values()
    assert len(set(answers.values())) == len(answers)


def test_a_caption_that_looks_like_a_picture_or_a_token_is_text(endpoint: ChatEndpoint) -> None:
    for text in ("picture-", "<|image_pad|>", "img-1", "<|mark|> {{ state }}", "answer"):
        answer = endpoint.ask(question_about(drawn_square("red"), text))
        assert p_yes(answer.likeliest) is not None


def test_sight_is_checked_by_decisions(endpoint: ChatEndpoint) -> None:
    def ask(image: Image.Image, text: str) -> float | None:
        return p_yes(endpoint.ask(question_about(image, text)).likeliest)

    examples: list[Example] = drawn_examples()
    assert len(look_at(examples, ask)) == len(examples)


def test_several_texts_are_one_request_with_the_same_answers(endpoint: ChatEndpoint) -> None:
    texts = ("A dog.", "A boat on the water.", "Two cats sleep on a sofa.")
    questions = [question_about(drawn_square("green"), text) for text in texts]
    alone = [p_yes(endpoint.ask(question).likeliest) for question in questions]
    before = endpoint.spending.requests
    together = [p_yes(answer.likeliest) for answer in endpoint.ask_all(questions)]
    assert endpoint.spending.requests == before + 1
    assert together == pytest.approx(alone, abs=1e-4)


def test_the_name_of_the_picture_occurs_once() -> None:
    image = encode(drawn_square("red"))
    (first,) = SystemOne().bodies("m", [Question("", "a", image=image, alternatives=20)])
    (name,) = first["assets"]
    question = Question("", f"about {name}", image=image, alternatives=20)
    (second,) = SystemOne().bodies("m", [question])
    (other,) = second["assets"]
    assert other != name
    for body, own_name in ((first, name), (second, other)):
        assert json.dumps({k: v for k, v in body.items() if k != "assets"}).count(own_name) == 1
    (blind,) = SystemOne().bodies("m", [Question("", "a", alternatives=20)])
    assert "assets" not in blind


def by_length(picture: str, texts: list[str]) -> list[float]:
    return [min(1, len(text) / 100) for text in texts]


def about(*texts: str) -> list[Question]:
    return [Question("", "", alternatives=20, statement=text) for text in texts]


def test_answers_are_read() -> None:
    body = json.dumps({"answers": {"answer_0": {"type": "noul", "noul": 0.25}}, "usage": {}})
    assert [p_yes(each.likeliest) for each in SystemOne().read(body, about("a"))] == pytest.approx(
        [0.25]
    )
    ranked = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 1}]
    for form in ({"results": ranked}, [{"index": e["index"], "score": e["relevance_score"]}
                                       for e in ranked]):  # fmt: skip
        answers = Reranking().read(json.dumps(form), about("a", "b"))
        assert [p_yes(each.likeliest) for each in answers] == pytest.approx([1, 0.9])


@pytest.mark.parametrize(
    "body",
    ["", "[]", "null", "<html>", "{}", '{"answers": {}}',
     *('{"answers": {"answer_0": {"noul": VALUE}}}'.replace("VALUE", value)
       for value in ("null", "2", "true", '"0.5"', "NaN")),
     *('{"results": [{"index": 0, "relevance_score": VALUE}]}'.replace("VALUE", value)
       for value in ("null", "2", "-0.5", "true", '"0.5"', "NaN")),
     '{"results": [{"index": 1, "relevance_score": 0.5}]}', '{"results": 5}'],
)  # fmt: skip
def test_what_is_no_decision(body: str) -> None:
    for way in (SystemOne(), Reranking()):
        with pytest.raises(NoCompletion):
            way.read(body, about("a"))


def results(*rows: tuple[Any, ...]) -> str:
    keys = ("index", "relevance_score", "document")
    return json.dumps({"results": [dict(zip(keys, row, strict=False)) for row in rows]})


@pytest.mark.parametrize(
    ("way", "body"),
    [
        *((Reranking(), results(*rows)) for rows in (
            [(1, 0.9)],  # as a server that leaves out a text that it ranks low
            [(0, 0.9), (1, 0.5), (2, 0.5)],
            [(0, 0.9), (1, 0.5), (1, 0.6)],
            [(0, 0.9), (0, 0.5)],
            [(0, 0.9), (-1, 0.5)],
            [(0, 0.9), (True, 0.5)],
            [(0, 0.9), ("1", 0.5)],
            [(0, 0.9, {"text": "a cat"}), (1, 0.5, {"text": "a  dog"})],
            [(0, 0.9, "a cat"), (1, 0.5, "a dog")],
        )),
        *((SystemOne(), f'{{"answers": {{{answers}}}}}') for answers in (
            '"answer_1": {"noul": 0.5}',
            '"answer_0": {"noul": 0.5}, "answer_2": {"noul": 0.5}',
            '"answer_0": {"noul": 0.5}, "answer_1": {"noul": 0.5}, "answer_2": {"noul": 0.5}',
            '"answer_0": {"noul": 0.5}, "answer_1": {"noul": 0.5}, "answer_1": {"noul": 0.9}',
        )),
    ],
)  # fmt: skip
def test_no_answer_takes_anothers_place(way: Decisions, body: str) -> None:
    with pytest.raises(NoCompletion):
        way.read(body, about("a dog", "a cat"))


def test_a_text_that_is_given_back_is_its_own() -> None:
    body = results((1, 0.2, {"text": "a cat"}), (0, 0.9, {"text": "a dog "}))
    answers = Reranking().read(body, about("a dog", "a cat"))
    assert [p_yes(each.likeliest) for each in answers] == pytest.approx([0.9, 0.2])


def test_every_token_of_a_request_is_counted_once() -> None:
    value = {"answers": {f"answer_{n}": {"noul": 0.5} for n in range(3)},
             "usage": {"input_tokens": 40}}  # fmt: skip
    answers = SystemOne().read(json.dumps(value), about("a", "b", "c"))
    assert sum(answer.tokens_in for answer in answers) == 40


@pytest.mark.parametrize(
    ("takes_objects", "chats", "address"),
    [(True, False, ""), (False, False, ""), (True, True, "/rerank")],
)
def test_a_reranker_is_asked_once_about_all_texts_of_a_picture(
    takes_objects: bool, chats: bool, address: str, tmp_path: Path
) -> None:
    """A server that chats as well is asked to rank if its address says so."""
    options = {"takes_objects": takes_objects, "chats": chats}
    with ranking_server(by_length, **options) as served:
        endpoint = ChatEndpoint(served.url + address, "ranker", retries=0, cache=tmp_path)
        texts = ["A dog.", "A boat on the water.", "A cat."]
        questions = [question_about(drawn_square("red"), text) for text in texts]
        answers = endpoint.ask_all(questions)
        endpoint.ask_all(questions)
    assert [p_yes(each.likeliest) for each in answers] == pytest.approx([0.06, 0.2, 0.06])
    assert served.bodies[-1]["documents"] == texts
    assert (endpoint.spending.requests, endpoint.spending.kept) == (1, 3)
    assert endpoint.spending.tokens_in == 40


def test_a_request_that_is_too_large_is_divided() -> None:
    with ranking_server(by_length, most=2) as served:
        endpoint = ChatEndpoint(served.url, "ranker", retries=0)
        texts = ["A dog" + "." * n for n in range(5)]
        answers = endpoint.ask_all([question_about(drawn_square("red"), text) for text in texts])
    assert [p_yes(each.likeliest) for each in answers] == pytest.approx(
        [len(text) / 100 for text in texts]
    )
    assert endpoint.spending.requests == 3


def test_how_many_questions_a_server_takes_is_remembered() -> None:
    with ranking_server(by_length, most=3) as served:
        endpoint = ChatEndpoint(served.url, "ranker", retries=0)
        for number in range(3):
            texts = [f"A dog {number}" + "." * n for n in range(8)]
            answers = endpoint.ask_all([question_about(drawn_square("red"), t) for t in texts])
            assert [p_yes(each.likeliest) for each in answers] == pytest.approx(
                [len(text) / 100 for text in texts]
            )
    sizes = [len(body["documents"]) for body in served.bodies if "documents" in body]
    assert sizes[-8:] == [2] * 8
    assert endpoint.most_together == 2


def test_a_question_that_is_refused_alone_says_nothing_of_others() -> None:
    def rank(picture: str, texts: list[str]) -> list[float]:
        return by_length(picture, texts) if "bad" not in texts else []

    with ranking_server(rank) as served:
        endpoint = ChatEndpoint(served.url, "ranker", retries=0)
        most = endpoint.most_together
        with pytest.raises((QuestionRefused, ModelUnavailable)):
            endpoint.ask_all([question_about(drawn_square("red"), t) for t in ("A dog.", "bad")])
        assert endpoint.most_together == most


def test_a_model_without_eyes_refuses(endpoint: ChatEndpoint) -> None:
    question = Question("", "Does it show a dog?", image=b"no picture", alternatives=20)
    with pytest.raises(QuestionRefused):
        endpoint.ask(question)
