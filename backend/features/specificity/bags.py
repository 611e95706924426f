"""TrueMatch for any dataset: bags of similar pictures as files, with a contact sheet.

Pictures are compared by the vectors stored by scoring and by the mean vector of their captions;
only the contact sheet opens images.
"""

import csv
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.datasets.cells import escape
from backend.datasets.safe_files.regular_files import replacement
from backend.datasets.safe_files.text_files import text_of
from backend.engine.unit_vectors import unit
from backend.errors import DatasetError, ExportError, ImageError, SettingsError, UnsafePath
from backend.features.specificity.measuring import picture_vectors, texts_of
from backend.features.specificity.picture_bags import (
    LARGEST,
    SMALLEST,
    Bag,
    candidate_bags,
    curated_bags,
    file_name,
    multimodal,
    write_bags,
)
from backend.features.specificity.reports import BagsReport
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.templating import template_environment
from db.queries import pair_queries

TEMPLATES = Path(__file__).with_name("templates")
_SIDE = 160
_CAPTION = 200


@dataclass
class Picture:
    """A picture with its captions. `id`: the id of its first pair."""

    id: str
    pair: int
    captions: list[str]


def contact_sheet(
    bags_by_size: Mapping[int, Sequence[Bag]],
    pictures: Mapping[int, Picture],
    thumbnail: Callable[[int, int], bytes] | None = None,
) -> str:
    """The page as HTML. `bags_by_size`: bags by their size; `pictures`: by the row that bags name.

    `thumbnail`: (pair, size) to a JPEG; without it, and for a picture that cannot be read, the
    page shows captions only.
    """

    def source(pair: int) -> str:
        if thumbnail is None:
            return ""
        try:
            return "data:image/jpeg;base64," + b64encode(thumbnail(pair, _SIDE)).decode("ascii")
        except (ImageError, UnsafePath, OSError):
            return ""

    entries = {
        row: {"id": picture.id, "caption": picture.captions[0][:_CAPTION],
              "source": source(picture.pair)}
        for row, picture in pictures.items()
    }  # fmt: skip
    sheet_bags = {
        size: [
            {
                "id": pictures[bag.members[0]].id,
                "alpha": bag.alpha,
                "pictures": [entries[row] for row in bag.members],
            }
            for bag in bags
        ]
        for size, bags in bags_by_size.items()
    }
    return template_environment(TEMPLATES).get_template("bags.html").render(made=sheet_bags)


_BATCH = 1000


def make_bags(
    store: Store,
    engine: Engine,
    dataset_id: int,
    sizes: Sequence[int],
    out: Path,
    strike: Path | None = None,
    thumbnail: Callable[[int, int], bytes] | None = None,
    progress: Progress = no_progress,
) -> BagsReport:
    """Write bags of each size. `thumbnail`: (pair, size) to a JPEG, for the sheet.

    Raises SettingsError for an invalid size or if there are no stored vectors, DatasetError
    for an exclusion file that names none of the bags, ExportError if nothing can be written.
    """
    struck: set[str] = set()
    if strike is not None:
        lines = text_of(strike).split("\n")
        struck = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    vectors = picture_vectors(store, engine, dataset_id)
    pictures = _pictures(store, dataset_id)
    names = list(pictures)
    names = [
        name
        for name, has_vector in zip(
            names, vectors.has([pictures[n].pair for n in names]), strict=True
        )
        if has_vector
    ]
    for size in sizes:
        if not SMALLEST <= size <= LARGEST:
            raise SettingsError(f"A bag holds {SMALLEST} to {LARGEST} pictures, not {size}.")
        if size > len(names):
            raise SettingsError(
                f"A bag of {size} needs {size} different pictures; there are {len(names)}."
            )
    ids = [pictures[name].id for name in names]
    if unknown := sorted(struck.difference(ids)):
        raise DatasetError(f"{strike}: the dataset has no picture '{unknown[0]}'.")
    picture_units = unit(vectors.of([pictures[name].pair for name in names]))
    means = _means(engine, [pictures[name] for name in names], progress)
    m = multimodal(picture_units, means)
    bags_by_size: dict[int, list[Bag]] = {}
    for size in sizes:
        every = curated_bags(candidate_bags(m, picture_units, size))
        bags_by_size[size] = [bag for bag in every if ids[bag.members[0]] not in struck]
    first_ids = {ids[bag.members[0]] for bags in bags_by_size.values() for bag in bags}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for size, bags in bags_by_size.items():
            write_bags(out / file_name(size), [[ids[row] for row in bag.members] for bag in bags])
        _write_csv(out / "bags.csv", bags_by_size, ids)
        first = {row: pictures[names[row]] for bags in bags_by_size.values() for bag in bags
                 for row in bag.members}  # fmt: skip
        with replacement(out / "bags.html") as part:
            part.write_text(contact_sheet(bags_by_size, first, thumbnail), encoding="utf-8")
    except OSError as problem:
        raise ExportError(f"{out}: {problem.strerror or problem}.") from problem
    return BagsReport(
        dataset_id, out.resolve(), len(names),
        {size: len(bags) for size, bags in bags_by_size.items()},
        len(struck - first_ids),
    )  # fmt: skip


def _pictures(store: Store, dataset_id: int) -> dict[str, Picture]:
    by_path: dict[str, Picture] = {}
    with store.reading() as session:
        for pair in pair_queries.iterate_pairs(session, dataset_id):
            picture = by_path.setdefault(pair.image_path, Picture(pair.external_id, pair.id, []))
            picture.captions.append(pair.caption)
    return by_path


def _means(engine: Engine, pictures: Sequence[Picture], progress: Progress) -> np.ndarray:
    """The mean vector of each picture's captions, shape [pictures, d]."""
    owners = [row for row, picture in enumerate(pictures) for _ in picture.captions]
    captions = [text for picture in pictures for text in picture.captions]
    total: np.ndarray | None = None
    for first in range(0, len(captions), _BATCH):
        vectors = texts_of(engine, captions[first : first + _BATCH])
        if total is None:
            total = np.zeros((len(pictures), vectors.shape[1]), np.float32)
        np.add.at(total, owners[first : first + _BATCH], vectors)
        progress(min(first + _BATCH, len(captions)), len(captions), "Reading captions")
    assert total is not None
    return total


def _write_csv(path: Path, bags_by_size: dict[int, list[Bag]], ids: Sequence[str]) -> None:
    with replacement(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "bag", "alpha", "place", "id"])
        for size, bags in bags_by_size.items():
            for number, bag in enumerate(bags, 1):
                for index, row in enumerate(bag.members):
                    writer.writerow([size, number, f"{bag.alpha:.4f}", index, escape(ids[row])])
