"""The trade-off of self-retrieval as a drawing: retrieval against truth, over the steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: Okabe and Ito's colours, which colour-blind people can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
#: Pixels: the drawing, its margins, the plot, and the lines of the legend.
_WIDTH, _HEIGHT, _LEFT, _TOP, _ACROSS, _DOWN, _LEGEND = 760, 420, 60, 20, 440, 340, 24


@dataclass(frozen=True)
class Curve:
    """`points`: (share of captions whose claims are all true, R@1), both in [0, 1], at `steps`."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: Sequence[int]


def draw(curves: Sequence[Curve]) -> str:
    """An SVG with a line per curve, from its start (a ring) on; tooltips give each point's step.
    Better is up and to the right."""
    xs = [x for curve in curves for x, _ in curve.points] or [0.0, 1.0]
    ys = [y for curve in curves for _, y in curve.points] or [0.0, 1.0]
    x_axis, y_axis = _Axis.of(xs), _Axis.of(ys)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + _ACROSS * x_axis.share(x), 1),
            round(_TOP + _DOWN * (1 - y_axis.share(y)), 1),
        )

    right, bottom = place(x_axis.high, y_axis.low)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    for value in x_axis.ticks:
        x, _ = place(value, y_axis.low)
        parts.append(f'<path d="M{x} {_TOP}V{bottom}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{value:.0%}</text>')
    for value in y_axis.ticks:
        _, y = place(x_axis.low, value)
        parts.append(f'<path d="M{_LEFT} {y}H{right}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:.0%}</text>')
    parts.append(
        f'<text x="{(_LEFT + right) / 2}" y="{bottom + 36}" text-anchor="middle">'
        "captions whose claims are all true</text>"
    )
    parts.append(
        f'<text transform="translate(16 {(_TOP + bottom) / 2}) rotate(-90)" '
        'text-anchor="middle">R@1 in bags of 3, by the judge</text>'
    )
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [place(x, y) for x, y in curve.points]
        line = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), step in zip(places, curve.steps, strict=True):
            fill = "#ffffff" if step == curve.steps[0] else colour
            parts.append(
                f'<circle cx="{x}" cy="{y}" r="4" fill="{fill}" stroke="{colour}">'
                f"<title>{escape(curve.name)}, after {step} steps</title></circle>"
            )
        y = _TOP + 12 + _LEGEND * number
        parts.append(f'<circle cx="{right + 18}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{right + 30}" y="{y + 4}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    step: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "_Axis":
        """Rounded outwards to multiples of a step, with at most about ten of them."""
        extent = max(values) - min(values)
        step = next((step for step in (0.01, 0.02, 0.05) if extent <= 8 * step), 0.1)
        low, high = int(min(values) / step) * step, (int(max(values) / step) + 1) * step
        return cls(low, high, step)

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + self.step * number for number in range(count + 1)]
