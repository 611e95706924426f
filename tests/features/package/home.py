"""A dataset, what is packed of it, and what is judged elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backend.features.package import opening, packing
from backend.features.package.merging import MergeReport, merge
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import pair_queries, verdict_acts
from tests.datasets.folders import image_folder, picture
from tests.db.building import decide, decisions

COUNT = 12


class Home:
    """A dataset of COUNT pairs p0, p1, … with a picture each, and what is packed of it."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        rows: list[dict[str, Any]] = [
            {"file_name": f"{n}.png", "id": f"p{n}", "caption": f"A dog {n}"} for n in range(COUNT)
        ]
        image_folder(folder / "photos", rows, tuple(row["file_name"] for row in rows))
        for n in range(COUNT):  # each another one
            picture(folder / "photos" / f"{n}.png", (200 + n, 100))
        self.workspace, self.store, self.folder = workspace, workspace.store, folder
        self.dataset = workspace.jobs.import_dataset(folder / "photos").dataset_id
        with self.store.reading() as session:
            pairs = pair_queries.iterate_pairs(session, self.dataset)
            self.ids = [pair.id for pair in pairs]

    def pack(self, name: str = "task.traced", **options: Any) -> Path:
        packing.pack_dataset(self.workspace, self.dataset, self.folder / name, **options)
        return self.folder / name

    def decisions(self) -> list[str | None]:
        return decisions(self.store.opened, self.ids)

    def decide(self, number: int, *arguments: Any, **options: Any) -> None:
        decide(self.store.opened, self.ids[number], *arguments, **options)

    def merge(self, package: Path, **options: Any) -> MergeReport:
        return merge(self.store, package, **options)

    def acts(self, number: int) -> list[verdict_acts.VerdictRow]:
        return self.store.read(verdict_acts.history, self.ids[number])


@contextmanager
def served(package: Path, author: str = "Ben") -> Iterator[Workspace]:
    """The package as `serve` opens it, on a machine that has nothing else."""
    database, _ = opening.open_package(package)
    settings = {"data_directory": str(package.parent / "elsewhere"), "author": author}
    workspace = Workspace(load_settings({**settings, "database": f"sqlite:///{database}"}, {}))
    try:
        yield workspace
    finally:
        workspace.store.close()


def judge(package: Path, verdicts: dict[str, Any], author: str = "Ben", **options: Any) -> None:
    """Give these verdicts by the pairs' ids; a correction is its text."""
    with served(package, author) as workspace:
        dataset = workspace.start()
        for name, verdict in verdicts.items():
            (pair_id,) = workspace.store.read(
                pair_queries.ids_by_external_id, dataset, [name]
            ).values()
            version = workspace.review.open_pair(pair_id).verdict.version
            is_text = " " in verdict
            decision, text = ("correction", verdict) if is_text else (verdict, None)
            workspace.review.decide(pair_id, version, decision, text, **options)
