"""Captions with known meaning.

A `Description` contains the claims of a caption; `words_of` phrases it. Noise changes a claim and
phrases it again in the same style, so only what was changed differs.
"""

import random
from dataclasses import dataclass

from research.scenes import phrasing
from research.scenes.world import CATEGORY, COLOURLESS, Scene, Thing


@dataclass(frozen=True)
class NounPhrase:
    """The claims about one thing. `name`, `style`: indices of the wording."""

    noun: str
    count: int
    name: int = 0
    colour: str | None = None
    size: str | None = None
    action: str | None = None
    style: int = 0

    @property
    def is_person(self) -> bool:
        return CATEGORY[self.noun] == "person"


@dataclass(frozen=True)
class Link:
    """Links phrases number `subject` and `object`; kinds are the keys of phrasing.LINKS."""

    kind: str
    subject: int
    object: int
    wording: int = 0


@dataclass(frozen=True)
class Description:
    """The claims of one caption. Link k is placed between phrases k and k + 1."""

    phrases: tuple[NounPhrase, ...]
    links: tuple[Link, ...] = ()
    setting: str | None = None
    weather: str | None = None
    absent: str | None = None
    opener: int = 0
    copula: bool = False
    setting_first: bool = False
    wording: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        return words_of(self)

    @property
    def text(self) -> str:
        """The caption as a sentence, with initial capital and full stop."""
        sentence = " ".join(self.words)
        if self.setting_first and self.setting:
            head = " ".join(_setting(self))
            sentence = head + "," + sentence[len(head) :]
        return sentence[0].upper() + sentence[1:] + "."


def words_of(description: Description) -> tuple[str, ...]:
    """The words in lower case without punctuation; "a" or "an" depends on the next word."""
    words: list[str] = []
    first = description.phrases[0]
    copula = "is" if first.count == 1 else "are"
    if description.setting_first:
        words += _setting(description)
    opener, with_copula = phrasing.OPENERS[description.opener]
    words += opener.split() + ([copula] if with_copula else [])
    for number, phrase in enumerate(description.phrases):
        after: list[str] = []
        if number:
            link = description.links[number - 1]
            options = phrasing.LINKS[link.kind]
            before, behind, _ = options[link.wording % len(options)]
            words += before.split()
            after = behind.split()
        words += _noun_phrase(phrase)
        if number == 0 and description.copula and not with_copula:
            words.append(copula)
        if phrase.action:
            options_of_action = phrasing.ACTIONS[phrase.action]
            words.append(options_of_action[phrase.style % len(options_of_action)])
        words += after
    if description.setting and not description.setting_first:
        words += _setting(description)
    if description.weather:
        options_of_weather = phrasing.WEATHERS[description.weather]
        words += options_of_weather[description.wording % len(options_of_weather)].split()
    if description.absent:
        before, behind = phrasing.ABSENT[description.wording % len(phrasing.ABSENT)]
        words += [*before.split(), phrasing.NAMES[description.absent][0][0], *behind.split()]
    return tuple(
        "an" if word == "a" and following[:1] in set("aeiou") else word
        for word, following in zip(words, [*words[1:], ""], strict=True)
    )


def _setting(description: Description) -> list[str]:
    assert description.setting is not None
    options = phrasing.SETTINGS[description.setting]
    return options[description.wording % len(options)].split()


def _noun_phrase(phrase: NounPhrase) -> list[str]:
    plural = int(phrase.count > 1)
    names = phrasing.NAMES[phrase.noun]
    words = [phrasing.COUNTS[phrase.count]]
    if phrase.size:
        options = phrasing.SIZES[phrase.size]
        words.append(options[phrase.style % len(options)])
    if phrase.colour and not phrase.is_person:
        words.append(phrase.colour)
    words.append(names[phrase.name % len(names)][plural])
    if phrase.colour and phrase.is_person:
        words.append("wearing" if phrase.style % 2 else "in")
        words += [] if plural else ["a"]
        words += [phrase.colour, phrasing.GARMENTS[phrase.noun][plural]]
    return words


# Descriptions of a part of a scene.


def describe(scene: Scene, rng: random.Random) -> Description:
    """Sample a true caption of a part of the scene, at most 20 words."""
    while True:
        description = _describe(scene, rng)
        if len(description.words) <= 20:
            return description


def _describe(scene: Scene, rng: random.Random) -> Description:
    """Starts at one thing and continues along a relation or to another place."""
    start = rng.randrange(len(scene.things))
    order, links = [start], []
    relations = [r for r in scene.relations if start in (r.subject, r.object)]
    if relations and rng.random() < 0.85:
        relation = rng.choice(relations)
        wording = rng.randrange(6)
        options = phrasing.LINKS[relation.kind]
        inverse = options[wording % len(options)][2]
        order = (
            [relation.object, relation.subject] if inverse else [relation.subject, relation.object]
        )
        links.append(Link(relation.kind, int(inverse), int(not inverse), wording))
    others = [i for i in range(len(scene.things)) if i not in order]
    chance = 0.6 if len(order) == 1 else 0.3
    if others and rng.random() < chance:
        other = rng.choice(others)
        links.append(_link_to(scene, order, other, rng))
        order.append(other)
    detail = rng.choice((0.35, 0.6, 0.85))
    phrases = tuple(
        _mention(scene.things[i], i, scene, links, position, detail, rng)
        for position, i in enumerate(order)
    )
    outside = scene.setting if rng.random() < 0.55 else None
    weather = scene.weather if scene.weather != "clear" and rng.random() < 0.4 else None
    opener = rng.choices(range(len(phrasing.OPENERS)), (0.74, 0.11, 0.07, 0.04, 0.04))[0]
    followed = bool(phrases[0].action) or bool(links and links[0].kind not in ("and", "with"))
    inverse = bool(links and links[0].subject == 1)
    return Description(
        phrases,
        tuple(links),
        setting=outside,
        weather=weather,
        absent=_absent(scene, rng) if rng.random() < 0.1 else None,
        opener=opener,
        copula=followed and not inverse and opener == 0 and rng.random() < 0.3,
        setting_first=bool(outside) and opener < 2 and rng.random() < 0.12,
        wording=rng.randrange(12),
    )


def _link_to(scene: Scene, order: list[int], other: int, rng: random.Random) -> Link:
    end = len(order)
    apart = scene.things[order[0]].place != scene.things[other].place
    kinds = ["near", "and", "with"]
    kind = rng.choice(kinds)
    if apart and "sky" not in (scene.things[order[0]].role, scene.things[other].role):
        side = "left" if scene.is_related("left", order[0], other) else "right"
        kind = side if rng.random() < 0.65 else kind
    elif not apart:
        kind = rng.choice(("and", "with"))
    return Link(kind, 0, end, rng.randrange(6))


def _mention(
    thing: Thing,
    index: int,
    scene: Scene,
    links: list[Link],
    position: int,
    detail: float,
    rng: random.Random,
) -> NounPhrase:
    in_relation = any(
        position in (link.subject, link.object) and link.kind in ("holds", "rides", "sits", "on")
        for link in links
    )
    action = thing.action
    if in_relation or (links and position == 0 and links[0].subject == 1):
        action = None
    coloured = thing.noun not in COLOURLESS and rng.random() < detail
    return NounPhrase(
        thing.noun,
        thing.count,
        name=rng.choices((0, 1), (0.75, 0.25))[0],
        colour=thing.colour if coloured else None,
        size=thing.size if thing.size != "normal" and rng.random() < 0.65 else None,
        action=action if rng.random() < detail else None,
        style=rng.randrange(6),
    )


def _absent(scene: Scene, rng: random.Random) -> str:
    return rng.choice([noun for noun in phrasing.NAMES if scene.find(noun) is None])
