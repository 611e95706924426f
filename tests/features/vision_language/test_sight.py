"""Servers that do not see the picture, by what they answer about two pictures."""

import base64
import io
import itertools
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from backend.engine.language_models.chat_model import Question
from backend.errors import PictureUnseen, QuestionRefused
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.sight import (
    Example,
    check_descriptions,
    drawn_examples,
    look_at,
)
from research.chat_server import chat_server


def honest(image: Image.Image, text: str) -> float:
    """Sees the colour of the middle."""
    red, green, blue = np.asarray(image)[image.height // 2, image.width // 2]
    colour = {"red": red, "green": green, "blue": blue}
    return 0.9 if max(colour, key=colour.__getitem__) in text else 0.2


def test_what_is_neither_yes_nor_no_or_refused_tells_nothing() -> None:
    def picky(image: Image.Image, text: str) -> float | None:
        if "apple" in text:
            raise QuestionRefused("no")
        return None

    assert look_at(drawn_examples(), picky) == []


def test_the_pictures_of_an_example_are_asked_about_by_turns() -> None:
    questions: list[tuple[int, str]] = []
    sizes = [Image.new("RGB", (size, 9)) for size in (1, 2, 3, 4)]
    examples = [Example("a", sizes[0], sizes[1]), Example("b", sizes[2], sizes[3])]
    looks = look_at(examples, lambda image, text: questions.append((image.width, text)) or 0.5)
    assert questions == [(1, "a"), (4, "b"), (2, "a"), (3, "b")]
    assert [look.own_first for look in looks] == [True, False]


def test_each_drawn_picture_is_own_and_unlike_once() -> None:
    examples = drawn_examples()
    own = {example.text: example.own_picture.tobytes() for example in examples}
    unlike = {example.unlike_text: example.unlike_picture.tobytes() for example in examples}
    assert own == unlike
    assert len(set(own.values())) == len(examples)


def picture_of(body: dict[str, Any]) -> Image.Image:
    """The picture of a request."""
    (part, _) = body["messages"][-1]["content"]
    encoded = part["image_url"]["url"].partition(",")[2]
    return Image.open(io.BytesIO(base64.b64decode(encoded)))


def copying(body: dict[str, Any]) -> tuple[int, str]:
    """Corrects nothing, but can describe."""
    if len(body["messages"]) > 1:
        return 200, json.dumps({"caption": "a"})
    return 200, "Red." if honest(picture_of(body), "red") > 0.5 else "Blue."


QUESTION = Question("Correct it.", "<caption>a</caption>")


def test_a_server_that_describes_two_pictures_alike_is_refused_and_asked_again_later(
    tmp_path: Any,
) -> None:
    answers = [json.dumps({"caption": "a"})]
    with chat_server(lambda body: (200, answers[0])) as served:
        endpoint = ChatEndpoint(served.url, "m", cache=tmp_path)
        with pytest.raises(PictureUnseen):
            check_descriptions(endpoint, [QUESTION], endpoint.where)
        assert len(served.requests) == endpoint.spending.requests == 4
    with chat_server(copying, int(served.url.split(":")[2].removesuffix("/v1"))) as served:
        check_descriptions(endpoint, [QUESTION], endpoint.where)
        assert len(served.requests) == 4, "no answer of the refused server was kept"
        check_descriptions(endpoint, [QUESTION], endpoint.where)
        assert len(served.requests) == 4, "answers of one that sees are"


def test_answers_that_differ_about_one_picture_too_do_not_tell(tmp_path: Any) -> None:
    """A server that is blind, and neither answers the same twice."""
    numbers = itertools.count()
    with chat_server(lambda body: (200, f"A person with {next(numbers)} dogs.")) as served:
        endpoint = ChatEndpoint(served.url, "m", cache=tmp_path)
        with pytest.raises(PictureUnseen):
            endpoint.check_sight([QUESTION])
        assert len(served.requests) == endpoint.count_sight_questions([QUESTION])


@pytest.mark.parametrize("answers", [("A red one.", "Blue."), ("Rot", "Blau")])
def test_answers_that_name_what_is_shown_or_come_again_tell(answers: tuple[str, str]) -> None:
    def describe(body: dict[str, Any]) -> tuple[int, str]:
        return 200, answers[honest(picture_of(body), "blue") > 0.5]

    with chat_server(describe) as served:
        ChatEndpoint(served.url, "m").check_sight()
        assert len(served.requests) == (2 if "red" in answers[0] else 3)


def test_answers_without_a_text_do_not_tell(tmp_path: Any) -> None:
    with chat_server(lambda body: (200, "<think>The user wants")) as served:
        endpoint = ChatEndpoint(served.url, "m", cache=tmp_path)
        check_descriptions(endpoint, [QUESTION], endpoint.where)
        assert len(served.requests) == 4
