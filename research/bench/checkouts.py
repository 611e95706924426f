"""This checkout of the program, and another one that it is measured against."""

from pathlib import Path

from backend.errors import SettingsError

HERE = Path(__file__).parents[2]


def checkouts(against: Path | None) -> list[Path]:
    """This one, and the other one if there is one. Raises SettingsError if that is none."""
    if against is None:
        return [HERE]
    if not (against / "traced_ui" / "server.py").is_file():
        raise SettingsError(f"{against} is no checkout: it has no traced_ui/server.py.")
    return [HERE, against.resolve()]
