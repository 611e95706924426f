"""A path as somebody has typed it, on a page or a command line."""

import os
from pathlib import Path

from backend.datasets.cells import shown
from backend.errors import SettingsError


def typed_path(given: str | Path) -> Path:
    """The path, absolute, with links resolved and `~` replaced. Raises SettingsError for what
    cannot be a path: a zero byte, half a character, an unknown user, links that form a circle."""
    try:
        os.fsencode(given)  # a name that is not UTF-8, as the system gives it, is a path
        return Path(given).expanduser().resolve()
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise SettingsError(f"'{shown(str(given))}' is not a path: {shown(reason)}.") from error
