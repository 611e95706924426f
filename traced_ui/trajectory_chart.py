"""The trajectory as an SVG chart, s_t and c_t over the steps, and as a list of its steps, with the
words marked that each removed or replaced.

Both are rendered on the server together with the pair, so that they appear at the same time and
need no JavaScript library.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from backend.engine.trajectories.trajectory import Trajectory
from traced_ui.differences import difference
from traced_ui.templates import render

#: Size and plot area in SVG units; the page scales the chart to the column.
WIDTH, HEIGHT = 400, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 360, 30, 162
#: How many ticks both vertical axes may have.
TICKS = range(4, 8)
#: Maximum number of labels along the steps; more would overlap.
_MOST_LABELS = 10
_LONGEST_HINT = 300


class Tick(NamedTuple):
    """A labelled tick of an axis."""

    at: float
    label: str


class Dot(NamedTuple):
    """s at a step, with the text shown on hover."""

    step: int
    x: float
    y: float
    hint: str


def trajectory_chart(trajectory: Trajectory) -> Markup:
    """s and the cosine similarities, each on its own scale, whose ticks are at the same heights.
    Clicking a point goes to its step, hovering shows the caption there. The first step is
    current."""
    steps = list(range(trajectory.steps + 1))
    scores: list[float] = trajectory.scores.tolist()
    cosines: list[float] = trajectory.similarities.tolist()
    second = trajectory.auxiliary
    auxiliary: list[float] = [] if second is None else second.scores.tolist()
    s_values, c_values = _aligned(
        (min(scores), max(scores)), (min(0.0, *cosines, *auxiliary), max(1.0, *cosines, *auxiliary))
    )
    s_low, s_high, c_low, c_high = s_values[0], s_values[-1], c_values[0], c_values[-1]
    across = [_scale(t, -0.4, trajectory.steps + 0.4, LEFT, RIGHT) for t in steps]

    def path(values: Sequence[float], low: float, high: float) -> str:
        """Points of a polyline."""
        heights = [_scale(value, low, high, BOTTOM, TOP) for value in values]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))

    dots = [
        Dot(t, across[t], _scale(scores[t], s_low, s_high, BOTTOM, TOP), _hint(trajectory, t))
        for t in steps
    ]  # fmt: skip
    every = max(1, -(-len(steps) // _MOST_LABELS))
    return render(
        "review/chart.html",
        size=(WIDTH, HEIGHT),
        frame=(LEFT, RIGHT, TOP, BOTTOM),
        s=path(scores, s_low, s_high),
        c=path(cosines, c_low, c_high),
        auxiliary=None if second is None else path(auxiliary, c_low, c_high),
        dots=dots,
        current=dots[0],
        x_ticks=[Tick(across[t], str(t)) for t in steps[::every]],
        s_ticks=_ticks(s_values),
        c_ticks=_ticks(c_values),
        x_title="words removed" if trajectory.captions is None else "steps",
    )


def highest_step(trajectory: Trajectory) -> int:
    """The first step with the highest match, whatever is left of the caption there; 0: the caption
    itself, or later steps are not known yet."""
    return trajectory.peak if trajectory.whole else 0


def _scale(value: float, low: float, high: float, start: float, end: float) -> float:
    """Map `value` linearly from [low, high] to [start, end].

    >>> _scale(0.25, 0, 1, 100, 200)
    125.0
    """
    return start + (value - low) / (high - low) * (end - start)


def _aligned(*ranges: tuple[float, float]) -> list[list[float]]:
    """Round values at equal distances that enclose each range, of one number for all, with as
    little room beyond the ranges as can be.

    >>> _aligned((0.0, 0.92), (-0.07, 1.0))[1]
    [-0.25, 0.0, 0.25, 0.5, 0.75, 1.0]
    """
    choices = [[_round_values(*each, count) for each in ranges] for count in TICKS]

    def room(axes: list[list[float]]) -> float:
        spans = zip(axes, ranges, strict=True)
        return sum((axis[-1] - axis[0]) / (high - low or 1.0) for axis, (low, high) in spans)

    return min(choices, key=room)


def _round_values(low: float, high: float, count: int) -> list[float]:
    """`count` round values at equal distances that enclose a range, which may be empty; [0, 1] in
    place of one that is not finite.

    >>> _round_values(0.0, 1.9, 6)
    [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    """
    if not math.isfinite(high - low):
        low, high = 0.0, 1.0
    # Beside large numbers, values at smaller distances would be the same.
    span = max(high - low or 0.1, 1e-9 * max(abs(low), abs(high)))
    unit = 10.0 ** math.floor(math.log10(span / (count - 1)))
    by = first = 0.0
    for factor in (1, 2, 2.5, 5, 10, 20):
        by = unit * factor
        first = math.floor(low / by + 1e-6)  # 0.3 / 0.1 is below 3
        if (first + count - 1) * by >= high - 1e-6 * by:
            break
    return [first * by + by * number + 0.0 for number in range(count)]


def _ticks(values: Sequence[float]) -> list[Tick]:
    """Ticks along a vertical axis from the first to the last value."""
    low, high, by = values[0], values[-1], values[1] - values[0]
    digits = next(n for n in range(9) if math.isclose(round(by, n), by, rel_tol=1e-4) or n == 8)
    return [Tick(_scale(n, low, high, BOTTOM, TOP), f"{n:.{digits}f}") for n in values]


def _hint(trajectory: Trajectory, t: int) -> str:
    caption = trajectory.caption_at(t) or "(empty)"
    short = caption if len(caption) <= _LONGEST_HINT else caption[:_LONGEST_HINT] + " …"
    numbers = f"s {trajectory.scores[t]:.3f}, c {trajectory.similarities[t]:.3f}"
    return f"step {t}: {numbers}\n{short}"


#: Maximum number of steps listed; the chart shows them all.
MOST = 60


def steps_list(trajectory: Trajectory) -> Markup:
    """An ordered list; each item is clickable and shows its s, gain and c. The first is current."""
    scores, highest = trajectory.scores.tolist(), highest_step(trajectory)
    similarities = trajectory.similarities.tolist()
    steps = [
        {
            "number": t,
            "text": _text(trajectory, t),
            "score": scores[t],
            "similarity": similarities[t],
            "gain": scores[t] - scores[t - 1] if t else 0.0,
            "is_current": t == 0,
            "is_peak": t == highest and t > 0,
        }
        for t in range(min(trajectory.steps, MOST) + 1)
    ]
    return render(
        "steps.html", steps=steps, more=trajectory.steps - MOST, is_whole=trajectory.whole
    )


def _text(trajectory: Trajectory, t: int) -> Markup:
    """x_t, with the words that step t removed struck out and those that it added marked."""
    if trajectory.captions is not None:
        return difference(trajectory.caption_at(max(0, t - 1)), trajectory.caption_at(t))
    removed_indices = set(trajectory.removed[: max(0, t - 1)])
    words = trajectory.caption.words
    kept_indices = [i for i in range(len(words)) if i not in removed_indices]
    if not t:
        return render("difference.html", changes=[("kept", " ".join(words))])
    now = trajectory.removed[t - 1]
    before = [f"{words[i]} " for i in kept_indices if i < now]
    after = [f" {words[i]}" for i in kept_indices if i > now]
    pieces = [("kept", "".join(before)), ("gone", words[now]), ("kept", "".join(after))]
    return render("difference.html", changes=pieces)
