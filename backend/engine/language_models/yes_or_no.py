"""Yes or no from servers that decide instead of generating: `/v1/systemone` of `transformers serve`
answers typed questions by one forward pass of any chat model, with probabilities.

The server puts a picture wherever its name occurs as text, in a caption as well, and drops it
without a word where the name occurs nowhere: so the name is one that the question does not hold,
and it stands alone in the `state`. A question of type `noul` is answered by P(true) alone.
"""

import base64
import hashlib
import json
import math
from typing import Any

from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.completion import Completion, NoCompletion

PATH = "/systemone"
_NAME = "answer"
_TINY = 1e-12


def request_of(model: str, question: Question) -> dict[str, Any]:
    """The body of a request that asks for yes or no."""
    body: dict[str, Any] = {
        "model": model,
        "state": question.system,
        "questions": {_NAME: {"type": "noul", "instructions": question.user}},
    }
    if question.image is not None:
        name = _name_of_picture(question)
        body["state"] = f"{name}\n{question.system}".strip()
        picture = base64.b64encode(question.image).decode()
        body["assets"] = {name: {"data_base64": picture}}
    return body


def _name_of_picture(question: Question) -> str:
    text = f"{question.system}\n{question.user}\n{_NAME}"
    number = 0
    while (
        name := f"picture-{hashlib.sha256(f'{number}{text}'.encode()).hexdigest()[:24]}"
    ) in text:
        number += 1
    return name


def read_decision(body: str) -> Completion:
    """The answer in the body of a response with status 200, as the likeliest first tokens of a
    completion. Raises NoCompletion."""
    try:
        value: Any = json.loads(body)
        answer = value["answers"][_NAME]
        p_true, usage = answer["noul"], value.get("usage") or {}
        tokens = usage.get("input_tokens", 0)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as problem:
        raise NoCompletion(" ".join(body.split())[:120]) from problem
    is_number = isinstance(p_true, int | float) and not isinstance(p_true, bool)
    if not is_number or not 0 <= p_true <= 1:
        raise NoCompletion(" ".join(body.split())[:120])
    likeliest = tuple(
        (word, math.log(max(p, _TINY))) for word, p in (("Yes", p_true), ("No", 1 - p_true))
    )
    text = "Yes" if p_true >= 0.5 else "No"
    return Completion(text, True, tokens if isinstance(tokens, int) else 0, 0, likeliest)
