"""TrueMatch for any dataset: bags of similar pictures as files, with a contact sheet.

Pictures are compared by the vectors stored by scoring and by the mean vector of their captions;
only the contact sheet opens images.
"""

import csv
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment

from backend.datasets.formulas import no_formula
from backend.datasets.text_files import text_of
from backend.engine.specificity.bags import (
    LARGEST,
    SMALLEST,
    Bag,
    candidate_bags,
    curated_bags,
    multimodal,
    unit,
)
from backend.engine.specificity.published import file_name, write_bags
from backend.errors import DatasetError, ExportError, ImageError, SettingsError, UnsafePath
from backend.jobs.reports import BagsReport
from backend.jobs.specificity import picture_vectors, texts_of
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import pairs as pair_queries

_BATCH = 1000
_SIDE = 160


@dataclass
class _Picture:
    """A picture with its captions. `id`: the id of its first pair."""

    id: str
    pair: int
    captions: list[str]


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
    struck = _struck(strike)
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
    seen = unit(vectors.of([pictures[name].pair for name in names]))
    means = _means(engine, [pictures[name] for name in names], progress)
    m = multimodal(seen, means)
    made: dict[int, list[Bag]] = {}
    for size in sizes:
        every = curated_bags(candidate_bags(m, seen, size))
        made[size] = [bag for bag in every if ids[bag.members[0]] not in struck]
    kept = {ids[bag.members[0]] for bags in made.values() for bag in bags}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for size, bags in made.items():
            write_bags(out / file_name(size), [[ids[row] for row in bag.members] for bag in bags])
        _write_csv(out / "bags.csv", made, ids)
        first = {row: pictures[names[row]] for bags in made.values() for bag in bags
                 for row in bag.members}  # fmt: skip
        (out / "bags.html").write_text(_sheet(made, first, thumbnail), encoding="utf-8")
    except OSError as problem:
        raise ExportError(f"{out} cannot be written: {problem.strerror or problem}.") from problem
    return BagsReport(
        dataset_id, out.resolve(), len(names), {size: len(bags) for size, bags in made.items()},
        len(struck - kept),
    )  # fmt: skip


def _pictures(store: Store, dataset_id: int) -> dict[str, _Picture]:
    by_path: dict[str, _Picture] = {}
    with store.reading() as session:
        for pair in pair_queries.iterate_pairs(session, dataset_id):
            picture = by_path.setdefault(pair.image_path, _Picture(pair.external_id, pair.id, []))
            picture.captions.append(pair.caption)
    return by_path


def _means(engine: Engine, pictures: Sequence[_Picture], progress: Progress) -> np.ndarray:
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


def _struck(path: Path | None) -> set[str]:
    if path is None:
        return set()
    lines = text_of(path).split("\n")
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def _write_csv(path: Path, made: dict[int, list[Bag]], ids: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "bag", "alpha", "place", "id"])
        for size, bags in made.items():
            for number, bag in enumerate(bags, 1):
                for place, row in enumerate(bag.members):
                    writer.writerow([size, number, f"{bag.alpha:.4f}", place, no_formula(ids[row])])


_SHEET = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Bags of similar pictures</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 20px; color: #1c2733; }
.bag { border: 1px solid #c5ccd4; border-radius: 8px; padding: 8px 10px; margin: 8px 0; }
.bag:has(input:checked) { opacity: .45; }
.row { display: flex; flex-wrap: wrap; gap: 10px; }
figure { margin: 0; width: 160px; } img { width: 160px; height: 120px; object-fit: contain;
background: #eef1f4; } figcaption { font-size: 13px; overflow-wrap: anywhere; }
label { font-variant-numeric: tabular-nums; } textarea { width: 100%; min-height: 90px; }
</style></head><body>
<h1>Bags of similar pictures</h1>
<p>A caption should tell the pictures of a bag apart. Strike bags in which none could: frames of one
video, pictures of the same thing. Save the list below as a file and run again with
<code>--strike FILE</code>.</p>
<textarea id="struck" readonly aria-label="Struck bags, one id per line"></textarea>
{% for size, bags in made.items() %}<h2>{{ size }} pictures: {{ bags|length }} bags</h2>
{% for bag in bags %}<div class="bag"><label><input type="checkbox" value="{{ bag.id }}">
strike · alpha {{ "%.3f"|format(bag.alpha) }}</label><div class="row">
{% for one in bag.pictures %}<figure>{% if one.source %}<img loading="lazy" alt=""
src="{{ one.source }}">{% endif %}
<figcaption><b dir="auto">{{ one.id }}</b><br><span dir="auto">{{ one.caption }}</span></figcaption>
</figure>{% endfor %}</div></div>
{% endfor %}{% endfor %}
<script>
const list = document.getElementById("struck");
document.addEventListener("change", () => {
  const ids = [...document.querySelectorAll("input:checked")].map((box) => box.value);
  list.value = [...new Set(ids)].join("\\n");
});
</script></body></html>
"""


def _sheet(
    made: dict[int, list[Bag]],
    pictures: dict[int, _Picture],
    thumbnail: Callable[[int, int], bytes] | None,
) -> str:
    """The bags as a self-contained page with embedded pictures."""

    def source(pair: int) -> str:
        if thumbnail is None:
            return ""
        try:
            return "data:image/jpeg;base64," + b64encode(thumbnail(pair, _SIDE)).decode("ascii")
        except (ImageError, UnsafePath, OSError):  # a missing picture leaves its place empty
            return ""

    sources = {row: source(picture.pair) for row, picture in pictures.items()}
    shown = {
        size: [
            {
                "id": pictures[bag.members[0]].id,
                "alpha": bag.alpha,
                "pictures": [
                    {"id": pictures[row].id, "caption": pictures[row].captions[0][:200],
                     "source": sources[row]}
                    for row in bag.members
                ],
            }
            for bag in bags
        ]
        for size, bags in made.items()
    }  # fmt: skip
    return Environment(autoescape=True).from_string(_SHEET).render(made=shown)
