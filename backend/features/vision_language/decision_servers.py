"""Servers that decide instead of generating: P(yes) of several texts about one picture, by one
request.

`/v1/systemone` of `transformers serve` answers typed questions by one forward pass of any chat
model. It puts a picture wherever its name occurs as text, in a caption as well, and drops it
without a word where the name occurs nowhere: so the name is one that no question holds, and it
stands alone in the `state`. A question of type `noul` is answered by P(true) alone.

`/v1/rerank` of vLLM, SGLang, Jina and others says how relevant texts are to a picture. vLLM and
Jina take the picture as an object with its content, SGLang as the content alone.

An answer belongs to the question that it names. Where answers are missing, twice there, more than
asked for, or name another question's text, none of them is used. A chat completion carries one
question: log-probabilities are those of its first token, and in a list of answers each later one
depends on those before it.
"""

import base64
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from backend.engine.language_models.chat_model import Question
from backend.features.vision_language.completion import Completion, NoCompletion

#: Texts in one request.
MOST = 16
_TINY = 1e-12


def picture_part(image: bytes) -> dict[str, Any]:
    """An encoded picture (JPEG or PNG) as a part of a message's content."""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    address = f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
    return {"type": "image_url", "image_url": {"url": address}}


class Decisions(ABC):
    """One way to ask a server for decisions. `path`: after the server's address."""

    path: str

    @abstractmethod
    def bodies(self, model: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """The bodies of a request for all of these questions, which share their picture and their
        system prompt, in the forms that servers know: those after the first are for servers that
        refuse it."""

    @abstractmethod
    def probabilities(self, value: Any, questions: Sequence[Question]) -> list[Any]:
        """P(yes) of each question from a response; KeyError, TypeError, IndexError, AttributeError
        or ValueError if it is not exactly about them."""

    def read(self, body: str, questions: Sequence[Question]) -> list[Completion]:
        """The answers in the body of a response with status 200, as the likeliest first tokens of
        completions. Raises NoCompletion."""
        try:
            value = json.loads(body, object_pairs_hook=_object)
            answers = self.probabilities(value, questions)
            usage = (value.get("usage") if isinstance(value, dict) else None) or {}
            tokens = usage.get(
                "input_tokens", usage.get("prompt_tokens", usage.get("total_tokens"))
            )
        except (ValueError, RecursionError, TypeError, LookupError, AttributeError) as problem:
            raise NoCompletion(" ".join(body.split())[:120]) from problem
        if not all(map(_is_probability, answers)):
            raise NoCompletion(" ".join(body.split())[:120])
        each, rest = divmod(tokens if isinstance(tokens, int) else 0, len(answers))
        return [_as_completion(p, each + (n < rest)) for n, p in enumerate(answers)]


class SystemOne(Decisions):
    path = "/systemone"

    def bodies(self, model: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        first = questions[0]
        body: dict[str, Any] = {
            "model": model,
            "state": first.system,
            "questions": {
                _name(number): {"type": "noul", "instructions": question.user}
                for number, question in enumerate(questions)
            },
        }
        if first.image is not None:
            name = _name_of_picture(questions)
            body["state"] = f"{name}\n{first.system}".strip()
            body["assets"] = {name: {"data_base64": base64.b64encode(first.image).decode()}}
        return [body]

    def probabilities(self, value: Any, questions: Sequence[Question]) -> list[Any]:
        names = [_name(number) for number in range(len(questions))]
        if set(value["answers"]) != set(names):
            raise ValueError("Other answers than questions.")
        return [value["answers"][name]["noul"] for name in names]


class Reranking(Decisions):
    path = "/rerank"

    def bodies(self, model: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        picture = questions[0].image
        content = [] if picture is None else [picture_part(picture)]
        rest = {
            "model": model,
            "documents": list(map(_text, questions)),
            "top_n": len(questions),
        }
        return [{**rest, "query": query} for query in ({"content": content}, content)]

    def probabilities(self, value: Any, questions: Sequence[Question]) -> list[Any]:
        texts = [_words(_text(question)) for question in questions]
        results = value if isinstance(value, list) else value["results"]
        by_index: dict[Any, Any] = {}
        for each in results:
            index = each["index"]
            if type(index) is not int or index in by_index:
                raise ValueError("An answer to no question, or a second one.")
            document = _words(_document(each))
            if document in texts and document != texts[index]:
                raise ValueError("An answer to another question.")
            by_index[index] = each["relevance_score" if "relevance_score" in each else "score"]
        if len(by_index) != len(texts):
            raise ValueError("More answers than questions, or fewer.")
        return [by_index[number] for number in range(len(texts))]


def _text(question: Question) -> str:
    return question.statement or question.user


def _document(result: Any) -> str:
    """The text that a reranker says it ranked; "" if it does not say."""
    document = result.get("document")
    text = document.get("text") if isinstance(document, dict) else document
    return text if isinstance(text, str) else ""


def _words(text: str) -> str:
    return " ".join(text.split())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("A name stands twice in an object.")
    return value


#: `has(path)`: whether the server has something there.
def decisions_of(has: Callable[[str], bool]) -> Decisions | None:
    """How the server decides; None for one that answers by chat completions alone, or by both of
    them and reranking, as servers do whose model only chats."""
    if has(SystemOne.path):
        return SystemOne()
    if has(Reranking.path) and not has("/chat/completions"):
        return Reranking()
    return None


def _name(number: int) -> str:
    return f"answer_{number}"


def _name_of_picture(questions: Sequence[Question]) -> str:
    text = "\n".join([questions[0].system, *(each.user for each in questions), "answer_"])
    number = 0
    while (
        name := f"picture-{hashlib.sha256(f'{number}{text}'.encode()).hexdigest()[:24]}"
    ) in text:
        number += 1
    return name


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _as_completion(p_true: float, tokens_in: int) -> Completion:
    likeliest = tuple(
        (word, math.log(max(p, _TINY))) for word, p in (("Yes", p_true), ("No", 1 - p_true))
    )
    return Completion("Yes" if p_true >= 0.5 else "No", True, tokens_in, 0, likeliest)
