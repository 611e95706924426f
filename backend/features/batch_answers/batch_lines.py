"""Lines of the files that model services answer in batches: a request, its answer, or both, each in
an object of its own.

* OpenAI: `{"custom_id", "body": {"messages"}}`, answered as `{"custom_id", "response": {"body":
  {"choices"}}}`, or `input` and `output` for these; Anthropic: `params` and `result`.
* Gemini: `{"key", "request": {"contents": [{"role", "parts"}]}}`, answered as `{"key", "response":
  {"candidates"}}`; Vertex AI writes the request beside its answer. `contents` alone are a
  conversation with its answers.

The picture is that of the row's own column, else that of the request's last question, else that
which the key names. What assistants say within a request are examples, or the beginning of an
answer. A table that keeps such an answer beside its captions is none of these files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from backend.datasets.cells import TableRow, trim
from backend.datasets.columns import CAPTION_NAMES, LIST_NAMES
from backend.datasets.read_options import PICTURES
from backend.datasets.reading.conversations import (
    TURN_COLUMNS,
    AnswerRule,
    NoPair,
    Turn,
    file_name_of,
    images_in,
    turns_of,
)
from backend.datasets.reading.row_forms import RowContext, RowForm

_KEYS = ("custom_id", "key")
#: Where a line has its request, its answer, or both, and a field of each.
_PARTS = {
    "body": ("messages", "input"), "params": ("messages",), "request": ("contents",),
    "response": ("body", "candidates", "promptFeedback"), "result": ("message", "error"),
}  # fmt: skip
#: Why services end an answer that is whole.
_WHOLE = (
    "stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed",
    "finish_reason_unspecified",
)  # fmt: skip
_COLUMNS = "a table with the columns 'image' (files of the pictures) and 'caption' (these answers)"


def _is_batch_line(values: Mapping[str, Any], context: RowContext) -> bool:
    """Whether it is a line of such a file, or a conversation as Gemini writes it."""
    names = (*CAPTION_NAMES, *LIST_NAMES)
    if context.states_caption(values) or any(values.get(n) not in (None, "") for n in names):
        return False
    contents = values.get("contents")
    is_line = (
        (isinstance(contents, list) and bool(contents) and all(map(_has_parts, contents)))
        or ("custom_id" in values and isinstance(values.get("error"), dict))
        or any(_has_field(values.get(name), fields) for name, fields in _PARTS.items())
    )
    return is_line and not any(_ends_in_answer(values.get(name)) for name in TURN_COLUMNS)


def _ends_in_answer(cell: Any) -> bool:
    turns = turns_of(cell)
    return bool(turns) and turns[-1].is_answer


def _has_field(value: Any, fields: Iterable[str]) -> bool:
    """Whether it is an object with a list or an object in one of the fields."""
    return isinstance(value, dict) and any(isinstance(value.get(f), list | dict) for f in fields)


def _has_parts(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("parts"), list)


def _chat_of_line(values: Mapping[str, Any], rule: AnswerRule) -> dict[str, Any]:
    """The row with the turns of the line as `messages`, and its picture as `image` if only its key
    names it. Counts what has several answers. Raises NoPair for a request without a whole answer,
    and for an answer whose picture is unknown or uncertain."""
    key = next((str(values[name]) for name in _KEYS if values.get(name) is not None), "")
    request = f"the request '{trim(key)}' of a batch" if key else "a request of a batch"
    rest = {n: v for n, v in values.items() if n not in (*_PARTS, "contents", "error")}
    try:
        turns = _turns_of_request(values)
        answers = [_whole(answer, reason, request) for answer, reason in _answers(values)]
    except (KeyError, TypeError, AttributeError) as problem:
        raise NoPair(f"This is {request} that cannot be read.") from problem
    is_conversation = not any(name in values for name in (*_PARTS, "error"))
    if is_conversation and turns and turns[-1].is_answer:
        return {**rest, "messages": [turn.source for turn in turns]}
    if not answers:
        if any(name in values for name in ("response", "result", "error")):
            raise NoPair(f"This is {request} that has no answer: it failed.")
        raise NoPair(
            f"This is {request} without its answer: those are in the file that the service "
            f"returned. Import {_COLUMNS}."
        )
    asked = _last_question(turns)
    chat = {**rest, "messages": [*(turn.source for turn in asked), *answers]}
    own = images_in({n: v for n, v in rest.items() if n not in (*TURN_COLUMNS, "prompt")})
    if own:
        other = file_name_of(key)
        if key.lower().endswith(PICTURES) and other not in map(file_name_of, own):
            raise NoPair(f"This row names another picture than its key, '{trim(key)}'.")
    elif not any(turn.marks for turn in asked):
        if not rule.names_picture(key):
            raise NoPair(
                f"This is the answer to {request}, which does not say the name of its picture. "
                f"Import {_COLUMNS}."
            )
        chat["image"] = key
    rule.with_choices += len(answers) > 1
    return chat


def _turns_of_request(values: Mapping[str, Any]) -> list[Turn]:
    """Raises TypeError for messages that are no turns."""
    for request in (values, *(values.get(name) for name in ("body", "params", "request"))):
        if isinstance(request, dict):
            asked = request.get("input") if request is not values else None
            if isinstance(asked, str):
                asked = [{"role": "user", "content": asked}]
            messages = [
                *(request.get("messages") or ()),
                *(item for item in asked or () if "role" in item),
                *map(_turn_of_parts, request.get("contents") or ()),
            ]
            if messages and not (turns := turns_of(messages)):
                raise TypeError("the messages are no turns")
            if messages:
                return turns
    return []


def _last_question(turns: Sequence[Turn]) -> list[Turn]:
    """The turns that are to be answered, after examples and before the beginning of an answer; all
    questions if these show no picture."""
    while turns and turns[-1].is_answer:
        turns = turns[:-1]
    start = max((place + 1 for place, turn in enumerate(turns) if turn.is_answer), default=0)
    if any(turn.marks for turn in turns[start:]):
        return list(turns[start:])
    return [turn for turn in turns if not turn.is_answer]


def _answers(values: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any] | None, Any]]:
    """The answers, each with the reason for which the service ended it; None for one that it does
    not give."""
    response, result = values.get("response"), values.get("result")
    if isinstance(response, dict):
        body = response.get("body") or response
        for choice in body.get("choices") or ():
            yield choice["message"], choice.get("finish_reason")
        details = body.get("incomplete_details") or {}
        for item in body.get("output") or ():
            if item["type"] == "message":
                answer = {"role": "assistant", "content": item["content"]}
                yield answer, details.get("reason") or body.get("status")
        candidates = body.get("candidates") or ()
        for candidate in candidates:
            content = candidate.get("content") or {}
            answer = _turn_of_parts({"role": "model", **content}) if content.get("parts") else None
            yield answer, candidate.get("finishReason") or candidate.get("finish_reason")
        feedback = body.get("promptFeedback") or {}
        if not candidates and feedback:
            yield None, feedback.get("blockReason")
    elif isinstance(result, dict) and "message" in result:
        yield result["message"], result["message"].get("stop_reason")


def _whole(answer: dict[str, Any] | None, reason: Any, request: str) -> dict[str, Any]:
    """The answer. Raises NoPair for one that was cut or withheld."""
    if reason and str(reason).lower() not in _WHOLE:
        raise NoPair(
            f"This is the answer to {request}, which the service did not finish: "
            f"'{trim(str(reason), 80)}'."
        )
    if answer is None:
        raise NoPair(f"This is {request} that has no answer.")
    return answer


def _turn_of_parts(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn of Gemini as others write it, without what a model thinks."""
    role = "assistant" if turn.get("role") == "model" else turn.get("role", "user")
    parts = (part for part in turn.get("parts") or () if not part.get("thought"))
    return {"role": role, "content": [_part(part) for part in parts]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    for names in (("inlineData", "inline_data"), ("fileData", "file_data")):
        about = next((part[name] for name in names if isinstance(part.get(name), dict)), None)
        if about is not None:
            path = about.get("data") or about.get("fileUri") or about.get("file_uri")
            return {"type": "image", "image": path}
    return {"type": "text", "text": part.get("text", "")}


def _rows(row: TableRow, values: Mapping[str, Any], context: RowContext) -> Iterator[TableRow]:
    yield replace(row, values=_chat_of_line(values, context.rule))


FORM = RowForm(_is_batch_line, _rows)
