"""Targets of the image tower's warm-up: the thing on each patch, and the scene's surroundings."""

import numpy as np
from numpy.typing import NDArray

from research.scenes.architecture import GRID
from research.scenes.renderer import Region
from research.scenes.world import ACTIONS, COLOURS, NOUNS, SETTINGS, SIZES, WEATHERS, Scene

#: Number of classes of each patch target; class 0: no thing there.
PATCH_CLASSES = {
    "noun": len(NOUNS) + 1,
    "colour": len(COLOURS) + 1,
    "action": len(ACTIONS) + 2,
    "size": len(SIZES) + 1,
    "count": 4,
}
#: Number of classes of each target for the whole picture.
IMAGE_CLASSES = {"setting": len(SETTINGS), "weather": len(WEATHERS)}

_NOUN = {noun: i + 1 for i, noun in enumerate(NOUNS)}
_COLOUR = {colour: i + 1 for i, colour in enumerate(COLOURS)}
_ACTION = {action: i + 2 for i, action in enumerate(ACTIONS)}
_SIZE = {size: i + 1 for i, size in enumerate(SIZES)}


def patch_targets(scene: Scene, regions: list[Region]) -> NDArray[np.uint8]:
    """Class indices in the order of PATCH_CLASSES, shape [5, GRID * GRID].

    A patch belongs to the smallest box that covers its centre; every box also gets the patch at its
    own centre, even if it is smaller than a patch.
    """
    targets = np.zeros((5, GRID, GRID), np.uint8)
    middles = (np.arange(GRID) + 0.5) / GRID
    # Small boxes last: a held ball must not be overwritten by its holder's larger box.
    for region in sorted(regions, key=lambda r: -_area(r)):
        thing = scene.things[region.thing]
        x0, y0, x1, y1 = region.box
        columns, rows = (middles >= x0) & (middles <= x1), (middles >= y0) & (middles <= y1)
        columns[min(GRID - 1, int((x0 + x1) / 2 * GRID))] = True
        rows[min(GRID - 1, int((y0 + y1) / 2 * GRID))] = True
        targets[:, rows[:, None] & columns[None, :]] = np.array(
            [
                _NOUN[thing.noun],
                _COLOUR[thing.colour],
                _ACTION[thing.action] if thing.action else 1,
                _SIZE[thing.size],
                thing.count,
            ],
            np.uint8,
        )[:, None]
    return targets.reshape(5, -1)


def image_targets(scene: Scene) -> NDArray[np.uint8]:
    """Class indices of setting and weather, shape [2]."""
    return np.array([SETTINGS.index(scene.setting), WEATHERS.index(scene.weather)], np.uint8)


def _area(region: Region) -> float:
    x0, y0, x1, y1 = region.box
    return (x1 - x0) * (y1 - y0)
