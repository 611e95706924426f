"""Drawing of settings and weather, in fractions of the picture's side, y pointing down."""

import math
import random

from PIL import ImageDraw

from research.scenes.pen import RGB, shade

#: Top edge of the ground, as a fraction of the side from the top.
HORIZON = 0.52

_SKIES: dict[str, RGB] = {
    "clear": (164, 208, 240),
    "sunny": (124, 196, 250),
    "rain": (146, 154, 166),
    "snow": (206, 214, 224),
    "night": (22, 28, 62),
}


class Canvas:
    """Draws in fractions of the side; if `dark`, every colour is darkened."""

    def __init__(self, draw: ImageDraw.ImageDraw, side: int, dark: bool) -> None:
        self.draw, self.side, self.dark = draw, side, dark

    def tone(self, colour: RGB) -> RGB:
        return shade(colour, 0.45) if self.dark else colour

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, fill: RGB) -> None:
        s = self.side
        self.draw.rectangle((x0 * s, y0 * s, x1 * s, y1 * s), self.tone(fill))

    def ellipse(self, x: float, y: float, rx: float, ry: float, fill: RGB) -> None:
        s = self.side
        box = ((x - rx) * s, (y - ry) * s, (x + rx) * s, (y + ry) * s)
        self.draw.ellipse(box, self.tone(fill))

    def polygon(self, points: list[tuple[float, float]], fill: RGB) -> None:
        self.draw.polygon([(x * self.side, y * self.side) for x, y in points], self.tone(fill))

    def line(self, points: list[tuple[float, float]], width: float, fill: RGB) -> None:
        positions = [(x * self.side, y * self.side) for x, y in points]
        self.draw.line(positions, self.tone(fill), max(1, round(width * self.side)))


def draw_background(
    draw: ImageDraw.ImageDraw, side: int, setting: str, weather: str, rng: random.Random
) -> None:
    """Draw the setting and its sky; falling rain and snow are drawn later, over the things."""
    canvas = Canvas(draw, side, dark=weather == "night")
    if setting == "room":
        _room(canvas, rng)
        return
    if setting == "kitchen":
        _kitchen(canvas, rng)
        return
    draw.rectangle((0, 0, side, side), _SKIES[weather])
    _sky(Canvas(draw, side, dark=False), weather, rng)
    {
        "park": _park,
        "beach": _beach,
        "street": _street,
        "lake": _lake,
        "mountains": _mountains,
        "forest": _forest,
        "desert": _desert,
    }[setting](canvas, rng)
    if weather == "snow":
        canvas.rectangle(0, 0.64, 1, 1, (238, 242, 248))
        canvas.ellipse(0.2, 0.65, 0.4, 0.04, (238, 242, 248))
        canvas.ellipse(0.8, 0.65, 0.4, 0.035, (238, 242, 248))


def draw_weather(draw: ImageDraw.ImageDraw, side: int, weather: str, rng: random.Random) -> None:
    """Draw falling rain or snow in front of everything."""
    if weather == "rain":
        for _ in range(46):
            x, y = rng.random() * side, rng.random() * side
            length = side * 0.05
            draw.line((x, y, x - length * 0.35, y + length), (96, 124, 176), max(1, side // 110))
    elif weather == "snow":
        for _ in range(60):
            x, y = rng.random() * side, rng.random() * side
            r = side * (0.006 + 0.006 * rng.random())
            draw.ellipse((x - r, y - r, x + r, y + r), (255, 255, 255), (190, 200, 214))


def _sky(canvas: Canvas, weather: str, rng: random.Random) -> None:
    x = rng.choice((0.14, 0.86))
    if weather == "sunny":
        for k in range(10):
            angle = k * math.pi / 5 + 0.2
            tip = (x + 0.14 * math.cos(angle), 0.14 + 0.14 * math.sin(angle))
            canvas.line([(x, 0.14), tip], 0.012, (255, 206, 60))
        canvas.ellipse(x, 0.14, 0.08, 0.08, (255, 222, 70))
    elif weather == "night":
        for _ in range(22):
            a, b = rng.random(), rng.random() * 0.45
            canvas.ellipse(a, b, 0.005, 0.005, (250, 246, 214))
        canvas.ellipse(x, 0.14, 0.07, 0.07, (246, 240, 206))
        canvas.ellipse(x + 0.03, 0.125, 0.06, 0.06, _SKIES["night"])
    else:
        colour = {"clear": (246, 250, 254), "rain": (104, 110, 122), "snow": (232, 236, 242)}[
            weather
        ]
        for _ in range(2 if weather == "clear" else 4):
            a, b = rng.random(), 0.06 + 0.16 * rng.random()
            for dx, r in ((-0.07, 0.035), (0.0, 0.05), (0.07, 0.038)):
                canvas.ellipse(a + dx, b, r * 1.4, r, colour)


def _park(canvas: Canvas, rng: random.Random) -> None:
    for k in range(6):
        canvas.ellipse(k * 0.2 + 0.06 * rng.random(), HORIZON + 0.02, 0.13, 0.07, (96, 164, 90))
    canvas.rectangle(0, HORIZON, 1, 1, (126, 192, 88))
    for _ in range(16):
        x, y = rng.random(), HORIZON + 0.05 + rng.random() * 0.42
        canvas.line([(x, y), (x + 0.008, y - 0.022)], 0.006, (92, 160, 68))


def _beach(canvas: Canvas, rng: random.Random) -> None:
    canvas.rectangle(0, HORIZON - 0.08, 1, 0.66, (44, 134, 196))
    for _ in range(9):
        x, y = rng.random(), HORIZON - 0.05 + rng.random() * 0.14
        canvas.line([(x, y), (x + 0.08, y)], 0.006, (150, 208, 236))
    canvas.polygon(
        [(0, 0.63), (0.3, 0.66), (0.7, 0.63), (1, 0.66), (1, 1), (0, 1)], (240, 216, 160)
    )
    canvas.line([(0, 0.63), (0.3, 0.66), (0.7, 0.63), (1, 0.66)], 0.012, (248, 250, 252))
    for _ in range(14):
        canvas.ellipse(rng.random(), 0.7 + rng.random() * 0.3, 0.004, 0.003, (206, 176, 120))


def _street(canvas: Canvas, rng: random.Random) -> None:
    x = -0.05
    while x < 1:
        width, top = 0.16 + 0.1 * rng.random(), 0.12 + 0.2 * rng.random()
        wall = rng.choice(((166, 150, 144), (150, 156, 168), (180, 164, 148)))
        canvas.rectangle(x, top, x + width, 0.62, wall)
        for row in range(5):
            for column in range(3):
                a, b = x + width * (0.14 + 0.29 * column), top + 0.03 + 0.075 * row
                lit = (250, 226, 140) if canvas.dark and rng.random() < 0.5 else (112, 124, 142)
                canvas.rectangle(a, b, a + width * 0.15, b + 0.04, lit)
        x += width + 0.01
    canvas.rectangle(0, 0.6, 1, 0.68, (196, 192, 188))
    canvas.rectangle(0, 0.68, 1, 1, (98, 100, 106))
    for k in range(5):
        canvas.rectangle(k * 0.24, 0.9, k * 0.24 + 0.13, 0.92, (240, 240, 236))


def _lake(canvas: Canvas, rng: random.Random) -> None:
    for k in range(4):
        canvas.ellipse(k * 0.33, HORIZON, 0.26, 0.09 + 0.05 * rng.random(), (110, 156, 110))
    canvas.rectangle(0, HORIZON - 0.02, 1, 0.76, (84, 162, 210))
    for _ in range(14):
        x, y = rng.random(), HORIZON + rng.random() * 0.22
        canvas.line([(x, y), (x + 0.1, y)], 0.006, (168, 214, 240))
    canvas.polygon(
        [(0, 0.78), (0.4, 0.74), (0.75, 0.77), (1, 0.74), (1, 1), (0, 1)], (136, 178, 92)
    )
    for _ in range(10):
        x = rng.choice((rng.random() * 0.12, 1 - rng.random() * 0.12))
        canvas.line([(x, 0.8), (x + 0.01, 0.66)], 0.007, (76, 120, 58))


def _mountains(canvas: Canvas, rng: random.Random) -> None:
    for x, height in ((0.16, 0.34), (0.84, 0.36), (0.5, 0.42)):
        x, top = x + 0.1 * (rng.random() - 0.5), HORIZON + 0.06 - height
        base = HORIZON + 0.08
        canvas.polygon([(x - 0.36, base), (x, top), (x + 0.36, base)], (122, 126, 142))
        canvas.polygon([(x, top), (x + 0.36, base), (x + 0.08, base)], (102, 106, 122))
        canvas.polygon(
            [(x, top), (x + 0.1, top + 0.12), (x + 0.03, top + 0.09), (x - 0.03, top + 0.13),
             (x - 0.1, top + 0.12)], (248, 250, 252),
        )  # fmt: skip
    canvas.rectangle(0, HORIZON + 0.06, 1, 1, (140, 176, 104))
    for _ in range(9):
        canvas.ellipse(rng.random(), 0.66 + rng.random() * 0.3, 0.014, 0.009, (150, 150, 150))


def _forest(canvas: Canvas, rng: random.Random) -> None:
    canvas.rectangle(0, 0.27, 1, 0.66, (62, 104, 66))
    for k in range(9):
        canvas.ellipse(k * 0.125, 0.28, 0.1, 0.06, (62, 104, 66))
    for k in range(11):
        x = k * 0.1 + 0.03 * rng.random()
        canvas.rectangle(x - 0.013, 0.3, x + 0.013, 0.66, (84, 62, 44))
    for k in range(8):
        canvas.polygon(
            [(k * 0.14 - 0.1, 0.56), (k * 0.14, 0.27 + 0.1 * rng.random()), (k * 0.14 + 0.1, 0.56)],
            (44, 84, 52),
        )
    canvas.rectangle(0, 0.62, 1, 1, (112, 128, 70))
    for _ in range(16):
        canvas.ellipse(rng.random(), 0.66 + rng.random() * 0.33, 0.012, 0.006, (140, 104, 60))


def _desert(canvas: Canvas, rng: random.Random) -> None:
    canvas.rectangle(0, HORIZON, 1, 1, (230, 190, 116))
    for x, r in ((0.15, 0.36), (0.7, 0.44)):
        canvas.ellipse(x + 0.1 * rng.random(), HORIZON + 0.05, r, 0.12, (222, 178, 100))
    for x in (0.08 + 0.1 * rng.random(), 0.9 - 0.1 * rng.random()):
        canvas.line([(x, 0.66), (x, 0.42)], 0.03, (70, 126, 70))
        canvas.line([(x, 0.56), (x + 0.05, 0.56), (x + 0.05, 0.48)], 0.022, (70, 126, 70))
        canvas.line([(x, 0.52), (x - 0.05, 0.52), (x - 0.05, 0.45)], 0.022, (70, 126, 70))
    canvas.rectangle(0, 0.68, 1, 1, (236, 200, 128))
    for _ in range(8):
        x, y = rng.random(), 0.74 + 0.24 * rng.random()
        canvas.line([(x, y), (x + 0.1, y - 0.008)], 0.006, (210, 168, 96))


def _room(canvas: Canvas, rng: random.Random) -> None:
    wall = rng.choice(((238, 226, 204), (214, 224, 226), (232, 214, 214)))
    canvas.rectangle(0, 0, 1, 0.64, wall)
    canvas.rectangle(0, 0.64, 1, 1, (186, 140, 96))
    for k in range(1, 5):
        canvas.line([(0, 0.64 + 0.08 * k), (1, 0.64 + 0.08 * k)], 0.004, (158, 114, 74))
    canvas.rectangle(0, 0.62, 1, 0.645, (250, 248, 244))
    x = rng.choice((0.08, 0.62))
    canvas.rectangle(x, 0.1, x + 0.3, 0.4, (250, 250, 250))
    canvas.rectangle(x + 0.02, 0.12, x + 0.28, 0.38, (176, 214, 240))
    canvas.rectangle(x + 0.14, 0.1, x + 0.16, 0.4, (250, 250, 250))
    canvas.rectangle(x + 0.02, 0.245, x + 0.28, 0.26, (250, 250, 250))
    y = 0.72 if x < 0.3 else 0.14
    canvas.rectangle(y, 0.14, y + 0.16, 0.3, (112, 82, 54))
    canvas.rectangle(y + 0.015, 0.155, y + 0.145, 0.285, (208, 190, 150))


def _kitchen(canvas: Canvas, rng: random.Random) -> None:
    canvas.rectangle(0, 0, 1, 0.66, (226, 236, 232))
    for k in range(12):
        canvas.line([(k / 11, 0.24), (k / 11, 0.44)], 0.003, (186, 204, 200))
    for k in range(4):
        canvas.line([(0, 0.24 + 0.066 * k), (1, 0.24 + 0.066 * k)], 0.003, (186, 204, 200))
    cupboard = rng.choice(((196, 164, 124), (150, 176, 186), (206, 202, 190)))
    for k in range(4):
        canvas.rectangle(k * 0.25 + 0.01, 0.02, k * 0.25 + 0.24, 0.22, cupboard)
        canvas.rectangle(k * 0.25 + 0.01, 0.47, k * 0.25 + 0.24, 0.66, cupboard)
        canvas.ellipse(k * 0.25 + 0.21, 0.15, 0.009, 0.009, (90, 90, 90))
        canvas.ellipse(k * 0.25 + 0.21, 0.52, 0.009, 0.009, (90, 90, 90))
    canvas.rectangle(0, 0.44, 1, 0.475, (120, 112, 108))
    x = rng.choice((0.03, 0.77))
    canvas.rectangle(x, 0.12, x + 0.2, 0.66, (228, 230, 234))
    canvas.line([(x, 0.32), (x + 0.2, 0.32)], 0.006, (160, 164, 170))
    canvas.line([(x + 0.03, 0.2), (x + 0.03, 0.28)], 0.012, (130, 134, 140))
    canvas.rectangle(0, 0.66, 1, 1, (214, 210, 204))
    for k in range(6):
        canvas.line([(k * 0.2, 0.66), (k * 0.3 - 0.25, 1)], 0.004, (180, 176, 170))
    for y in (0.74, 0.85):
        canvas.line([(0, y), (1, y)], 0.004, (180, 176, 170))
