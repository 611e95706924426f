"""The form of a model's answer in each mode."""

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict

from backend.engine.correction.modes import Mode
from backend.engine.language_models.answers import (
    CorrectionAnswer,
    Strict,
    check_caption,
    read_answer,
)

#: Maximum length of a correction relative to the caption, plus a constant.
_LONGER, _SPARE = 3, 200


class Step(Strict):
    """The model's observation about one suspect word."""

    word: str
    seen: str
    wrong: bool


class ReasonedAnswer(CorrectionAnswer):
    model_config = ConfigDict(title="Reasoned")

    steps: Sequence[Step]


def read(text: str, mode: Mode, caption: str) -> CorrectionAnswer:
    """Parse the answer to a question about `caption`. Raises Unreadable."""
    answer = read_answer(text, _form(mode))
    longest = _LONGER * len(caption) + _SPARE
    return answer.model_copy(update={"caption": check_caption(answer.caption.strip(), longest)})


def schema_of(mode: Mode) -> dict[str, Any]:
    """JSON Schema of an answer, for servers that support structured output."""
    return _form(mode).model_json_schema()


def _form(mode: Mode) -> type[CorrectionAnswer]:
    return ReasonedAnswer if mode == "reasoning" else CorrectionAnswer
