"""Positions of the things of a scene, in fractions of the picture's side, y pointing down."""

import random
from dataclasses import dataclass

from research.scenes.drawing import HOLDING_HAND, WIDTHS
from research.scenes.world import Scene, Thing

#: Heights of things of normal size in a picture of side 1.
HEIGHTS: dict[str, float] = {
    "man": 0.54, "woman": 0.52, "child": 0.38, "dog": 0.26, "cat": 0.27, "horse": 0.44,
    "sheep": 0.27, "bird": 0.18, "car": 0.23, "bus": 0.34, "truck": 0.33, "bicycle": 0.3,
    "boat": 0.42, "chair": 0.36, "table": 0.27, "bench": 0.27, "lamp": 0.5, "apple": 0.13,
    "banana": 0.13, "cake": 0.2, "pizza": 0.11, "tree": 0.66, "flower": 0.27, "ball": 0.16,
    "kite": 0.24, "balloon": 0.26, "umbrella": 0.34, "house": 0.6, "box": 0.2,
}  # fmt: skip
#: Everything in an unfamiliar scene is scaled by this factor.
UNFAMILIAR_SCALE = 0.72
SIZE_FACTORS = {"small": 0.62, "normal": 1.0, "big": 1.45}
#: Height of the sitting surface of seats and of the backs of mounts, as a share of their height.
SEATS = {"chair": 0.5, "bench": 0.52}
BACKS = {"horse": 0.66, "bicycle": 0.9}


@dataclass(frozen=True)
class Spot:
    """One drawn instance of a thing: foot at (x, y), facing left if flipped. `string_to`: the hand
    that holds its string."""

    thing: int
    x: float
    y: float
    height: float
    flip: bool
    pose: str
    string_to: tuple[float, float] | None = None


def lay_out(scene: Scene, rng: random.Random) -> list[Spot]:
    """Spots in drawing order: later ones cover earlier ones."""
    places = sorted({thing.place for thing in scene.things})
    members = {p: [i for i, t in enumerate(scene.things) if t.place == p] for p in places}
    widths = {p: _width(scene, members[p]) for p in places}
    tallest = max(_height(thing) for thing in scene.things)
    scale = min(1.0 if len(places) > 1 else 1.25, 0.93 / sum(widths.values()), 0.74 / tallest)
    scale *= UNFAMILIAR_SCALE if scene.unfamiliar else 1.0
    spare = 1 - scale * sum(widths.values())
    shares = [rng.random() + 0.4 for _ in range(len(places) + 1)]
    x, spots = 0.0, []
    for number, place in enumerate(places):
        x += spare * shares[number] / sum(shares)
        width = widths[place] * scale
        floor = 0.84 + 0.1 * rng.random()
        spots += _arrange(scene, members[place], x + width / 2, floor, scale, rng)
        x += width
    return spots


def _height(thing: Thing) -> float:
    return HEIGHTS[thing.noun] * SIZE_FACTORS[thing.size]


def _width(scene: Scene, members: list[int]) -> float:
    width = 0.0
    for i in members:
        thing = scene.things[i]
        wide = _height(thing) * WIDTHS[thing.noun]
        if thing.action in ("running", "jumping", "waving"):
            wide *= 1.15
        if thing.count > 1:
            wide *= 0.85 + 0.85 * (thing.count - 1)
        if thing.role == "held":
            wide = 2 * (HOLDING_HAND[0] * 0.5 + wide / 2)
        if thing.role == "canopy":
            wide *= _CANOPY[thing.noun]
        if thing.role not in ("sky",):
            width = max(width, wide)
    return width * 1.06


#: Scale factors of things with something under them.
_CANOPY = {"tree": 1.1, "umbrella": 1.7, "table": 1.25}


def _arrange(
    scene: Scene, members: list[int], x: float, floor: float, scale: float, rng: random.Random
) -> list[Spot]:
    flip = rng.random() < 0.5
    by_role = {scene.things[i].role: i for i in members}
    high = {i: _height(scene.things[i]) * scale for i in members}

    def spot(
        role: str, dx: float = 0.0, dy: float = 0.0, grow: float = 1.0, pose: str = ""
    ) -> Spot:
        i = by_role[role]
        action = pose or scene.things[i].action or "standing"
        return Spot(i, x + (-dx if flip else dx), floor - dy, high[i] * grow, flip, action)

    spots: list[Spot] = []
    if "ground" in by_role:
        thing = scene.things[by_role["ground"]]
        spots = _copies(spot("ground"), thing, rng)
    elif "holder" in by_role:
        spots = _holding(scene, spot("holder", pose="holding"), spot("held"), flip)
    elif "rider" in by_role:
        mount = spot("mount")
        back = BACKS[scene.things[mount.thing].noun] * mount.height
        spots = [mount, spot("rider", dx=-0.02 * scale, dy=back, grow=0.86, pose="riding")]
    elif "lower" in by_role:
        lower = spot("lower")
        upper = spot("upper", dx=(rng.random() - 0.5) * 0.16 * scale, dy=lower.height * 0.97)
        spots = [lower, upper]
    elif "seat" in by_role:
        seat = spot("seat")
        noun = scene.things[by_role["sitter"]].noun
        level = SEATS[scene.things[seat.thing].noun] * seat.height
        person = noun in ("man", "woman", "child")
        drop = 0.3 * high[by_role["sitter"]] if person else 0.0
        dx = -0.02 if scene.things[seat.thing].noun == "chair" else (rng.random() - 0.5) * 0.16
        spots = [seat, spot("sitter", dx=dx * scale, dy=level - drop)]
    elif "canopy" in by_role:
        canopy = spot("canopy", grow=_CANOPY[scene.things[by_role["canopy"]].noun])
        under = spot("under", dx=0.05 * scale)
        height = min(
            under.height,
            canopy.height * (0.68 if scene.things[canopy.thing].noun == "table" else 0.55),
        )
        spots = [canopy, Spot(under.thing, under.x, floor + 0.015, height, flip, under.pose)]
    if "sky" in by_role:
        i = by_role["sky"]
        top = max(0.05 + high[i], min(0.34, floor - max(s.height for s in spots) - 0.05))
        spots.append(Spot(i, x, top, high[i], flip, "flying"))
    return spots


def _copies(spot: Spot, thing: Thing, rng: random.Random) -> list[Spot]:
    if thing.count == 1:
        return [spot]
    step = spot.height * WIDTHS[thing.noun] * 0.85
    alike = rng.random() < 0.6
    return [
        Spot(
            spot.thing,
            spot.x + (k - (thing.count - 1) / 2) * step,
            spot.y + (rng.random() - 0.5) * 0.05,
            spot.height * (0.92 + 0.12 * rng.random()),
            spot.flip if alike else rng.random() < 0.5,
            spot.pose,
        )
        for k in range(thing.count)
    ]


def _holding(scene: Scene, holder: Spot, item: Spot, flip: bool) -> list[Spot]:
    side = -1 if flip else 1
    hand = (
        holder.x + side * HOLDING_HAND[0] * holder.height,
        holder.y - HOLDING_HAND[1] * holder.height,
    )
    noun = scene.things[item.thing].noun
    if noun in ("kite", "balloon"):
        rise = 0.1 if noun == "kite" else 0.03
        y = max(item.height + 0.02, hand[1] - rise)
        x = hand[0] + side * (0.07 if noun == "kite" else 0.0)
        return [holder, Spot(item.thing, x, y, item.height, flip, "open", string_to=hand)]
    below = {"umbrella": 0.12, "flower": 0.3}.get(noun, 0.35)
    y = hand[1] + below * item.height
    return [holder, Spot(item.thing, hand[0], y, item.height, flip, "open")]
