"""Servers that decide instead of generating: P(yes) of several texts about one picture, by one
request.

`/v1/systemone` of `transformers serve` answers typed questions by one forward pass of any chat
model. It puts a picture wherever its name occurs as text, in a caption as well, and drops it
without a word where the name occurs nowhere: so the name is one that no question holds, and it
stands alone in the `state`. A question of type `noul` is answered by P(true) alone.

`/v1/rerank` of vLLM, SGLang, Jina and others says how relevant texts are to a picture. vLLM and
Jina take the picture as an object with its content, SGLang as the content alone.
"""

import base64
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from backend.engine.language_models.chat_model import Question, picture_part
from backend.engine.language_models.completion import Completion, NoCompletion

#: Texts in one request.
MOST = 16
_TINY = 1e-12


class Decisions(ABC):
    """One way to ask a server for decisions. `path`: after the server's address."""

    path: str

    @abstractmethod
    def bodies(self, model: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """The bodies of a request for all of these questions, which share their picture and their
        system prompt, in the forms that servers know: those after the first are for servers that
        refuse it."""

    @abstractmethod
    def probabilities(self, value: Any, count: int) -> list[Any]:
        """P(yes) of each question from a response; KeyError, TypeError, IndexError, AttributeError
        or ValueError if it has none."""

    def read(self, body: str, count: int) -> list[Completion]:
        """The answers in the body of a response with status 200, as the likeliest first tokens of
        completions. Raises NoCompletion."""
        try:
            value = json.loads(body)
            answers = self.probabilities(value, count)
            usage = (value.get("usage") if isinstance(value, dict) else None) or {}
            tokens = usage.get(
                "input_tokens", usage.get("prompt_tokens", usage.get("total_tokens"))
            )
        except (ValueError, RecursionError, TypeError, LookupError, AttributeError) as problem:
            raise NoCompletion(" ".join(body.split())[:120]) from problem
        if len(answers) != count or not all(map(_is_probability, answers)):
            raise NoCompletion(" ".join(body.split())[:120])
        each = tokens // count if isinstance(tokens, int) else 0
        return [_as_completion(p, each) for p in answers]


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

    def probabilities(self, value: Any, count: int) -> list[Any]:
        return [value["answers"][_name(number)]["noul"] for number in range(count)]


class Reranking(Decisions):
    path = "/rerank"

    def bodies(self, model: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        picture = questions[0].image
        content = [] if picture is None else [picture_part(picture)]
        rest = {
            "model": model,
            "documents": [question.statement or question.user for question in questions],
            "top_n": len(questions),
        }
        return [{**rest, "query": query} for query in ({"content": content}, content)]

    def probabilities(self, value: Any, count: int) -> list[Any]:
        results = value if isinstance(value, list) else value["results"]
        by_index = {
            each["index"]: each["relevance_score" if "relevance_score" in each else "score"]
            for each in results
        }
        return [by_index[number] for number in range(count)]


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
