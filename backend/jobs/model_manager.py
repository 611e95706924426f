"""List, download, remove and measure models: `workspace.models`.

Facts are read from a model's files without loading it. Its speed is measured by scoring a few pairs
of the demo; it is this machine's, so it is stored in the data folder, not in the database.
"""

import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image

from backend.bundled import DEMO
from backend.datasets.safe_files.images import load_image
from backend.datasets.safe_files.regular_files import open_regular, read_regular
from backend.engine import hub_cache, memory, threads
from backend.engine.hub_cache import bytes_of, commit_of, snapshot_of
from backend.engine.model_names import hub_name
from backend.engine.presets import EMBEDDED_NAME, PRESETS, Preset, checkpoints, memory_of, preset_of
from backend.errors import ModelUnavailable, SettingsError
from backend.jobs import model_download
from backend.jobs.model_download import DownloadReport
from backend.jobs.scoring.dataset_models import (
    DatasetEngines,
    default_model,
    models_by_dataset,
    set_default_model,
)
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.settings import Settings
from backend.store import Store

#: `model_type` of the configurations that scorers are made of; the cache is shared with programs
#: that download models of every kind. The same as the families' (`engine/scoring/loading.py`),
#: which cannot be imported without torch.
MODEL_TYPES = frozenset({"clip", "metaclip_2", "siglip", "blip"})
#: Bytes read of a model card: its licence is at the beginning.
_CARD = 1 << 16
#: Bytes per number, by the name of the precision in a configuration.
_WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
#: Bytes of a safetensors header, as the format limits them.
_LONGEST_HEADER = 100_000_000
_LICENCE = re.compile(r"^license(?:_name)?:[ \t]*[\"']?([^\"'\n]{1,60})", re.MULTILINE)


def downloaded_scorers() -> list[str]:
    """The complete scorers in the hub's cache, in the form accepted by `--model`; those of presets
    are left out."""
    presets = {checkpoint.repository for checkpoint in checkpoints()}
    scorers = (_scorer_in(name) for name in hub_cache.names() if name not in presets)
    return [name for name in scorers if name]


def _scorer_in(name: str) -> str:
    """The value of `--model` for this hub model; "" if it is no scorer or is incomplete."""
    snapshot = hub_cache.snapshot_of(name)
    if snapshot is None:
        return ""
    has_weights = any((snapshot / file).exists() for file in hub_cache.OPEN_CLIP_WEIGHTS)
    if has_weights and (snapshot / "open_clip_config.json").is_file():
        return hub_cache.OPEN_CLIP_HUB + name
    configuration = _json(snapshot / "config.json")
    # A captioner has the same type but another class.
    classes = " ".join(map(str, configuration.get("architectures") or ()))
    is_captioner = "ConditionalGeneration" in classes
    return name if configuration.get("model_type") in MODEL_TYPES and not is_captioner else ""


def path_of(model: str) -> Path | None:
    """The file or folder that `--model` names, also as in `open_clip:ARCHITECTURE@FILE` and
    `vqa:FOLDER`; None if nothing is there."""
    model = hub_name(model)
    _, _, file = model.partition("@") if ":" in model else ("", "", "")
    paths = (Path(text).expanduser() for text in (model, file) if text)
    return next((path for path in paths if os.path.exists(path)), None)


def size_of(path: Path) -> int:
    """Disk space used by a model's file or folder, in bytes."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def parameters_of(path: Path | None) -> int | None:
    """Number of a model's parameters, from the headers of its safetensors; from the size of other
    weights and the precision stated in the configuration. `path`: a folder or a file of weights;
    None if there are no weights, or none whose header can be read."""
    if path is None:
        return None
    if path.is_file():
        files, configuration = [path], {}
    else:
        names = hub_cache.files_for([file.name for file in path.iterdir() if file.exists()])
        files = [path / name for name in names if name.endswith((".safetensors", ".bin"))]
        configuration = _json(path / "config.json")
    width = _WIDTHS.get(str(configuration.get("dtype") or configuration.get("torch_dtype")), 4)
    counts = [
        _in_header(file) if file.suffix == ".safetensors" else file.stat().st_size // width
        for file in files
    ]
    return sum(counts) or None


def _in_header(file: Path) -> int:
    """Numbers in a file of safetensors, without integers (positions); 0 if its header is
    damaged. The header's length is in the first eight bytes."""
    try:
        with open_regular(file) as opened_file:
            length = int.from_bytes(opened_file.read(8), "little")
            if length > min(_LONGEST_HEADER, file.stat().st_size):
                return 0
            tensors = json.loads(opened_file.read(length))
        return sum(
            math.prod(tensor["shape"])
            for name, tensor in tensors.items()
            if name != "__metadata__" and not tensor["dtype"].startswith(("I", "U", "BOOL"))
        )
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return 0


def licence_in(folder: Path | None) -> str:
    """The licence stated in the folder's model card; "" without a card."""
    card = folder / "README.md" if folder is not None else None
    if card is None or not card.is_file():
        return ""
    try:
        with open_regular(card) as file:
            head = file.read(_CARD).decode("utf-8", "replace")
    except OSError:
        return ""
    facts = head[4:].partition("\n---")[0] if head.startswith("---\n") else ""
    # "license: other" is followed by the licence's name.
    return next((text.strip() for text in _LICENCE.findall(facts) if text.strip() != "other"), "")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


#: Pairs that are scored.
PAIRS = 20
_FILE = "model-probes.json"


@dataclass(frozen=True)
class Probe:
    """`seconds`: for a thousand pairs, captioner included, without loading; `load_seconds`: until
    the first pair; `memory`: growth of the process in bytes."""

    model: str
    captioner: str | None
    device: str
    precision: str
    seconds: float
    load_seconds: float
    memory: int
    cores: int
    measured_at: str


def _probe(settings: Settings, model: str, progress: Progress) -> Probe:
    pairs = demo_pairs(PAIRS)
    before, began = memory.resident(), time.monotonic()
    progress(0, PAIRS, "Loading the model")
    engine = Engine(settings)
    info = engine.scorer.info
    captioner = engine.captioner
    _score(engine, pairs[:1])  # warm-up is not counted
    ready_at, half = time.monotonic(), PAIRS // 2
    for first in (0, half):
        _score(engine, pairs[first : first + half])
        progress(first + half, PAIRS, "Scoring pairs of the demo")
    seconds = time.monotonic() - ready_at
    probe = Probe(
        model,
        captioner.name if captioner is not None else None,
        info.device,
        info.precision,
        1000 * seconds / PAIRS,
        ready_at - began,
        max(0, memory.resident() - before),
        os.cpu_count() or 1,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    _keep(settings.data_directory, probe)
    return probe


def probes(folder: Path) -> dict[str, Probe]:
    """Measurements on this machine, by model. `folder`: the data folder."""
    try:
        content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return {name: Probe(**values) for name, values in content.items()}
    except (OSError, ValueError, TypeError):
        return {}  # none yet, or written by another version of this program: measure again


def demo_pairs(count: int) -> list[tuple[Image.Image, str]]:
    """(picture, caption) of the first pairs of the demo, which come with the program."""
    table = DEMO / "metadata.jsonl"
    try:
        with table.open(encoding="utf-8") as lines:
            rows = [json.loads(next(lines)) for _ in range(count)]
        return [(load_image(DEMO / row["file_name"]), row["caption"]) for row in rows]
    except (OSError, StopIteration, ValueError) as problem:
        raise ModelUnavailable(
            f"The demo's pictures are missing or damaged in {DEMO}, so nothing can be "
            "measured. Reinstall the program."
        ) from problem


def _score(engine: Engine, pairs: Sequence[tuple[Image.Image, str]]) -> None:
    states = engine.encode([image for image, _ in pairs])
    captions = [caption for _, caption in pairs]
    engine.trajectories(list(zip(states, captions, strict=True)))
    engine.expectations(pairs)
    engine.concreteness(captions)


def _keep(folder: Path, probe: Probe) -> None:
    earlier_probes = {name: asdict(earlier) for name, earlier in probes(folder).items()}
    earlier_probes[probe.model] = asdict(probe)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{_FILE}.part"
    part.write_text(json.dumps(earlier_probes, indent=2), encoding="utf-8")
    part.replace(folder / _FILE)


__all__ = ["PAIRS", "DownloadReport", "ModelView", "Models", "Probe", "Removal"]


@dataclass(frozen=True)
class ModelView:
    """An available model: a preset, or another one on this machine or used by a dataset.

    Sizes in bytes; None: unknown until downloaded. `revision`: the pinned commit, or the downloaded
    one; "main" for a model that is neither pinned nor downloaded. `on_disk`: the size of its files
    here, whether or not they are complete; None for the embedded model. `core_seconds` and
    `without_captioner`: see `Preset`.
    """

    name: str
    model: str
    captioner: str | None
    good_for: str
    parameters: int | None
    download: int | None
    memory: int | None
    licence: str
    revision: str
    is_here: bool
    is_default: bool
    probe: Probe | None
    on_disk: int | None = None
    core_seconds: float | None = None
    without_captioner: str = ""

    @property
    def seconds(self) -> float | None:
        """Seconds for a thousand pairs here: measured, else roughly by the number of cores; None
        for a model that has not been measured."""
        if self.probe is not None or self.core_seconds is None:
            return self.probe.seconds if self.probe is not None else None
        return self.core_seconds / threads.cores()


@dataclass(frozen=True)
class Removal:
    """A model that is, or would be, removed. `freed`: bytes; `datasets`: those scored with it;
    `was_default`: it was the default, which is the embedded model from then on."""

    model: str
    freed: int
    datasets: tuple[str, ...]
    was_default: bool


class Models:
    """The presets and the models added on this machine."""

    def __init__(self, store: Store, engines: DatasetEngines) -> None:
        self._store, self._engines = store, engines
        self._settings = engines.of_session.settings

    def names_here(self) -> list[str]:
        """Names of the models on this machine."""
        return [view.name for view in self.list_models() if view.is_here]

    def list_models(self) -> list[ModelView]:
        """Presets first, then other models: those that datasets use, that have been probed, are the
        default or have been downloaded. Read from files; no model is loaded."""
        measurements = probes(self._settings.data_directory)
        default = default_model(self._store)
        views = [_view(preset.name, measurements, default) for preset in PRESETS]
        names = dict.fromkeys([*measurements, *models_by_dataset(self._store).values(), default])
        others = [  # files and folders that still exist, and what can be downloaded
            name
            for name in names
            if preset_of(name) is None
            and (name == default or path_of(name) is not None or _repositories(name))
        ]
        repositories = {repository for name in others for repository in _repositories(name)}
        others += [
            name
            for name in downloaded_scorers()
            if name not in others and not repositories.intersection(_repositories(name))
        ]
        return views + [_view(name, measurements, default) for name in others]

    def view(self, model: str) -> ModelView:
        """One model, by the name of a preset or in the form accepted by `--model`."""
        return _view(model, probes(self._settings.data_directory), default_model(self._store))

    def download(self, model: str, progress: Progress = no_progress) -> DownloadReport:
        """See `backend.jobs.model_download.download`."""
        return model_download.download(model, progress)

    def deletion_preview(self, model: str) -> Removal:
        """A preview of the removal. Raises NotFound if no part of the model is on this machine."""
        size = model_download.removable(model)
        going = set(_repositories(self.view(model).name))
        datasets = tuple(
            dataset
            for dataset, model_name in models_by_dataset(self._store).items()
            if going.intersection(_repositories(self.view(model_name).name))
        )
        default = _repositories(default_model(self._store))
        return Removal(model, size, datasets, bool(going.intersection(default)))

    def remove(self, model: str) -> Removal:
        """Delete a model from this machine; if it is the default, the embedded one replaces it.
        Raises NotFound."""
        removal = self.deletion_preview(model)
        model_download.remove(model)
        if removal.was_default:
            set_default_model(self._store, EMBEDDED_NAME)
        return removal

    def probe(self, model: str, progress: Progress = no_progress) -> Probe:
        """Score `PAIRS` pairs with a model and its captioner, and store what they took.

        Raises ModelUnavailable, and ModelMissing if the model is not on this machine.
        """
        preset = preset_of(model)
        name = preset.name if preset is not None else model
        with self._engines.of_session.lock:  # two models at once would distort each other's times
            return _probe(self._settings.with_model(name), name, progress)

    def default(self) -> str:
        """The model for datasets without a model of their own."""
        return default_model(self._store)

    def set_default(self, model: str) -> ModelView:
        """Raises SettingsError for a model that is not on this machine."""
        view = self.view(model)
        if not view.is_here and (path := path_of(model)) is not None:
            raise SettingsError(
                f"The folder '{path}' lacks config.json or weights. Give the folder of a model."
            )
        if not view.is_here:
            raise SettingsError(f"'{model}' is not on this machine. Download it first.")
        set_default_model(self._store, view.name)
        return self.view(model)


def _view(model: str, probe_of: Mapping[str, Probe], default: str) -> ModelView:
    if (preset := preset_of(model)) is not None:
        return _of_preset(preset, probe_of.get(preset.name), default)
    return _of_name(model, probe_of.get(model), default)


def _of_preset(preset: Preset, probe: Probe | None, default: str) -> ModelView:
    names = [checkpoint.repository for checkpoint in preset.checkpoints]
    commits = [commit_of(name) for name in names]
    return ModelView(
        preset.name,
        preset.scorer.name,
        preset.captioner.name if preset.captioner is not None else None,
        preset.good_for,
        preset.parameters,
        preset.download,
        preset.memory,
        preset.scorer.licence,
        "" if preset.is_embedded else preset.scorer.revision or commits[0] or "main",
        preset.is_embedded or all(commits),
        preset.name == default,
        probe,
        None if preset.is_embedded else sum(bytes_of(name) for name in names),
        preset.core_seconds,
        preset.without_captioner,
    )


def _of_name(model: str, probe: Probe | None, default: str) -> ModelView:
    """A model about which only the local files are known."""
    path = path_of(model)
    names = () if path is not None else _repositories(model)
    commits = [commit_of(name) for name in names]
    if path is not None:
        licence, on_disk = licence_in(path), size_of(path)
        parameters = parameters_of(path)
        is_here = hub_cache.is_whole(path) if path.is_dir() else path.is_file()
    else:
        snapshots = [snapshot_of(name) for name in names]
        parameters = sum(parameters_of(folder) or 0 for folder in snapshots) or None
        licences = [licence_in(folder) for folder in snapshots]
        licence = next(filter(None, licences), "see its page" if names else "")
        on_disk = sum(bytes_of(name) for name in names)
        is_here = bool(names) and all(commits)
    return ModelView(
        name=model,
        model=model,
        captioner=None,
        good_for="your own choice",
        parameters=parameters,
        download=on_disk if any(commits) else None,
        memory=memory_of(parameters) if parameters else None,
        licence=licence,
        revision=(commits[0] or "main") if commits else "",
        is_here=is_here,
        is_default=model == default,
        probe=probe,
        on_disk=on_disk,
    )


def _repositories(model: str) -> tuple[str, ...]:
    try:
        return model_download.repositories_of(model)
    except Exception:  # the embedded model, a folder, a name that open_clip does not know
        return ()
