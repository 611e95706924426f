"""Settings. Precedence: command line, TRACED_* environment variables, TOML files, defaults.

`traced.toml` in the working folder takes precedence over `traced-curator/config.toml` in the user's
configuration folder; in both, keys are names of settings: `port = 8000`. An unknown name is an
error in a file and a warning in the environment, because other programs may use the prefix.
"""

import difflib
import logging
import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from backend.bundled import DEMO as DEMO
from backend.bundled import MODELS
from backend.datasets.safe_files.regular_files import read_regular, typed_path
from backend.engine.claims.division import parse_division
from backend.engine.correction.modes import mode_named
from backend.engine.detection.types import DETECTORS
from backend.engine.language_models.spending import parse_prices
from backend.engine.presets import BY_NAME, EMBEDDED, captioner_for
from backend.engine.presets import EMBEDDED_CAPTIONER as EMBEDDED_CAPTIONER
from backend.engine.scoring.cleaning import parse_reading
from backend.engine.trajectories.depth import parse_depth
from backend.errors import SettingsError
from db.authors import is_reserved

if TYPE_CHECKING:
    from backend.engine.trajectories.exploring import Exploring

EMBEDDED_SCORER = EMBEDDED

#: TRACED_* names that are not settings: those of the tests, and an account's password.
_RESERVED = ("TEST_", "PASSWORD")
_NUMBERS = {"port", "steps", "top", "candidates", "seed", "lazy"}
_SWITCHES = {"first_look", "no_login", "whole_words"}
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")
#: What may stand in a header that names who may frame the server: a scheme, a host and a port.
_ORIGIN = re.compile(r"https?://[\w.-]+(:\d{1,5})?", re.ASCII)
_ROOT_PATH = re.compile(r"(/[\w.~-]+)*", re.ASCII)
_DECIMALS = {"corrector_timeout", "model_memory", "upload_limit"}
#: Settings with several values, and their separator.
_LISTS = {
    "allow_host": ",", "frame": ",", "prices": ",", "export_root": os.pathsep,
    "import_root": os.pathsep,
}  # fmt: skip


log = logging.getLogger(f"traced.{__name__}")
_NAME = "traced-curator"


def user_home() -> Path | None:
    """None for a container's user who has none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def default_data_directory() -> Path:
    """Default location of the store and caches: outside the code and any folder that is served."""
    if (home := user_home()) is None:
        return Path.cwd() / f".{_NAME}"
    earlier = home / ".local" / "share" / _NAME  # of earlier releases, on all systems
    return earlier if earlier.is_dir() else platformdirs.user_data_path(_NAME, appauthor=False)


def log_directory() -> Path:
    """Where the log of unexpected errors is, also if the settings are what is wrong."""
    return Path(os.environ.get("TRACED_DATA_DIRECTORY") or default_data_directory()).expanduser()


@dataclass(frozen=True)
class Settings:
    """All configurable options. `None` means: determine automatically."""

    data_directory: Path  #: database and caches; default: in the user data folder
    database: str | None = None  #: any SQLAlchemy URL; default: SQLite in the data directory
    model: str = str(EMBEDDED_SCORER)  #: scorer: a preset, a hub name or a directory
    kind: str | None = None  #: clip, blip-itc or blip-itm; None: as the checkpoint says
    captioner: str | None = None  #: a name, "auto" or "none"; None: the preset's, if it has one
    concreteness: str | None = None  #: None: the embedded ICC
    corrector: str | None = None  #: vision-language model for corrections; None: none
    corrector_url: str | None = None  #: OpenAI-compatible server of that model; None: local
    corrector_mode: str = "words"  #: unguided, words, reasoning or trajectory
    corrector_timeout: float = 60.0  #: seconds to wait for that server
    prices: tuple[str, ...] = ()  #: of a million tokens in and out: MODEL=0.15/0.6, comma-separated
    quantise: str | None = None  #: 4bit or 8bit, for a local corrector on an accelerator
    device: str | None = None  #: cuda, mps or cpu; None: the best available
    precision: str | None = None  #: float32, bfloat16, 8bit or 4bit; None: depends on the device
    lemon: str = "fix"  #: LEMoN's weights: fix, or fitted to verdicts: opt, auc
    detector: str = "best"  #: detector to train: best, or a family by name, such as paper
    explorer: str = "elimination"  #: elimination, gcd or fast-gcd
    unit: str = "word"  #: what Elimination deletes: word or token
    lazy: int | None = None  #: words that Elimination re-scores at each step; None: all (exact)
    direction: str = "maximise"  #: maximise or minimise s
    steps: int = 10  #: T of GCD and Fast GCD
    top: int = 128  #: K of GCD and Fast GCD: replacements of a position
    candidates: int = 256  #: N of GCD: candidates of a step
    trajectories: str | None = None  #: first-step, all, top:20% or above:0.7; None: by size
    text: str | None = None  #: as-trained or as-written; None: as-trained
    claims: str | None = None  #: auto, whole, sentences or tags; None: auto for new datasets
    whole_words: bool = True  #: only whole words as replacements
    seed: int = 0  #: of what GCD samples at random
    host: str = "127.0.0.1"  #: address to listen on
    port: int = 7860  #: port to listen on
    author: str = "curator"  #: name recorded with verdicts if login is disabled
    allow_host: tuple[str, ...] = ()  #: host names of this server besides loopback names and `host`
    frame: tuple[str, ...] = ()  #: origins whose pages may show this server in a frame
    root_path: str = ""  #: path under which a proxy shows this server, such as /curator
    first_look: bool = True  #: look at what was imported
    no_login: bool = False  #: never ask for a password, whoever can reach the port
    export_root: tuple[str, ...] = ()  #: folders that pages may export to, if login is enabled
    import_root: tuple[str, ...] = ()  #: folders that pages may import from, if login is enabled
    upload_limit: float = 20.0  #: maximum size of an upload or an address, in GB
    model_memory: float | None = None  #: memory for loaded models, in GB; None: half of the total
    #: The source of each non-default value: "option", "environment" or "file".
    origins: Mapping[str, str] = field(
        default_factory=dict, compare=False, metadata={"is_setting": False}
    )

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data_directory / 'traced.db'}"

    @cached_property
    def exploring(self) -> "Exploring":
        """The explorer's settings as one object. Raises SettingsError if they are invalid."""
        # Imported late, because `--help` needs no NumPy.
        from backend.engine.trajectories.exploring import Exploring

        return Exploring(
            self.explorer,
            self.unit,  # checked by Exploring itself  # pyrefly: ignore[bad-argument-type]
            self.direction,  # pyrefly: ignore[bad-argument-type]
            self.steps,
            self.top,
            self.candidates,
            self.whole_words,
            self.seed,
            lazy=self.lazy,
        )

    def with_model(self, model: str, **others: Any) -> "Settings":
        """A copy with another model, as in `--model`. `others`: further settings, None: unchanged.
        A preset brings its own captioner unless one is given."""
        values = {key: value for key, value in others.items() if value is not None}
        preset = BY_NAME.get(model)
        if preset is None:
            return replace(self, model=model, **values)
        if preset.captioner is not None and not preset.is_embedded:
            values = {"captioner": self.captioner or preset.captioner.name, **values}
        return replace(self, model=preset.scorer.name, **values)

    def for_datasets_without_models(self) -> "Settings":
        """A copy that does not override the models stored with datasets: on a server they keep
        their models, whatever options the server was started with."""
        weaker = dict.fromkeys(self.origins, "environment")
        return replace(self, origins=weaker)

    @property
    def captioner_model(self) -> str | None:
        """The captioner to use. The embedded one only knows drawn scenes, so it is the default only
        for embedded scorers; with other scorers there is none unless their preset names one or one
        is given, by name or as "auto"."""
        if self.captioner == "auto":
            return captioner_for(self.model)
        if self.captioner:
            return None if self.captioner == "none" else self.captioner
        embedded = Path(self.model).resolve().parent == MODELS.resolve()
        return str(EMBEDDED_CAPTIONER) if embedded else None


#: The largest configuration file, in bytes.
_LARGEST = 1 << 20


def setting_names() -> tuple[str, ...]:
    """Names that can be set by option, environment or file."""
    return tuple(f.name for f in fields(Settings) if f.metadata.get("is_setting", True))


def user_file() -> Path:
    """Path of the user's configuration file, which may not exist."""
    if (home := user_home()) is None:
        return folder_file()
    earlier = home / ".config" / _NAME
    folder = earlier if earlier.is_dir() else platformdirs.user_config_path(_NAME, appauthor=False)
    return folder / "config.toml"


def folder_file() -> Path:
    """Path of the working folder's configuration file, which may not exist."""
    return Path.cwd() / "traced.toml"


def _from_file(file: Path, names: Collection[str]) -> dict[str, Any]:
    try:
        values = tomllib.loads(read_regular(file, _LARGEST).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise SettingsError(f"{file} cannot be read: {problem.strerror}.") from problem
    except (ValueError, RecursionError) as problem:
        raise SettingsError(f"{file} is not valid TOML: {problem}.") from problem
    for key, value in values.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise SettingsError(f"{file}: there is no setting '{key}'.{hint}")
        single = value if isinstance(value, list) and key in _LISTS else [value]
        if not all(isinstance(item, str | int | float) for item in single):
            raise SettingsError(f"{file}: '{key}' cannot be {type(value).__name__}.")
    return values


def _of_the_place(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the place where Gradio apps run says about itself: its address, and on a Hugging Face
    Space the name and the page that shows it. Any other source takes precedence."""
    values: dict[str, Any] = {}
    for key, name in (("host", "GRADIO_SERVER_NAME"), ("port", "GRADIO_SERVER_PORT")):
        if environment.get(name):
            values[key] = environment[name]
    if environment.get("SPACE_ID") and environment.get("SPACE_HOST"):
        values |= {"allow_host": environment["SPACE_HOST"], "frame": "https://huggingface.co"}
    return values


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    files: Sequence[Path] | None = None,
) -> Settings:
    """Merge the sources of settings.

    `overrides` holds command-line values; None means "not given". `files`: TOML files, in order of
    increasing precedence; missing ones are skipped. Default: the user's and the working folder's,
    or none if an `environment` is given. Raises SettingsError for unknown names and for values of
    the wrong type, naming the file.
    """
    if files is None and environment is not None:
        files = ()
    environment = os.environ if environment is None else environment
    names = setting_names()
    values: dict[str, Any] = _of_the_place(environment)
    origins: dict[str, str] = dict.fromkeys(values, "environment")
    for file in (user_file(), folder_file()) if files is None else files:
        of_file = _from_file(file, names)
        values |= of_file
        origins |= dict.fromkeys(of_file, "file")
    for name, text in environment.items():
        if not name.startswith("TRACED_") or name[7:].startswith(_RESERVED):
            continue
        key = name[7:].lower()
        if key in names:
            values[key], origins[key] = text, "environment"
        else:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f" Did you mean TRACED_{near[0].upper()}?" if near else ""
            log.warning("The environment variable %s is not known and has no effect.%s", name, hint)
    for key, value in (overrides or {}).items():
        if key not in names:
            raise SettingsError(f"There is no setting '{key}'.")
        if value is not None:
            values[key], origins[key] = value, "option"
    for key in values.keys() & (_NUMBERS | _DECIMALS):
        try:
            values[key] = float(values[key]) if key in _DECIMALS else int(values[key])
        except ValueError as problem:
            raise SettingsError(f"The {key} '{values[key]}' is not a number.") from problem
        if key in _DECIMALS and not 0 < values[key] < math.inf:
            raise SettingsError(f"The {key} '{values[key]}' is not a positive, finite number.")
    for key in values.keys() & _LISTS:
        raw_value = values[key]
        parts = raw_value.split(_LISTS[key]) if isinstance(raw_value, str) else raw_value
        values[key] = tuple(str(part).strip() for part in parts if str(part).strip())
    if (detector := values.get("detector", "best")) not in DETECTORS:
        raise SettingsError(f"There is no detector '{detector}'; use {', '.join(DETECTORS)}.")
    if not 0 <= values.get("port", 0) <= 65535:
        raise SettingsError(f"The port {values['port']} is not between 0 and 65535.")
    for key in values.keys() & _SWITCHES:
        word = str(values[key]).strip().lower()
        if word not in (*_ON, *_OFF):
            raise SettingsError(f"{key} is on or off, not '{values[key]}'.")
        values[key] = word in _ON
    for origin in values.get("frame", ()):
        if not _ORIGIN.fullmatch(origin):
            raise SettingsError(f"'{origin}' is not an origin such as https://example.org (frame).")
    values["root_path"] = values.get("root_path", "").rstrip("/")
    if not _ROOT_PATH.fullmatch(values["root_path"]):
        raise SettingsError(f"'{values['root_path']}' is not a path such as /curator (root-path).")
    if "data_directory" in values:
        values["data_directory"] = typed_path(values["data_directory"])
    settings = replace(Settings(data_directory=default_data_directory()), **values, origins=origins)
    if settings.database is None and "?" in str(settings.data_directory):
        raise SettingsError(
            f"The data folder {settings.data_directory} has a question mark in its path, which the "
            "address of a database cannot have. Choose another folder."
        )
    settings = settings.with_model(settings.model)
    mode_named(settings.corrector_mode)
    parse_prices(settings.prices)
    if settings.quantise not in (None, "4bit", "8bit"):
        raise SettingsError(f"quantise must be '4bit' or '8bit', not '{settings.quantise}'.")
    if settings.corrector_url and not settings.corrector:
        raise SettingsError("Name the server's model as well: --vlm NAME with --vlm-url.")
    if settings.lemon not in ("fix", "opt", "auc"):
        raise SettingsError(f"lemon must be 'fix', 'opt' or 'auc', not '{settings.lemon}'.")
    if is_reserved(settings.author):
        raise SettingsError(f"'{settings.author}' is reserved for rules; choose another name.")
    if settings.trajectories is not None:
        parse_depth(settings.trajectories)
    if settings.claims is not None:
        parse_division(settings.claims)
    if settings.text is not None:
        parse_reading(settings.text)
    settings.exploring  # noqa: B018  (rejects invalid settings now, not mid-run)
    return settings


def shown_database(url: str) -> str:
    """The database's URL without its password."""
    from sqlalchemy import make_url  # which `--help` does without

    return make_url(url).render_as_string(hide_password=True)
