"""`evaluate specificity`: do captions retrieve their pictures, and does the column predict it?

On drawn scenes, which have ground truth: R@1 of generic, ordinary and rich captions in mined and
random bags, together with the share that is *truly* unique in its bag; and the column as a
predictor of "true of no similar picture". On a dataset: R@1 of its own captions, of captioners',
or of captions from a file, next to published results (on other pictures with another scorer: the
differences mean nothing).
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from backend.datasets.cells import text_problem
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.containers import relative_name
from backend.datasets.safe_files.images import load_image
from backend.datasets.safe_files.text_files import text_of
from backend.engine import memory
from backend.engine.captions import Caption
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer, logit_scale_of
from backend.engine.unit_vectors import NEAR_DUPLICATE, unit
from backend.errors import DatasetError, SettingsError
from backend.features.specificity.picture_bags import (
    LARGEST,
    SMALLEST,
    Bag,
    candidate_bags,
    curated_bags,
    multimodal,
    nearest,
)
from backend.features.specificity.retrieval import NEIGHBOURS, USUAL_SCALE, retrieve
from backend.progress import Progress, no_progress
from research.bags_and_recall import (
    Recall,
    files_of,
    picture_vectors,
    random_bags,
    read_bags,
    recall_among_random,
    recall_at_1,
    rows_of,
)
from research.evaluation.labelled import DIRECTORIES
from research.evaluation.metrics import auc
from research.markdown_tables import Mark, mark, marks_table, table
from research.scenes.labelled_bags import KINDS, SceneBags, scene_bags
from research.scenes.renderer import pictures_of

Floats = NDArray[np.float32]

SIZES = (3, 5, 7)
#: SR, Tables 1 and 2: R@1 in percent on TrueMatch #3, #5, #7. Their standard error is about 2.
PAPER: dict[str, tuple[float, float, float]] = {
    "chance": (33.3, 20.0, 14.3),
    "COCO captions": (51.1, 41.3, 39.6),
    "ClipCap": (50.8, 36.5, 33.8),
    "OFA": (50.4, 36.3, 37.2),
    "CoCa": (52.2, 40.4, 38.2),
    "PaliGemma-224": (48.3, 35.6, 32.7),
    "PaliGemma-448": (49.3, 38.5, 33.3),
    "InstructBLIP (Visual)": (53.7, 42.7, 42.1),
    "Blend": (53.6, 44.8, 43.4),
    "Holistic": (57.5, 48.1, 49.1),
    "LLaVA-1.6-34B": (57.9, 46.9, 47.9),
    "Cambrian-3B": (58.3, 48.8, 52.8),
    "Cambrian-8B": (60.6, 53.3, 53.1),
    "DiscriTune": (53.3, 42.3, 38.4),
    "SR, best": (67.7, 58.7, 57.9),
}
#: SR, Table 2: the same captions among 99 random pictures (RD100), in percent.
PAPER_AMONG_RANDOM = {
    "COCO captions": 80.9,
    "InstructBLIP (Visual)": 86.9,
    "Blend": 88.9,
    "Holistic": 91.3,
}


@dataclass(frozen=True)
class RecallRow:
    """R@1 of one set of captions. `captions`: its name; `bags`: mined, given, random, or shuffled
    (captions assigned to the wrong pictures); `size`: of a bag, 100 for RD100; `unique`: the share
    that is true of no other picture in its bag, None if unknown."""

    seed: int
    captions: str
    bags: str
    size: int
    recall: Recall
    unique: float | None = None


@dataclass(frozen=True)
class ColumnRow:
    """How well scores of one training identify captions that are true of no similar picture.

    `likeness`: mean cosine similarity of the neighbours."""

    seed: int
    captions: str
    pairs: int
    auc_specificity: float
    auc_s: float
    #: Spearman of specificity with the share of similar pictures that the caption is true of.
    rho: float
    likeness: float


@dataclass(frozen=True)
class SpecificityReport:
    """`notes`: what was left out, and which scorer's vectors were used."""

    rows: list[RecallRow]
    column: list[ColumnRow]
    marks: list[Mark]
    notes: list[str]


# ------------------------------------------------------------------------------- drawn scenes


def evaluate_scenes(
    pairs: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    kind: str = "clip",
    sizes: Sequence[int] = SIZES,
    device: str | None = None,
    progress: Progress = no_progress,
) -> SpecificityReport:
    """Evaluate `pairs` new scenes per seed; seed k uses the k-th folder of embedded models.

    Raises SettingsError for a scorer without an embedded model, and bags that are too large."""
    if kind not in DIRECTORIES:
        raise SettingsError(f"Scenes are judged by {', '.join(DIRECTORIES)}, not {kind}.")
    _check_sizes(sizes, pairs)
    rows: list[RecallRow] = []
    column: list[ColumnRow] = []
    for k in range(seeds):
        seed, folder = first_seed + k, model_folders[k % len(model_folders)]
        scorer = load_scorer(str(folder / DIRECTORIES[kind]), kind, device)
        scenes = scene_bags(pairs, seed)
        before = k * pairs
        pictures = picture_vectors(
            scorer, pictures_of(scenes.scenes),
            lambda count, before=before: progress(
                before + count, seeds * pairs, "Drawing and seeing"
            ),
        )  # fmt: skip
        texts = {name: _texts(scorer, scenes.captions[name]) for name in KINDS}
        rows += _scene_rows(seed, scenes, pictures, texts, sizes)
        column.append(_column(seed, scorer, scenes, pictures, texts["ordinary"]))
        memory.release()
    notes = [
        f"drawn scenes, judged by the embedded {kind}; the results do not carry over to photographs"
    ]
    return SpecificityReport(rows, column, _marks(rows, column, sizes), notes)


def _scene_rows(
    seed: int, scenes: SceneBags, pictures: Floats, texts: dict[str, Floats], sizes: Sequence[int]
) -> Iterator[RecallRow]:
    """R@1 of all kinds of captions; bags are mined with the rich captions, the most detailed."""
    count = len(pictures)
    m = multimodal(pictures, texts["rich"])
    own_rows = np.arange(count)
    for size in sizes:
        mined_bags = curated_bags(candidate_bags(m, pictures, size))
        sampled_bags = random_bags(count, size, random.Random(seed))[: max(1, len(mined_bags))]
        for name in KINDS:
            for what, bags in (("mined", mined_bags), ("random", sampled_bags)):
                members = [bag.members for bag in bags]
                recall = recall_at_1(members, pictures, texts[name], own_rows)
                unique = _unique(scenes, name, bags)
                yield RecallRow(seed, name, what, size, recall, unique)
        shuffled_texts = np.random.default_rng(seed).permutation(texts["ordinary"])
        chance = random_bags(count, size, random.Random(seed + 1))
        members = [bag.members for bag in chance]
        recall = recall_at_1(members, pictures, shuffled_texts, own_rows)
        yield RecallRow(seed, "ordinary", "shuffled", size, recall)
    for name in KINDS:
        among = recall_among_random(pictures, texts[name], own_rows, seed)
        yield RecallRow(seed, name, "random", 100, among)


def _unique(scenes: SceneBags, kind: str, bags: Sequence[Bag]) -> float:
    shares_unique = [
        not scenes.true_of(
            kind, row, np.array([member for member in bag.members if member != row])
        ).any()
        for bag in bags
        for row in bag.members
    ]
    return float(np.mean(shares_unique)) if shares_unique else float("nan")


def _column(
    seed: int, scorer: Scorer, scenes: SceneBags, pictures: Floats, texts: Floats
) -> ColumnRow:
    """The column as computed by `score --specificity`: neighbours by picture similarity alone."""
    scale = logit_scale_of(scorer, USUAL_SCALE)
    places, cosines = nearest(pictures, NEIGHBOURS + 20)
    specificity, s_0, share, likeness = [], [], [], []
    for row, (near, alike) in enumerate(zip(places, cosines, strict=True)):
        mask = alike < NEAR_DUPLICATE
        near, alike = near[mask][:NEIGHBOURS], alike[mask][:NEIGHBOURS]
        s = float(pictures[row] @ texts[row])
        specificity.append(retrieve(s, pictures[near] @ texts[row], scale).specificity)
        s_0.append(s)
        share.append(float(scenes.true_of("ordinary", row, near).mean()) if len(near) else 0.0)
        likeness.append(float(alike.mean()) if len(near) else 0.0)
    unique = np.array(share) == 0
    return ColumnRow(
        seed, "ordinary", len(pictures), auc(unique, np.array(specificity)),
        auc(unique, np.array(s_0)), float(spearmanr(specificity, share).statistic),
        float(np.mean(likeness)),
    )  # fmt: skip


def _marks(
    rows: Sequence[RecallRow], column: Sequence[ColumnRow], sizes: Sequence[int]
) -> list[Mark]:
    def shares(captions: str, bags: str, size: int) -> NDArray[np.float64]:
        key = (captions, bags, size)
        return np.array([r.recall.share for r in rows if (r.captions, r.bags, r.size) == key])

    def add(what: str, least: float, gap: NDArray[np.float64]) -> None:
        marks.append(mark(what, f">= {least:.2f}", gap, ".3f", lambda value: value >= least))

    marks: list[Mark] = []
    for size in sizes:
        generic, ordinary, rich = (shares(name, "mined", size) for name in KINDS)
        add(f"R@1 #{size}: ordinary - generic", 0.08, ordinary - generic)
        add(f"R@1 #{size}: rich - ordinary", 0.05, rich - ordinary)
        if size == sizes[0]:
            harder = shares("ordinary", "random", size) - ordinary
            add(f"R@1 #{size}: random - mined bags, ordinary captions", 0.08, harder)
        errors = [
            abs(r.recall.share - 1 / size)
            / ((1 / size * (1 - 1 / size) / r.recall.captions) ** 0.5)
            for r in rows
            if r.bags == "shuffled" and r.size == size
        ]
        what = f"R@1 #{size}: shuffled captions, standard errors from 1/{size}"
        marks.append(mark(what, "<= 3", errors, ".3f", lambda error: error <= 3))
    aucs = np.array([row.auc_specificity for row in column])
    what = "column, ordinary captions: AUC of 'true of no similar picture'"
    add(what, 0.7, aucs)
    add(f"{what}, above s_0", 0.1, aucs - np.array([row.auc_s for row in column]))
    return marks


# ------------------------------------------------------------------------------- a dataset


def evaluate_dataset(
    path: Path,
    image_root: Path | None,
    model: str,
    kind: str | None = None,
    sizes: Sequence[int] = SIZES,
    bags: Path | None = None,
    captioners: Sequence[str] = (),
    captions: Path | None = None,
    pairs: int | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress = no_progress,
) -> SpecificityReport:
    """R@1 of a dataset's own captions, and of captioners' or a file's for the same pictures.

    `bags`: a folder with bags-3.json or 3.json, …, or one file in the published format, whose
    pictures alone are opened; None: they are mined.
    `pairs`: maximum number of pictures, sampled with the seed; ignored if `bags` are given. Raises
    DatasetError, SettingsError.
    """
    reader = read_dataset(path, ReadOptions(image_root=image_root))
    sources = list(reader)
    by_picture: dict[str, list[SourcePair]] = {}
    for pair in sources:
        by_picture.setdefault(str(pair.image_path), []).append(pair)
    names = list(by_picture)
    if pairs is not None and len(names) > pairs and bags is None:
        names = sorted(random.Random(seed).sample(names, pairs))
    _check_sizes(sizes, len(names))
    row_of = {
        identity: row for row, name in enumerate(names) for identity in _ids(by_picture[name])
    }
    # Report unreadable input before encoding the pictures.
    given_bags = None
    if bags is not None:
        given_bags = _given_bags(bags, sizes, row_of)
        # Only the bags' own pictures are opened.
        rows_used = sorted({row for _, members in given_bags for bag in members for row in bag})
        names = [names[row] for row in rows_used]
        new_row = {row: new for new, row in enumerate(rows_used)}
        row_of = {identity: new_row[row] for identity, row in row_of.items() if row in new_row}
        given_bags = [
            (size, [tuple(new_row[row] for row in bag) for bag in members])
            for size, members in given_bags
        ]
    theirs, unknown = _read_captions(captions, row_of) if captions is not None else ([], 0)
    scorer = load_scorer(model, kind, device)
    files = [by_picture[name][0].image_path for name in names]
    pictures = picture_vectors(
        scorer, (load_image(file) for file in files),
        lambda done: progress(done, len(names), "Seeing the pictures"),
    )  # fmt: skip
    human = [(row, pair.caption) for row, name in enumerate(names) for pair in by_picture[name]]
    notes = [f"judged by {scorer.info.auxiliary or scorer.info.kind} {scorer.info.model}"]
    if reader.problems:
        first = reader.problems[0]
        notes.append(f"{len(reader.problems)} rows cannot be read, left out: {first.message}")
    sets: dict[str, list[tuple[int, str]]] = {"the dataset": human}
    for name in captioners:  # one at a time, so that they need not fit into memory together
        captioner = load_captioner(name, scorer.info.device)
        sets[name] = []
        for row, file in enumerate(files):
            sets[name].append((row, captioner.describe(load_image(file))))
            progress(row + 1, len(files), f"Captions by {Path(name).name}")
    if captions is not None:
        sets[captions.name] = theirs
        if unknown:
            notes.append(f"{captions.name}: {unknown} rows are of no picture here, left out")
    texts = {name: _texts(scorer, [text for _, text in of]) for name, of in sets.items()}
    cut = sum(scorer.reader.words_read(text) < len(Caption.parse(text)) for of in sets.values()
              for _, text in of)  # fmt: skip
    if cut:
        notes.append(f"{cut} captions are truncated by the model; their ends do not count")
    bag_sets = given_bags
    if bag_sets is None:
        bag_sets = _mined_bags(sizes, pictures, texts["the dataset"], human)
    rows = []
    for name, of in sets.items():
        owners = np.array([row for row, _ in of], np.int64)
        present = set(owners.tolist())
        for size, members in bag_sets:
            whole = [bag for bag in members if present.issuperset(bag)]
            if len(whole) < len(members):
                notes.append(f"{name} #{size}: {len(members) - len(whole)} bags lack a caption")
            recall = recall_at_1(whole, pictures, texts[name], owners)
            rows.append(RecallRow(seed, name, "mined" if bags is None else "given", size, recall))
        among = recall_among_random(pictures, texts[name], owners, seed)
        rows.append(RecallRow(seed, name, "random", 100, among))
    return SpecificityReport(rows, [], [], notes)


def _ids(sources: Sequence[SourcePair]) -> set[str]:
    """Identifiers that a file of bags may use for a picture: ids of its pairs, file name, stem, and
    COCO image id."""
    ids = {pair.id for pair in sources}
    name = Path(relative_name(sources[0].image_path, Path("/"))).name
    stem = Path(name).stem
    digits = stem.rsplit("_", 1)[-1]
    return ids | {name, stem} | ({str(int(digits))} if digits.isdecimal() else set())


_SizedBags = list[tuple[int, list[tuple[int, ...]]]]


def _given_bags(path: Path, sizes: Sequence[int], row_of: dict[str, int]) -> _SizedBags:
    """Raises DatasetError for a file that cannot be read or names unknown pictures."""
    files = files_of(path, sizes) if path.is_dir() else [path]
    bags_of_files = [rows_of(file, read_bags(file), row_of) for file in files]
    return [(len(bags[0]) if bags else 0, bags) for bags in bags_of_files]


def _mined_bags(
    sizes: Sequence[int], pictures: Floats, texts: Floats, human: Sequence[tuple[int, str]]
) -> _SizedBags:
    mean = np.zeros((len(pictures), texts.shape[1]), np.float32)
    np.add.at(mean, [row for row, _ in human], texts)
    m = multimodal(pictures, mean)
    return [
        (size, [bag.members for bag in curated_bags(candidate_bags(m, pictures, size))])
        for size in sizes
    ]


def _read_captions(path: Path, row_of: dict[str, int]) -> tuple[list[tuple[int, str]], int]:
    """(row, caption) of a JSONL file with id and caption per line, and the number of lines whose
    picture is unknown. Raises DatasetError naming the line that cannot be read, or if no line is of
    a known picture."""
    captions, left_out = [], 0
    # A caption may contain other characters that str.splitlines treats as line ends.
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            identity, caption = str(value["id"]), value["caption"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DatasetError(
                f'{path}, line {number}: expected {{"id": …, "caption": …}}.'
            ) from error
        if not isinstance(caption, str) or not caption.strip():
            raise DatasetError(f"{path}, line {number}: the caption is empty or not text.")
        if problem := text_problem(caption):
            raise DatasetError(f"{path}, line {number}: the caption cannot be read: {problem}.")
        if identity in row_of:
            captions.append((row_of[identity], caption))
        else:
            left_out += 1
    if not captions:
        raise DatasetError(f"{path} has no caption of a picture here ({left_out} of others).")
    return captions, left_out


# ------------------------------------------------------------------------------- shared


def _check_sizes(sizes: Sequence[int], pictures: int) -> None:
    for size in sizes:
        if not SMALLEST <= size <= LARGEST:
            raise SettingsError(f"A bag holds {SMALLEST} to {LARGEST} pictures, not {size}.")
        if size > pictures:
            raise SettingsError(
                f"A bag of {size} needs {size} different pictures; there are {pictures}."
            )


def _texts(scorer: Scorer, captions: Sequence[str]) -> Floats:
    parts = [captions[first : first + 512] for first in range(0, len(captions), 512)]
    return unit(np.concatenate([scorer.text_embeddings(part) for part in parts]))


def markdown(report: SpecificityReport) -> str:
    """All tables as Markdown."""
    parts = [f"*{note}*" for note in report.notes]
    rows = []
    for row in report.rows:
        low, high = row.recall.interval
        unique = "" if row.unique is None else f"{row.unique:.3f}"
        size = "RD100" if row.size == 100 else f"#{row.size}"
        rows.append((row.captions, row.bags, size, f"{row.recall.share:.3f}",
                     f"{low:.3f} to {high:.3f}", unique, row.recall.captions,
                     row.seed))  # fmt: skip
    head = ("captions", "bags", "size", "R@1", "95 %", "truly unique", "captions asked", "seed")
    parts.append(table(head, rows))
    if report.column:
        head = ("column", "pairs", "AUC specificity", "AUC s_0", "Spearman with share true of",
                "mean cosine of neighbours", "seed")  # fmt: skip
        parts.append(table(head, (
            (row.captions, row.pairs, f"{row.auc_specificity:.3f}", f"{row.auc_s:.3f}",
             f"{row.rho:.2f}", f"{row.likeness:.2f}", row.seed)
            for row in report.column
        )))  # fmt: skip
    if report.marks:
        parts.append(marks_table(report.marks))
    title = "published (SR, Tables 1 and 2; other pictures, CLIP ViT-B/32 judges)"
    parts.append(table((title, "#3", "#5", "#7", "RD100"), (
        (name, *figures, PAPER_AMONG_RANDOM.get(name, "")) for name, figures in PAPER.items()
    )))  # fmt: skip
    return "\n\n".join(parts)
