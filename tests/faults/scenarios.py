"""What is killed, and what must hold afterwards.

Each scenario prepares a folder once, works on a copy of it, is killed there, and is checked: what
had been confirmed is stored, nothing is stored twice, the database is intact, and repeating the
same work ends where it would have ended without a kill.
"""

import hashlib
import json
import os
import random
import shutil
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from backend.datasets.safe_files.fetching import Limits
from backend.engine import hub_cache
from backend.engine.detection.features import feature_matrix
from backend.jobs import model_download
from backend.jobs.export_choice import ExportChoice
from backend.jobs.scoring.classifiers import classifier_in_use
from backend.jobs.scoring.stored_rows import scored_batches
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db import open_store
from db.queries import (
    classifier_queries,
    pair_queries,
    run_queries,
    trajectory_queries,
    verdict_acts,
)
from research.scenes import demo
from tests.datasets.folders import encoded, image_folder
from tests.db.building import decided_pairs, write_oldest
from tests.faults.stored_scores import stored
from tests.fixtures.hub_server import PublishedModel, hub_server, set_constants, use_hub


class Scenario(ABC):
    """One kind of work. `folder` contains everything that it touches."""

    name: str

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Create the state before the work, once."""

    @abstractmethod
    def work(self, folder: Path) -> None:
        """Do the work that is killed."""

    @abstractmethod
    def check(self, folder: Path) -> None:
        """Check right after the kill, before anything is repeated. Raises AssertionError."""

    @abstractmethod
    def check_end(self, folder: Path) -> None:
        """Check after the same work was repeated to its end. Raises AssertionError."""


def workspace(folder: Path, **settings: str) -> Workspace:
    usual = {
        "data_directory": str(folder / "state"), "model": str(MODELS / "scenes-clip"),
        "detector": "nine signs", "author": "Ada",
    }  # fmt: skip
    return Workspace(load_settings(usual | settings, {}))


def ids_of(opened: Workspace, dataset: int) -> list[int]:
    with opened.store.reading() as session:
        return [pair.id for pair in pair_queries.iterate_pairs(session, dataset)]


def check_database(folder: Path) -> None:
    """The file is an intact database. Opening it, as every start does, recovers it."""
    path = folder / "state/traced.db"
    if not path.exists():
        return
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


#: Rows of the dataset, and those among them that cannot be imported.
ROWS, GONE = 800, (7, 400, 799)


class Importing(Scenario):
    """Rows of which some cannot be imported."""

    name = "import"

    def prepare(self, folder: Path) -> None:
        rows = [{"file_name": "a.png", "id": f"row-{i}", "caption": f"A {i}"} for i in range(ROWS)]
        for i in GONE:
            rows[i]["file_name"] = "gone.png"
        image_folder(folder / "photos", rows, ("a.png",))

    def work(self, folder: Path) -> None:
        import backend.jobs.import_dataset as importing

        importing.BATCH = 200  # so that a kill finds more than one moment between commits
        opened = workspace(folder)
        opened.jobs.import_dataset(folder / "photos")

    def check(self, folder: Path) -> None:
        check_database(folder)

    def check_end(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        with opened.store.reading() as session:
            stored = [pair.external_id for pair in pair_queries.iterate_pairs(session, dataset)]
        assert stored == [f"row-{i}" for i in range(ROWS) if i not in GONE]
        assert [problem.row for problem in opened.problems(dataset)] == [i + 1 for i in GONE]
        opened.store.close()


class Scoring(Scenario):
    """Trajectories, concreteness, ranking. A stored trajectory is not computed again."""

    name = "scoring"

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._wanted: list[tuple[float | None, float | None, float | None]] = []

    def prepare(self, folder: Path) -> None:
        demo.write(folder / "pairs", 10, 0, 96, seed=4)
        opened = workspace(folder)
        opened.jobs.import_dataset(folder / "pairs")
        opened.store.close()

    def work(self, folder: Path) -> None:
        import backend.jobs.scoring.trajectory_stages as scoring

        scoring.BATCH = 2  # so that a kill finds more than one moment between commits
        opened = workspace(folder)
        opened.jobs.score(opened.find("pairs"), suggestions=False)

    def check(self, folder: Path) -> None:
        check_database(folder)
        self._kept = self._stored(folder)

    def check_end(self, folder: Path) -> None:
        scores = self._stored(folder)
        assert len(scores) == 10
        assert {pair: scores[pair] for pair in self._kept} == self._kept
        opened = workspace(folder)
        dataset = opened.find("pairs")
        with opened.store.reading() as session:
            result = [
                (pair.s_0, pair.p_error, pair.icc)
                for pair in pair_queries.iterate_pairs(session, dataset)
            ]
            assert run_queries.latest_run(session, dataset, "score") is not None
            assert len(classifier_queries.list_classifiers(session, dataset)) == 1
        opened.store.close()
        self._wanted = self._wanted or result  # every later end must equal the first
        np.testing.assert_allclose(
            np.array(result, float), np.array(self._wanted, float), atol=1e-5
        )

    def _stored(self, folder: Path) -> dict[int, bytes]:
        opened = workspace(folder)
        scores = stored(opened)
        opened.store.close()
        return scores


class Deciding(Scenario):
    """Verdicts, each recorded in a file after the program has confirmed that it is saved."""

    name = "verdict entry"

    def prepare(self, folder: Path) -> None:
        Importing().prepare(folder)
        Importing().work(folder)

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        ids = ids_of(opened, dataset)[:20]
        with (folder / "confirmed").open("a", encoding="ascii", buffering=1) as confirmed:
            for pair_id in ids:
                if opened.review.open_pair(pair_id).verdict.decision is None:
                    opened.review.decide(pair_id, 0, "drop")
                    confirmed.write(f"{pair_id}\n")

    def check(self, folder: Path) -> None:
        check_database(folder)
        noted = folder / "confirmed"
        confirmed = noted.read_text(encoding="ascii").split() if noted.exists() else []
        opened = workspace(folder)
        with opened.store.reading() as session:
            dataset = opened.find("photos")
            kept = [str(row.id) for row in decided_pairs(session, dataset)]
            assert all(len(verdict_acts.history(session, int(pair))) == 1 for pair in kept)
            assert pair_queries.counts(session, dataset).reviewed == len(kept)
        opened.store.close()
        # There may be one more: committed, but killed before it could be recorded.
        assert kept[: len(confirmed)] == confirmed
        assert len(kept) <= len(confirmed) + 1
        noted.write_text("".join(f"{pair}\n" for pair in kept), encoding="ascii")

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        assert len((folder / "confirmed").read_text(encoding="ascii").split()) == 20


class Retraining(Scenario):
    """Training on verdicts, then adopting: never one classifier with another's numbers."""

    name = "retraining"

    def prepare(self, folder: Path) -> None:
        demo.write(folder / "pairs", 16, 0, 96, seed=5)
        opened = workspace(folder)
        dataset = opened.jobs.import_dataset(folder / "pairs").dataset_id
        opened.jobs.score(dataset, suggestions=False)
        for number, pair_id in enumerate(ids_of(opened, dataset)):
            opened.review.decide(pair_id, 0, "drop" if number % 2 else "correct")
        opened.store.close()

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        report = opened.jobs.run("train", opened.find("pairs"))
        opened.jobs.adopt(report.classifier_id)

    def check(self, folder: Path) -> None:
        check_database(folder)
        opened = workspace(folder)
        dataset = opened.find("pairs")
        with opened.store.reading() as session:
            active = [
                classifier
                for classifier in classifier_queries.list_classifiers(session, dataset)
                if classifier.active
            ]
            run = run_queries.latest_run(session, dataset, "score")
        assert len(active) == 1
        assert run is not None
        if active[0].basis == "verdicts":
            classifier = classifier_in_use(opened.store, dataset)
            assert classifier is not None
            ((listed, captions),) = scored_batches(opened.store, run)
            paths = [caption.claims[0].trajectory for caption in captions]
            shown = [pair.p_error for pair in listed]
            np.testing.assert_allclose(
                np.array(shown, float), classifier.predict(feature_matrix(paths)), atol=1e-6
            )
        assert opened.summary(dataset).reviewed == 16
        opened.store.close()

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        opened = workspace(folder)
        classifier = opened.store.read(classifier_queries.active, opened.find("pairs"))
        assert classifier is not None
        assert classifier.basis == "verdicts"
        opened.store.close()


class Exporting(Scenario):
    """Exporting over an earlier export: a complete one always exists, and nothing else is left."""

    name = "export"

    def prepare(self, folder: Path) -> None:
        Importing().prepare(folder)
        Importing().work(folder)
        self.work(folder)

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        dataset = opened.find("photos")
        opened.jobs.export(dataset, ExportChoice(), folder / "out", "imagefolder", overwrite=True)

    def check(self, folder: Path) -> None:
        """The earlier one is in its place, or beside it, or the new one is."""
        check_database(folder)
        out, *_ = [*folder.glob("out"), *folder.glob(".out.old-*")]
        self._check_whole(out)

    def check_end(self, folder: Path) -> None:
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["out", "photos", "state"], names
        self._check_whole(folder / "out")

    def _check_whole(self, out: Path) -> None:
        for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
            digest, name = line.split("  ", 1)
            assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
        lines = (out / "train/metadata.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == ROWS - len(GONE)


class ReplacingExport(Exporting):
    """The same; nearly all of its time passes before and after each rename."""

    name = "export's renames"

    def work(self, folder: Path) -> None:
        rename = os.rename

        def slowly(*arguments: Any) -> None:
            time.sleep(1)
            rename(*arguments)
            time.sleep(1)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "rename", slowly)
            super().work(folder)


class BackingUp(Scenario):
    """Ten backups, one after another: each is whole, or not there."""

    name = "backup"
    _COPIES = 10

    def prepare(self, folder: Path) -> None:
        Importing().prepare(folder)
        Importing().work(folder)

    def work(self, folder: Path) -> None:
        opened = workspace(folder)
        (folder / "copies").mkdir(exist_ok=True)
        for number in range(self._COPIES):
            target = folder / "copies" / f"{number}.db"
            if not target.exists():
                opened.store.backup(target)

    def check(self, folder: Path) -> None:
        check_database(folder)
        for path in folder.glob("copies/*.db"):
            with sqlite3.connect(path) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                (count,) = connection.execute("SELECT count(*) FROM pairs").fetchone()
            connection.close()
            assert count == ROWS - len(GONE)

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        assert len(list(folder.glob("copies/*.db"))) == self._COPIES


class Migrating(Scenario):
    """A database of the oldest revision that opens, brought up to date."""

    name = "migration"

    def prepare(self, folder: Path) -> None:
        write_oldest(folder / "state/traced.db")

    def work(self, folder: Path) -> None:
        open_store(f"sqlite:///{folder}/state/traced.db").close()

    def check(self, folder: Path) -> None:
        check_database(folder)
        with sqlite3.connect(folder / "state/traced.db") as connection:
            (acts,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
            (paths,) = connection.execute("SELECT count(*) FROM trajectories").fetchone()
        connection.close()
        assert (acts, paths) == (10, 7)

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        store = open_store(f"sqlite:///{folder}/state/traced.db")
        assert store.upgraded_from is None
        with store.reading() as session:
            decisions = [pair.decision for pair in pair_queries.iterate_pairs(session, 1)][:6]
            ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
            assert len(trajectory_queries.trajectories_of(session, 1, ids)) == 7
        assert decisions == ["drop", "correction", "drop", "abstract", "unsure", None]
        store.close()


class DownloadingModel(Scenario):
    """A model of the hub: what is not whole is not on this machine, and what came stays."""

    name = "model download"
    _NAME, _COMMIT = "somebody/tiny-clip", "0123456789abcdef0123456789abcdef01234567"

    def __init__(self) -> None:
        self._came = 0

    def prepare(self, folder: Path) -> None:
        published = folder / "published"
        published.mkdir()
        (published / "config.json").write_text("{}", encoding="utf-8")
        (published / "model.safetensors").write_bytes(random.Random(6).randbytes(8_000_000))

    def work(self, folder: Path) -> None:
        files = {path.name: path.read_bytes() for path in (folder / "published").iterdir()}
        with self._hub(folder), hub_server() as hub, pytest.MonkeyPatch.context() as patch:
            hub.models[self._NAME] = PublishedModel(self._COMMIT, files)
            use_hub(patch, hub.url, folder / "hub")
            set_constants(patch, DOWNLOAD_CHUNK_SIZE=1 << 16)
            model_download.download(self._NAME)
            starts = [start for name, start in hub.ranges if name == "model.safetensors"]
            assert all(start >= self._came for start in starts), "downloaded again"

    def check(self, folder: Path) -> None:
        with self._hub(folder):
            snapshot = hub_cache.snapshot_of(self._NAME)
            parts = list((hub_cache.folder_of(self._NAME) / "blobs").glob("*.part"))
        self._came = max((part.stat().st_size for part in parts), default=0)
        if snapshot is not None:
            for path in (folder / "published").iterdir():
                assert (snapshot / path.name).read_bytes() == path.read_bytes()

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        with self._hub(folder):
            assert hub_cache.commit_of(self._NAME) == self._COMMIT
        assert not [path for path in (folder / "hub").rglob("*") if path.suffix == ".part"]

    @contextmanager
    def _hub(self, folder: Path) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            set_constants(patch, HF_HUB_CACHE=str(folder / "hub"))
            yield


class DownloadingImages(Scenario):
    """The pictures of a table of addresses: each row once, with its own picture."""

    name = "image download"
    _ROWS = 150

    def prepare(self, folder: Path) -> None:
        port = 30_000 + os.getpid() % 2_000
        (folder / "port").write_text(str(port), encoding="ascii")
        lines = [f"http://127.0.0.1:{port}/{row},A {row}" for row in range(1, self._ROWS + 1)]
        (folder / "table.csv").write_text("\n".join(["url,caption", *lines]), encoding="ascii")

    def work(self, folder: Path) -> None:
        from backend.features.fetch import download_images

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the name that http.server calls
                row = int(self.path[1:])
                self.send_response(404 if row % 50 == 0 else 200)
                self.end_headers()
                if row % 50:
                    self.wfile.write(picture_of(row))

            def log_message(self, format: str, *_: Any) -> None:
                pass

        port = int((folder / "port").read_text(encoding="ascii"))
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        limits = Limits(allow_private=True)
        report = download_images.download(folder / "table.csv", folder / "out", limits)
        assert report.rows == self._ROWS

    def check(self, folder: Path) -> None:
        for line in self._whole_lines(folder / "out/metadata.jsonl"):
            picture = (folder / "out" / line["file_name"]).read_bytes()
            assert picture == picture_of(int(line["caption"].split()[1]))

    def check_end(self, folder: Path) -> None:
        self.check(folder)
        good = self._whole_lines(folder / "out/metadata.jsonl")
        bad = self._whole_lines(folder / "out/failures.jsonl")
        first = min(line["row"] for line in good)  # the header is a line
        rows = [line["row"] for line in [*good, *bad]]
        assert sorted(rows) == list(range(first, first + self._ROWS))
        assert [line["url"].rpartition("/")[2] for line in bad] == ["50", "100", "150"]
        assert not [path for path in (folder / "out").rglob("*") if path.suffix == ".part"]
        assert len(list((folder / "out/images").rglob("*.png"))) == len(good)

    def _whole_lines(self, path: Path) -> list[dict[str, Any]]:
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


def picture_of(row: int) -> bytes:
    """A picture of its own for each row."""
    return encoded((16, 16), f"rgb({row}, {255 - row}, 7)")


SCENARIOS = (
    Importing,
    Scoring,
    Deciding,
    Retraining,
    Exporting,
    ReplacingExport,
    BackingUp,
    Migrating,
    DownloadingModel,
    DownloadingImages,
)


def copied(prepared: Path, folder: Path) -> Path:
    """A fresh copy to work on, at the same path each time: datasets store their root."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    return folder
