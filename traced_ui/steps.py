"""The trajectory as a list: each step with the words that it removed or replaced marked."""

from markupsafe import Markup

from backend.engine.trajectories.trajectory import Trajectory
from traced_ui.differences import difference
from traced_ui.templates import render

#: Maximum number of steps listed; the chart shows them all.
MOST = 60


def steps_list(trajectory: Trajectory) -> Markup:
    """An ordered list; each item is clickable and shows its s and gain. The first is current."""
    scores = trajectory.scores
    steps = [
        {
            "number": t,
            "text": _text(trajectory, t),
            "score": float(scores[t]),
            "gain": float(scores[t] - scores[t - 1]) if t else 0.0,
            "is_current": t == 0,
            "is_peak": t == trajectory.peak and t > 0,
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
    spaced = [piece for word in words for piece in (("kept", " "), word)][1:]
    return render("difference.html", changes=spaced)
