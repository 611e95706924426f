"""How captions are divided into claims."""

from typing import Literal, get_args

from backend.errors import SettingsError

#: By the form of each caption, not at all, or as prose or as tags whatever they look like.
Division = Literal["auto", "whole", "sentences", "tags"]
DIVISIONS: tuple[Division, ...] = get_args(Division)


def parse_division(name: str) -> Division:
    """Raises SettingsError for a name that is not in DIVISIONS."""
    if name not in DIVISIONS:
        raise SettingsError(
            f"'{name}' does not say what the claims of a caption are. Use {', '.join(DIVISIONS)}."
        )
    return name
