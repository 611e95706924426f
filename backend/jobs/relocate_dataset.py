"""Where the files of a dataset are, after somebody moved them."""

from pathlib import Path

from backend.datasets.containers import locate
from backend.datasets.images import check_imported
from backend.datasets.source_tables import root_of
from backend.errors import ImageError, SettingsError, UnsafePath
from backend.jobs.reports import Relocation
from backend.store import Store
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries.datasets import DatasetRow

#: Pictures, sampled at random, that are opened at the new place.
SAMPLE = 200
#: The share of them that may be missing: they were before, or are beyond what was copied.
_MOST_MISSING = 0.1


def relocate(store: Store, dataset_id: int, path: Path) -> Relocation:
    """Record that the dataset's files are in the folder `path` now, or beside that table. Nothing
    is read again but a sample of the pictures, which must be the ones that were imported.

    Raises SettingsError, naming one that is not, and NotFound.
    """
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
    root = root_of(path) if path.is_file() else path
    checked, missing, example = look_for_pictures(store, dataset, root)
    if missing > _MOST_MISSING * checked:
        raise SettingsError(
            f"{missing} of {checked} pictures checked are not in {root}: {example} Nothing was "
            "changed. Give the folder that the image paths are relative to."
        )
    source = path if path.is_file() else _source_in(dataset, root)
    with store.writing() as session:
        dataset_queries.move_dataset(session, dataset_id, str(source), str(root))
    return Relocation(dataset_id, dataset.name, str(root), checked, missing)


def look_for_pictures(store: Store, dataset: DatasetRow, root: Path) -> tuple[int, int, str]:
    """How many pictures of the dataset were looked for in `root`, how many of them are not there or
    are others, and what is wrong with the first."""
    with store.reading() as session:
        names = pair_queries.sample_images(session, dataset.id, SAMPLE)
    problems = []
    for name in names:
        try:
            check_imported(locate(root, name))
        except (ImageError, OSError, UnsafePath) as problem:
            problems.append(str(problem))
    return len(names), len(problems), problems[0] if problems else ""


def _source_in(dataset: DatasetRow, root: Path) -> Path:
    """What was imported, at its new place; a table outside the folder has not moved with it."""
    source, earlier = Path(dataset.source), Path(dataset.root)
    return root / source.relative_to(earlier) if source.is_relative_to(earlier) else source
