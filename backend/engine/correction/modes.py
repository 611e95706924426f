"""The four ways in which a vision-language model is asked; `prompting` says what each tells it."""

from typing import Literal, get_args

from backend.errors import SettingsError

Mode = Literal["unguided", "words", "reasoning", "trajectory"]
MODES: tuple[Mode, ...] = get_args(Mode)


def mode_named(name: str) -> Mode:
    """The mode of that name. Raises SettingsError, with what there is."""
    for mode in MODES:
        if mode == name:
            return mode
    raise SettingsError(f"There is no mode '{name}'; use {', '.join(MODES)}.")
