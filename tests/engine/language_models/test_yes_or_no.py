"""Yes or no from `/v1/systemone`: by the real `transformers serve` with a tiny model, and answers
that it cannot give."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from PIL import Image

from backend.engine.detection.opinion_signs import p_yes
from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.completion import NoCompletion
from backend.engine.language_models.endpoint import ChatEndpoint
from backend.engine.language_models.sight import (
    Example,
    drawn_examples,
    drawn_square,
    encode,
    look_at,
    question_about,
)
from backend.engine.language_models.yes_or_no import read_decision, request_of
from backend.errors import QuestionRefused
from tests.engine.language_models import families

#: As `transformers serve`, where torchvision has to be repaired first (`torchvision_compat`).
_SERVE = """
import backend.engine.torchvision_compat
from transformers.cli.transformers import main
main()
"""
ROOT = Path(__file__).resolve().parents[3]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


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


def test_the_name_of_the_picture_occurs_once() -> None:
    image = encode(drawn_square("red"))
    first = request_of("m", Question("", "a", image=image, alternatives=20))
    (name,) = first["assets"]
    second = request_of("m", Question("", f"about {name}", image=image, alternatives=20))
    (other,) = second["assets"]
    assert other != name
    for body, own_name in ((first, name), (second, other)):
        assert json.dumps({k: v for k, v in body.items() if k != "assets"}).count(own_name) == 1
    assert "assets" not in request_of("m", Question("", "a", alternatives=20))


def test_answers_are_read() -> None:
    body = json.dumps({"answers": {"answer": {"type": "noul", "noul": 0.25}}, "usage": {}})
    assert p_yes(read_decision(body).likeliest) == pytest.approx(0.25)
    certain = json.dumps({"answers": {"answer": {"noul": 1}}})
    assert p_yes(read_decision(certain).likeliest) == pytest.approx(1)


@pytest.mark.parametrize(
    "body",
    ["", "[]", "null", "<html>", "{}", '{"answers": {}}', '{"answers": {"answer": {"noul": null}}}',
     '{"answers": {"answer": {"noul": 2}}}', '{"answers": {"answer": {"noul": true}}}',
     '{"answers": {"answer": {"noul": "0.5"}}}', '{"answers": {"answer": {"noul": NaN}}}'],
)  # fmt: skip
def test_what_is_no_decision(body: str) -> None:
    with pytest.raises(NoCompletion):
        read_decision(body)


def test_a_model_without_eyes_refuses(endpoint: ChatEndpoint) -> None:
    question = Question("", "Does it show a dog?", image=b"no picture", alternatives=20)
    with pytest.raises(QuestionRefused):
        endpoint.ask(question)
