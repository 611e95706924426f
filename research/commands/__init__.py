"""The commands of this package, which the product's command line adds when it finds them."""

from collections.abc import Callable, Mapping

from research.commands import concreteness, distill, draw, inject_errors, measure, train_captioner

#: Command functions by name.
COMMANDS: Mapping[str, Callable[..., None]] = {
    "captioner": train_captioner.captioner,
    "noise": inject_errors.noise,
    "draw": draw.draw,
    "evaluate": measure.evaluate,
    "icc": concreteness.icc,
    "distill": distill.distill,
    "bench": measure.bench,
}
