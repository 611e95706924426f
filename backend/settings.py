"""Settings: command line over TRACED_* environment variables over the defaults.

Unknown TRACED_* names are refused, so that a misspelt variable is not silently ignored.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from backend.errors import SettingsError

ASSETS = Path(__file__).resolve().parent.parent / "assets"
MODELS = ASSETS / "models"
EMBEDDED_SCORER = MODELS / "scenes-blip-itm"
EMBEDDED_CAPTIONER = MODELS / "scenes-blip-captioner"
DEMO = ASSETS / "demo"

#: Names under TRACED_ that are not settings of the program (the tests use them).
_RESERVED = ("TEST_",)


def default_data_directory() -> Path:
    """Where the store and caches live: outside the code and outside anything that is served."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "traced-curator"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen from outside. `None` means: find it out."""

    data_directory: Path
    database: str | None = None  #: any SQLAlchemy URL; default: SQLite in the data directory
    model: str = str(EMBEDDED_SCORER)  #: scorer, hub name or directory
    kind: str | None = None  #: clip, blip-itc or blip-itm; None: as the checkpoint says
    captioner: str | None = None  #: None: the embedded one beside the embedded scorer
    concreteness: str | None = None  #: None: the embedded ICC
    device: str | None = None  #: cuda, mps, cpu; None: the best there is
    host: str = "127.0.0.1"
    port: int = 7860
    author: str = "curator"

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data_directory / 'traced.db'}"

    @property
    def captioner_model(self) -> str | None:
        """The captioner to use. The embedded one knows drawn scenes only, so it is the default
        beside embedded scorers alone; with another scorer, none unless it is named."""
        if self.captioner:
            return None if self.captioner == "none" else self.captioner
        embedded = Path(self.model).resolve().parent == MODELS.resolve()
        return str(EMBEDDED_CAPTIONER) if embedded else None


def load_settings(
    overrides: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Put the three layers together.

    `overrides` holds command-line values; None means "not given". Raises SettingsError for unknown
    names and for values of the wrong kind.
    """
    environment = os.environ if environment is None else environment
    known = {field.name: field for field in fields(Settings)}
    values: dict[str, Any] = {}
    for name, text in environment.items():
        if not name.startswith("TRACED_") or name[7:].startswith(_RESERVED):
            continue
        key = name[7:].lower()
        if key not in known:
            choices = ", ".join("TRACED_" + field.upper() for field in known)
            raise SettingsError(f"The environment variable {name} is not known. Known: {choices}.")
        values[key] = text
    for key, value in (overrides or {}).items():
        if key not in known:
            raise SettingsError(f"There is no setting '{key}'.")
        if value is not None:
            values[key] = value
    if "port" in values:
        try:
            values["port"] = int(values["port"])
        except ValueError as problem:
            raise SettingsError(f"The port '{values['port']}' is not a number.") from problem
        if not 0 <= values["port"] <= 65535:
            raise SettingsError(f"The port {values['port']} is not between 0 and 65535.")
    if "data_directory" in values:
        values["data_directory"] = Path(values["data_directory"]).expanduser().resolve()
    settings = Settings(data_directory=default_data_directory())
    return replace(settings, **values)
