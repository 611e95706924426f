"""Which models belong to a dataset: those that it was last scored with.

A model given on the command line applies to that command, and becomes the dataset's own once the
dataset has been scored with it. Models from environment and configuration files are for datasets
that have none yet.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.engine.claims.division import Division, parse_division
from backend.engine.detection.types import FIRST_STEP_DETECTORS
from backend.engine.presets import EMBEDDED, EMBEDDED_NAME, languages_of
from backend.engine.scoring.cleaning import CLEANED_KINDS, Reading, reading_of
from backend.engine.trajectories.depth import Depth, default_depth, parse_depth
from backend.errors import NotScored, missing_packages
from backend.jobs.scoring.stored_rows import exploring_of
from backend.loaded_models import Engine
from backend.settings import Settings
from backend.store import Store
from db.queries import dataset_queries, run_queries, setting_queries
from db.queries.dataset_queries import DatasetRow
from db.queries.run_queries import RunRow

#: Settings that a dataset remembers. The first group depends on the model: another model has its
#: own.
_OF_THE_MODEL = ("model", "kind", "captioner", "precision", "lemon")
_OF_EXPLORING = ("explorer", "unit", "direction", "steps", "top", "candidates", "whole_words",
                 "seed", "lazy")  # fmt: skip
REMEMBERED = (*_OF_THE_MODEL, "concreteness", *_OF_EXPLORING, "trajectories", "claims", "text")
#: Whether pictures of a kind that the model does not know are scored as well.
ANYWAY = "anyway"
_DEFAULT = "default_model"
#: How captions were divided before there were claims.
_EARLIER: Division = "whole"
#: How models read captions before they read them as in their training.
_EARLIER_READING: Reading = "as-written"


class DatasetEngines:
    """The engine of each dataset; the session's engine for datasets without a model of their
    own."""

    def __init__(self, store: Store, session_engine: Engine) -> None:
        self._store, self.of_session = store, session_engine

    def of_dataset(self, dataset: DatasetRow | int | None, model: str | None = None) -> Engine:
        """`dataset`: its record or id; None: the session's engine. `model`: a model to use instead,
        in the form accepted by `--model`. Raises NotFound."""
        settings = self.of_session.settings
        if model:
            return self.of_session.with_settings(settings.with_model(model))
        if dataset is None:
            return self.of_session
        if isinstance(dataset, int):
            dataset = self._store.read(dataset_queries.get_dataset, dataset)
        return self.of_session.with_settings(settings_for(self._store, settings, dataset))

    def of_pair(self, pair_id: int) -> Engine:
        """Raises NotFound."""
        _, dataset = self._store.read(dataset_queries.pair_and_dataset, pair_id)
        return self.of_dataset(dataset)


def settings_for(store: Store, settings: Settings, dataset: DatasetRow) -> Settings:
    """The session's settings with the dataset's own models."""
    models = dataset.models or store.read(_of_last_run, dataset.id)
    if not models and "model" not in settings.origins:  # the default may have changed
        plain = settings if "captioner" in settings.origins else replace(settings, captioner=None)
        settings = with_default(store, plain)
    return with_models(settings, models)


def with_models(settings: Settings, models: Mapping[str, Any]) -> Settings:
    """Options take precedence over what the dataset remembers; another model brings its own
    captioner, precision and kind of score."""
    from_options = {key for key, origin in settings.origins.items() if origin == "option"}
    if "model" in from_options and model_name(settings.model) != models.get("model"):
        from_options |= set(_OF_THE_MODEL)
    if "explorer" in from_options:
        from_options.add("lazy")  # other explorers have no use for it
    if "model" in models:
        models = {"text": _EARLIER_READING, **models}
    values = {key: models[key] for key in REMEMBERED if key in models and key not in from_options}
    model = values.pop("model", None)
    if model is None:
        return settings.with_model(settings.model, **values)
    others: dict[str, Any] = dict.fromkeys({"kind", "captioner", "precision"} - from_options)
    others |= values
    return replace(settings.with_model(model), **others)


def models_by_dataset(store: Store) -> dict[str, str]:
    """The model that each dataset is scored with, by the dataset's name, oldest dataset first."""
    with store.reading() as session:
        choices = {
            row.name: row.models or _of_last_run(session, row.id)
            for row in dataset_queries.list_datasets(session)
        }
    return {name: str(models["model"]) for name, models in choices.items() if "model" in models}


def reading_note(models: Mapping[str, Any], run: RunRow | None) -> str:
    """That a dataset was scored before its model read captions as in its training, in words; "" if
    it makes no difference. `models`: what the dataset remembers."""
    if run is None or "text" in models or run.scorer_kind not in CLEANED_KINDS:
        return ""
    if _is_embedded(run.model) or reading_of(run.model) == "as-written":
        return ""
    return (
        "The model read these captions as written; score them again to have them read as trained."
    )


def depth_for(settings: Settings, pairs: int, is_new: bool) -> Depth:
    """Which of a dataset's `pairs` get whole trajectories: as the settings, which are its own, say;
    by their number if it has never been scored, unless the requested detector needs whole ones."""
    if settings.trajectories is not None:
        return parse_depth(settings.trajectories)
    needs_steps = settings.detector not in ("best", *FIRST_STEP_DETECTORS)
    return default_depth(pairs if is_new and not needs_steps else 0)


def division_for(settings: Settings, is_new: bool) -> Division:
    """How captions of a dataset are divided into claims: as the settings, which are its own, say; a
    new one by the form of its captions. One that was scored before there were claims stays as it
    is."""
    if settings.claims is not None:
        return parse_division(settings.claims)
    return "auto" if is_new else _EARLIER


def division_before(dataset: DatasetRow) -> Division:
    """How captions were divided when the dataset was scored last."""
    return parse_division(str(dataset.models.get("claims") or _EARLIER))


def remember(
    store: Store,
    dataset: DatasetRow,
    settings: Settings,
    depth: Depth,
    division: Division,
    constants: Mapping[str, Any],
    anyway: bool,
    is_unfamiliar: bool,
) -> DatasetRow:
    """Store the models of these settings, the depth of trajectories, the division into claims and
    the `constants` (`dataset_constants.to_remember`) as the dataset's own, used for scoring from
    now on; returns its record with them. `is_unfamiliar`: the model does not know the pictures that
    it is to score `anyway`."""
    models = models_of(settings, depth.name) | {"claims": division, **constants}
    was_anyway = was_scored_anyway(dataset, settings)
    if anyway or was_anyway:
        models[ANYWAY] = True
    if is_unfamiliar or (was_anyway and dataset.is_unfamiliar):
        models[dataset_queries.UNFAMILIAR] = True
    if dataset.models != models:
        store.write(dataset_queries.remember_models, dataset.id, models)
    return replace(dataset, models=models)


def models_of(settings: Settings, depth: str) -> dict[str, Any]:
    """What a dataset remembers of these settings; `depth`: the name of a `Depth`."""
    models = {key: getattr(settings, key) for key in REMEMBERED}
    return models | {"model": model_name(settings.model), "trajectories": depth}


def was_scored_anyway(dataset: DatasetRow, settings: Settings) -> bool:
    """Whether the dataset was scored by this model with `anyway`: known pictures or not."""
    models = dataset.models
    return bool(models.get(ANYWAY)) and models.get("model") == model_name(settings.model)


def model_name(model: str) -> str:
    """The stored name of a model; the embedded one gets a name that is valid on any machine."""
    return EMBEDDED_NAME if _is_embedded(model) else model


def _is_embedded(model: str) -> bool:
    path = Path(model)
    return (path.parent.name, path.name) == (EMBEDDED.parent.name, EMBEDDED.name)


def _of_last_run(session: Session, dataset_id: int) -> dict[str, Any]:
    """Models of a dataset's last run, for datasets that do not remember their models; {} if there
    is no run, or if its model directory no longer exists."""
    run = run_queries.latest_run(session, dataset_id, "score")
    if run is None or (Path(run.model).is_absolute() and not Path(run.model).exists()
                       and not _is_embedded(run.model)):  # fmt: skip
        return {}
    if _is_embedded(run.model):
        return {"model": "embedded", "kind": None if run.scorer_kind == "blip-itm"
                else run.scorer_kind}  # fmt: skip
    exploring = exploring_of(run)
    return {
        "model": run.model,
        "kind": run.scorer_kind,
        "precision": run.parameters.get("precision", "float32"),
        "explorer": exploring.name,
        **{key: getattr(exploring, key) for key in _OF_EXPLORING if key != "explorer"},
    }


# ------------------------------------------------------------------------ the default


def default_model(store: Store) -> str:
    """The model for datasets that have none yet; the embedded one unless another has been
    set."""
    with store.reading() as session:
        return str(setting_queries.get_setting(session, _DEFAULT, EMBEDDED_NAME))


def set_default_model(store: Store, model: str) -> None:
    store.write(setting_queries.set_setting, _DEFAULT, model)


def with_default(store: Store, settings: Settings) -> Settings:
    """The settings, with the stored default model unless one was given."""
    if "model" in settings.origins:
        return settings
    return settings.with_model(default_model(store))


def scored_by_this_model(store: Store, engine: Engine, dataset: DatasetRow) -> RunRow:
    """The dataset's newest scoring run; NotScored if there is none, or by another model."""
    run = store.read(run_queries.latest_run, dataset.id, "score")
    if run is None:
        raise NotScored(f"'{dataset.name}' is not scored yet. Score it first.")
    if missing_packages():
        return run  # there is no model of this session; what needs one refuses
    info = engine.scorer.info
    if (run.scorer_kind, run.revision) != (info.kind, info.revision):
        raise NotScored(
            f"'{dataset.name}' was scored with {run.scorer_kind} {run.model}, this session uses "
            f"{info.kind} {info.model}.",
            terminal=f"Start with --model {run.model}, or score it again.",
            page="Score it again under Add data, or ask the server's administrator for that model.",
        )
    return run


def languages_read(run: RunRow | None) -> frozenset[str]:
    """The languages that the model of these scores reads; empty: nobody says."""
    return languages_of(run.model) if run is not None else frozenset()
