"""How each thing looks: one function per noun, in units of the thing's height.

Everything faces right; the pen flips it. `WIDTHS` gives the width of each thing as a multiple of
its height.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from research.scenes.pen import RGB, Pen, shade

SKINS: tuple[RGB, ...] = ((250, 214, 180), (226, 178, 136), (168, 116, 80), (112, 74, 50))
HAIRS: tuple[RGB, ...] = ((42, 30, 24), (110, 66, 34), (222, 180, 86), (160, 70, 36))
TROUSERS: tuple[RGB, ...] = ((52, 60, 92), (74, 74, 78), (112, 92, 66))
INK: RGB = (30, 28, 32)
WOOD: RGB = (128, 86, 50)
GLASS: RGB = (196, 226, 244)

WIDTHS: dict[str, float] = {
    "man": 0.5, "woman": 0.5, "child": 0.55, "dog": 1.4, "cat": 0.9, "horse": 1.25, "sheep": 1.35,
    "bird": 1.3, "car": 2.1, "bus": 2.2, "truck": 2.0, "bicycle": 1.55, "boat": 0.95, "chair": 0.6,
    "table": 1.6, "bench": 1.9, "lamp": 0.4, "apple": 0.95, "banana": 1.4, "cake": 1.2,
    "pizza": 2.2,
    "tree": 0.75, "flower": 0.5, "ball": 1.0, "kite": 0.75, "balloon": 0.65, "umbrella": 1.1,
    "house": 1.1, "box": 1.15,
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """Parameters of a drawing. `pose`: an action, or holding, riding, open."""

    colour: RGB
    pose: str
    rng: random.Random


def draw_thing(pen: Pen, noun: str, look: Look) -> None:
    _DRAWINGS[noun](pen, look)


# People: head, hair and garment differ; the joints follow the pose.


def _person(pen: Pen, look: Look, head: float, garment: str, hair: str) -> None:
    skin, hair_colour = look.rng.choice(SKINS), look.rng.choice(HAIRS)
    cloth, trousers = look.colour, look.rng.choice(TROUSERS)
    pose, lift, lean = look.pose, 0.0, 0.0
    neck = 0.97 - 2 * head
    hip = neck - 0.34 if head < 0.14 else neck - 0.3
    feet = [(-0.08, 0.0), (0.09, 0.0)]
    knees = [(-0.07, hip / 2), (0.08, hip / 2)]
    hands = [(-0.2, hip - 0.02), (0.2, hip - 0.02)]
    if pose == "waving":
        hands[1] = (0.27, 1.0)
    elif pose == "running":
        lean = 0.07
        knees, feet = [(-0.12, hip * 0.55), (0.17, hip * 0.62)], [(-0.34, hip * 0.42), (0.25, 0.0)]
        hands = [(-0.22, hip + 0.06), (0.3, hip + 0.2)]
    elif pose == "jumping":
        lift = 0.2
        knees, feet = [(-0.16, hip * 0.62), (0.16, hip * 0.62)], [(-0.26, 0.1), (0.26, 0.1)]
        hands = [(-0.28, 1.0), (0.28, 1.0)]
    elif pose in ("sitting", "riding"):
        low = 0.3 if pose == "sitting" else 0.0
        drop = hip - low
        neck, hip = neck - drop, low
        reach = 0.24 if pose == "sitting" else 0.1
        knees = [(reach - 0.03, hip - 0.02), (reach, hip + 0.01)]
        feet = [(reach - 0.01, hip - 0.3), (reach + 0.04, hip - 0.3)]
        hands = [(0.12, hip + 0.03), (0.2, hip + 0.06)]
    elif pose == "holding":
        hands[1] = HOLDING_HAND
    hip, neck = hip + lift, neck + lift

    def raise_points(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(x, y + lift) for x, y in points]

    knees, feet, hands = raise_points(knees), raise_points(feet), raise_points(hands)
    shoulder = (lean, neck - 0.04)
    leg = skin if garment == "dress" else (cloth if garment == "overall" else trousers)
    for knee, foot in zip(knees, feet, strict=True):
        pen.line([(0.0, hip), knee, foot], 0.085, leg)
        pen.ellipse(foot[0] + 0.03, foot[1] + 0.015, 0.06, 0.025, INK, edge=False)
    pen.line([(shoulder[0] - 0.08, shoulder[1]), hands[0]], 0.06, shade(cloth, 0.85))
    pen.circle(*hands[0], 0.035, skin, edge=False)
    half = 0.12 if head < 0.14 else 0.14
    if garment == "dress":
        flare = 0.24 if pose not in ("sitting", "riding") else 0.14
        low = hip - (0.2 if pose not in ("sitting", "riding") else 0.05)
        pen.polygon(
            [
                (lean - 0.09, neck),
                (lean + 0.09, neck),
                (0.09, hip + 0.06),
                (flare, low),
                (-flare, low),
            ],
            cloth,
        )
    else:
        pen.polygon(
            [(lean - half, neck), (lean + half, neck), (half, hip - 0.03), (-half, hip - 0.03)],
            cloth,
        )
    if garment == "overall":
        pen.rectangle(
            lean - 0.07, hip + 0.08, lean + 0.07, neck - 0.1, shade(cloth, 1.45), edge=False
        )
    pen.line([(shoulder[0] + 0.08, shoulder[1]), hands[1]], 0.06, shade(cloth, 0.92))
    pen.circle(*hands[1], 0.038, skin, edge=False)
    x, y = lean * 1.4, neck + head
    if hair == "long":
        pen.ellipse(x - 0.02, y - 0.05, head * 1.3, head * 1.6, hair_colour)
    pen.circle(x, y, head, skin)
    if hair == "short":
        pen.half_disc(x, y + head * 0.25, head * 1.02, head * 0.85, hair_colour)
    elif hair == "long":
        pen.half_disc(x, y + head * 0.3, head * 1.08, head * 0.85, hair_colour)
    else:
        pen.half_disc(x, y + head * 0.3, head * 1.02, head * 0.8, shade(cloth, 0.8))
        pen.rectangle(x, y + head * 0.3, x + head * 1.5, y + head * 0.48, shade(cloth, 0.7), False)
    pen.circle(x + head * 0.4, y + head * 0.08, head * 0.13, INK, edge=False)
    pen.line([(x + head * 0.2, y - head * 0.45), (x + head * 0.65, y - head * 0.4)], 0.014, INK)


#: Position of the hand of a person who holds something.
HOLDING_HAND = (0.29, 0.66)


# Animals.


def _snore(pen: Pen, x: float, y: float, size: float) -> None:
    """Two "Z" above the head: the symbol for sleeping."""
    for k in (0, 1):
        a, s = x + k * size * 1.2, size * (1 - 0.3 * k)
        b = y + k * size * 1.3
        pen.line([(a, b + s), (a + s, b + s), (a, b), (a + s, b)], size * 0.22, (90, 90, 150))


def _legs(
    pen: Pen, xs: tuple[float, ...], top: float, width: float, colour: RGB, run: bool
) -> None:
    for k, x in enumerate(xs):
        reach = (0.26 if x > 0 else -0.26) * (1 if k % 2 else 0.7) if run else 0.0
        pen.line([(x, top), (x + reach, 0.04 if run else 0.0)], width, shade(colour, 0.8))


def _dog(pen: Pen, look: Look) -> None:
    c = look.colour
    dark = shade(c, 0.6) if sum(c) > 160 else shade(c, 1.4)
    if look.pose == "sleeping":
        pen.ellipse(-0.05, 0.2, 0.55, 0.21, c)
        pen.line([(-0.55, 0.12), (-0.7, 0.06), (-0.5, 0.02)], 0.09, c)
        pen.ellipse(0.52, 0.17, 0.22, 0.16, c)
        pen.ellipse(0.71, 0.11, 0.12, 0.08, shade(c, 1.2))
        pen.ellipse(0.42, 0.17, 0.08, 0.15, dark)
        pen.line([(0.53, 0.2), (0.64, 0.19)], 0.03, INK)
        _snore(pen, 0.6, 0.42, 0.16)
        return
    if look.pose == "sitting":
        pen.line([(-0.28, 0.08), (-0.55, 0.14), (-0.6, 0.34)], 0.1, c)
        pen.polygon([(-0.36, 0), (0.22, 0), (0.3, 0.6), (0.02, 0.7), (-0.3, 0.3)], c)
        pen.line([(0.2, 0.4), (0.24, 0.02)], 0.12, shade(c, 0.85))
        hx, hy = 0.2, 0.8
    else:
        run = look.pose == "running"
        pen.line([(-0.45, 0.5), (-0.66, 0.78)], 0.09, c)
        _legs(pen, (-0.36, -0.24, 0.24, 0.36), 0.42, 0.11, c, run)
        pen.ellipse(0, 0.48, 0.5, 0.19, c)
        hx, hy = 0.5, 0.76
    pen.circle(hx, hy, 0.19, c)
    pen.ellipse(hx + 0.2, hy - 0.06, 0.13, 0.09, shade(c, 1.25))
    pen.circle(hx + 0.31, hy - 0.03, 0.035, INK, edge=False)
    pen.ellipse(hx - 0.11, hy - 0.03, 0.08, 0.17, dark)
    pen.circle(hx + 0.06, hy + 0.05, 0.03, INK, edge=False)


def _cat(pen: Pen, look: Look) -> None:
    c = look.colour
    line = INK if sum(c) > 160 else (200, 200, 200)
    if look.pose == "sleeping":
        pen.ellipse(-0.05, 0.24, 0.52, 0.25, c)
        pen.line([(-0.5, 0.12), (-0.2, 0.03), (0.25, 0.05)], 0.1, shade(c, 0.75))
        hx, hy, r = 0.42, 0.24, 0.2
        _snore(pen, 0.5, 0.52, 0.15)
    else:
        pen.line([(-0.2, 0.06), (-0.46, 0.1), (-0.5, 0.36), (-0.4, 0.46)], 0.09, shade(c, 0.8))
        pen.ellipse(0, 0.3, 0.29, 0.32, c)
        pen.ellipse(0.1, 0.06, 0.1, 0.07, shade(c, 1.2))
        pen.ellipse(-0.1, 0.06, 0.1, 0.07, shade(c, 1.2))
        hx, hy, r = 0.05, 0.72, 0.22
    for side in (-1, 1):
        pen.polygon(
            [(hx + side * r * 0.95, hy + r * 0.3), (hx + side * r * 0.8, hy + r * 1.45),
             (hx + side * r * 0.15, hy + r * 0.9)], c,
        )  # fmt: skip
    pen.circle(hx, hy, r, c)
    for side in (-1, 1):
        if look.pose == "sleeping":
            pen.line([(hx + side * 0.12, hy + 0.02), (hx + side * 0.04, hy + 0.02)], 0.025, line)
        else:
            pen.circle(hx + side * 0.085, hy + 0.04, 0.034, line, edge=False)
        for tilt in (-0.03, 0.03):
            pen.line(
                [(hx + side * 0.1, hy - 0.06), (hx + side * 0.32, hy - 0.06 + tilt)], 0.012, line
            )
    pen.circle(hx, hy - 0.05, 0.03, (236, 120, 130), edge=False)


def _horse(pen: Pen, look: Look) -> None:
    c = look.colour
    mane = shade(c, 0.45) if sum(c) > 200 else shade(c, 1.5)
    pen.line([(-0.4, 0.6), (-0.56, 0.48), (-0.55, 0.22)], 0.08, mane)
    _legs(pen, (-0.33, -0.24, 0.24, 0.33), 0.45, 0.075, c, look.pose == "running")
    pen.ellipse(0, 0.53, 0.43, 0.16, c)
    pen.polygon([(0.2, 0.6), (0.4, 0.92), (0.54, 0.9), (0.42, 0.48)], c)
    pen.polygon([(0.38, 0.97), (0.52, 0.95), (0.74, 0.76), (0.68, 0.68), (0.44, 0.76)], c)
    pen.polygon([(0.4, 1.04), (0.38, 0.9), (0.47, 0.95)], c)
    pen.polygon([(0.36, 0.98), (0.42, 0.92), (0.26, 0.62), (0.16, 0.66)], mane, edge=False)
    pen.circle(0.53, 0.87, 0.025, INK, edge=False)


def _sheep(pen: Pen, look: Look) -> None:
    c, face = look.colour, (58, 50, 48)
    if sum(c) < 160:
        face = (120, 104, 92)
    asleep = look.pose == "sleeping"
    base = 0.28 if asleep else 0.52
    if not asleep:
        for x in (-0.3, -0.16, 0.16, 0.3):
            pen.line([(x, 0.4), (x, 0.0)], 0.08, face)
    for k in range(9):
        angle = k * 2 * math.pi / 9
        pen.circle(0.4 * math.cos(angle), base + 0.17 * math.sin(angle), 0.16, c)
    pen.ellipse(0, base, 0.45, 0.22, c, edge=False)
    hx, hy = 0.52, base + (-0.06 if asleep else 0.2)
    pen.ellipse(hx, hy, 0.13, 0.17, face)
    pen.ellipse(hx - 0.14, hy + 0.1, 0.09, 0.045, face)
    pen.circle(hx - 0.04, hy + 0.16, 0.1, c)
    if asleep:
        _snore(pen, 0.6, 0.5, 0.14)
    else:
        pen.circle(hx + 0.04, hy + 0.03, 0.03, (245, 245, 245), edge=False)


def _bird(pen: Pen, look: Look) -> None:
    c = look.colour
    if look.pose == "flying":
        pen.polygon([(-0.1, 0.5), (-0.42, 1.05), (0.18, 0.62)], shade(c, 0.72))
        pen.polygon([(-0.35, 0.5), (-0.8, 0.62), (-0.72, 0.36)], shade(c, 0.8))
        pen.ellipse(0, 0.48, 0.42, 0.19, c)
        pen.polygon([(-0.15, 0.5), (0.05, 1.0), (0.25, 0.55)], shade(c, 0.85))
        hx, hy = 0.4, 0.6
    else:
        for x in (-0.05, 0.1):
            pen.line([(x, 0.2), (x, 0.0), (x + 0.1, 0.0)], 0.05, (220, 140, 30))
        pen.polygon([(-0.35, 0.45), (-0.75, 0.3), (-0.7, 0.5)], shade(c, 0.75))
        pen.ellipse(0, 0.42, 0.42, 0.26, c)
        pen.ellipse(-0.1, 0.44, 0.26, 0.14, shade(c, 0.72))
        hx, hy = 0.34, 0.74
    pen.circle(hx, hy, 0.2, c)
    pen.polygon([(hx + 0.16, hy + 0.07), (hx + 0.42, hy), (hx + 0.16, hy - 0.08)], (240, 160, 30))
    pen.circle(hx + 0.07, hy + 0.06, 0.045, INK if sum(c) > 160 else (240, 240, 240), edge=False)


# Vehicles.


def _wheel(pen: Pen, x: float, radius: float) -> None:
    pen.circle(x, radius, radius, INK, edge=False)
    pen.circle(x, radius, radius * 0.48, (176, 178, 184), edge=False)


def _car(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.polygon([(-0.62, 0.56), (-0.4, 0.98), (0.32, 0.98), (0.62, 0.56)], c)
    pen.polygon([(-0.5, 0.6), (-0.34, 0.89), (-0.04, 0.89), (-0.04, 0.6)], GLASS, edge=False)
    pen.polygon([(0.04, 0.6), (0.04, 0.89), (0.27, 0.89), (0.48, 0.6)], GLASS, edge=False)
    pen.polygon([(-1.0, 0.2), (-1.0, 0.56), (0.66, 0.6), (1.0, 0.48), (1.02, 0.2)], c)
    pen.ellipse(0.95, 0.4, 0.06, 0.07, (255, 240, 160), edge=False)
    _wheel(pen, -0.58, 0.22)
    _wheel(pen, 0.6, 0.22)


def _bus(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.rectangle(-1.05, 0.14, 1.05, 1.0, c)
    for k in range(5):
        pen.rectangle(-0.95 + k * 0.34, 0.52, -0.69 + k * 0.34, 0.86, GLASS)
    pen.rectangle(0.74, 0.2, 0.98, 0.86, GLASS)
    pen.rectangle(-1.05, 0.36, 0.7, 0.44, shade(c, 0.7), edge=False)
    _wheel(pen, -0.6, 0.17)
    _wheel(pen, 0.6, 0.17)


def _truck(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.rectangle(-0.98, 0.2, 0.36, 1.0, c)
    pen.line([(-0.53, 0.2), (-0.53, 1.0)], 0.02, shade(c, 0.7))
    pen.line([(-0.08, 0.2), (-0.08, 1.0)], 0.02, shade(c, 0.7))
    pen.polygon(
        [(0.42, 0.2), (0.42, 0.82), (0.78, 0.82), (0.98, 0.5), (0.98, 0.2)], (206, 208, 214)
    )
    pen.polygon([(0.52, 0.52), (0.52, 0.74), (0.73, 0.74), (0.87, 0.52)], GLASS, edge=False)
    pen.rectangle(-0.98, 0.14, 0.98, 0.22, INK, edge=False)
    for x in (-0.66, -0.3, 0.68):
        _wheel(pen, x, 0.17)


def _bicycle(pen: Pen, look: Look) -> None:
    c = look.colour
    for x in (-0.48, 0.48):
        pen.ring(x, 0.3, 0.3, 0.055, INK)
        pen.line([(x - 0.28, 0.3), (x + 0.28, 0.3)], 0.015, (130, 130, 130))
        pen.line([(x, 0.02), (x, 0.58)], 0.015, (130, 130, 130))
    frame = [(-0.48, 0.3), (-0.16, 0.74), (0.34, 0.72), (-0.02, 0.28), (-0.48, 0.3)]
    pen.line(frame, 0.085, c)
    pen.line([(-0.02, 0.28), (-0.18, 0.84)], 0.085, c)
    pen.line([(0.48, 0.3), (0.3, 0.92), (0.46, 0.98)], 0.085, c)
    pen.line([(-0.3, 0.86), (-0.06, 0.86)], 0.08, INK)


def _boat(pen: Pen, look: Look) -> None:
    pen.line([(0, 0.2), (0, 1.0)], 0.04, WOOD)
    pen.polygon([(0.04, 0.98), (0.04, 0.3), (0.42, 0.3)], (250, 250, 246))
    pen.polygon([(-0.04, 0.92), (-0.04, 0.3), (-0.32, 0.3)], (232, 232, 226))
    pen.polygon([(-0.5, 0.26), (0.5, 0.26), (0.34, 0.02), (-0.34, 0.02)], look.colour)
    pen.line([(-0.55, 0.01), (0.55, 0.01)], 0.03, (120, 180, 230))


# Furniture.


def _chair(pen: Pen, look: Look) -> None:
    c = look.colour
    for x in (-0.24, 0.24):
        pen.line([(x, 0.44), (x, 0.0)], 0.07, shade(c, 0.75))
    pen.rectangle(-0.3, 0.42, -0.19, 1.0, c)
    pen.rectangle(-0.3, 0.38, 0.3, 0.5, c)


def _table(pen: Pen, look: Look) -> None:
    c = look.colour
    for x in (-0.66, 0.66):
        pen.rectangle(x - 0.06, 0.0, x + 0.06, 0.86, shade(c, 0.78))
    pen.rectangle(-0.8, 0.84, 0.8, 1.0, c)


def _bench(pen: Pen, look: Look) -> None:
    c = look.colour
    for x in (-0.72, 0.72):
        pen.line([(x, 0.0), (x, 0.98)], 0.08, (70, 70, 74))
    pen.rectangle(-0.92, 0.8, 0.92, 0.96, c)
    pen.rectangle(-0.92, 0.6, 0.92, 0.74, c)
    pen.rectangle(-0.95, 0.38, 0.95, 0.52, shade(c, 0.9))


def _lamp(pen: Pen, look: Look) -> None:
    pen.ellipse(0, 0.03, 0.16, 0.03, INK, edge=False)
    pen.line([(0, 0.03), (0, 0.75)], 0.05, (70, 70, 76))
    pen.circle(0, 0.71, 0.08, (255, 240, 150), edge=False)
    pen.polygon([(-0.1, 1.0), (0.1, 1.0), (0.21, 0.7), (-0.21, 0.7)], look.colour)


# Food.


def _apple(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.ellipse(-0.14, 0.42, 0.32, 0.42, c)
    pen.ellipse(0.14, 0.42, 0.32, 0.42, c)
    pen.ellipse(0, 0.42, 0.3, 0.36, c, edge=False)
    pen.line([(0, 0.76), (0.06, 1.0)], 0.08, WOOD)
    pen.polygon([(0.06, 0.86), (0.2, 1.0), (0.38, 0.94), (0.22, 0.82)], (70, 160, 60))
    pen.ellipse(-0.2, 0.55, 0.07, 0.11, shade(c, 1.6), edge=False)


def _banana(pen: Pen, look: Look) -> None:
    c = look.colour
    outer = [(-0.62 + 1.24 * k / 8, 0.62 - 0.6 * math.sin(math.pi * k / 8)) for k in range(9)]
    inner = [(0.52 - 1.04 * k / 8, 0.86 - 0.34 * math.sin(math.pi * k / 8)) for k in range(9)]
    pen.polygon([*outer, (0.66, 0.95), *inner], c)
    pen.line([(0.6, 0.8), (0.7, 1.0)], 0.12, (96, 76, 30))
    pen.circle(-0.6, 0.66, 0.06, (96, 76, 30), edge=False)


def _cake(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.ellipse(0, 0.06, 0.62, 0.06, (222, 224, 230))
    pen.rectangle(-0.5, 0.06, 0.5, 0.42, c)
    pen.rectangle(-0.34, 0.42, 0.34, 0.7, shade(c, 1.25))
    for k in range(6):
        pen.circle(-0.42 + 0.168 * k, 0.41, 0.075, (255, 250, 240), edge=False)
    for x in (-0.18, 0.0, 0.18):
        pen.line([(x, 0.7), (x, 0.88)], 0.05, (90, 150, 220))
        pen.ellipse(x, 0.94, 0.035, 0.06, (255, 170, 40), edge=False)


def _pizza(pen: Pen, look: Look) -> None:
    pen.ellipse(0, 0.45, 1.05, 0.45, (206, 146, 74))
    pen.ellipse(0, 0.5, 0.88, 0.35, (250, 206, 92), edge=False)
    for x, y in ((-0.5, 0.5), (0.0, 0.7), (0.5, 0.52), (-0.1, 0.36), (0.28, 0.34), (-0.4, 0.68)):
        pen.ellipse(x, y, 0.15, 0.08, (196, 48, 38), edge=False)
    for x, y in ((-0.25, 0.55), (0.25, 0.58), (0.1, 0.45)):
        pen.ellipse(x, y, 0.07, 0.04, (60, 140, 60), edge=False)


# Plants.


def _tree(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.polygon([(-0.065, 0), (0.065, 0), (0.045, 0.5), (-0.045, 0.5)], WOOD)
    for x, y, r in ((-0.2, 0.6, 0.17), (0.2, 0.6, 0.17), (0, 0.82, 0.18), (-0.13, 0.74, 0.17),
                    (0.13, 0.74, 0.17)):  # fmt: skip
        pen.circle(x, y, r, c)
    pen.ellipse(0, 0.68, 0.24, 0.18, c, edge=False)
    for x, y in ((-0.14, 0.72), (0.08, 0.84), (0.15, 0.64)):
        pen.circle(x, y, 0.05, shade(c, 1.2), edge=False)


def _flower(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.line([(0, 0), (0.02, 0.65)], 0.06, (52, 132, 54))
    pen.ellipse(0.13, 0.28, 0.12, 0.055, (62, 150, 60))
    pen.ellipse(-0.12, 0.2, 0.12, 0.055, (62, 150, 60))
    for k in range(6):
        angle = k * math.pi / 3
        pen.circle(0.02 + 0.17 * math.cos(angle), 0.75 + 0.17 * math.sin(angle), 0.115, c)
    middle = (250, 206, 50) if c[2] > 100 or c[1] < 120 else (120, 76, 36)
    pen.circle(0.02, 0.75, 0.105, middle)


# Toys and objects.


def _ball(pen: Pen, look: Look) -> None:
    c = look.colour
    band = (250, 250, 250) if sum(c) < 640 else (150, 160, 170)
    pen.circle(0, 0.5, 0.5, c)
    pen.line([(-0.42, 0.7), (-0.1, 0.56), (0.3, 0.62), (0.46, 0.66)], 0.09, band)
    pen.line([(-0.3, 0.14), (0.02, 0.3), (0.4, 0.24)], 0.09, band)


def _kite(pen: Pen, look: Look) -> None:
    c = look.colour
    tail = [(0, 0.32), (0.1, 0.22), (-0.06, 0.12), (0.06, 0.0)]
    pen.line(tail, 0.03, INK)
    for x, y in tail[1:]:
        pen.polygon([(x - 0.08, y + 0.04), (x + 0.08, y - 0.04), (x + 0.08, y + 0.04),
                     (x - 0.08, y - 0.04)], shade(c, 0.75), edge=False)  # fmt: skip
    pen.polygon([(0, 1.0), (0.34, 0.7), (0, 0.3), (-0.34, 0.7)], c)
    pen.polygon([(0, 1.0), (0.34, 0.7), (0, 0.7)], shade(c, 1.3), edge=False)
    pen.line([(0, 1.0), (0, 0.3)], 0.025, INK)
    pen.line([(-0.34, 0.7), (0.34, 0.7)], 0.025, INK)


def _balloon(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.line([(0, 0.3), (0.05, 0.15), (-0.03, 0.0)], 0.025, INK)
    pen.polygon([(0, 0.36), (-0.06, 0.27), (0.06, 0.27)], c)
    pen.ellipse(0, 0.66, 0.28, 0.34, c)
    pen.ellipse(-0.1, 0.78, 0.06, 0.09, shade(c, 1.6), edge=False)


def _umbrella(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.line([(0, 0.03), (0, 0.95)], 0.035, WOOD)
    pen.line([(0, 0.05), (0.06, 0.0), (0.1, 0.06)], 0.04, WOOD)
    pen.half_disc(0, 0.58, 0.55, 0.4, c)
    pen.polygon([(-0.19, 0.585), (0, 0.98), (0.19, 0.585)], shade(c, 1.35), edge=False)
    pen.line([(0, 0.96), (0, 1.02)], 0.03, INK)


def _house(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.rectangle(0.22, 0.7, 0.34, 0.98, (140, 78, 62))
    pen.rectangle(-0.45, 0.0, 0.45, 0.6, c)
    pen.polygon([(-0.55, 0.58), (0, 1.0), (0.55, 0.58)], (122, 62, 50))
    pen.rectangle(-0.1, 0.0, 0.1, 0.33, WOOD)
    for x in (-0.37, 0.19):
        pen.rectangle(x, 0.3, x + 0.18, 0.48, GLASS)
        pen.line([(x + 0.09, 0.3), (x + 0.09, 0.48)], 0.014, INK)


def _box(pen: Pen, look: Look) -> None:
    c = look.colour
    pen.polygon([(-0.5, 0.76), (0.32, 0.76), (0.55, 1.0), (-0.24, 1.0)], shade(c, 1.35))
    pen.polygon([(0.32, 0.0), (0.55, 0.24), (0.55, 1.0), (0.32, 0.76)], shade(c, 0.72))
    pen.rectangle(-0.5, 0.0, 0.32, 0.76, c)
    pen.rectangle(-0.17, 0.0, -0.02, 0.76, shade(c, 1.5 if sum(c) < 640 else 0.8), edge=False)


_DRAWINGS: dict[str, Callable[[Pen, Look], None]] = {
    "man": partial(_person, head=0.1, garment="shirt", hair="short"),
    "woman": partial(_person, head=0.1, garment="dress", hair="long"),
    "child": partial(_person, head=0.165, garment="overall", hair="cap"),
    "dog": _dog, "cat": _cat, "horse": _horse, "sheep": _sheep, "bird": _bird, "car": _car,
    "bus": _bus, "truck": _truck, "bicycle": _bicycle,
    "boat": _boat, "chair": _chair, "table": _table, "bench": _bench, "lamp": _lamp,
    "apple": _apple, "banana": _banana, "cake": _cake, "pizza": _pizza, "tree": _tree,
    "flower": _flower, "ball": _ball, "kite": _kite, "balloon": _balloon, "umbrella": _umbrella,
    "house": _house, "box": _box,
}  # fmt: skip
