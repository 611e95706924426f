"""The demo dataset with all computed results, so that it is available at the first start.

`make demo` scores it and packs database and vectors into an archive, which the first `serve`
unpacks instead of scoring for minutes. The archive is machine-independent: folders (also that of
the model) and the database's name are set on unpacking. `tests/jobs/test_scored_demo.py` recomputes
a sample.
"""

import os
import shutil
import tarfile
import tempfile
from dataclasses import fields
from pathlib import Path

from backend.bundled import ASSETS, DEMO
from backend.settings import Settings
from backend.store import Store
from db import open_store
from db.queries import dataset_queries, job_queries, run_queries, setting_queries

#: The pair with which the demo opens: near the head of its queue, with one wrong word.
OPENING = "scene-0179"
ARCHIVE = ASSETS / "demo-scored.tar.xz"
_DATABASE, _VECTORS = "traced.db", "vectors"
#: Settings that determine the scores: with other values the demo has to be scored again.
_SCORING = ("model", "kind", "captioner", "concreteness", "precision", "detector", "explorer",
            "unit", "direction", "steps", "top", "candidates", "whole_words", "seed", "lazy",
            "trajectories")  # fmt: skip


def applies_to(settings: Settings) -> bool:
    """Whether these settings start with an empty SQLite database and score as the archive did."""
    defaults = {field.name: field.default for field in fields(Settings)}
    scores_alike = all(getattr(settings, name) == defaults[name] for name in _SCORING)
    is_first = settings.database is None and not (settings.data_directory / _DATABASE).exists()
    return is_first and scores_alike and ARCHIVE.is_file()


def unpack(settings: Settings) -> bool:
    """Start with the scored demo dataset if `applies_to` allows it; returns whether it did.

    The database is put in place last, atomically: a process killed before that leaves nothing
    behind, and if two start at once, one of them wins.
    """
    if not applies_to(settings):
        return False
    settings.data_directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=settings.data_directory, prefix=".demo-") as name:
        folder = Path(name)
        with tarfile.open(ARCHIVE) as archive:
            # Python 3.11.2, Debian 12's, has no filters; the archive is this program's own.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            archive.extractall(folder)
        database = folder / _DATABASE
        store = Store(open_store(f"sqlite:///{database}"))
        with store.writing() as session:
            setting_queries.forget_all(session)
            (dataset,) = dataset_queries.list_datasets(session)
            dataset_queries.move_dataset(session, dataset.id, source=str(DEMO), root=str(DEMO))
            # Else the scores would be those of another model, and be computed again.
            run_queries.move_model(session, dataset.id, settings.model)
        identity = store.identity
        store.close()
        vectors = settings.data_directory / "search" / identity
        vectors.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / _VECTORS, vectors)
        try:
            os.link(database, settings.data_directory / _DATABASE)
        except FileExistsError:
            shutil.rmtree(vectors, ignore_errors=True)
            return False
        except OSError:  # a file system without links
            os.replace(database, settings.data_directory / _DATABASE)
    return True


def pack(store: Store, data_directory: Path, archive: Path = ARCHIVE) -> None:
    """Write the archive for `unpack` from a store that contains only the scored demo dataset."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = Store(open_store(f"sqlite:///{store.backup(folder / _DATABASE)}"))
        with copy.writing() as session:
            job_queries.forget_all(session)
            setting_queries.forget_all(session)
        copy.close()
        shutil.copytree(data_directory / "search" / store.identity, folder / _VECTORS)
        part = archive.with_name(f".{archive.name}.part")
        with tarfile.open(part, "w:xz", preset=9) as packed_file:
            for member in (_DATABASE, _VECTORS):
                packed_file.add(folder / member, member, filter=_anonymous)
        os.replace(part, archive)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Strip owner and time, so that equal contents give equal archives."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member
