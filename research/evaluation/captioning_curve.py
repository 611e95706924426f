"""The trade-off of self-retrieval as a drawing: retrieval against truth, over the steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: Okabe and Ito's colours, which colour-blind people can tell apart, and a grey for an eighth one.
_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#767676"
)  # fmt: skip
#: Dashes and markers, so that curves differ without colour, too: eight pairs before one repeats.
_DASHES = ("", "8 4", "2 3", "10 3 2 3")
_MARKERS = ("circle", "square")
#: Pixels: the drawing, its margins, the plot, and the lines of the legend.
_WIDTH, _HEIGHT, _LEFT, _TOP, _ACROSS, _DOWN, _LEGEND = 800, 420, 60, 20, 440, 340, 24


@dataclass(frozen=True)
class Curve:
    """`points`: (share of captions whose claims are all true, R@1), both in [0, 1], at `steps`."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: Sequence[int]


def draw(curves: Sequence[Curve]) -> str:
    """An SVG with a line per curve, from its start (an empty marker) on; tooltips give each point's
    step. Better is up and to the right."""
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
        dashes = _DASHES[number % len(_DASHES)]
        marker = _MARKERS[number // len(_DASHES) % len(_MARKERS)]
        stroke = f'stroke="{colour}" stroke-width="2"'
        if dashes:
            stroke += f' stroke-dasharray="{dashes}"'
        places = [place(x, y) for x, y in curve.points]
        line = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" {stroke}/>')
        for (x, y), step in zip(places, curve.steps, strict=True):
            fill = "#ffffff" if step == curve.steps[0] else colour
            title = f"<title>{escape(curve.name)}, after {step} steps</title>"
            parts.append(_mark(marker, x, y, fill, colour, title))
        y = _TOP + 12 + _LEGEND * number
        parts.append(f'<path d="M{right + 10} {y}h36" fill="none" {stroke}/>')
        parts.append(_mark(marker, right + 28, y, colour, colour))
        parts.append(f'<text x="{right + 54}" y="{y + 4}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _mark(marker: str, x: float, y: float, fill: str, colour: str, title: str = "") -> str:
    """A point of a curve; `title`: its tooltip, an element."""
    look = f'fill="{fill}" stroke="{colour}"'
    if marker == "square":
        at = f'x="{round(x - 4, 1)}" y="{round(y - 4, 1)}"'
        return f'<rect {at} width="8" height="8" {look}>{title}</rect>'
    return f'<circle cx="{x}" cy="{y}" r="4" {look}>{title}</circle>'


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
