"""Preview a deletion, delete, rename and relocate datasets, and set their guidelines."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backend.datasets.cells import split_proof
from backend.datasets.reading.source_tables import root_of
from backend.datasets.safe_files.containers import locate
from backend.datasets.safe_files.images import check_imported
from backend.datasets.safe_files.regular_files import replacement
from backend.errors import ImageError, SettingsError, UnsafePath
from backend.jobs.dataset_reports import Deletion, Relocation
from backend.store import Store
from db.queries import dataset_queries, job_queries, opinion_queries, pair_queries
from db.queries.dataset_queries import DatasetRow
from db.texts import has_controls, is_blank

#: A few pages; anything longer belongs in a linked document.
LONGEST_GUIDELINES = 20_000


def deletion_preview(store: Store, dataset_id: int) -> Deletion:
    """A preview of a deletion. The dataset's images are never touched."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        counts = pair_queries.counts(session, dataset_id)
        acts = opinion_queries.count_acts(session, dataset_id)
    return Deletion(
        dataset_id, dataset.name, dataset.root, counts.total, counts.scored, counts.reviewed, acts
    )


def delete_dataset(store: Store, dataset_id: int, folder: Path) -> Deletion:
    """Delete the dataset and everything known about it; its images stay.

    If there are verdicts, their history is first written to a new JSON lines file in `folder`
    (`Deletion.verdict_file`): nothing is deleted unless that file is complete. Raises
    SettingsError while a job works on the dataset, or if the file cannot be written; NotFound.
    """
    going = deletion_preview(store, dataset_id)
    store.write(job_queries.fail_stale_jobs)
    target = _free(folder, going.name)
    try:
        with store.writing(large=True) as session:
            working = [
                job for job in job_queries.running_jobs(session) if job.dataset_id == dataset_id
            ]
            if working:
                raise SettingsError(
                    f"A job ({working[0].kind}) is working on '{going.name}'. Wait for it to end, "
                    "or cancel it, and then delete the dataset."
                )
            opinion_queries.lock_dataset_pairs(session, dataset_id)
            acts = opinion_queries.count_acts(session, dataset_id)
            if acts:
                _write(target, opinion_queries.iterate_acts(session, dataset_id))
            dataset_queries.delete_dataset(session, dataset_id)
    except OSError as problem:
        raise SettingsError(
            f"The verdicts cannot be saved in {target}: {problem.strerror or problem}. Nothing was "
            "deleted.",
            terminal="Name another folder with --keep.",
        ) from problem
    return replace(going, acts=acts, verdict_file=str(target) if acts else "")


def rename_dataset(store: Store, dataset_id: int, name: str) -> None:
    """Raises SettingsError if the name is empty or taken, NotFound."""
    name = name.strip()
    if is_blank(name) or has_controls(name):
        raise SettingsError("A dataset needs a name, on one line.")
    store.write(dataset_queries.rename_dataset, dataset_id, name)


def set_guidelines(store: Store, dataset_id: int, text: str) -> None:
    """Store the dataset's guidelines (Markdown). Raises SettingsError if they are too long or
    cannot be stored, NotFound."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_GUIDELINES:
        raise SettingsError(
            f"Guidelines have at most {LONGEST_GUIDELINES:,} characters; these have {len(text):,}."
        )
    store.write(dataset_queries.set_guidelines, dataset_id, text)


def _write(path: Path, acts: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for act in acts:
            act["image_path"] = split_proof(act["image_path"])[0]
            act["created_at"] = act["created_at"].isoformat()
            file.write(json.dumps(act, ensure_ascii=False) + "\n")


def _free(folder: Path, name: str) -> Path:
    """An unused file name from the dataset's name and the current time."""
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:80]
    stem = f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    numbers = (f"-{number}" if number else "" for number in range(10_000))
    files = (folder / f"{stem}{number}.verdicts.jsonl" for number in numbers)
    return next(file for file in files if not file.exists())


#: Pictures, sampled at random, that are opened at the new place.
SAMPLE = 200
#: The share of them that may be missing: they were before, or are beyond what was copied.
_MOST_MISSING = 0.1


def relocate(store: Store, dataset_id: int, path: Path) -> Relocation:
    """Record that the dataset's files are in the folder `path` now, or beside that table. Nothing
    is read again but a sample of the pictures, which must be the ones that were imported.

    Raises SettingsError, naming one that is not, and NotFound.
    """
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    root = root_of(path) if path.is_file() else path
    sample_size, missing, example = look_for_pictures(store, dataset, root)
    if missing > _MOST_MISSING * sample_size:
        raise SettingsError(
            f"{root} lacks {missing} of {sample_size} pictures checked: {example} Nothing was "
            "changed. Give the folder that the image paths are relative to."
        )
    source = path if path.is_file() else Path(dataset.source)
    if source != path and source.is_relative_to(dataset.root):
        # A table outside the folder has not moved with it.
        source = root / source.relative_to(dataset.root)
    store.write(dataset_queries.move_dataset, dataset_id, str(source), str(root))
    return Relocation(dataset_id, dataset.name, str(root), sample_size, missing)


def look_for_pictures(store: Store, dataset: DatasetRow, root: Path) -> tuple[int, int, str]:
    """How many pictures of the dataset were looked for in `root`, how many of them are not there or
    are others, and what is wrong with the first."""
    names = store.read(pair_queries.sample_images, dataset.id, SAMPLE)
    problems = []
    for name in names:
        try:
            check_imported(locate(root, name))
        except (ImageError, OSError, UnsafePath) as problem:
            problems.append(str(problem))
    return len(names), len(problems), problems[0] if problems else ""
