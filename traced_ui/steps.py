"""The trajectory as a list: each step with the words that it removed or exchanged marked."""

from backend.trajectories.trajectory import Trajectory
from traced_ui.differences import difference
from traced_ui.markup import safe

#: More steps than this are not worth drawing; the chart shows them all.
MOST = 60


def steps_list(trajectory: Trajectory, step: int = 0) -> str:
    """An ordered list; each item can be clicked and tells its s, c and gain."""
    items = []
    for t in range(min(trajectory.steps, MOST) + 1):
        text = _text(trajectory, t)
        gain = float(trajectory.scores[t] - trajectory.scores[t - 1]) if t else 0.0
        current = ' aria-current="step"' if t == step else ""
        peak = " peak" if t == trajectory.peak and t else ""
        rise = "up" if gain > 0 else "down"
        change = f'<span class="gain {rise}">{gain:+.3f}</span>' if t else "<span></span>"
        items.append(
            f'<li class="step{peak}"{current}><button type="button" data-action="step" '
            f'data-step="{t}"><span class="t">{t}</span><span class="words" dir="auto">'
            f'{text or "(empty)"}</span><span class="s">s {float(trajectory.scores[t]):.3f}</span>'
            f"{change}</button></li>"
        )
    more = trajectory.steps - MOST
    tail = f"<li class='more'>… and {more} more steps, see the chart</li>" if more > 0 else ""
    return (
        f'<ol class="traced-steps" aria-label="Steps of the trajectory">{"".join(items)}{tail}</ol>'
    )


def _text(trajectory: Trajectory, t: int) -> str:
    """x_t with what step t took out struck out, and what it put in marked."""
    if trajectory.captions is not None:
        return difference(trajectory.caption_at(max(0, t - 1)), trajectory.caption_at(t))
    gone = set(trajectory.removed[: max(0, t - 1)])
    now = trajectory.removed[t - 1] if t else None
    return " ".join(
        f"<del>{safe(word)}</del>" if i == now else safe(word)
        for i, word in enumerate(trajectory.caption.words)
        if i not in gone
    )
