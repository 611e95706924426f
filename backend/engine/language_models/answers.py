"""Parse a model's answer strictly: exactly one JSON object of the requested form.

A caption may end up in a dataset, so nothing is guessed: no second object, no other keys, no
multi-line captions, no implausible lengths. Text around the object, which many models add, is
ignored, as are its thoughts and the marks of its template: repeating the request would cost a query
and change nothing.
"""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from backend.errors import Unreadable
from db.texts import is_blank

_THOUGHT = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection)"
_OPENS = re.compile(
    rf"<{_THOUGHT}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel>thought", re.IGNORECASE
)
_CLOSES = re.compile(
    rf"</{_THOUGHT}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<channel\|>", re.IGNORECASE
)
#: Models with channels (gpt-oss) think in one and answer in another.
#: Their names alone are left where a server takes the special tokens out.
_FINAL_NAME = re.compile(r"\A(?:analysis\b.*|analysis[A-Z].*)?assistantfinal", re.DOTALL)
_CHANNEL, _FINAL = "<|channel|>", re.compile(r"<\|channel\|>\s*final\s*<\|message\|>")
#: What opens the model's turn in its template.
_TURN = re.compile(
    r"<\|im_start\|>\s*assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|"
    r"<start_of_turn>model|\[/INST\]|<\|assistant\|>"
)
_TOKEN = (
    r"<\|[A-Za-z0-9_]+\|>|<｜[^｜<>]*｜>|</?s>|<(?:eos|EOS|eot|EOT|bos|pad|unk|end_of_turn|start_of_turn|"
    r"end_of_utterance|end_of_text)>|\[/?INST\]|\[EOS\]"
)
_SPECIAL = re.compile(_TOKEN)
_LAST = re.compile(rf"(?:\s*(?:{_TOKEN}))+\s*$")
#: At the end of a text in JSON.
_LAST_IN_JSON = re.compile(rf'(?:\s*(?:{_TOKEN}))+\s*(?="\s*[,}}\]])')
#: Maximum number of positions that are tried as the start of an object.
_PLACES = 40


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class CorrectionAnswer(Strict):
    # Part of the question to a server, as is the class's name: others would pay for stored answers
    # again.
    model_config = ConfigDict(title="Corrected")

    caption: str


_Form = TypeVar("_Form", bound=Strict)


def read_answer(text: str, form: type[_Form]) -> _Form:
    """The answer as an object of this form. Raises Unreadable."""
    value = _object(_content(text))
    try:
        return form.model_validate(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the object"
        raise Unreadable(f"{where}: {first['msg'].lower()}.") from problem


def read_caption(text: str, longest: int) -> str:
    """The caption of an answer with no other key, at most `longest` characters. Raises
    Unreadable."""
    value = _object(_content(text))
    try:
        caption = CorrectionAnswer.model_validate(value).caption.strip()
    except ValidationError as problem:
        raise Unreadable("it was not an object with just a caption.") from problem
    return check_caption(caption, longest)


def _content(text: str) -> str:
    content = final_answer(text)
    if not content:
        raise Unreadable("it was empty.")
    return content


def check_caption(text: str, longest: int) -> str:
    """The caption without what the template left at its end. Raises Unreadable."""
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


def final_answer(text: str) -> str:
    """What a model answers, without its thoughts and without the special tokens of its template; ""
    while it only thinks: a draft is no answer.

    >>> final_answer("<think>A cat?</think> A dog.<|im_end|>"), final_answer("<think>A cat?")
    ('A dog.', '')
    """
    text = _LAST_IN_JSON.sub("", text)
    if _CHANNEL in text:
        final = list(_FINAL.finditer(text))
        text = text[final[-1].end() :] if final else ""
    text = _FINAL_NAME.sub("", text)
    for closing in reversed(list(_CLOSES.finditer(text))):
        text = text[closing.end() :]
        break
    if opening := _OPENS.search(text):
        text = text[: opening.start()]
    if turn := _TURN.search(text):
        text = text[turn.end() :] or text[: turn.start()]
    return next((part.strip() for part in _SPECIAL.split(text) if part.strip()), "")


def without_last_tokens(text: str) -> str:
    """The text without special tokens of a template at its end.

    >>> without_last_tokens("A dog.<|eot_id|></s>")
    'A dog.'
    """
    return _LAST.sub("", text)
