"""The four ways to ask a vision-language model for a correction (`TRACED_CORRECTOR_MODE`)."""

from typing import Literal, get_args

from backend.errors import SettingsError

Mode = Literal["unguided", "words", "reasoning", "trajectory"]
MODES: tuple[Mode, ...] = get_args(Mode)


def mode_named(name: str) -> Mode:
    """The mode with this name. Raises SettingsError, which lists the modes."""
    for mode in MODES:
        if mode == name:
            return mode
    raise SettingsError(f"There is no mode '{name}'; use {', '.join(MODES)}.")
