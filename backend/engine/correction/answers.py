"""Parse a model's answer strictly: exactly one JSON object of the requested form.

A correction may end up in a dataset, so nothing is guessed: no second object, no other keys, no
multi-line captions, no implausible lengths. Text around the object, which many models add, is
ignored: repeating the request would cost a query and change nothing.
"""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from backend.engine.correction.modes import Mode
from backend.engine.language_models.completion import final_answer, without_last_tokens
from backend.errors import Unreadable
from db.texts import is_blank

#: Maximum length of a correction relative to the caption, plus a constant.
_LONGER, _SPARE = 3, 200
#: Maximum number of positions that are tried as the start of an object.
_PLACES = 40


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Step(_Strict):
    """The model's observation about one suspect word."""

    word: str
    seen: str
    wrong: bool


class CorrectionAnswer(_Strict):
    # Part of the question to a server: another title would pay for stored answers again.
    model_config = ConfigDict(title="Corrected")

    caption: str


class ReasonedAnswer(CorrectionAnswer):
    model_config = ConfigDict(title="Reasoned")

    steps: Sequence[Step]


def read(text: str, mode: Mode, caption: str) -> CorrectionAnswer:
    """Parse the answer to a question about `caption`. Raises Unreadable."""
    content = final_answer(text)
    if not content:
        raise Unreadable("it was empty.")
    value = _object(content)
    try:
        answer = _form(mode).model_validate(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the object"
        raise Unreadable(f"{where}: {first['msg'].lower()}.") from problem
    return answer.model_copy(update={"caption": _check_answer(answer.caption.strip(), caption)})


def read_caption(text: str, longest: int) -> str:
    """The caption of an answer with no other key, at most `longest` characters. Raises
    Unreadable."""
    answer = final_answer(text)
    if not answer:
        raise Unreadable("it was empty.")
    try:
        caption = CorrectionAnswer.model_validate(_object(answer)).caption.strip()
    except ValidationError as problem:
        raise Unreadable("it was not an object with just a caption.") from problem
    return _checked_caption(caption, longest)


def schema_of(mode: Mode) -> dict[str, Any]:
    """JSON Schema of an answer, for servers that support structured output."""
    return _form(mode).model_json_schema()


def _form(mode: Mode) -> type[CorrectionAnswer]:
    return ReasonedAnswer if mode == "reasoning" else CorrectionAnswer


def _object(answer: str) -> Any:
    """The answer parsed as JSON, or else the only JSON object in it. Raises Unreadable."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        pass
    objects: list[Any] = []
    decoder, place = json.JSONDecoder(), 0
    for _ in range(_PLACES):
        place = answer.find("{", place)
        if place < 0:
            break
        try:
            value, place = decoder.raw_decode(answer, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if value not in objects:
            objects.append(value)
    if len(objects) != 1:
        raise Unreadable(f"it was not a single JSON object{', but several' if objects else ''}.")
    return objects[0]


def _check_answer(correction: str, caption: str) -> str:
    return _checked_caption(correction, _LONGER * len(caption) + _SPARE)


def _checked_caption(text: str, longest: int) -> str:
    caption = without_last_tokens(text)  # they may have been escaped
    if is_blank(caption):
        raise Unreadable("the caption was empty.")
    if "\ufffd" in caption or any("\ud800" <= character < "\ue000" for character in caption):
        raise Unreadable("the caption has characters that are no text.")
    if any(ord(character) < 32 or character == "\x7f" for character in caption):
        raise Unreadable("the caption has several lines or control characters.")
    if len(caption) > longest:
        raise Unreadable("the caption is far longer than the one to correct.")
    return caption
