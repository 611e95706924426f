"""The contents of scenes, and how to sample them at random.

A scene has a setting, a weather, and one to three *places* from left to right. Each place contains
one thing, several of a kind, or a small arrangement: a person holding something, a rider, a seat
with somebody on it, a table with food, something under a tree. No noun occurs twice, so that "the
dog" is unambiguous.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass

CATEGORIES: dict[str, tuple[str, ...]] = {
    "person": ("man", "woman", "child"),
    "animal": ("dog", "cat", "horse", "sheep", "bird"),
    "vehicle": ("car", "bus", "truck", "bicycle", "boat"),
    "furniture": ("chair", "table", "bench", "lamp"),
    "food": ("apple", "banana", "cake", "pizza"),
    "plant": ("tree", "flower"),
    "toy": ("ball", "kite", "balloon"),
    "object": ("umbrella", "house", "box"),
}
CATEGORY = {noun: category for category, nouns in CATEGORIES.items() for noun in nouns}
NOUNS = tuple(CATEGORY)

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (212, 42, 42),
    "orange": (242, 134, 28),
    "yellow": (246, 214, 46),
    "green": (40, 146, 64),
    "blue": (42, 92, 212),
    "purple": (136, 58, 176),
    "pink": (246, 144, 184),
    "brown": (126, 80, 44),
    "white": (245, 245, 243),
    "black": (36, 36, 42),
}
#: Colours of things that cannot have all of them; repeats are weights. Pizza's is never mentioned.
COLOURS_OF: dict[str, tuple[str, ...]] = {
    "tree": ("green", "green", "green", "orange", "yellow", "red", "pink"),
    "dog": ("brown", "brown", "white", "black", "orange", "yellow"),
    "cat": ("orange", "white", "black", "brown", "yellow"),
    "horse": ("brown", "brown", "white", "black", "orange"),
    "sheep": ("white", "white", "black", "brown"),
    "apple": ("red", "red", "green", "yellow"),
    "banana": ("yellow", "yellow", "green"),
    "cake": ("pink", "white", "brown", "purple"),
    "pizza": ("orange",),
    "table": ("brown", "white", "black", "red", "blue", "green"),
    "bench": ("brown", "green", "white", "blue", "red"),
    "box": ("brown", "red", "blue", "green", "yellow", "white", "purple"),
}
COLOURLESS = ("pizza",)

#: Colours of the same things in unfamiliar scenes, which no model was trained on, and the shades
#: of all colours there.
UNFAMILIAR_COLOURS_OF: dict[str, tuple[str, ...]] = {
    noun: tuple(sorted(set(COLOURS) - set(colours)))
    for noun, colours in COLOURS_OF.items()
    if noun not in COLOURLESS
}
UNFAMILIAR_SHADES: dict[str, tuple[int, int, int]] = {
    "red": (168, 18, 58),
    "orange": (255, 164, 74),
    "yellow": (226, 220, 112),
    "green": (128, 196, 72),
    "blue": (96, 158, 232),
    "purple": (98, 40, 128),
    "pink": (255, 104, 176),
    "brown": (164, 114, 76),
    "white": (222, 226, 232),
    "black": (64, 64, 60),
}


def colours_of(noun: str, unfamiliar: bool = False) -> tuple[str, ...]:
    """The colours that a thing can have; repeats are weights."""
    usual = COLOURS_OF.get(noun, tuple(COLOURS))
    return UNFAMILIAR_COLOURS_OF.get(noun, usual) if unfamiliar else usual


OUTDOOR = ("park", "beach", "street", "lake", "mountains", "forest", "desert")
INDOOR = ("room", "kitchen")
SETTINGS = OUTDOOR + INDOOR
WEATHERS = ("clear", "sunny", "rain", "snow", "night")
SIZES = ("small", "normal", "big")
RELATIONS = ("holds", "rides", "under", "on", "sits", "above")

ACTIONS_OF: dict[str, tuple[str, ...]] = {
    "man": ("standing", "waving", "running", "jumping"),
    "woman": ("standing", "waving", "running", "jumping"),
    "child": ("standing", "waving", "running", "jumping"),
    "dog": ("standing", "running", "sleeping", "sitting"),
    "cat": ("sitting", "sleeping"),
    "horse": ("standing", "running"),
    "sheep": ("standing", "sleeping"),
    "bird": ("standing",),
}
ACTIONS = ("standing", "waving", "running", "jumping", "sleeping", "sitting", "flying")

HELD = ("ball", "kite", "balloon", "umbrella", "flower", "apple", "banana", "box")
ON_TABLE = ("apple", "banana", "cake", "pizza", "box", "cat", "flower")
SEATED = ("man", "woman", "child", "cat", "dog")
SHADED = ("dog", "cat", "child", "bench", "chair", "ball", "sheep", "bicycle", "box")
UNDER_TABLE = ("cat", "dog", "ball", "box")
IN_THE_SKY = ("kite", "bird", "balloon")
ALONE = (
    "man", "woman", "child", "dog", "cat", "horse", "sheep", "bird", "car", "bus", "truck",
    "bicycle", "boat", "chair", "table", "bench", "lamp", "tree", "flower", "ball", "umbrella",
    "house", "box",
)  # fmt: skip
SEVERAL = (
    "man", "woman", "child", "dog", "cat", "horse", "sheep", "bird", "car", "bicycle", "boat",
    "chair", "tree", "flower", "ball", "box",
)  # fmt: skip
#: Things that do not belong indoors.
_OUTDOOR_ONLY = ("car", "bus", "truck", "boat", "horse", "sheep", "house", "tree", "kite")


def fits(noun: str, setting: str) -> bool:
    """Whether such a thing is plausible in such a setting."""
    if noun == "boat":
        return setting in ("beach", "lake")
    return setting in OUTDOOR or noun not in _OUTDOOR_ONLY


#: Too wide for scenes with three places.
WIDE = ("bus", "house", "truck")


@dataclass(frozen=True)
class Thing:
    """One thing, or `count` of a kind. `place`: 0 is leftmost. `role`: in its arrangement."""

    noun: str
    colour: str
    size: str
    count: int
    action: str | None
    place: int
    role: str


@dataclass(frozen=True)
class Relation:
    """`subject` and `object` are indices into the scene's things; see RELATIONS for kinds."""

    kind: str
    subject: int
    object: int


@dataclass(frozen=True)
class Scene:
    """A scene. Its rendering is deterministic (`seed`).

    `unfamiliar`: out of distribution for all models: other shades, smaller things, and colours that
    these things do not have in training.
    """

    setting: str
    weather: str
    things: tuple[Thing, ...]
    relations: tuple[Relation, ...]
    seed: int
    unfamiliar: bool = False

    def find(self, noun: str) -> int | None:
        """The index of the thing with that noun, None if there is none; nouns occur once."""
        return next((i for i, thing in enumerate(self.things) if thing.noun == noun), None)

    def is_related(self, kind: str, subject: int, object: int) -> bool:
        """Whether the relation is true. "left" and "right" follow from the places."""
        if kind in ("left", "right"):
            left, right = self.things[subject].place, self.things[object].place
            return left < right if kind == "left" else left > right
        return Relation(kind, subject, object) in self.relations


def make_scene(generator: random.Random, unfamiliar: bool = False) -> Scene:
    """Sample a scene; generators in equal states give equal scenes."""
    return _Builder(generator, unfamiliar).build()


class _Builder:
    def __init__(self, generator: random.Random, unfamiliar: bool) -> None:
        self.rng = generator
        self.unfamiliar = unfamiliar
        self.things: list[Thing] = []
        self.relations: list[Relation] = []
        self.places = 1
        self.setting = ""

    def build(self) -> Scene:
        self.setting = setting = self.rng.choice(SETTINGS)
        weights = (3, 2, 1.4, 1.4, 1.4)
        weather = self.rng.choices(WEATHERS, weights)[0] if setting in OUTDOOR else "clear"
        self.places = self.rng.choices((1, 2, 3), (0.28, 0.52, 0.2))[0]
        # Arrangements take up room: at most two with two places, otherwise at most one.
        arrangements = self.rng.sample(range(self.places), k=1 if self.places != 2 else 2)
        for index in range(self.places):
            rich = index in arrangements and self.rng.random() < (0.85 if self.places == 1 else 0.6)
            (self._arrangement if rich else self._single)(index)
        if setting in OUTDOOR and self.rng.random() < 0.16:
            self._sky()
        return Scene(
            setting,
            weather,
            tuple(self.things),
            tuple(self.relations),
            self.rng.randrange(1 << 30),
            self.unfamiliar,
        )

    def _arrangement(self, place: int) -> None:
        makers = [self._is_held, self._ridden, self._several, self._on_table, self._is_seated]
        maker = self.rng.choices([*makers, self._is_shaded], (2.4, 1.4, 2.6, 1.6, 1.4, 1.4))[0]
        if not maker(place):
            self._single(place)

    def _single(self, place: int) -> bool:
        noun = self._unused_noun(ALONE, wide=self.places < 3)
        self._add(noun, place, "ground")
        return True

    def _several(self, place: int) -> bool:
        noun = self._unused_noun(SEVERAL)
        count = self.rng.choice((2, 2, 3) if self.places == 1 else (2, 2, 2, 3))
        self._add(noun, place, "ground", count=count)
        return True

    def _is_held(self, place: int) -> bool:
        holder, thing = self._unused_noun(CATEGORIES["person"]), self._unused_noun(HELD)
        if not holder or not thing:
            return False
        person = self._add(holder, place, "holder", action=None)
        item = self._add(thing, place, "held")
        self.relations.append(Relation("holds", person, item))
        return True

    def _ridden(self, place: int) -> bool:
        person, mount = (
            self._unused_noun(CATEGORIES["person"]),
            self._unused_noun(("horse", "bicycle")),
        )
        if not person or not mount:
            return False
        rider = self._add(person, place, "rider", action=None)
        ridden = self._add(mount, place, "mount", action=None)
        self.relations.append(Relation("rides", rider, ridden))
        return True

    def _on_table(self, place: int) -> bool:
        food = self._unused_noun(ON_TABLE)
        if not food or self._is_used("table"):
            return False
        action = "sleeping" if food == "cat" and self.rng.random() < 0.5 else None
        upper = self._add(
            food, place, "upper", action=action or ("sitting" if food == "cat" else None)
        )
        lower = self._add("table", place, "lower")
        self.relations.append(Relation("on", upper, lower))
        return True

    def _is_seated(self, place: int) -> bool:
        seat, sitter = self._unused_noun(("bench", "chair")), self._unused_noun(SEATED)
        if not seat or not sitter:
            return False
        upper = self._add(sitter, place, "sitter", action="sitting")
        lower = self._add(seat, place, "seat")
        self.relations.append(Relation("sits", upper, lower))
        return True

    def _is_shaded(self, place: int) -> bool:
        canopy = self._unused_noun(("tree", "umbrella", "table"))
        lower = self._unused_noun(UNDER_TABLE if canopy == "table" else SHADED)
        if not canopy or not lower:
            return False
        under = self._add(lower, place, "under")
        over = self._add(canopy, place, "canopy")
        self.relations.append(Relation("under", under, over))
        return True

    def _sky(self) -> None:
        noun = self._unused_noun(IN_THE_SKY)
        under = [i for i, thing in enumerate(self.things) if thing.role == "ground"
                 and thing.noun not in ("tree", "house", "lamp", "boat")]  # fmt: skip
        if not noun or not under:
            return
        below = self.rng.choice(under)
        action = "flying"
        flying = self._add(noun, self.things[below].place, "sky", action=action)
        self.relations.append(Relation("above", flying, below))

    def _is_used(self, noun: str) -> bool:
        return any(thing.noun == noun for thing in self.things)

    def _unused_noun(self, nouns: Collection[str], wide: bool = True) -> str:
        free = [
            noun
            for noun in nouns
            if not self._is_used(noun) and fits(noun, self.setting) and (wide or noun not in WIDE)
        ]
        return self.rng.choice(free) if free else ""

    def _add(
        self, noun: str, place: int, role: str, count: int = 1, action: str | None = "any"
    ) -> int:
        colour = self.rng.choice(colours_of(noun, self.unfamiliar))
        alone = role == "ground" and count == 1 and CATEGORY[noun] != "person"
        size = self.rng.choices(SIZES, (0.22, 0.56, 0.22))[0] if alone else "normal"
        if action == "any":
            action = self.rng.choice(ACTIONS_OF[noun]) if noun in ACTIONS_OF else None
            if role == "under" and action in ("jumping", "running", "waving"):
                action = "standing"
        self.things.append(Thing(noun, colour, size, count, action, place, role))
        return len(self.things) - 1
