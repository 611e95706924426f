"""The trajectory as an SVG chart, s_t and c_t over the steps, and as a list of its steps, with the
words marked that each removed or replaced.

Both are rendered on the server together with the pair, so that they appear at the same time and
need no JavaScript library.
"""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from backend.engine.trajectories.trajectory import Trajectory
from traced_ui.differences import difference
from traced_ui.templates import render

#: A rise of the match that is worth a word.
RISE = 0.05
#: Size and plot area in SVG units; the page scales the chart to the column.
WIDTH, HEIGHT = 400, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 360, 30, 162
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
    """s and the cosine similarities, each on its own scale. Clicking a point goes to its step,
    hovering shows the caption there. The first step is current."""
    steps = list(range(trajectory.steps + 1))
    cosines = trajectory.similarities
    auxiliary = trajectory.auxiliary.scores if trajectory.auxiliary is not None else None
    curves = cosines if auxiliary is None else np.concatenate([cosines, auxiliary])
    s_low, s_high = _pad(trajectory.scores)
    c_low, c_high = min(0.0, float(curves.min())) - 0.05, max(1.05, float(curves.max()) + 0.05)
    across = [_scale(t, -0.4, trajectory.steps + 0.4, LEFT, RIGHT) for t in steps]

    def path(values: NDArray[np.float32], low: float, high: float) -> str:
        """Points of a polyline."""
        heights = [_scale(float(value), low, high, BOTTOM, TOP) for value in values]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))

    dots = [
        Dot(t, across[t], _scale(float(trajectory.scores[t]), s_low, s_high, BOTTOM, TOP),
            _hint(trajectory, t))
        for t in steps
    ]  # fmt: skip
    every = max(1, -(-len(steps) // _MOST_LABELS))
    return render(
        "review/chart.html",
        size=(WIDTH, HEIGHT),
        frame=(LEFT, RIGHT, TOP, BOTTOM),
        s=path(trajectory.scores, s_low, s_high),
        c=path(cosines, c_low, c_high),
        auxiliary=None if auxiliary is None else path(auxiliary, c_low, c_high),
        dots=dots,
        current=dots[0],
        x_ticks=[Tick(across[t], str(t)) for t in steps[::every]],
        s_ticks=_ticks(s_low, s_high),
        c_ticks=_ticks(c_low, c_high),
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


def _pad(values: NDArray[np.float32]) -> tuple[float, float]:
    """The range of the values with a margin, which is not empty even for constant values."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.08 or 0.05
    return low - room, high + room


def _ticks(low: float, high: float) -> list[Tick]:
    """Ticks at round numbers along a vertical axis, at most six."""
    span = high - low
    unit = 10.0 ** np.floor(np.log10(span / 5))
    by = next(unit * factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= 6)
    digits = max(0, int(-np.floor(np.log10(by))))
    numbers = np.arange(np.ceil(low / by), np.floor(high / by) + 1) * by
    return [Tick(_scale(n, low, high, BOTTOM, TOP), f"{n + 0.0:.{digits}f}") for n in numbers]


def _hint(trajectory: Trajectory, t: int) -> str:
    caption = trajectory.caption_at(t) or "(empty)"
    short = caption if len(caption) <= _LONGEST_HINT else caption[:_LONGEST_HINT] + " …"
    numbers = f"s {trajectory.scores[t]:.3f}, c {trajectory.similarities[t]:.3f}"
    return f"step {t}: {numbers}\n{short}"


#: Maximum number of steps listed; the chart shows them all.
MOST = 60


def steps_list(trajectory: Trajectory) -> Markup:
    """An ordered list; each item is clickable and shows its s and gain. The first is current."""
    scores, highest = trajectory.scores, highest_step(trajectory)
    steps = [
        {
            "number": t,
            "text": _text(trajectory, t),
            "score": float(scores[t]),
            "gain": float(scores[t] - scores[t - 1]) if t else 0.0,
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
    now = trajectory.removed[t - 1] if t else None
    words = [
        ("gone" if i == now else "kept", word)
        for i, word in enumerate(trajectory.caption.words)
        if i not in removed_indices
    ]
    pieces = [piece for word in words for piece in (("kept", " "), word)][1:]
    return render("difference.html", changes=pieces)
