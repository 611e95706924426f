"""Servers that do not see the picture, by what they answer about two pictures."""

import base64
import io
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from backend.engine.language_models.chat_model import Question
from backend.errors import PictureUnseen, QuestionRefused
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.sight import (
    Example,
    Look,
    check_answers,
    check_descriptions,
    drawn_examples,
    look_at,
    sight_of,
)
from research.chat_server import chat_server

#: P(yes) of a text about the picture that it gets.
Model = Callable[[Image.Image, str], float | None]


def honest(image: Image.Image, text: str) -> float:
    """Sees the colour of the middle."""
    red, green, blue = np.asarray(image)[image.height // 2, image.width // 2]
    colour = {"red": red, "green": green, "blue": blue}
    return 0.9 if max(colour, key=colour.__getitem__) in text else 0.2


def one_behind() -> Model:
    """Answers about the picture of the question before."""
    before = [Image.new("RGB", (8, 8), "white")]

    def answer(image: Image.Image, text: str) -> float:
        before.append(image)
        return honest(before[-2], text)

    return answer


def first_of_text() -> Model:
    """A cache that is keyed by the text alone."""
    cached: dict[str, float] = {}
    return lambda image, text: cached.setdefault(text, honest(image, text))


def always_the_first() -> Model:
    seen: list[Image.Image] = []

    def answer(image: Image.Image, text: str) -> float:
        seen.append(image)
        return honest(seen[0], text)

    return answer


def noisy(model: Model, by: float) -> Model:
    """With what 16 bits leave of the probabilities."""
    signs = itertools.cycle((by, -by, 0.0))

    def answer(image: Image.Image, text: str) -> float:
        p = model(image, text)
        assert p is not None
        return p + next(signs)

    return answer


@pytest.mark.parametrize(
    ("model", "sight"),
    [
        (honest, "sees"),
        (noisy(honest, 0.05), "sees"),
        (lambda image, text: 0.5 + 0.1 * (honest(image, text) - 0.5), "sees"),
        (lambda image, text: 1 - honest(image, text), "reversed"),
        (lambda image, text: 0.5, "blind"),
        (lambda image, text: min(0.99, len(text) / 20), "blind"),
        (noisy(lambda image, text: 0.7, 0.02), "blind"),
        (first_of_text(), "stale"),
        (always_the_first(), "stale"),
        (one_behind(), "stale"),
    ],
    ids=[
        "honest", "noisy", "faint", "reversed", "constant", "by length", "noisy constant",
        "cache by text", "always the first", "one behind",
    ],
)  # fmt: skip
def test_what_a_model_sees_shows_in_its_answers_to_one_text(model: Model, sight: str) -> None:
    assert sight_of(look_at(drawn_examples(), model)) == sight


def test_a_model_that_is_merely_bad_is_not_refused() -> None:
    """It says yes to all, and is wrong about half, but looks."""
    gains = (0.4, -0.9, 0.1, -0.3)
    looks = [Look("a", 2.0 + gain, 2.0, number % 2 == 0) for number, gain in enumerate(gains)]
    check_answers(looks, lambda: pytest.fail("nothing to confirm"), "It")


@pytest.mark.parametrize("gain", [-3.0, 0.0])
def test_what_a_doubtful_dataset_says_is_confirmed_by_drawn_pictures(gain: float) -> None:
    """Its captions may be wrong, and its pictures look alike."""
    looks = [Look("a", gain, 0.0, number % 2 == 0) for number in range(4)]
    check_answers(looks, lambda: look_at(drawn_examples(), honest), "It")
    with pytest.raises(PictureUnseen) as refused:
        check_answers(looks, lambda: look_at(drawn_examples(), lambda *_: 0.5), "It")
    assert refused.value.sight == ("reversed" if gain else "blind")
    assert "'a' 0." in str(refused.value)


def test_what_is_neither_yes_nor_no_or_refused_tells_nothing() -> None:
    def picky(image: Image.Image, text: str) -> float | None:
        if "red" in text:
            raise QuestionRefused("no")
        return None

    assert look_at(drawn_examples(), picky) == []
    assert sight_of([]) == "sees"


def test_the_pictures_of_an_example_are_asked_about_by_turns() -> None:
    questions: list[tuple[int, str]] = []
    sizes = [Image.new("RGB", (size, 9)) for size in (1, 2, 3, 4)]
    examples = [Example("a", sizes[0], sizes[1]), Example("b", sizes[2], sizes[3])]
    looks = look_at(examples, lambda image, text: questions.append((image.width, text)) or 0.5)
    assert questions == [(1, "a"), (2, "a"), (4, "b"), (3, "b")]
    assert [look.own_first for look in looks] == [True, False]


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


def test_answers_without_a_text_do_not_tell(tmp_path: Any) -> None:
    with chat_server(lambda body: (200, "<think>The user wants")) as served:
        endpoint = ChatEndpoint(served.url, "m", cache=tmp_path)
        check_descriptions(endpoint, [QUESTION], endpoint.where)
        assert len(served.requests) == 4
