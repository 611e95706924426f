"""`draw`: a dataset of drawn scenes whose errors are known."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit
from backend.operations.common_options import AsJson
from backend.options import ARGUMENT, Options


class DrawOptions(Options):
    """Draw scenes with captions, clean or noisy, into a folder to import; `truth.jsonl` beside
    them says which are wrong, and which words."""

    out: Annotated[Path, ARGUMENT]
    """Output folder; it must be empty, or not exist yet."""
    pairs: int = Field(100, ge=1)
    """Number of pairs."""
    rate: float = Field(0.0, ge=0, le=0.5)
    """Share of the captions that are wrong."""
    kind: str = "fine-grained"
    """How captions are wrong: random, noun or fine-grained."""
    seed: int = 0
    """The same seed draws the same pairs."""
    as_json: AsJson = False


def _draw(options: DrawOptions) -> None:
    from research.evaluation.drawn_dataset import write

    report = write(options.out, options.pairs, options.rate, options.kind, options.seed)
    emit(
        report, options.as_json,
        f"{report.pairs} pairs, {report.wrong} of them wrong, in {report.out}.",
    )  # fmt: skip


draw = as_command(_draw)
