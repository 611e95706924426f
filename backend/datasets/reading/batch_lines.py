"""Lines of the files that model services answer in batches: a request, its answer, or both, each in
an object of its own.

* OpenAI: `{"custom_id", "body": {"messages"}}`, answered as `{"custom_id", "response": {"body":
  {"choices"}}}`, or `output` for `choices`; Anthropic: `params` and `result`.
* Gemini: `{"key", "request": {"contents": [{"role", "parts"}]}}`, answered as `{"key", "response":
  {"candidates"}}`; Vertex AI writes the request beside its answer.

An answer alone says by its key which picture is meant, if that is the name of one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from backend.datasets.cells import trim
from backend.datasets.read_options import PICTURES
from backend.datasets.reading.conversations import NoPair

_KEYS = ("custom_id", "key")
#: Where a line has its request, its answer, or both, and a field of each.
_PARTS = {
    "body": ("messages", "input"), "params": ("messages",), "request": ("contents",),
    "response": ("body", "candidates"), "result": ("message", "error"),
}  # fmt: skip


def is_batch_line(values: Mapping[str, Any]) -> bool:
    """Whether it is a line of such a file, or a conversation as Gemini writes it."""
    if _has_field(values, ("contents",)) and all(map(_has_parts, values["contents"])):
        return True
    if "custom_id" in values and isinstance(values.get("error"), dict):
        return True
    return any(_has_field(values.get(name), fields) for name, fields in _PARTS.items())


def _has_field(value: Any, fields: Iterable[str]) -> bool:
    """Whether it is an object with a list or an object in one of the fields."""
    return isinstance(value, dict) and any(isinstance(value.get(f), list | dict) for f in fields)


def _has_parts(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("parts"), list)


def chat_of_line(values: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the turns of the line as `messages`, and its picture as `image` if only its key
    names it. Raises NoPair for a request without an answer, for one that failed, and for an answer
    whose picture is unknown."""
    key = next((str(values[name]) for name in _KEYS if values.get(name) is not None), "")
    rest = {n: v for n, v in values.items() if n not in (*_PARTS, "contents", "error")}
    try:
        asked, answers = list(_questions(values)), list(_answers(values))
    except (KeyError, TypeError, AttributeError) as problem:
        raise NoPair(f"The request '{trim(key)}' of a batch cannot be read.") from problem
    if not any(_speaker(turn) == "assistant" for turn in (*asked, *answers)):
        if any(name in values for name in ("response", "result", "error")):
            raise NoPair(f"The request '{trim(key)}' of a batch has no answer: it failed.")
        raise NoPair(
            f"This is a request of a batch ('{trim(key)}') without its answer: those are in the "
            "file that the service returned. Import a table with the pictures and these answers."
        )
    if asked:
        return {**rest, "messages": [*asked, *answers]}
    if not key.lower().endswith(PICTURES):
        raise NoPair(
            f"This is the answer to the request '{trim(key)}' of a batch, which does not say the "
            "name of its picture. Import a table with the pictures' names and these answers."
        )
    return {**rest, "image": key, "messages": answers}


def _questions(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for request in (values, *(values.get(name) for name in ("body", "params", "request"))):
        if isinstance(request, dict):
            yield from request.get("messages") or ()
            yield from map(_turn_of_parts, request.get("contents") or ())


def _answers(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    response, result = values.get("response"), values.get("result")
    if isinstance(response, dict):
        body = response.get("body") or response
        for choice in body.get("choices", ()):
            yield choice["message"]
        for item in body.get("output", ()):
            if item["type"] == "message":
                yield {"role": "assistant", "content": item["content"]}
        for candidate in body.get("candidates", ()):
            yield _turn_of_parts({"role": "model", **candidate["content"]})
    elif isinstance(result, dict) and "message" in result:
        yield result["message"]


def _turn_of_parts(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn of Gemini as others write it."""
    role = "assistant" if turn.get("role") == "model" else turn.get("role", "user")
    return {"role": role, "content": _parts(turn.get("parts") or ())}


def _parts(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a model thinks is left out."""
    return [_part(part) for part in parts if not part.get("thought")]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    for names in (("inlineData", "inline_data"), ("fileData", "file_data")):
        about = next((part[name] for name in names if isinstance(part.get(name), dict)), None)
        if about is not None:
            path = about.get("data") or about.get("fileUri") or about.get("file_uri")
            return {"type": "image", "image": path}
    return {"type": "text", "text": part.get("text", "")}


def _speaker(turn: Any) -> Any:
    return turn.get("role") if isinstance(turn, dict) else None
