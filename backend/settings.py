"""Settings: command line over TRACED_* environment variables over the defaults.

Unknown TRACED_* names are refused, so that a misspelt variable is not silently ignored.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from backend.correction.modes import mode_named
from backend.detection.types import DETECTORS
from backend.errors import SettingsError
from backend.trajectories.exploring import Exploring
from db.authors import is_reserved

ASSETS = Path(__file__).resolve().parent.parent / "assets"
MODELS = ASSETS / "models"
EMBEDDED_SCORER = MODELS / "scenes-blip-itm"
EMBEDDED_CAPTIONER = MODELS / "scenes-blip-captioner"
DEMO = ASSETS / "demo"

#: Names under TRACED_ that are not settings of the program: the tests', and an account's password.
_RESERVED = ("TEST_", "PASSWORD")
_NUMBERS = {"port", "steps", "top", "candidates", "seed"}
_DECIMALS = {"corrector_timeout"}


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
    corrector: str | None = None  #: vision-language model that corrects; None: none is asked
    corrector_url: str | None = None  #: the OpenAI-compatible server that has it; None: local
    corrector_mode: str = "words"  #: unguided, words, reasoning or trajectory
    corrector_timeout: float = 60.0  #: seconds for an answer of that server
    quantise: str | None = None  #: 4bit or 8bit, for a local corrector on an accelerator
    device: str | None = None  #: cuda, mps, cpu; None: the best there is
    precision: str | None = None  #: float32 or bfloat16; None: as the device prefers
    lemon: str = "fix"  #: LEMoN's weights: fix, or opt (fitted to verdicts)
    detector: str = "best"  #: what is trained: best, or a family by name, such as paper
    explorer: str = "elimination"  #: elimination, gcd or fast-gcd
    unit: str = "word"  #: what Elimination deletes: word or token
    direction: str = "maximise"  #: maximise or minimise s
    steps: int = 10  #: T of GCD and Fast GCD
    top: int = 128  #: K
    candidates: int = 256  #: N of GCD
    whole_words: bool = True  #: replacements are words by themselves
    seed: int = 0  #: of what GCD draws by lot
    host: str = "127.0.0.1"
    port: int = 7860
    author: str = "curator"

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data_directory / 'traced.db'}"

    @cached_property
    def exploring(self) -> Exploring:
        """The explorer's settings as one. Raises SettingsError for impossible ones."""
        return Exploring(
            self.explorer,  # type: ignore[arg-type]  # checked by Exploring itself
            self.unit,  # type: ignore[arg-type]
            self.direction,  # type: ignore[arg-type]
            self.steps,
            self.top,
            self.candidates,
            self.whole_words,
            self.seed,
        )

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
    for key in values.keys() & (_NUMBERS | _DECIMALS):
        try:
            values[key] = float(values[key]) if key in _DECIMALS else int(values[key])
        except ValueError as problem:
            raise SettingsError(f"The {key} '{values[key]}' is not a number.") from problem
    if (detector := values.get("detector", "best")) not in DETECTORS:
        raise SettingsError(f"There is no detector '{detector}'; use {', '.join(DETECTORS)}.")
    if not 0 <= values.get("port", 0) <= 65535:
        raise SettingsError(f"The port {values['port']} is not between 0 and 65535.")
    if isinstance(values.get("whole_words"), str):
        values["whole_words"] = values["whole_words"].lower() in ("1", "true", "yes", "on")
    if "data_directory" in values:
        values["data_directory"] = Path(values["data_directory"]).expanduser().resolve()
    settings = replace(Settings(data_directory=default_data_directory()), **values)
    mode_named(settings.corrector_mode)
    if settings.quantise not in (None, "4bit", "8bit"):
        raise SettingsError(f"quantise must be '4bit' or '8bit', not '{settings.quantise}'.")
    if settings.corrector_url and not settings.corrector:
        raise SettingsError("Name the server's model as well: --vlm NAME beside --vlm-url.")
    if settings.lemon not in ("fix", "opt"):
        raise SettingsError(f"lemon must be 'fix' or 'opt', not '{settings.lemon}'.")
    if is_reserved(settings.author):
        raise SettingsError(f"'{settings.author}' is how rules are called, not people.")
    settings.exploring  # noqa: B018  (refuses impossible settings here, not in mid-run)
    return settings
