"""`score SOURCE --out DESTINATION/`: score shard by shard; nothing enters the database.

A shard is one file of the source (a tar, a Parquet file, a table) and a task of its own, the same
wherever it runs: it becomes a dataset in a small store of its own, is scored by the same stages as
any other dataset, and is written to the destination as one Parquet file; then the store is deleted.
So memory and disk do not grow with the number of shards. Only a task's outcome, a few numbers,
returns to the process that gives the tasks out.

The first detector is trained once, on one shard, and judges all of them: probabilities of different
shards are comparable. In the destination, `run.json` says what computed the results, `detector` is
the detector, `manifest.json` lists the shards that are done and the state they were in. A result
that is missing in the manifest, because the program was killed, is read for its own facts. A task
that runs twice writes the same file twice. Commands on several machines may share a destination:
each scores the shards that no other has taken (`shard_leases`). The result of a shard that is
gone, or that cannot be read any more, is kept as `NAME.parquet.stale`.

The columns of a result: `results`.
"""

import hashlib
import json
import os
import random
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.cells import trim
from backend.datasets.export_row import MARK
from backend.datasets.read_options import TABLES, is_hidden
from backend.datasets.reading.named_pictures import PICTURE_FOLDERS
from backend.datasets.reading.tables import rows_of
from backend.datasets.reading.tar_descriptions import files_about_tars
from backend.datasets.reading.text_tars import TEXT_FOLDERS, has_pictures
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.locations import Location, StoredFile
from backend.datasets.safe_files.parquet_groups import read_footer
from backend.datasets.safe_files.text_files import open_in_folders
from backend.engine.constants.constant_search import stated_constants
from backend.engine.trajectories.depth import FIRST_STEP
from backend.errors import (
    DatasetError,
    DatasetFormatError,
    DatasetNotFound,
    SettingsError,
    TrainingError,
)
from backend.features.shards.ray_workers import Cluster, RayWorkers
from backend.features.shards.reports import ShardsReport
from backend.features.shards.results import RESULT_SCHEMA, result_rows
from backend.features.shards.shard_leases import Leases
from backend.jobs.dataset_reports import SHOWN_PROBLEMS
from backend.jobs.export_scores import write_parquet
from backend.jobs.import_dataset import import_dataset
from backend.jobs.notices import notices_of, set_aside
from backend.jobs.scoring.dataset_constants import CONSTANTS, ConstantChoice
from backend.jobs.scoring.dataset_models import models_of
from backend.jobs.scoring.score_dataset import run_key, run_of, score_dataset
from backend.jobs.scoring.workers import (
    AUTOMATIC,
    WORTH_A_PROCESS,
    Devices,
    Opened,
    Workers,
    choose_processes,
)
from backend.loaded_models import Engine
from backend.progress import LastReport, Progress, no_progress
from backend.store import Store, open_database
from backend.version import VERSION
from db.queries import classifier_queries, dataset_queries

#: The key of this program's facts in a Parquet file's metadata.
FACTS = b"traced_curator"
RUN, DETECTOR, _MANIFEST = "run.json", "detector", "manifest.json"
#: The detector that ranked the results before the present one.
PREVIOUS_DETECTOR = "detector-previous"
#: What two runs have in common that give the same numbers, besides the detector.
RUN_KEY = ("scorer_kind", "model", "revision", "explorer", "parameters")
#: The detector is trained on the largest of so many shards drawn at random.
_DRAWN = 8
#: The manifest is written again when so many shards are done, or this share of all.
_AT_LEAST, _SHARE = 20, 0.01
#: The column of a result that says which pairs are set aside (`results`).
SET_ASIDE = "set_aside"
#: The ending of results whose shard is gone or has changed.
STALE = ".stale"
#: Seconds between looks at what other commands have scored.
_POLL = 2.0
#: No detector is trained on a shard of whose pairs more than this share are set aside.
_MOST_SET_ASIDE = 0.5
#: Shards, or columns, that are named in a message.
_NAMED = 3
#: Tables whose columns are the same in every row, and how many are looked at at once.
_WITH_HEADER, _READ_AT_ONCE = (".csv", ".tsv", ".parquet"), 16
#: What is stored of a shard: its version, pairs, problems.
Facts = dict[str, Any]


@dataclass(frozen=True)
class Detector:
    """A classifier as a file: a line of JSON, then the classifier itself."""

    kind: str
    report: dict[str, Any]
    payload: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.payload).hexdigest()[:16]

    def to_bytes(self) -> bytes:
        head = {"kind": self.kind, "report": self.report}
        return json.dumps(head).encode() + b"\n" + self.payload

    @classmethod
    def from_bytes(cls, content: bytes) -> "Detector":
        head, payload = content.split(b"\n", 1)
        return cls(**json.loads(head), payload=payload)


@dataclass(frozen=True)
class Task:
    """What every task of a run needs. `devices`: for the stages inside a shard; `work`: the folder
    for unfinished shards, where a task that was interrupted continues; None: a new one each time,
    on whatever machine; `constant_choice`: which constant parts of captions are left out, None:
    those that are found in the shard."""

    source: str
    out: str
    anyway: bool
    devices: Devices | None = None
    work: Path | None = None
    detector: Detector | None = None
    constant_choice: ConstantChoice | None = None

    def __call__(self, engine: Engine, shards: Sequence[StoredFile], _: Opened) -> Facts | str:
        """Score one shard and write its results; returns its facts, or why it cannot be read.
        Without a detector, train it on this shard and write it too."""
        (shard,) = shards
        if Location(self.out).read(RUN) is None:
            raise SettingsError(f"A worker does not see {self.out}. Give an address (s3://…).")
        if self.work is not None:
            return self._score_in(engine, shard, self.work / _digest(shard.key, shard.version))
        with tempfile.TemporaryDirectory(prefix="traced-shard-") as folder:
            return self._score_in(engine, shard, Path(folder) / "work")

    def _score_in(self, engine: Engine, shard: StoredFile, work: Path) -> Facts | str:
        work.mkdir(parents=True, exist_ok=True)
        settings = replace(engine.settings, data_directory=work, trajectories=FIRST_STEP)
        try:
            facts = _score(engine.for_one_job(settings), shard, self, work)
        except DatasetError as problem:
            facts = str(problem)
        shutil.rmtree(work)
        return facts


def score_shards(
    engine: Engine,
    source: str | Path,
    out: str | Path,
    progress: Progress = no_progress,
    devices: Devices | Cluster = AUTOMATIC,
    anyway: bool = False,
    seed: int = 0,
    constant_choice: ConstantChoice | None = None,
) -> ShardsReport:
    """Score every shard of `source` that has no result in `out`; both are folders or addresses.

    A shard that cannot be read is left out and reported. `devices`: one shard is one task of these
    processes or machines; `seed`: of the shard that trains the detector; `constant_choice`: as of a
    Task. Raises DatasetNotFound, ExportError, SettingsError for a destination with results of
    another run or a constant without words, and the errors of `score_dataset`.
    """
    place, results = Location(source), Location(out)
    check_places(place, results)
    shards = shards_in(place)
    if engine.scorer.info.compares_pairs:
        raise SettingsError(
            f"'{engine.scorer.info.kind}' compares the pairs of a whole dataset, and shards are "
            "scored one by one.",
            terminal="Choose another --scorer.",
        )
    _check_columns(place, shards)
    _check_texts(place, shards)
    key = run_key(engine, 0)
    division = engine.settings.claims or "auto"
    identity = {name: key[name] for name in RUN_KEY} | {
        "source": str(place), "version": VERSION, "seed": seed,
        "detector": engine.settings.detector, "captioner": engine.settings.captioner_model,
        "claims": division,
    }  # fmt: skip
    models = models_of(engine.settings, FIRST_STEP) | {"claims": division}
    identity[CONSTANTS] = None
    if constant_choice is not None:
        stated_constants(constant_choice.stated, lambda: (), may_lack=True)
        constant_choice = replace(constant_choice, may_lack=True)
        identity[CONSTANTS] = models[CONSTANTS] = constant_choice.to_json(())
    if differences := claim(results, RUN, identity, models=models):
        raise SettingsError(
            f"{results} holds the results of another run (other {', '.join(differences)}). Name "
            "another one, or remove it."
        )
    failures: dict[str, str] = {}
    report = LastReport(progress)
    task = Task(str(source), str(out), anyway, constant_choice=constant_choice)
    with (
        Leases(results) as leases,
        _work_folder(engine, results, shards) as work,
        _workers(engine, devices, len(shards), report) as workers,
    ):
        if isinstance(devices, Devices):
            task = replace(task, work=work, devices=devices if len(shards) == 1 else None)
        detector = _first_detector(workers, shards, results, report, task, seed, leases)
        task = replace(task, detector=detector)
        facts = facts_in(results)
        remaining = [shard for shard in shards if not is_done(shard, facts)]
        has_changed = bool(remaining) or results.read(_MANIFEST) is None
        has_changed |= _set_aside(results, facts, shards, leases)
        scored_count = 0
        while remaining:
            done = len(shards) - len(remaining)
            report(done, len(shards), "Scoring")
            batches = _take_shards(remaining, results, facts, leases)
            for number, ((shard,), outcome) in enumerate(workers.map(task, batches), 1):
                leases.give_back(shard.name)
                if isinstance(outcome, str):
                    failures[shard.name] = outcome
                else:
                    facts[shard.name] = outcome
                    scored_count += 1
                    results.remove(result_of(shard.name) + STALE)
                report(done + number, len(shards), f"Scored {shard.name}")
                if number % max(_AT_LEAST, int(_SHARE * len(shards))) == 0:
                    _write_in_turn(results, facts, failures, leases)
            remaining = [s for s in remaining if not is_done(s, facts) and s.name not in failures]
            if remaining:
                waits = (
                    f"Waiting for another command that scores {_names(s.name for s in remaining)}"
                )
                report(len(shards) - len(remaining), len(shards), waits)
                time.sleep(_POLL)
        if has_changed:
            _write_in_turn(results, facts, failures, leases)
    every = {shard.name: facts[shard.name] for shard in shards if is_done(shard, facts)}
    return report_of(results, every, len(shards), scored_count, failures)


def _take_shards(
    shards: Sequence[StoredFile], out: Location, facts: dict[str, Facts], leases: Leases
) -> Iterator[list[StoredFile]]:
    """Each shard once it is this command's, and unless another has scored it since `facts` were
    read, which then has its facts."""
    for shard in shards:
        files = leases.take(shard.name)
        if files is None:
            continue
        result = files.get(result_of(shard.name))
        if result is not None:
            facts[shard.name] = _fact_in(out, result)
            if is_done(shard, facts):
                leases.give_back(shard.name)
                continue
        yield [shard]


def _set_aside(
    out: Location, facts: dict[str, Facts], shards: Sequence[StoredFile], leases: Leases
) -> bool:
    """Call the results of shards that are gone or have changed stale, and forget their facts;
    returns whether there were any."""
    shard_of = {shard.name: shard for shard in shards}
    old = [name for name in facts if name not in shard_of or not is_done(shard_of[name], facts)]
    for name in old:
        fact = facts.pop(name)
        files = leases.take(name)
        if files is None:
            continue  # another command is replacing it
        result = files.get(result_of(name))
        if result is not None and _fact_in(out, result)["version"] == fact["version"]:
            out.rename(result.name, result.name + STALE)
        leases.give_back(name)
    return bool(old)


def report_of(
    out: Location,
    facts: Mapping[str, Facts],
    shards: int,
    scored_now: int,
    failures: Mapping[str, str] | None = None,
) -> ShardsReport:
    """`facts`: of the shards with a result, by name; `failures`: why others have none."""
    return ShardsReport(
        shards=shards,
        scored_now=scored_now,
        pairs=sum(fact["pairs"] for fact in facts.values()),
        left_out=sum(fact["left_out"] for fact in facts.values()),
        set_aside=sum(fact.get("set_aside", 0) for fact in facts.values()),
        faults=tuple(
            f"{name}: {text}"
            for name, fact in sorted(facts.items())
            for text in fact.get("faults", ())
        ),
        failed=tuple(f"{name}: {why}" for name, why in sorted((failures or {}).items())),
        stale=tuple(file.name for file in out.files() if file.name.endswith(STALE)),
        out=str(out),
    )


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]


@contextmanager
def _work_folder(engine: Engine, out: Location, shards: Sequence[StoredFile]) -> Iterator[Path]:
    """The folder for unfinished shards, where an interrupted command continues: in the data folder,
    or where that cannot be written, for this command alone."""
    work = engine.settings.data_directory / "shards" / _digest(str(out))
    try:
        work.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(work, os.W_OK)
    except OSError:
        is_writable = False
    if not is_writable:
        with tempfile.TemporaryDirectory(prefix="traced-shards-") as folder:
            yield Path(folder)
        return
    yield work
    for shard in shards:  # begun here, and finished by another command
        shutil.rmtree(work / _digest(shard.key, shard.version), ignore_errors=True)
    with suppress(OSError):
        work.rmdir()


def _workers(
    engine: Engine, devices: Devices | Cluster, shards: int, last_report: LastReport
) -> Workers | RayWorkers:
    if isinstance(devices, Cluster):
        return RayWorkers(engine, devices)
    if shards == 1:  # its batches are shared instead
        return Workers(engine, None)
    several = choose_processes(devices, engine, WORTH_A_PROCESS * (shards - 1))
    return Workers(engine, None, several, last_report.repeat)


def check_places(source: Location, out: Location) -> None:
    """Raise SettingsError if `out` lies in the source, and ExportError if it takes no files."""
    out.check_writable()
    if not (source.is_local or out.is_local):
        inside = f"{out}/".startswith(f"{source}/")
    else:
        inside = source.is_local and out.is_local and out.folder.is_relative_to(source.folder)
    if inside:
        raise SettingsError(f"{out} lies in the source: its results would be read as shards.")


def shards_in(source: Location) -> list[StoredFile]:
    """The source's tars, of the folder or its subfolders, or else its tables; in order of their
    names. Raises DatasetNotFound if there are none."""
    files = source.files()
    export_folders = {
        PurePosixPath(f.name).parent for f in files if PurePosixPath(f.name).name == MARK
    }
    tars, tables = [], []
    for file in files:
        path = PurePosixPath(file.name)
        if is_hidden(path.name):
            continue
        if path.suffix == ".tar" and len(path.parts) <= 2 and (
            len(path.parts) == 1 or path.parent not in export_folders
        ):  # fmt: skip
            tars.append(file)
        elif path.suffix.lower() in TABLES:
            tables.append(file)
    if not (tars or tables):
        raise DatasetNotFound(f"{source} holds no tar shards and no tables.")
    return tars or tables


def _check_columns(source: Location, shards: Sequence[StoredFile]) -> None:
    """Raise DatasetFormatError, with its name, if a table has other columns than the first. One
    that cannot be read is left to its task."""
    tables = [s for s in shards if PurePosixPath(s.name).suffix.lower() in _WITH_HEADER]
    with DaemonPool(_READ_AT_ONCE) as pool:
        headers = pool.map(partial(_columns_of, source), tables)
    known_headers = [(table, names) for table, names in zip(tables, headers, strict=True) if names]
    for table, names in known_headers[1:]:
        first, first_columns = known_headers[0]
        if difference := sorted(names ^ first_columns):
            raise DatasetFormatError(
                f"{table.name} and {first.name} have different columns: "
                f"{', '.join(map(trim, difference[:_NAMED]))}. Score them from separate folders, "
                "or make their columns equal."
            )


def _check_texts(source: Location, shards: Sequence[StoredFile]) -> None:
    """Raise DatasetFormatError if the texts of the tars lie in tars of their own."""
    tars = {s.name: s for s in shards if s.name.endswith(".tar")}
    if (names := _find_texts_apart(tars)) is None:
        return
    texts, pictures = names
    with tempfile.TemporaryDirectory() as folder:
        path = source.copy(tars[texts], Path(folder))
        if has_pictures(path, path.parent):
            return
    raise DatasetFormatError(
        f"'{trim(texts)}' holds the texts of '{trim(pictures)}', and shards are scored one by one. "
        "Import the folder that both are in and score that dataset, or pack each text into the tar "
        "of its picture."
    )


def _find_texts_apart(tars: Collection[str]) -> tuple[str, str] | None:
    """A tar that is named as if it held the texts of another, and that one; None if there is none.

    >>> _find_texts_apart(["images/0.tar", "texts/0.tar"]), _find_texts_apart(["0.tar", "1.tar"])
    (('texts/0.tar', 'images/0.tar'), None)
    """
    names = {tuple(re.split(r"([/._-])", name)): name for name in tars}
    for words, name in names.items():
        for place, word in enumerate(words):
            for other in PICTURE_FOLDERS if word.lower() in TEXT_FOLDERS else ():
                pictures = names.get((*words[:place], other, *words[place + 1 :]))
                if pictures is not None:
                    return name, pictures
    return None


def _columns_of(source: Location, table: StoredFile) -> frozenset[str]:
    """The columns; none if it cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = source.ends(table, Path(folder))
            if path.suffix.lower() == ".parquet":
                with open_in_folders(path, (path.parent,)) as raw:
                    read_footer(raw)  # raises where pyarrow might crash
                    return frozenset(pq.read_schema(path).names)
            row = next(rows_of(path), None)
            return frozenset(row.values or ()) if row is not None else frozenset()
        except (DatasetError, OSError, ValueError, pa.ArrowException):
            return frozenset()


def claim(out: Location, name: str, identity: dict[str, Any], **further: Any) -> list[str]:
    """Write to the file `name` what makes the content of a destination, or compare with what did;
    returns the names of what differs. `further`: written, not compared. Raises SettingsError if
    something else is there."""
    content = out.read(name)
    if content is None and not out.is_empty():
        content = out.read(name)  # another command may just have written it
        if content is None:
            raise SettingsError(f"{out} is not empty. Name another destination.")
    if content is None:
        try:
            out.write(name, json.dumps(identity | further, indent=1, sort_keys=True).encode())
            return []
        except (FileExistsError, FileNotFoundError):  # another command is writing it
            time.sleep(1)
            content = out.read(name) or b"{}"
    before = json.loads(content)
    return sorted(key for key in identity if before.get(key) != identity[key])


def run_in(out: Location) -> dict[str, Any]:
    """What computed the results. Raises SettingsError if there are none."""
    run = out.read(RUN)
    if run is None or out.read(DETECTOR) is None:
        raise SettingsError(f"{out} holds no results.")
    return dict(json.loads(run))


def detector_in(out: Location) -> Detector:
    """The detector that ranks the results, of a place that has one."""
    content = out.read(DETECTOR)
    assert content is not None
    return Detector.from_bytes(content)


def result_of(shard: str) -> str:
    """The name of a shard's result."""
    return f"{shard}.parquet"


def read_result(file: Path, columns: Iterable[str]) -> pa.Table:
    """Columns of a result, and whether each pair is set aside; of an earlier version's, none is."""
    has_column = SET_ASIDE in pq.read_schema(file).names
    names = [*columns, *([SET_ASIDE] if has_column else [])]
    table = pq.read_table(file, columns=names, partitioning=None)
    if has_column:
        return table
    return table.append_column(SET_ASIDE, pa.array([False] * table.num_rows))


def is_done(shard: StoredFile, facts: Mapping[str, Facts]) -> bool:
    return shard.name in facts and facts[shard.name]["version"] == shard.version


def facts_in(out: Location) -> dict[str, Facts]:
    """The facts of every shard with a result: from the manifest, or from results that it lacks."""
    in_manifest = json.loads(out.read(_MANIFEST) or b"{}").get("shards", {})
    facts: dict[str, Facts] = {}
    for file in out.files():
        shard = file.name.removesuffix(".parquet")
        if file.name != result_of(shard) or is_hidden(PurePosixPath(file.name).name):
            continue
        fact = in_manifest.get(shard)
        if fact is None or fact["result"] != file.version:
            fact = _fact_in(out, file)
        facts[shard] = fact
    return facts


def _fact_in(out: Location, file: StoredFile) -> Facts:
    """The facts that a result itself has. Raises SettingsError if it is none."""
    with tempfile.TemporaryDirectory() as folder:
        metadata = pq.read_schema(out.copy(file, Path(folder))).metadata or {}
    if FACTS not in metadata:
        raise SettingsError(f"{file.key} is not a result of this program. Move it away.")
    return dict(json.loads(metadata[FACTS]), result=file.version)


def scored_shards(results: Location, source: Location) -> dict[str, StoredFile]:
    """The source's shards that are scored, by name. Raises SettingsError, or DatasetFormatError if
    some were not scored as they are now."""
    facts, failures = facts_in(results), failures_in(results)
    shards = {shard.name: shard for shard in shards_in(source)}
    for lacking, what in (
        (shards.keys() - facts.keys() - failures.keys(), "are not scored yet"),
        ({name for name in shards.keys() & facts.keys() if not is_done(shards[name], facts)},
         "have changed since they were scored"),
    ):  # fmt: skip
        if lacking:
            raise SettingsError(
                f"{_names(lacking)} of {source} {what}.",
                terminal=f"First: score {source} --out {results}/",
            )
    if missing_shards := facts.keys() - shards.keys():
        raise DatasetFormatError(
            f"{_names(missing_shards)} {'is' if len(missing_shards) == 1 else 'are'} gone from "
            f"{source}. Restore what was scored, or score again: that sets aside the results of "
            "what is gone.",
        )
    return {name: shard for name, shard in shards.items() if name in facts}


def _names(names: Iterable[str]) -> str:
    """
    >>> _names({"b", "a"}), _names("edcba")
    ('a, b', 'a, b, c and 2 more')
    """
    sorted_names = sorted(names)
    more = f" and {len(sorted_names) - _NAMED} more" if len(sorted_names) > _NAMED else ""
    return ", ".join(sorted_names[:_NAMED]) + more


def failures_in(out: Location) -> dict[str, str]:
    """The shards that could not be read, by name, and why."""
    return dict(json.loads(out.read(_MANIFEST) or b"{}").get("failed", {}))


def write_manifest(out: Location, facts: dict[str, Facts], failures: dict[str, str]) -> None:
    versions = {file.name: file.version for file in out.files()}
    for shard, fact in facts.items():
        fact["result"] = versions.get(result_of(shard), "")
    content = {"shards": facts, "failed": failures}
    out.write(_MANIFEST, json.dumps(content, indent=1, sort_keys=True).encode())


def _write_in_turn(
    out: Location, facts: dict[str, Facts], failures: dict[str, str], leases: Leases
) -> None:
    while leases.take(_MANIFEST) is None:
        pass  # `take` has paused
    write_manifest(out, facts, failures)
    leases.give_back(_MANIFEST)


def _first_detector(
    workers: Workers | RayWorkers,
    shards: Sequence[StoredFile],
    out: Location,
    progress: Progress,
    task: Task,
    seed: int,
    leases: Leases,
) -> Detector:
    """The detector of the destination; trained first if it has none, by one command."""
    while out.read(DETECTOR) is None and leases.take(DETECTOR) is None:
        progress(0, 0, "Waiting for the detector that another command trains")
        time.sleep(_POLL)
    if out.read(DETECTOR) is None:
        candidates = random.Random(seed).sample(list(shards), min(_DRAWN, len(shards)))
        for shard in sorted(candidates, key=lambda shard: -shard.size):
            progress(0, 0, f"Training the detector on {shard.name}")
            ((_, outcome),) = workers.map(task, [[shard]])
            if not isinstance(outcome, str):
                break
        else:
            raise DatasetError(f"No shard drawn for the detector can train one. {outcome}")
    leases.give_back(DETECTOR)
    return detector_in(out)


def _score(engine: Engine, shard: StoredFile, task: Task, work: Path) -> Facts | str:
    """A shard's facts; or why it cannot train the detector, as most of its pairs are set aside."""
    out = Location(task.out)
    path = _copy(Location(task.source), shard, work / "source")
    store = open_database(f"sqlite:///{work / 'traced.db'}")
    try:
        source_rows = import_dataset(store, path, "shard", data_directory=work / "none")
        if task.detector is not None:
            _adopt(store, engine, source_rows.dataset_id, task.detector)
        report = score_dataset(
            store, engine, store.read(dataset_queries.get_dataset, source_rows.dataset_id),
            suggestions=False, devices=task.devices, anyway=task.anyway,
            constant_choice=task.constant_choice,
        )  # fmt: skip
        detector = task.detector or _detector_of(store, source_rows.dataset_id, shard.name)
        faults = [notice.text for notice in notices_of(store, source_rows.dataset_id)]
        spans = store.read(set_aside, source_rows.dataset_id)
        aside = sum(last - first + 1 for first, last in spans)
        if task.detector is None and aside > _MOST_SET_ASIDE * report.pairs and not task.anyway:
            return (
                f"{shard.name}: {' '.join(faults)} A detector would learn from wrong examples. "
                "Mend the source, or score it anyway."
            )
        problems = store.read(
            dataset_queries.list_problems, source_rows.dataset_id, limit=SHOWN_PROBLEMS
        )
        facts = {
            "version": shard.version, "detector": detector.digest, "pairs": report.pairs,
            "left_out": source_rows.problems + report.unreadable + report.unknown,
            "problems": [asdict(problem) for problem in problems],
            "set_aside": aside, "faults": faults,
        }  # fmt: skip
        facts = json.loads(json.dumps(facts, default=str))
        schema = RESULT_SCHEMA.with_metadata({FACTS: json.dumps(facts)})
        file = work / "result.parquet"
        rows = result_rows(store, source_rows.dataset_id, engine.scorer.info.model)
        write_parquet(rows, schema, file)
        out.put_file(result_of(shard.name), file)
        if task.detector is None:  # after the result, whose probabilities come from its training
            out.write(DETECTOR, detector.to_bytes())
    finally:
        store.close()
    return facts


def _copy(source: Location, shard: StoredFile, folder: Path) -> Path:
    """The shard on this machine; of a tar, with the files that describe its samples."""
    if not source.is_local and shard.name.endswith(".tar"):
        for name in files_about_tars():
            if (content := source.read(name)) is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
    return source.copy(shard, folder)


def _adopt(store: Store, engine: Engine, dataset_id: int, detector: Detector) -> None:
    """Make the detector the one in use, so that scoring trains none."""
    run = run_of(store, engine, dataset_id)
    with store.writing() as session:
        if classifier_queries.active(session, dataset_id) is None:
            row = classifier_queries.add_classifier(
                session, dataset_id, name="Cold start", kind=detector.kind, basis="injected",
                payload=detector.payload, report={**detector.report, "run": run.id},
            )  # fmt: skip
            classifier_queries.activate(session, row.id)


def _detector_of(store: Store, dataset_id: int, shard: str) -> Detector:
    """The detector that scoring trained. Raises TrainingError if it could train none."""
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        if active is None:
            raise TrainingError(
                f"{shard} has too few pairs to train a detector on. Join small shards first."
            )
        payload = classifier_queries.get_payload(session, active.id)
    return Detector(active.kind, {**active.report, "shard": shard}, payload)
