"""What is killed, and what must hold afterwards.

Each scenario prepares a folder once, works on a copy of it, is killed there, and is checked: what
had been confirmed is there, nothing is there twice, the database is whole, and the same work done
again ends where it would have ended without a kill.
"""

import hashlib
import json
import shutil
import sqlite3
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from PIL import Image

from backend.detection.features import feature_matrix
from backend.pipeline.classifiers import classifier_in_use
from backend.pipeline.scoring import scored_batches
from backend.scenes import demo
from backend.settings import MODELS, load_settings
from backend.views import ExportChoice
from backend.workspace import Workspace
from db import open_store
from db.queries import classifiers, pairs, runs, trajectories, verdicts

FIRST_RELEASE = Path(__file__).parents[1] / "db/first_release.sql"


class Scenario(ABC):
    """One kind of work. `folder` holds all that it touches."""

    name: str

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """What there is before the work, made once."""

    @abstractmethod
    def work(self, folder: Path) -> None:
        """What is killed."""

    @abstractmethod
    def check(self, folder: Path) -> None:
        """Right after the kill, before anything is done again. Raises AssertionError."""

    @abstractmethod
    def check_end(self, folder: Path) -> None:
        """After the same work was done again to its end. Raises AssertionError."""


def workspace(folder: Path) -> Workspace:
    return Workspace(
        load_settings(
            {
                "data_directory": str(folder / "state"),
                "model": str(MODELS / "scenes-clip"),
                "detector": "logistic",
                "author": "Ada",
            },
            {},
        )
    )


def check_database(folder: Path) -> None:
    """The file is a whole database. Opening it, as every start does, brings it in order."""
    path = folder / "state/traced.db"
    if not path.exists():
        return
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


class Importing(Scenario):
    """Two thousand rows, three of which cannot go in."""

    name = "import"

    def prepare(self, folder: Path) -> None:
        source = folder / "photos"
        source.mkdir()
        Image.new("RGB", (8, 8), "red").save(source / "a.png")
        rows = [{"file_name": "a.png", "id": f"row-{i}", "caption": f"A {i}"} for i in range(2000)]
        for i in (7, 900, 1999):
            rows[i]["file_name"] = "gone.png"
        (source / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        opened.import_dataset(folder / "photos")

    def check(self, folder: Path) -> None:
        check_database(folder)

    def check_end(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        with opened.store.reading() as session:
            found = [pair.external_id for pair in pairs.iterate_pairs(session, dataset)]
        assert found == [f"row-{i}" for i in range(2000) if i not in (7, 900, 1999)]
        assert [problem.row for problem in opened.problems(dataset)] == [8, 901, 2000]
        opened.store.close()


class Scoring(Scenario):
    """Trajectories, concreteness, ranking. A trajectory that is there is not computed again."""

    name = "scoring"

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._wanted: list[tuple[float | None, float | None, float | None]] = []

    def prepare(self, folder: Path) -> None:
        demo.write(folder / "pairs", 10, 0, 96, seed=4)
        opened = workspace(folder)
        opened.import_dataset(folder / "pairs")
        opened.store.close()

    def work(self, folder: Path) -> None:
        import backend.pipeline.scoring as scoring

        scoring.BATCH = 2  # so that a kill finds more than one moment between commits
        opened = workspace(folder)
        opened.score(opened.find("pairs"), suggestions=False)

    def check(self, folder: Path) -> None:
        check_database(folder)
        self._kept = self._stored(folder)

    def check_end(self, folder: Path) -> None:
        stored = self._stored(folder)
        assert len(stored) == 10
        assert {pair: stored[pair] for pair in self._kept} == self._kept
        opened = workspace(folder)
        dataset = opened.find("pairs")
        with opened.store.reading() as session:
            found = [
                (pair.s_0, pair.p_error, pair.icc) for pair in pairs.iterate_pairs(session, dataset)
            ]
            assert runs.latest_run(session, dataset, "score") is not None
            assert len(classifiers.list_classifiers(session, dataset)) == 1
        opened.store.close()
        self._wanted = self._wanted or found  # the first end stands for all
        np.testing.assert_allclose(np.array(found, float), np.array(self._wanted, float), atol=1e-5)

    def _stored(self, folder: Path) -> dict[int, bytes]:
        with sqlite3.connect(folder / "state/traced.db") as connection:
            found = dict(connection.execute("SELECT pair_id, scores FROM trajectories").fetchall())
        connection.close()
        return found


class Deciding(Scenario):
    """Verdicts, each noted in a file after the program has said that it is saved."""

    name = "verdict entry"

    def prepare(self, folder: Path) -> None:
        Importing().prepare(folder)
        Importing().work(folder)

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        with opened.store.reading() as session:
            ids = [pair.id for pair in pairs.iterate_pairs(session, dataset)][:60]
        with (folder / "confirmed").open("a", encoding="ascii", buffering=1) as confirmed:
            for pair_id in ids:
                if opened.open_pair(pair_id).decision is None:
                    opened.decide(pair_id, 0, "drop")
                    confirmed.write(f"{pair_id}\n")

    def check(self, folder: Path) -> None:
        check_database(folder)
        noted = folder / "confirmed"
        confirmed = noted.read_text(encoding="ascii").split() if noted.exists() else []
        opened = workspace(folder)
        with opened.store.reading() as session:
            dataset = opened.find("photos")
            kept = [str(v.pair_id) for v in verdicts.iterate_verdicts(session, dataset)]
            assert all(len(verdicts.history(session, int(pair))) == 1 for pair in kept)
            assert pairs.counts(session, dataset).reviewed == len(kept)
        opened.store.close()
        # One more may be there: committed, and killed before it could be noted.
        assert kept[: len(confirmed)] == confirmed
        assert len(kept) <= len(confirmed) + 1
        noted.write_text("".join(f"{pair}\n" for pair in kept), encoding="ascii")

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        assert len((folder / "confirmed").read_text(encoding="ascii").split()) == 60


class Retraining(Scenario):
    """Training on verdicts, then adopting: never one classifier beside another's numbers."""

    name = "retraining"

    def prepare(self, folder: Path) -> None:
        demo.write(folder / "pairs", 24, 0, 96, seed=5)
        opened = workspace(folder)
        dataset = opened.import_dataset(folder / "pairs").dataset_id
        opened.score(dataset, suggestions=False)
        with opened.store.reading() as session:
            ids = [pair.id for pair in pairs.iterate_pairs(session, dataset)]
        for number, pair_id in enumerate(ids[:16]):
            opened.decide(pair_id, 0, "drop" if number % 2 else "correct")
        opened.store.close()

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        report = opened.train(opened.find("pairs"))
        opened.adopt(report.classifier_id)

    def check(self, folder: Path) -> None:
        check_database(folder)
        opened = workspace(folder)
        dataset = opened.find("pairs")
        with opened.store.reading() as session:
            active = [one for one in classifiers.list_classifiers(session, dataset) if one.active]
            run = runs.latest_run(session, dataset, "score")
        assert len(active) == 1
        assert run is not None
        if active[0].basis == "verdicts":
            classifier = classifier_in_use(opened.store, dataset)
            assert classifier is not None
            ((listed, paths),) = scored_batches(opened.store, run)
            shown = [pair.p_error for pair in listed]
            np.testing.assert_allclose(
                np.array(shown, float), classifier.predict(feature_matrix(paths)), atol=1e-6
            )
        assert opened.summary(dataset).reviewed == 16
        opened.store.close()

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        opened = workspace(folder)
        with opened.store.reading() as session:
            found = classifiers.active(session, opened.find("pairs"))
        assert found is not None
        assert found.basis == "verdicts"
        opened.store.close()


class Exporting(Scenario):
    """Over an earlier export: there is always a whole one, and nothing else is left at the end."""

    name = "export"

    def prepare(self, folder: Path) -> None:
        Importing().prepare(folder)
        Importing().work(folder)
        self.work(folder)

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        opened.export(dataset, ExportChoice(), folder / "out", "imagefolder", overwrite=True)

    def check(self, folder: Path) -> None:
        check_database(folder)

    def check_end(self, folder: Path) -> None:
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["out", "photos", "state"], names
        sums = (folder / "out/SHA256SUMS").read_text(encoding="utf-8").splitlines()
        for line in sums:
            digest, name = line.split("  ", 1)
            assert hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest() == digest
        lines = (folder / "out/metadata.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1997


class Migrating(Scenario):
    """A database of the first release, brought up to date."""

    name = "migration"

    def prepare(self, folder: Path) -> None:
        (folder / "state").mkdir()
        with sqlite3.connect(folder / "state/traced.db") as connection:
            connection.executescript(FIRST_RELEASE.read_text(encoding="utf-8"))
        connection.close()

    def work(self, folder: Path) -> None:
        open_store(f"sqlite:///{folder}/state/traced.db").close()

    def check(self, folder: Path) -> None:
        check_database(folder)
        with sqlite3.connect(folder / "state/traced.db") as connection:
            (acts,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
            (known,) = connection.execute("SELECT count(*) FROM trajectories").fetchone()
        connection.close()
        assert (acts, known) == (10, 16)

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        store = open_store(f"sqlite:///{folder}/state/traced.db")
        assert store.upgraded_from is None
        with store.reading() as session:
            found = [pair.decision for pair in pairs.iterate_pairs(session, 1)][:6]
            assert len(list(trajectories.iterate_trajectories(session, 1))) == 16
        assert found == ["drop", "correction", "drop", "abstract", "unsure", None]
        store.close()


SCENARIOS = (Importing, Scoring, Deciding, Retraining, Exporting, Migrating)


def copied(prepared: Path, folder: Path) -> Path:
    """A fresh copy to work on, at the same place each time: datasets know their root."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    return folder
