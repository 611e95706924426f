"""The four ways in which a vision-language model is asked; `prompting` says what each tells it."""

from typing import Literal, get_args

Mode = Literal["unguided", "words", "reasoning", "trajectory"]
MODES: tuple[Mode, ...] = get_args(Mode)
