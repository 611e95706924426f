"""The commands of this package, which the product's command line adds when it finds them."""

from collections.abc import Callable, Mapping

import typer

from research.commands import (
    bench,
    concreteness,
    distill,
    draw,
    evaluations,
    inject_errors,
    train_captioner,
)

#: Commands and groups of them, by name.
COMMANDS: Mapping[str, Callable[..., None] | typer.Typer] = {
    "captioner": train_captioner.captioner,
    "noise": inject_errors.noise,
    "draw": draw.draw,
    "evaluate": evaluations.evaluate,
    "icc": concreteness.icc,
    "distill": distill.distill,
    "bench": bench.bench,
}
