"""TrueMatch for drawn scenes: pictures with a generic, an ordinary and a rich caption.

Whether a caption is true of another picture is known exactly (`claims <= facts`), unlike for
photographs, so whether it "singles its picture out" is known as well.
"""

import random
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from research.scenes.grammar import Description, Link, NounPhrase, describe
from research.scenes.truth import claims, facts
from research.scenes.world import COLOURLESS, Scene, make_scene

#: Does not overlap with the seeds of training, the demo and the other evaluations.
SEED = 6_000_000_000
#: Captions of each picture, from least to most detailed.
KINDS = ("generic", "ordinary", "rich")
#: Maximum number of words of a rich caption: what the embedded models were trained to read.
_LONGEST = 22


@dataclass(frozen=True)
class SceneBags:
    """`captions` by kind, one per scene; `claims` of each caption by kind; `facts` by scene."""

    scenes: list[Scene]
    captions: dict[str, list[str]]
    claims: dict[str, list[frozenset[str]]]
    facts: list[frozenset[str]]

    def is_true(self, kind: str, caption: int, picture: int) -> bool:
        """Whether the caption of one scene is true of the picture of another."""
        return self.claims[kind][caption] <= self.facts[picture]

    def true_of(self, kind: str, caption: int, pictures: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`is_true` for many pictures, shape [pictures]."""
        return np.array(
            [self.is_true(kind, caption, int(picture)) for picture in pictures], np.bool_
        )


def scene_bags(count: int, seed: int) -> SceneBags:
    """`count` new scenes with captions; deterministic for a given seed."""
    rng = random.Random(SEED + 1_000_000 * seed)
    scenes = [make_scene(rng) for _ in range(count)]
    texts_of_kind = {
        "generic": [generic(scene) for scene in scenes],
        "ordinary": [describe(scene, rng) for scene in scenes],
        "rich": [rich(scene, rng) for scene in scenes],
    }
    return SceneBags(
        scenes,
        {kind: [text.text for text in texts] for kind, texts in texts_of_kind.items()},
        {kind: [claims(text) for text in texts] for kind, texts in texts_of_kind.items()},
        [facts(scene) for scene in scenes],
    )


def generic(scene: Scene) -> Description:
    """Only the name of the first thing: "A man."."""
    thing = scene.things[0]
    return Description((NounPhrase(thing.noun, thing.count),))


def rich(scene: Scene, rng: random.Random) -> Description:
    """Describes everything, with colours, sizes, actions, place and weather, as far as it fits: the
    last things are left out if the caption would be longer than the models read."""
    order, links = _order(scene)
    style = rng.randrange(6)
    while True:
        participants = {place for link in links for place in (link.subject, link.object)
                        if link.kind in ("holds", "rides", "sits", "on")}  # fmt: skip
        description = Description(
            tuple(_phrase(scene, i, place in participants, style) for place, i in enumerate(order)),
            tuple(replace(link, wording=style % 2) for link in links),  # not the inverse wording
            setting=scene.setting,
            weather=scene.weather if scene.weather != "clear" else None,
            wording=style,
        )
        if len(description.words) <= _LONGEST or len(order) == 1:
            return description
        order, links = order[:-1], links[:-1]


def _order(scene: Scene) -> tuple[list[int], list[Link]]:
    order, links = [0], []
    if scene.relations:
        relation = scene.relations[0]
        order = [relation.subject, relation.object]
        links = [Link(relation.kind, 0, 1)]
    for i, thing in enumerate(scene.things):
        if i in order:
            continue
        kind = "and"
        if scene.is_related("left", order[0], i) and thing.role != "sky":
            kind = "left"
        elif scene.is_related("right", order[0], i) and thing.role != "sky":
            kind = "right"
        links.append(Link(kind, 0, len(order)))
        order.append(i)
    return order, links


def _phrase(scene: Scene, index: int, is_related: bool, style: int) -> NounPhrase:
    thing = scene.things[index]
    return NounPhrase(
        thing.noun,
        thing.count,
        colour=None if thing.noun in COLOURLESS else thing.colour,
        size=thing.size if thing.size != "normal" else None,
        action=None if is_related else thing.action,
        style=style,
    )
