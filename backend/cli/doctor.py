"""Check database, files and models, with advice for each problem."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import db
from backend import plugins
from backend.cli.commands import Finding
from backend.counts import count_of, counted
from backend.datasets.safe_files.containers import file_of, locate
from backend.engine.hub_cache import HUB_NAME, commit_of
from backend.engine.model_names import hub_name
from backend.engine.presets import asked_for_as
from backend.errors import (
    PackagesMissing,
    StoreError,
    UnsafePath,
    explain,
    missing_packages,
)
from backend.jobs.scoring.dataset_models import settings_for
from backend.jobs.scoring.known_pictures import UNKNOWN
from backend.loaded_models import Engine
from backend.settings import EMBEDDED_CAPTIONER, EMBEDDED_SCORER, Settings
from backend.store import Store, is_missing, open_database, tables_of_features
from db.backup import check
from db.feature_tables import missing_columns, unknown_tables
from db.queries import curator_queries, dataset_queries, job_queries, pair_queries
from db.queries.dataset_queries import DatasetRow

#: Pairs of a dataset, sampled at random, whose image files are looked for.
SAMPLE = 200
_LEAST_FREE = 1_000_000_000


#: Settings with the models that datasets remember, by the names of those datasets.
_ModelChoices = dict[tuple[str, ...], Settings]


@dataclass(frozen=True)
class DoctorReport:
    findings: tuple[Finding, ...]

    @property
    def is_well(self) -> bool:
        return all(finding.state != "problem" for finding in self.findings)


def examine(
    settings: Settings, load_models: bool = False, others: Iterable[Finding] = ()
) -> DoctorReport:
    """Run all checks; nothing is changed except an old database's schema. `load_models`: also load
    scorer, captioner and concreteness model, of this session and of every dataset that remembers
    its own, which may take a while. `others`: the findings of further checks, made last."""
    return DoctorReport((*_examine(settings, load_models), *others))


def _examine(settings: Settings, load_models: bool) -> Iterator[Finding]:
    yield _disk(settings.data_directory)
    yield _privacy(settings)
    yield from _plugins()
    if is_missing(settings.database_url):
        yield _no_database(settings)
        yield from _models(settings, {}, load_models)
        return
    choices: _ModelChoices = {}
    try:
        store = open_database(settings.database_url)
    except StoreError as problem:
        remedy = problem.remedies.get("terminal") or "Choose another location with --db."
        yield Finding("database", "problem", str(problem), remedy)
    else:
        findings = list(_database(store))
        yield from findings
        if findings[0].state == "ok":  # a damaged one is not read any further
            choices = _model_choices(store, settings)
        store.close()
    yield from _models(settings, choices, load_models)


def _disk(folder: Path) -> Finding:
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    message = f"{free / 1e9:.1f} GB free in {folder}"
    if free < _LEAST_FREE:
        return Finding(
            "disk", "warning", message, "Free some space, or verdicts can no longer be saved."
        )
    return Finding("disk", "ok", message)


def _privacy(settings: Settings) -> Finding:
    """Whether others on this machine can read verdicts and password hashes."""
    folder = settings.data_directory
    places = [folder, folder / "exports", *folder.glob("*.db*"), *folder.glob("*backup*")]
    if settings.database is not None:
        places += [Path(f"{settings.database}{end}") for end in ("", "-wal", "-shm")]
    is_closed = folder.is_dir() and not folder.stat().st_mode & 0o007
    readable = [
        place for place in places
        if place.exists() and place.stat().st_mode & 0o007
        and not (is_closed and place.is_relative_to(folder))
    ]  # fmt: skip
    if not readable:
        return Finding("privacy", "ok", "nobody else on this machine can read the data")
    return Finding(
        "privacy", "warning",
        f"others on this machine can read {', '.join(map(str, readable))}",
        f"Close them: chmod o-rwx {' '.join(quote(str(place)) for place in readable)}",
    )  # fmt: skip


def _plugins() -> Iterator[Finding]:
    for plugin in plugins.faulty_features():
        what = f"feature '{plugin.name}'" + (f" ({plugin.group})" if plugin.group else "")
        yield Finding(what, "warning", plugin.problem, "Restore its folder, or remove it whole.")
    if not plugins.are_offered():
        return
    # Imported here: they are slow, and few people have plug-ins.
    from backend import measures
    from backend.cli.plugin_trials import trial
    from backend.datasets import export_formats
    from backend.datasets.table_readers import table_readers
    from backend.engine.correction import captioner_loading, proposers
    from backend.engine.scoring import loading
    from backend.review import queue_form
    from backend.review.pair_parts import load_pair_parts

    _ = (
        loading.FAMILIES, proposers.PROPOSERS, captioner_loading.families(), table_readers(),
        measures.MEASURES, export_formats.EXPORT_FORMATS,
        queue_form.ADDED, load_pair_parts(),
    )  # fmt: skip
    for plugin in plugins.load_plugins():
        what = f"plug-in '{plugin.name}' ({plugin.group}, {plugin.package})"
        if problem := plugin.problem or trial(plugin):
            yield Finding(what, "warning", problem, "Repair or uninstall its package.")
        else:
            yield Finding(what, "ok", "in use")


def _no_database(settings: Settings) -> Finding:
    """Report a missing database without creating it: the path may be mistyped."""
    if settings.database is None:
        return Finding("database", "ok", "none yet; it is created at the first start")
    return Finding(
        "database", "problem", f"no database at {settings.database}",
        "Check the path given with --db; nothing was created there.",
    )  # fmt: skip


def _database(store: Store) -> Iterator[Finding]:
    wrong = check(store.opened)
    if wrong:
        yield Finding(
            "database", "problem", f"{store.address} is damaged: {wrong}",
            "Restore a backup (python app.py backup makes them), and keep this file: some of its "
            "data may be recoverable.",
        )  # fmt: skip
        return
    earlier_schema = store.opened.upgraded_from
    note = f", upgraded now from schema {earlier_schema}" if earlier_schema else ""
    yield Finding("database", "ok", f"{store.address} is sound, schema {db.head_revision()}{note}")
    with store.reading() as session:
        datasets = dataset_queries.list_datasets(session)
        accounts = curator_queries.count_active(session)
        waiting = len(job_queries.running_jobs(session))
    for dataset in datasets:
        yield _dataset(store, dataset)
    yield from _tables(store)
    if waiting:
        yield Finding(
            "jobs", "warning", f"{counted(waiting, 'job was', 'jobs were')} not finished",
            "If no app is running, start it: interrupted jobs are listed, and scoring resumes with "
            "the same command.",
        )  # fmt: skip
    yield Finding("accounts", "ok", f"{accounts} may log in" if accounts else "none: no login")


def _tables(store: Store) -> Iterator[Finding]:
    """Tables that features have added, where something is to be said of them."""
    declarations = tables_of_features()
    with store.reading() as session:
        for name in unknown_tables(session, declarations):
            yield Finding(
                f"table {name}", "ok",
                "of a feature that is not there: its rows are kept, and in use once it is back",
            )  # fmt: skip
        for tables in declarations:
            if columns := missing_columns(session, tables):
                yield Finding(
                    f"table {columns[0].partition('.')[0]}", "warning",
                    f"not as its feature needs it: {', '.join(columns)} missing",
                    "Another version of the feature made it: use that one.",
                )  # fmt: skip


def _dataset(store: Store, dataset: DatasetRow) -> Finding:
    what, root = f"dataset '{dataset.name}'", Path(dataset.root)
    with store.reading() as session:
        counts = pair_queries.counts(session, dataset.id)
        names = pair_queries.sample_images(session, dataset.id, SAMPLE)
        left_out = dataset_queries.count_pairs_with_problem(session, dataset.id, UNKNOWN)
    message = (
        f"{count_of(counts.total, 'pair')}, {counts.scored} scored, {counts.reviewed} reviewed"
    )
    if not root.is_dir():
        return Finding(
            what, "problem", f"{message}; its folder {root} is gone",
            f"If it was moved: python app.py datasets relocate {dataset.name} FOLDER. Verdicts are "
            "kept.",
        )  # fmt: skip
    missing = [name for name in names if not _is_there(root, name)]
    if missing:
        return Finding(
            what, "problem",
            f"{message}; missing: {len(missing)} of {len(names)} images checked, such as "
            f"'{missing[0][:120]}'",
            "Restore the files, or if they were moved: python app.py datasets relocate "
            f"{dataset.name} FOLDER. Pairs without their image stay and can still be decided.",
        )  # fmt: skip
    if counts.scored + left_out < counts.total:
        return Finding(what, "warning", message, f"Score it: python app.py score {dataset.name}")
    return Finding(what, "ok", f"{message}; {len(names)} images checked, none missing")


def _is_there(root: Path, name: str) -> bool:
    try:
        return file_of(locate(root, name)).is_file()
    except (UnsafePath, OSError):
        return False


def _check_embedded_models() -> Finding:
    for folder in (EMBEDDED_SCORER, EMBEDDED_CAPTIONER):
        if not (folder / "model.safetensors").is_file():
            return Finding(
                "embedded models", "problem", f"{folder} is incomplete",
                "Download the project again, or train them: make models",
            )  # fmt: skip
    return Finding("embedded models", "ok", f"in {EMBEDDED_SCORER.parent}")


def _models(settings: Settings, choices: _ModelChoices, load: bool) -> Iterator[Finding]:
    """The models of this session, and those that datasets remember."""
    if missing_packages():
        advice = PackagesMissing.remedies["terminal"]
        light = "not installed: what was scored elsewhere can be reviewed, nothing can be scored"
        yield Finding("packages of models", "ok", f"{light}. {advice}")
        return
    finding = _check_embedded_models()
    yield finding
    if finding.state != "ok":
        return
    if not load:
        yield from _not_loaded(settings, "", "Choose another with --model.")
        for names, others in choices.items():
            yield from _not_loaded(others, _of(names), _rescore(names))
        return
    engine = Engine(settings)
    yield from _try_to_load(engine, "", "Choose another with --model.")
    for names, others in choices.items():
        yield from _try_to_load(engine.with_settings(others), _of(names), _rescore(names))


def _model_choices(store: Store, settings: Settings) -> _ModelChoices:
    """Each distinct choice of models, without datasets that use the session's."""
    choices: dict[tuple[object, ...], tuple[list[str], Settings]] = {}
    datasets = store.read(dataset_queries.list_datasets)
    for dataset in datasets:
        # Options add to what this command examines; they never replace a dataset's models.
        models = settings_for(store, settings.for_datasets_without_models(), dataset)
        choices.setdefault(_models_in(models), ([], models))[0].append(dataset.name)
    choices.pop(_models_in(settings), None)
    return {tuple(names): models for names, models in choices.values()}


def _models_in(settings: Settings) -> tuple[object, ...]:
    return (
        settings.model, settings.kind, settings.captioner_model, settings.concreteness,
        settings.precision,
    )  # fmt: skip


def _of(names: tuple[str, ...]) -> str:
    """
    >>> _of(("photos",)), _of(("photos", "scans"))
    (" of dataset 'photos'", " of datasets 'photos', 'scans'")
    """
    dataset_list = ", ".join(f"'{name}'" for name in names)
    return f" of dataset{'s' if len(names) > 1 else ''} {dataset_list}"


def _rescore(names: tuple[str, ...]) -> str:
    return f"Restore it, or choose another: python app.py score {names[0]} --model NAME_OR_DIR"


def _not_loaded(settings: Settings, whose: str, advice: str) -> Iterator[Finding]:
    """Whether the scorer exists on this machine."""
    model = settings.model
    if Path(model) == EMBEDDED_SCORER:
        return
    place = hub_name(model)
    if Path(place).expanduser().exists() or model.startswith("open_clip:") or commit_of(place):
        yield Finding(
            f"scorer{whose}", "ok", f"{model}, not loaded: python app.py doctor --models does"
        )
    elif HUB_NAME.fullmatch(place):
        yield Finding(
            f"scorer{whose}", "problem", f"{model} is not on this machine",
            f"Download it: python app.py models download {asked_for_as(model)}",
        )  # fmt: skip
    else:
        yield Finding(f"scorer{whose}", "problem", f"there is no file or folder {model}", advice)


def _try_to_load(engine: Engine, whose: str, advice: str) -> Iterator[Finding]:
    try:
        info = engine.scorer.info
        yield Finding(f"scorer{whose}", "ok", f"{info.kind} · {info.model} on {info.device}")
    except Exception as problem:  # whatever fails becomes a finding
        yield Finding(f"scorer{whose}", "problem", explain(problem, "terminal"), advice)
        return
    try:
        captioner = engine.captioner
        message = engine.captioner_problem
    except Exception as problem:
        captioner, message = None, explain(problem, "terminal")
    if message:
        instead = "Choose another with --captioner."
        yield Finding(f"captioner{whose}", "warning", message, instead)
    else:
        yield Finding(f"captioner{whose}", "ok", "loads" if captioner else "none is set")
    try:
        engine.concreteness(["A dog"])
    except Exception as problem:
        instead = "Choose another with --concreteness."
        yield Finding(f"concreteness{whose}", "problem", explain(problem, "terminal"), instead)
    else:
        yield Finding(f"concreteness{whose}", "ok", engine.settings.concreteness or "embedded")
