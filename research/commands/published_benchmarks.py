"""`evaluate --benchmark` and `evaluate verdicts` behind the command's options."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backend.cli.output import open_dataset
from backend.errors import SettingsError
from backend.progress import Progress

if TYPE_CHECKING:
    from research.benchmarks.report import BenchmarkReport


def evaluate(
    name: str | None,
    path: str,
    dataset: str,
    image_root: Path | None,
    model: str | None,
    scorers: Sequence[str] | None,
    captioners: Sequence[str] | None,
    baselines: Sequence[str],
    scores: Sequence[Path],
    pairs: int | None,
    seed: int,
    skip_missing: bool,
    items: Path | None,
    database: str | None,
    device: str | None,
    precision: str | None,
    update: Progress,
) -> "BenchmarkReport":
    """`path`: of the benchmark `name`; without a name, verdicts of `dataset` are compared."""
    from research.benchmarks.run import Judges, compare_on_verdicts, evaluate_benchmark

    judges = Judges(
        model, (scorers or (None,))[0], (captioners or (None,))[0], baselines, scores, device,
        precision,
    )  # fmt: skip
    if name is None:
        workspace, dataset_id = open_dataset(dataset, database=database)
        return compare_on_verdicts(workspace, dataset_id, judges, seed, update)
    if image_root is None:
        raise SettingsError("Give the folder of the benchmark's pictures: --image-root FOLDER")
    return evaluate_benchmark(
        name, Path(path).expanduser(), image_root, judges, pairs, seed, skip_missing, items, update
    )


def write(report: "BenchmarkReport", markdown: Path | None, page: Path | None) -> str:
    """The tables in Markdown; also to these files."""
    from research.benchmarks import report as reports

    tables = reports.markdown(report)
    command = " ".join(["python app.py", *sys.argv[1:]])
    if markdown is not None:
        about = f"# {report.title}\n\n`{command}`\n\n"
        markdown.write_text(about + tables + "\n", encoding="utf-8")
    if page is not None:
        page.write_text(reports.page(report, command), encoding="utf-8")
    return tables
