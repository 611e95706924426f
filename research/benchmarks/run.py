"""`evaluate --benchmark NAME PATH`, and `evaluate verdicts`: models on a curator's own verdicts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.datasets.safe_files.containers import locate
from backend.engine.scoring.loading import choose_device
from backend.errors import NotScored, SettingsError
from backend.progress import Progress, no_progress
from backend.settings import MODELS
from backend.workspace import Workspace
from db.authors import is_rule
from db.decisions import AT_RANDOM, RIGHT_OR_WRONG, is_wrong
from db.queries import dataset_queries, pair_queries
from research.benchmarks.benchmark import Comparison, Content, Item, Pictures
from research.benchmarks.benchmark_figures import Judgement
from research.benchmarks.benchmark_registry import benchmark_named
from research.benchmarks.judges import (
    by_captioner,
    by_file,
    by_program,
    by_scorer,
    by_server,
    load_named,
)
from research.benchmarks.report import BenchmarkReport, report_of

#: Judged without being named: CLIPScore's cosine, and BLIP's match.
BASELINES = ("clip", "blip-itm")
#: Fewest right and wrong verdicts that models are compared on.
FEWEST_VERDICTS = 5


@dataclass(frozen=True)
class Judges:
    """Who judges. `model`, `kind`, `captioner`: the program's own, as for scoring; `baselines`:
    scorers by KIND, KIND=MODEL or MODEL; `scores`: files of anybody's scores; `server`: address of
    a model that is asked, `server_model`: its name, `answers`: where its answers are kept."""

    model: str | None = None
    kind: str | None = None
    captioner: str | None = None
    baselines: Sequence[str] = ()
    scores: Sequence[Path] = ()
    device: str | None = None
    precision: str | None = None
    server: str | None = None
    server_model: str | None = None
    answers: Path | None = None

    def of_models(
        self, items: Sequence[Item], captioner: str | None, progress: Progress
    ) -> list[Judgement]:
        """The baselines' judgements, those of the captioner and of the server, if there are."""
        judgements = []
        for name in self.baselines or BASELINES:
            title, scorer = load_named(name, self.device, self.precision)
            judgements.append(by_scorer(title, scorer, items, progress))
        if captioner is not None:
            judgements.append(by_captioner(captioner, items, self.device, progress))
        if self.server is not None:
            judgements.append(
                by_server(self.server, self.server_model, items, self.answers, progress)
            )
        names = [judgement.name for judgement in judgements]
        return [
            Judgement(f"{j.name} ({j.settings.split(', ')[1]})", j.scores, j.settings, j.suspects)
            if names.count(j.name) > 1 else j
            for j in judgements
        ]  # fmt: skip

    def of_files(self, items: Sequence[Item]) -> tuple[list[Judgement], list[str]]:
        read = [by_file(path, items) for path in self.scores]
        return (
            [judgement for judgements, _ in read for judgement in judgements],
            [note for _, notes in read for note in notes],
        )


def evaluate_benchmark(
    name: str,
    path: Path,
    image_root: Path,
    judges: Judges = Judges(),
    groups: int | None = None,
    seed: int = 0,
    skip_missing: bool = False,
    items_file: Path | None = None,
    progress: Progress = no_progress,
) -> BenchmarkReport:
    """Judge a benchmark's captions. `groups`: only so many of its pictures or examples, drawn at
    random by `seed`; None: all; `items_file`: also write the captions with their ids and pictures
    to this JSONL, for others to score.

    Raises SettingsError and DatasetFormatError with counts; see `Benchmark.content`.
    """
    benchmark = benchmark_named(name)
    progress(0, 0, f"Reading {benchmark.title}")
    content = benchmark.content(path, Pictures(image_root, skip_missing))
    if groups is not None:
        content = draw_content(content, groups, seed)
    if items_file is not None:
        write_items(content.items, items_file)
    from_files, notes = judges.of_files(content.items)  # before hours of scoring
    choose_device(judges.device)
    captioner = judges.captioner
    if captioner is None and judges.model is None:
        captioner = str(MODELS / "scenes-blip-captioner")
    program = by_program(
        content.items,
        {"model": judges.model, "kind": judges.kind, "captioner": captioner,
         "device": judges.device}, progress,
    )  # fmt: skip
    captioner_name = None if captioner in (None, "none", "auto") else captioner
    judgements = [program, *judges.of_models(content.items, captioner_name, progress), *from_files]
    return report_of(
        benchmark.title, f"{path.name}, layout: {benchmark.layout}", content, judgements,
        benchmark.cited_for, benchmark.published, seed, notes=notes,
    )  # fmt: skip


def draw_content(content: Content, groups: int, seed: int) -> Content:
    """`groups` of the pictures or examples, at random, with all their captions."""
    names = list(dict.fromkeys(item.group for item in content.items))
    if groups >= len(names):
        return content
    random = np.random.default_rng(seed)
    group_names = {names[place] for place in random.permutation(len(names))[:groups].tolist()}
    rows = [row for row, item in enumerate(content.items) if item.group in group_names]
    new_row = {row: place for place, row in enumerate(rows)}
    comparisons = [
        Comparison(
            c.group,
            tuple((new_row[high], new_row[low]) for high, low in c.orders),
            c.kind,
            c.figure,
        )
        for c in content.comparisons
        if c.group in group_names
    ]
    note = (
        f"Drawn at random with seed {seed}: {groups:,} of {len(names):,} pictures or examples, "
        f"{len(rows):,} of {len(content.items):,} captions."
    )
    return Content([content.items[row] for row in rows], comparisons, [*content.notes, note])


def write_items(items: Sequence[Item], path: Path) -> None:
    """One caption a line: `id`, `image`, `caption`, and `box` where a part of the picture is
    meant. The truth is not among them."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            row = {"id": item.id, "image": str(item.picture), "caption": item.caption}
            if item.box is not None:
                row["box"] = list(item.box)  # type: ignore[assignment]  # pyrefly: ignore
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def compare_on_verdicts(
    workspace: Workspace,
    dataset_id: int,
    judges: Judges = Judges(),
    seed: int = 0,
    progress: Progress = no_progress,
) -> BenchmarkReport:
    """Models on the captions that people have judged in a dataset. The program's own chance of
    error is not among them, because it may have learnt from the same verdicts.

    Raises NotScored with counts if there are too few verdicts of one kind.
    """
    content, name = verdicts_of(workspace, dataset_id)
    wrong = sum(item.is_wrong for item in content.items)
    right = len(content.items) - wrong
    if min(wrong, right) < FEWEST_VERDICTS:
        raise NotScored(
            f"'{name}' has {right:,} verdicts by people that say right and {wrong:,} that say "
            f"wrong; comparing models takes {FEWEST_VERDICTS} of each."
        )
    if not judges.baselines and not judges.scores and judges.server is None:
        raise SettingsError(
            "Name the models to compare.",
            terminal="Give --baseline NAME or --scores FILE, each as often as you like, or "
            "--judge-url URL.",
        )
    judgements = judges.of_models(content.items, judges.captioner, progress)
    from_files, notes = judges.of_files(content.items)
    return report_of(
        f"Models on the verdicts in {name}", name, content, [*judgements, *from_files],
        seed=seed, notes=notes,
    )  # fmt: skip


def verdicts_of(workspace: Workspace, dataset_id: int) -> tuple[Content, str]:
    """The captions that people have judged right or wrong, and the dataset's name."""
    with workspace.store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        pairs = [
            pair
            for pair in pair_queries.iterate_pairs(session, dataset_id)
            if pair.judgement in RIGHT_OR_WRONG and not is_rule(pair.decided_by)
        ]
    root = Path(dataset.root)
    items = [
        Item(pair.external_id, locate(root, pair.image_path), pair.caption,
             is_wrong(pair.judgement), group=pair.image_path)
        for pair in pairs
    ]  # fmt: skip
    at_random = sum(pair.sampling == AT_RANDOM for pair in pairs)
    note = (
        f"{at_random:,} of {len(pairs):,} verdicts are on captions drawn at random; the others "
        "were chosen by a ranking, so that the figures may not hold for the whole dataset."
    )
    return Content(items, notes=[note] if at_random < len(pairs) else []), dataset.name
