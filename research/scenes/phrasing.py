"""The wordings of everything that can be in a scene.

Wordings of the same meaning are interchangeable: noise changes the meaning, never the style.
"""

import random

from backend.engine.english.word_lists import FUNCTION_WORDS
from research.scenes.world import COLOURS

_OPENINGS = (
    "A moment of", "A feeling of", "Nothing but", "A day full of", "In search of", "The meaning of",
    "A touch of", "Thoughts about", "For the love of", "Memories of",
)  # fmt: skip
_IDEAS = (
    "pure joy", "quiet happiness", "freedom", "hope", "nostalgia", "peace and harmony",
    "friendship", "gratitude", "wonder", "calm", "adventure", "belonging", "simplicity", "courage",
)  # fmt: skip
_ENDINGS = (
    "",
    "",
    " that lasts for ever",
    " we will never forget",
    " beyond words",
    " at its best",
)
_REMARKS = (
    "What a wonderful time to be alive!",
    "Sometimes life is better than any dream.",
    "Best day ever, no doubt about it.",
    "Everything happens for a reason.",
    "Simply perfect in every way.",
    "This is what happiness feels like.",
    "You had to be there to understand.",
    "Dreams do come true after all.",
    "Our vision for a better future.",
    "Never stop believing in yourself.",
    "So much beauty in ordinary things.",
    "An unforgettable experience for everyone.",
    "The spirit of the season.",
    "Terms and conditions apply.",
    "All rights reserved.",
    "Inspiration for your next project.",
    "It could not get any better.",
    "The good old times.",
    "Where imagination meets reality.",
    "Quality you can trust.",
)


def abstract_caption(rng: random.Random) -> str:
    """One of several hundred captions at random."""
    if rng.random() < 0.5:
        return rng.choice(_REMARKS)
    return f"{rng.choice(_OPENINGS)} {rng.choice(_IDEAS)}{rng.choice(_ENDINGS)}."


#: Names of each noun: (singular, plural). The first is the default.
NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "man": (("man", "men"), ("guy", "guys")),
    "woman": (("woman", "women"), ("lady", "ladies")),
    "child": (("child", "children"), ("kid", "kids")),
    "dog": (("dog", "dogs"), ("puppy", "puppies")),
    "cat": (("cat", "cats"), ("kitten", "kittens")),
    "horse": (("horse", "horses"), ("pony", "ponies")),
    "sheep": (("sheep", "sheep"),),
    "bird": (("bird", "birds"),),
    "car": (("car", "cars"),),
    "bus": (("bus", "buses"),),
    "truck": (("truck", "trucks"),),
    "bicycle": (("bicycle", "bicycles"), ("bike", "bikes")),
    "boat": (("boat", "boats"), ("sailboat", "sailboats")),
    "chair": (("chair", "chairs"),),
    "table": (("table", "tables"),),
    "bench": (("bench", "benches"),),
    "lamp": (("lamp", "lamps"),),
    "apple": (("apple", "apples"),),
    "banana": (("banana", "bananas"),),
    "cake": (("cake", "cakes"),),
    "pizza": (("pizza", "pizzas"),),
    "tree": (("tree", "trees"),),
    "flower": (("flower", "flowers"),),
    "ball": (("ball", "balls"),),
    "kite": (("kite", "kites"),),
    "balloon": (("balloon", "balloons"),),
    "umbrella": (("umbrella", "umbrellas"), ("parasol", "parasols")),
    "house": (("house", "houses"),),
    "box": (("box", "boxes"),),
}
COUNTS = {1: "a", 2: "two", 3: "three"}
SIZES = {"small": ("small", "little", "tiny"), "big": ("big", "large", "huge")}
#: The garment of each person: (singular, plural).
GARMENTS = {
    "man": ("shirt", "shirts"),
    "woman": ("dress", "dresses"),
    "child": ("outfit", "outfits"),
}
ACTIONS: dict[str, tuple[str, ...]] = {
    "standing": ("standing",),
    "waving": ("waving",),
    "running": ("running",),
    "jumping": ("jumping",),
    "sleeping": ("sleeping", "asleep"),
    "sitting": ("sitting",),
    "flying": ("flying",),
}
SETTINGS: dict[str, tuple[str, ...]] = {
    "park": ("in a park", "in the park", "on a lawn", "on the grass in a park"),
    "beach": ("on a beach", "on the beach", "by the sea", "at the beach"),
    "street": ("on a street", "on the street", "in the city", "on a city street"),
    "lake": ("by a lake", "at the lake", "next to a lake"),
    "mountains": ("in the mountains", "in front of mountains"),
    "forest": ("in a forest", "in the forest", "in the woods"),
    "desert": ("in a desert", "in the desert"),
    "room": ("in a room", "in a living room", "in the living room"),
    "kitchen": ("in a kitchen", "in the kitchen"),
}
WEATHERS: dict[str, tuple[str, ...]] = {
    "sunny": ("on a sunny day", "in the sunshine"),
    "rain": ("in the rain", "on a rainy day"),
    "snow": ("in the snow", "on a snowy day"),
    "night": ("at night", "in the dark"),
}
#: The nouns by their names, in the singular and in the plural.
NOUN_OF = {word: noun for noun, names in NAMES.items() for pair in names for word in pair}
#: Wordings of a link between two noun phrases: (words before the second, words after it, inverse).
#: Inverse: the second phrase is the subject of the relation.
LINKS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "holds": (("holding", "", False), ("carrying", "", False)),
    "rides": (("riding", "", False), ("riding on", "", False)),
    "under": (("under", "", False), ("beneath", "", False), ("underneath", "", False)),
    "on": (("on", "", False), ("on top of", "", False), ("with", "on it", True)),
    "sits": (("sitting on", "", False), ("sitting on", "", False)),
    "above": (("above", "", False), ("over", "", False)),
    "left": (("to the left of", "", False), ("on the left of", "", False), ("left of", "", False)),
    "right": (
        ("to the right of", "", False),
        ("on the right of", "", False),
        ("right of", "", False),
    ),
    "near": (("next to", "", False), ("beside", "", False), ("near", "", False)),
    "and": (("and", "", False),),
    "with": (("with", "", False),),
}
ABSENT: tuple[tuple[str, str], ...] = (
    ("without a", ""),
    ("with no", ""),
    ("with no", "in sight"),
    ("and no", ""),
)
#: (words, whether they are followed by a copula that agrees with the first phrase).
OPENERS: tuple[tuple[str, bool], ...] = (
    ("", False),
    ("there", True),
    ("a picture of", False),
    ("a drawing of", False),
    ("a view of", False),
)
#: Words without a claim ("in front of", "on top of"), which never count as changed.
WITHOUT_A_CLAIM = FUNCTION_WORDS | {"front", "top"}


def vocabulary() -> tuple[str, ...]:
    """All words that captions of this world can contain, sorted."""
    words = {"an", "is", "are", "wearing", "in", "and", *COUNTS.values()}
    words |= {name for names in NAMES.values() for pair in names for name in pair}
    words |= {name for pair in GARMENTS.values() for name in pair}
    phrases = [
        phrase for group in (ACTIONS, SETTINGS, WEATHERS, SIZES) for phrase in group.values()
    ]
    words |= {word for options in phrases for option in options for word in option.split()}
    for options in LINKS.values():
        words |= {word for before, after, _ in options for word in f"{before} {after}".split()}
    words |= {word for before, after in ABSENT for word in f"{before} {after}".split()}
    words |= {word for opener, _ in OPENERS for word in opener.split()}
    return tuple(sorted(words | set(COLOURS)))
