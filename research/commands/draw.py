"""`draw`: a dataset of drawn scenes whose errors are known."""

from pathlib import Path
from typing import Annotated

import typer

from backend.cli.output import emit, reported
from backend.operations.common_options import AsJson


def draw(
    out: Annotated[Path, typer.Argument(help="Output folder; it must be empty, or not exist yet.")],
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 100,
    rate: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of the captions that are wrong.")
    ] = 0.0,
    kind: Annotated[
        str, typer.Option(help="How captions are wrong: random, noun or fine-grained.")
    ] = "fine-grained",
    seed: Annotated[int, typer.Option(help="The same seed draws the same pairs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw scenes with captions, clean or noisy, into a folder to import; `truth.jsonl` beside
    them says which are wrong, and which words."""
    with reported(as_json):
        from research.evaluation.drawn_dataset import write

        report = write(out, pairs, rate, kind, seed)
        emit(
            report, as_json, f"{report.pairs} pairs, {report.wrong} of them wrong, in {report.out}."
        )
