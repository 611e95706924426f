"""Reading a model's answer strictly: one JSON object in the form that was asked for, or nothing.

A correction goes into somebody's dataset, so nothing is guessed: no text around the object, no
other keys, no caption of several lines or of another size than a caption has.
"""

import json
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from backend.correction.modes import Mode
from backend.errors import Unreadable

#: A correction has at most this many times the characters of the caption, and some to spare.
_LONGER, _SPARE = 3, 200
_THOUGHTS = re.compile(r"^\s*<think>.*?</think>\s*", re.DOTALL)
_FENCE = re.compile(r"^```(?:json)?\s*\n(.*)\n\s*```$", re.DOTALL)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Step(_Strict):
    """What the model saw for one suspect word."""

    word: str
    seen: str
    wrong: bool


class Corrected(_Strict):
    caption: str


class Reasoned(Corrected):
    steps: Sequence[Step]


def read(text: str, mode: Mode, caption: str) -> Corrected:
    """The answer to a question about `caption`. Raises Unreadable."""
    found = _THOUGHTS.sub("", text).strip()
    if fenced := _FENCE.match(found):
        found = fenced[1].strip()
    if not found:
        raise Unreadable("it was empty.")
    try:
        value = json.loads(found)
    except (ValueError, RecursionError) as problem:
        raise Unreadable("it was not one JSON object.") from problem
    form = Reasoned if mode == "reasoning" else Corrected
    try:
        answer = form.model_validate(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the object"
        raise Unreadable(f"{where}: {first['msg'].lower()}.") from problem
    return answer.model_copy(update={"caption": _checked(answer.caption.strip(), caption)})


def _checked(corrected: str, caption: str) -> str:
    if not corrected:
        raise Unreadable("the caption was empty.")
    if any(ord(character) < 32 or character == "\x7f" for character in corrected):
        raise Unreadable("the caption has several lines or control characters.")
    if len(corrected) > _LONGER * len(caption) + _SPARE:
        raise Unreadable("the caption is far longer than the one to correct.")
    return corrected
