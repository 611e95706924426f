"""A server's answer to a chat request, read as what it is: foreign data.

Servers agree on the form of a chat completion, and differ in what they put into it: contents as
text or in parts, thoughts of the model in a field of their own or in front of the answer, the
special tokens of its template, counts as text. Whatever is not of the form is no answer; nothing
here raises but `NoCompletion`. `tests/features/vision_language/test_completion.py` has a table of
answers as servers send them.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from backend.datasets.cells import without_surrogates
from backend.engine.language_models.answers import final_answer

#: A token and its log-probability.
Likely = tuple[str, float]

#: The most that probabilities of different tokens sum to, rounded as servers do.
_MOST_MASS = 1.1
_CUT_OFF = ("length", "max_tokens", "model_length")


class NoCompletion(ValueError):
    """The text is what was sent instead, shortened, "" for nothing."""


@dataclass(frozen=True)
class Completion:
    """`text`: what the model answers, or why it refuses, without its thoughts; `finished`: False if
    it was cut off; `tokens_in`, `tokens_out`: 0 if not reported; `likeliest`: first tokens."""

    text: str
    finished: bool
    tokens_in: int
    tokens_out: int
    likeliest: tuple[Likely, ...] = ()


def read_completion(body: str) -> Completion:
    """The answer in the body of a response with status 200. Raises NoCompletion."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise NoCompletion(" ".join(body.split())[:120]) from problem
    choice = _first(_get(value, "choices"))
    message = _get(choice, "message")
    text = message if isinstance(message, dict) else _get(choice, "text")
    if not isinstance(text, dict | str):
        raise NoCompletion(_excuse(value))
    reason, usage = _get(choice, "finish_reason"), _get(value, "usage")
    return Completion(
        final_answer(
            without_surrogates("".join(_texts(message)) if isinstance(text, dict) else text)
        ),
        reason not in _CUT_OFF,
        _count(_get(usage, "prompt_tokens")),
        _count(_get(usage, "completion_tokens")),
        _probable(tuple(_likeliest(_get(choice, "logprobs")))),
    )


def _texts(message: dict[str, Any]) -> Iterator[str]:
    """The pieces of a message's content; those of a refusal if it has none."""
    content = message.get("content")
    parts = [
        text
        for part in (content if isinstance(content, list) else [content])
        if (text := _text_of(part)) is not None
    ]
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str):
        parts = [refusal]
    yield from parts


def _text_of(part: Any) -> str | None:
    """The text of a part of a content; None for thoughts, pictures, calls and the like."""
    if isinstance(part, dict):
        if part.get("type", "text") not in ("text", "output_text", "refusal"):
            return None
        part = part.get("text", part.get("refusal"))
        part = _get(part, "value") if isinstance(part, dict) else part
    return part if isinstance(part, str) else None


def _likeliest(logprobs: Any) -> Iterator[Likely]:
    """Of the first token, in the form of chat completions or in that of the older completions."""
    alternatives = _get(_first(_get(logprobs, "content")), "top_logprobs")
    if isinstance(alternatives, list):
        pairs = [(_get(item, "token"), _get(item, "logprob")) for item in alternatives]
    else:
        by_token = _first(_get(logprobs, "top_logprobs"))
        pairs = list(by_token.items()) if isinstance(by_token, dict) else []
    for token, log_p in pairs:
        is_number = isinstance(log_p, int | float) and not isinstance(log_p, bool)
        if isinstance(token, str) and is_number and not math.isnan(log_p):
            yield token, float(log_p)


def _probable(likeliest: tuple[Likely, ...]) -> tuple[Likely, ...]:
    """None if they cannot be log-probabilities: some servers send zeros, or logits."""
    total = sum(math.exp(min(log_p, 0.0)) for _, log_p in likeliest)
    return likeliest if total < _MOST_MASS else ()


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _count(value: Any) -> int:
    """A count of tokens, which some servers send as text.

    >>> _count(7), _count("7"), _count(7.0), _count(-1), _count("many"), _count(True)
    (7, 7, 7, 0, 0, 0)
    """
    try:
        return 0 if isinstance(value, bool | list | dict | None) else max(0, int(float(value)))
    except (ValueError, OverflowError):
        return 0


def _excuse(value: Any) -> str:
    """What a response says in place of a completion."""
    error = _get(value, "error")
    texts = (_get(error, "message"), error, _get(value, "detail"), _get(value, "message"), value)
    text = next((each for each in texts if each and isinstance(each, str)), error or "")
    return " ".join(str(text).split())[:120]
