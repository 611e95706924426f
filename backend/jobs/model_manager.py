"""List, download and remove models: `workspace.models`."""

from dataclasses import dataclass

from backend.engine import threads
from backend.engine.hub_cache import bytes_of, commit_of, snapshot_of
from backend.engine.presets import EMBEDDED_NAME, PRESETS, Preset, memory_of, preset_of
from backend.errors import SettingsError
from backend.jobs import local_models, model_download
from backend.jobs.dataset_models import (
    DatasetEngines,
    default_model,
    models_by_dataset,
    set_default_model,
)
from backend.jobs.model_download import DownloadReport
from backend.jobs.model_probe import PAIRS, Probe, probe, probes
from backend.progress import Progress, no_progress
from backend.store import Store

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

    def listed(self) -> list[ModelView]:
        """Presets first, then other models: those that datasets use, that have been probed, are the
        default or have been downloaded. Read from files; no model is loaded."""
        measured = probes(self._settings.data_directory)
        default = default_model(self._store)
        views = [_of_preset(preset, measured.get(preset.name), default) for preset in PRESETS]
        named = dict.fromkeys([*measured, *models_by_dataset(self._store).values(), default])
        others = [
            name for name in named
            if preset_of(name) is None and (name == default or _can_be_used(name))
        ]  # fmt: skip
        listed = {repository for name in others for repository in _repositories(name)}
        others += [
            name
            for name in local_models.downloaded_scorers()
            if name not in others and not listed.intersection(_repositories(name))
        ]
        return views + [_of_name(name, measured.get(name), default) for name in others]

    def view(self, model: str) -> ModelView:
        """One model, by the name of a preset or in the form accepted by `--model`."""
        measured, default = probes(self._settings.data_directory), default_model(self._store)
        preset = preset_of(model)
        if preset is not None:
            return _of_preset(preset, measured.get(preset.name), default)
        return _of_name(model, measured.get(model), default)

    def download(self, model: str, progress: Progress = no_progress) -> DownloadReport:
        """See `backend.jobs.model_download.download`."""
        return model_download.download(model, progress)

    def deletion_preview(self, model: str) -> Removal:
        """A preview of the removal. Raises NotFound if no part of the model is on this machine."""
        freed = model_download.removable(model)
        going = set(_repositories(self.view(model).name))
        datasets = tuple(
            dataset
            for dataset, used in models_by_dataset(self._store).items()
            if going.intersection(_repositories(self.view(used).name))
        )
        default = _repositories(default_model(self._store))
        return Removal(model, freed, datasets, bool(going.intersection(default)))

    def remove(self, model: str) -> Removal:
        """Delete a model from this machine; if it is the default, the embedded one replaces it.
        Raises NotFound."""
        removal = self.deletion_preview(model)
        model_download.remove(model)
        if removal.was_default:
            set_default_model(self._store, EMBEDDED_NAME)
        return removal

    def probe(self, model: str, progress: Progress = no_progress) -> Probe:
        """See `backend.jobs.model_probe.probe`."""
        preset = preset_of(model)
        name = preset.name if preset is not None else model
        with self._engines.of_session.lock:  # two models at once would distort each other's times
            return probe(self._settings.chosen(name), name, progress)

    def default(self) -> str:
        """The model for datasets without a model of their own."""
        return default_model(self._store)

    def set_default(self, model: str) -> ModelView:
        """Raises SettingsError for a model that is not on this machine."""
        view = self.view(model)
        if not view.is_here:
            raise SettingsError(_missing_model_message(model))
        set_default_model(self._store, view.name)
        return self.view(model)


def _of_preset(preset: Preset, measured: Probe | None, default: str) -> ModelView:
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
        measured,
        None if preset.is_embedded else sum(bytes_of(name) for name in names),
        preset.core_seconds,
        preset.without_captioner,
    )


def _of_name(model: str, measured: Probe | None, default: str) -> ModelView:
    """A model about which only the local files are known."""
    path = local_models.path_of(model)
    names = () if path is not None else _repositories(model)
    commits = [commit_of(name) for name in names]
    if path is not None:
        licence, on_disk = local_models.licence_in(path), local_models.size_of(path)
        parameters = local_models.parameters_of(path)
    else:
        snapshots = [snapshot_of(name) for name in names]
        parameters = sum(local_models.parameters_of(folder) or 0 for folder in snapshots) or None
        stated = [local_models.licence_in(folder) for folder in snapshots]
        licence = next(filter(None, stated), "see its page" if names else "")
        on_disk = sum(bytes_of(name) for name in names)
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
        is_here=local_models.is_model(path) if path is not None else bool(names) and all(commits),
        is_default=model == default,
        probe=measured,
        on_disk=on_disk,
    )


def _can_be_used(model: str) -> bool:
    """Whether the model is a file or folder that still exists, or can be downloaded."""
    return local_models.path_of(model) is not None or bool(_repositories(model))


def _missing_model_message(model: str) -> str:
    path = local_models.path_of(model)
    if path is not None:
        return f"The folder '{path}' lacks config.json or weights. Give the folder of a model."
    return f"'{model}' is not on this machine. Download it first."


def _repositories(model: str) -> tuple[str, ...]:
    try:
        return model_download.repositories_of(model)
    except Exception:  # the embedded model, a folder, a name that open_clip does not know
        return ()
