"""Paths typed by users, on a page or a command line."""

import os
from pathlib import Path

from backend.datasets.cells import shown
from backend.errors import SettingsError


def typed_path(given: str | Path) -> Path:
    """The absolute path, with links resolved and `~` expanded. Raises SettingsError if it is not a
    valid path: a zero byte, a lone surrogate, an unknown user, a loop of links."""
    try:
        os.fsencode(given)  # accepts names that are not UTF-8, as returned by the system
        return Path(given).expanduser().resolve()
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise SettingsError(f"'{shown(str(given))}' is not a path: {shown(reason)}.") from error
