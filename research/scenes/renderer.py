"""Renders a scene to a picture, and locates its things.

Pictures are drawn at twice their size and downscaled, so that edges are smooth at any size.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from PIL import Image, ImageDraw

from research.scenes.backgrounds import draw_background, draw_weather
from research.scenes.drawing import Look, draw_thing
from research.scenes.pen import RGB, Pen
from research.scenes.scene_layout import lay_out
from research.scenes.world import COLOURS, UNFAMILIAR_SHADES, Scene

#: Side of the pictures on which models are evaluated, in pixels.
PICTURE_SIZE = 192


@dataclass(frozen=True)
class Region:
    """The bounding box of one drawn instance of a thing: (x0, y0, x1, y1) as fractions of the
    picture's side. `thing`: index into the scene's things."""

    thing: int
    box: tuple[float, float, float, float]


def render(scene: Scene, size: int = 384) -> Image.Image:
    """The picture as RGB image of `size` by `size` pixels; sizes differ only in resolution."""
    return render_with_regions(scene, size)[0]


def pictures_of(scenes: Iterable[Scene]) -> Iterator[Image.Image]:
    """Pictures of PICTURE_SIZE, drawn one at a time."""
    return (render(scene, PICTURE_SIZE) for scene in scenes)


def render_with_regions(scene: Scene, size: int = 384) -> tuple[Image.Image, list[Region]]:
    """The picture, and its regions in drawing order: later ones cover earlier ones."""
    side = 2 * size
    image = Image.new("RGB", (side, side))
    draw = ImageDraw.Draw(image)
    # Separate generators: how much one step samples must not affect the next.
    draw_background(draw, side, scene.setting, scene.weather, random.Random(scene.seed))
    regions = []
    for spot in lay_out(scene, random.Random(scene.seed + 1)):
        thing = scene.things[spot.thing]
        pen = Pen(draw, spot.x * side, spot.y * side, spot.height * side, spot.flip)
        shades = UNFAMILIAR_SHADES if scene.unfamiliar else COLOURS
        colour = _tint(shades[thing.colour], scene)
        look = Look(colour, spot.pose, random.Random(scene.seed + 2))
        if spot.string_to is not None:
            hand = (spot.string_to[0] * side, spot.string_to[1] * side)
            draw.line((spot.x * side, spot.y * side, *hand), (60, 60, 60), max(1, side // 160))
        draw_thing(pen, thing.noun, look)
        left, top, right, bottom = (min(max(edge / side, 0.0), 1.0) for edge in pen.box)
        regions.append(Region(spot.thing, (left, top, right, bottom)))
    draw_weather(draw, side, scene.weather, random.Random(scene.seed + 3))
    return image.reduce(2), regions


def _tint(colour: RGB, scene: Scene) -> RGB:
    """Vary the lighting per picture, so little that colours keep their names."""
    rng = random.Random(scene.seed + 4)
    factor = 0.92 + 0.12 * rng.random()
    return (
        min(255, int(colour[0] * factor + rng.randint(-6, 6)) if colour[0] > 6 else colour[0]),
        min(255, int(colour[1] * factor)),
        min(255, int(colour[2] * factor)),
    )
