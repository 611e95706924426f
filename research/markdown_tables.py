"""How evaluations write their figures: means over seeds, marks, and tables in Markdown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Mean:
    """Mean over seeds; the standard error is None for a single seed."""

    mean: float
    standard_error: float | None


@dataclass(frozen=True)
class Mark:
    """An acceptance criterion, the values of each seed, and whether all of them reach it."""

    what: str
    wanted: str
    measured: str
    reached: bool


def mark(
    what: str, target: str, values: Iterable[float], form: str, reaches: Callable[[float], bool]
) -> Mark:
    """A criterion that each value has to reach.

    >>> mark("gain", ">= 1", [1.5, 0.5], ".1f", lambda gain: gain >= 1)
    Mark(what='gain', wanted='>= 1', measured='1.5, 0.5', reached=False)
    """
    numbers = list(values)
    text = ", ".join(format(value, form) for value in numbers)
    return Mark(what, target, text, bool(numbers) and all(map(reaches, numbers)))


def mean_of(values: Sequence[float]) -> Mean:
    """The mean, with its standard error if there are several values."""
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
    return Mean(float(np.mean(values)), error)


def mean_cell(mean: Mean | None, digits: int = 3) -> str:
    """
    >>> mean_cell(Mean(0.5, 0.25), 2), mean_cell(Mean(0.5, None), 2), mean_cell(None)
    ('0.50 ± 0.25', '0.50', '–')
    """
    if mean is None:
        return "–"
    error = "" if mean.standard_error is None else f" ± {mean.standard_error:.{digits}f}"
    return f"{mean.mean:.{digits}f}{error}"


def cell(values: Iterable[float | None], digits: int = 3) -> str:
    """The mean of the values that are known; "–" if there are none."""
    numbers = [value for value in values if value is not None]
    return mean_cell(mean_of(numbers) if numbers else None, digits)


def cells(records: Sequence[object], *fields: str, digits: int = 3) -> list[str]:
    """The mean of each of these fields over the records."""
    return [cell([getattr(record, field) for record in records], digits) for field in fields]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """
    >>> print(table(["a", "b"], [[1, "x"]]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def marks_table(marks: Iterable[Mark], of: str = "training") -> str:
    """`of`: what a measured value belongs to."""
    return table(
        ["mark", "must reach", f"measured, by {of}", "reached"],
        ([m.what, m.wanted, m.measured, "yes" if m.reached else "**no**"] for m in marks),
    )
