"""Drawing in coordinates of one thing: its foot is the origin, its height is 1, y points up."""

from collections.abc import Sequence

from PIL import ImageDraw

RGB = tuple[int, int, int]
Point = tuple[float, float]


def shade(colour: RGB, factor: float) -> RGB:
    """Darken the colour if `factor` is below 1, lighten it above 1: 0 is black, 2 is white."""
    if factor <= 1:
        return (int(colour[0] * factor), int(colour[1] * factor), int(colour[2] * factor))
    rest = 2 - factor
    return (
        int(255 - (255 - colour[0]) * rest),
        int(255 - (255 - colour[1]) * rest),
        int(255 - (255 - colour[2]) * rest),
    )


class Pen:
    """Draws one thing and tracks its bounding box in pixels."""

    def __init__(
        self, draw: ImageDraw.ImageDraw, x: float, y: float, height: float, flip: bool
    ) -> None:
        self.draw = draw
        self.x, self.y, self.height = x, y, height
        self.direction = -1 if flip else 1
        self.left = self.top = float("inf")
        self.right = self.bottom = float("-inf")

    @property
    def box(self) -> tuple[float, float, float, float]:
        return self.left, self.top, self.right, self.bottom

    def _place(self, point: Point) -> Point:
        x = self.x + self.direction * point[0] * self.height
        y = self.y - point[1] * self.height
        self.left, self.right = min(self.left, x), max(self.right, x)
        self.top, self.bottom = min(self.top, y), max(self.bottom, y)
        return x, y

    def _width(self, width: float) -> int:
        return max(1, round(width * self.height))

    def polygon(self, points: Sequence[Point], fill: RGB, edge: bool = True) -> None:
        positions = [self._place(point) for point in points]
        self.draw.polygon(positions, fill, shade(fill, 0.65) if edge else fill)

    def ellipse(
        self, x: float, y: float, rx: float, ry: float, fill: RGB, edge: bool = True
    ) -> None:
        a, b = self._place((x - rx, y + ry)), self._place((x + rx, y - ry))
        box = (min(a[0], b[0]), a[1], max(a[0], b[0]), b[1])
        self.draw.ellipse(box, fill, shade(fill, 0.65) if edge else None)

    def circle(self, x: float, y: float, radius: float, fill: RGB, edge: bool = True) -> None:
        self.ellipse(x, y, radius, radius, fill, edge)

    def ring(self, x: float, y: float, radius: float, width: float, fill: RGB) -> None:
        a, b = self._place((x - radius, y + radius)), self._place((x + radius, y - radius))
        box = (min(a[0], b[0]), a[1], max(a[0], b[0]), b[1])
        self.draw.ellipse(box, None, fill, self._width(width))

    def rectangle(
        self, x0: float, y0: float, x1: float, y1: float, fill: RGB, edge: bool = True
    ) -> None:
        a, b = self._place((x0, y1)), self._place((x1, y0))
        box = (min(a[0], b[0]), a[1], max(a[0], b[0]), b[1])
        self.draw.rectangle(box, fill, shade(fill, 0.65) if edge else None)

    def line(self, points: Sequence[Point], width: float, fill: RGB) -> None:
        positions = [self._place(point) for point in points]
        self.draw.line(positions, fill, self._width(width), joint="curve")

    def half_disc(self, x: float, y: float, rx: float, ry: float, fill: RGB) -> None:
        """The upper half of an ellipse whose flat side is at `y`."""
        a, b = self._place((x - rx, y + ry)), self._place((x + rx, y))
        low = b[1] + (b[1] - a[1])
        box = (min(a[0], b[0]), a[1], max(a[0], b[0]), low)
        self.draw.pieslice(box, 180, 360, fill, shade(fill, 0.65))
