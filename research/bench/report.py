"""Several measurements combined into one report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.engine.scoring.loading import choose_device, choose_precision
from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError
from research.bench.measure_scoring import Measured, Progress, measure
from research.bench.random_models import SCORERS
from research.evaluation.result_tables import published

#: Overheads measured on an L40 (TRACED, Table 2): time with trajectories over time without.
PAPER_OVERHEADS = {
    ("blip-itm", "elimination"): 24.2,
    ("blip-itm", "fast-gcd"): 237.0,
    ("blip-itc", "elimination"): 13.8,
    ("clip", "elimination"): 18.0,
}


@dataclass(frozen=True)
class BenchReport:
    results: list[Measured]


def run_bench(
    scorers: Sequence[str],
    explorers: Sequence[str],
    pairs: int,
    words: str,
    reference: bool,
    device: str | None,
    precision: str | None,
    progress: Progress,
    lazies: Sequence[int] = (),
    first_step: bool = False,
) -> BenchReport:
    """Measure every scorer with every explorer, and with lazy elimination for each of `lazies`.

    `words`: range of caption lengths, such as "8-20"; `first_step`: also the first step of each
    explorer alone. Raises SettingsError for unknown names and
    invalid ranges.
    """
    where = choose_device(device)
    how = choose_precision(where, precision)
    try:
        first, last = (int(part) for part in words.split("-"))
    except ValueError as problem:
        raise SettingsError(f"'{words}' is not a range of words; write it as 8-20.") from problem
    if not 1 <= first <= last:
        raise SettingsError(f"'{words}' is not a range of words; write it as 8-20.")
    chosen = [Exploring(name) for name in explorers or ["elimination"]]
    if first_step:
        chosen += [replace(exploring, whole=False) for exploring in chosen]
    chosen += [Exploring(lazy=lazy) for lazy in lazies]
    unknown = set(scorers) - set(SCORERS)
    if unknown:
        raise SettingsError(f"There is no scorer '{unknown.pop()}'; use {', '.join(SCORERS)}.")
    return BenchReport(
        [
            measure(scorer, exploring, pairs, (first, last), reference, where, how, progress)
            for scorer in scorers or SCORERS
            for exploring in chosen
        ]
    )


def table(results: Sequence[Measured]) -> str:
    """The measurements and the paper's overheads as a table for a terminal."""
    lines = [
        f"{'scorer':9} {'explorer':23} {'pairs/s':>8} {'speedup':>8} {'overhead':>9} "
        f"{'limit':>6} {'plain':>7} {'paper':>6} {'time/arithmetic':>16} {'share':>6} "
        f"{'s/1,000':>8} {'paper':>6}  same"
    ]
    for r in results:
        paper = PAPER_OVERHEADS.get((r.scorer, r.explorer))
        on_l40 = published(2, "any", r.scorer, r.explorer, "one L40", "seconds_per_1000")
        seconds = 1000 * (r.image_seconds + r.fast_seconds) / r.pairs
        lines.append(
            f"{r.scorer:9} {r.explorer:23} {r.pairs_per_second:8.2f} {_number(r.speedup):>8} "
            f"{r.overhead:9.2f} {r.operations_limit_overhead:6.2f} "
            f"{_number(r.reference_overhead):>7} {_number(paper):>6} {r.bound_ratio:16.2f} "
            f"{100 / r.bound_ratio:5.0f}% {seconds:8.1f} "
            f"{_number(on_l40.mean if on_l40 else None):>6}  "
            + (f"{r.same_trajectories}/{r.pairs}" if r.same_trajectories is not None else "–")
        )
    names = ", ".join(dict.fromkeys(f"{r.device_name} in {r.precision}" for r in results))
    lines.append(
        f"on {names}; share: of the rate of the device's matrix products; s/1,000: pairs, images "
        "included; paper: TRACED, Table 2, on one L40"
    )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
