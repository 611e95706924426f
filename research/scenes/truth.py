"""Is a caption true of a scene? Both are sets of atoms; the caption's must be a subset.

Examples of atoms: "dog", "dog*2", "dog/brown", "man holds ball", "in park", "at night", "no dog".
"""

from research.scenes.grammar import Description
from research.scenes.world import (
    ACTIONS,
    COLOURS,
    NOUNS,
    RELATIONS,
    SETTINGS,
    SIZES,
    WEATHERS,
    Scene,
)

TELLING = (*RELATIONS, "left", "right")


def facts(scene: Scene) -> frozenset[str]:
    """All atoms that are true of the scene."""
    facts = {f"in {scene.setting}", f"at {scene.weather}"}
    for i, thing in enumerate(scene.things):
        facts |= {thing.noun, f"{thing.noun}*{thing.count}", f"{thing.noun}/{thing.colour}"}
        facts |= {f"{thing.noun}/{thing.size}", f"{thing.noun}/{thing.action}"}
        for j, other in enumerate(scene.things):
            if i != j:
                facts |= {
                    f"{thing.noun} {kind} {other.noun}"
                    for kind in TELLING
                    if scene.is_related(kind, i, j)
                }
    nouns = {thing.noun for thing in scene.things}
    return frozenset(facts | {f"no {noun}" for noun in NOUNS if noun not in nouns})


def claims(description: Description) -> frozenset[str]:
    """All atoms that the caption claims. "Near", "and" and "with" only claim presence."""
    atoms: set[str] = set()
    for phrase in description.phrases:
        atoms |= {phrase.noun, f"{phrase.noun}*{phrase.count}"}
        qualities = (phrase.colour, phrase.size, phrase.action)
        atoms |= {f"{phrase.noun}/{quality}" for quality in qualities if quality}
    for link in description.links:
        subject, object = description.phrases[link.subject], description.phrases[link.object]
        if link.kind in TELLING:
            atoms.add(f"{subject.noun} {link.kind} {object.noun}")
    if description.setting:
        atoms.add(f"in {description.setting}")
    if description.weather:
        atoms.add(f"at {description.weather}")
    if description.absent:
        atoms.add(f"no {description.absent}")
    return frozenset(atoms)


def is_true(description: Description, scene: Scene) -> bool:
    """Whether every claim of the caption is true of the scene."""
    return claims(description) <= facts(scene)


def every_atom() -> tuple[str, ...]:
    """All possible atoms of scenes and captions, in a fixed order."""
    qualities = (*COLOURS, *SIZES, *ACTIONS, "None")
    return (
        *NOUNS,
        *(f"{noun}*{count}" for noun in NOUNS for count in (1, 2, 3)),
        *(f"{noun}/{quality}" for noun in NOUNS for quality in qualities),
        *(f"no {noun}" for noun in NOUNS),
        *(f"in {setting}" for setting in SETTINGS),
        *(f"at {weather}" for weather in WEATHERS),
        *(f"{a} {kind} {b}" for a in NOUNS for kind in TELLING for b in NOUNS),
    )
