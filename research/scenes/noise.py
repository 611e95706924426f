"""False captions with known changed words: random, noun and fine-grained noise.

Fine-grained noise changes one claim so that it is false of the scene. If some words were more
frequent in false captions than in true ones, a model could tell them apart without the image;
`BalancedNoise` chooses changes that keep the frequencies similar.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from research.noise.language_model import jumped_over, new_words
from research.scenes import phrasing
from research.scenes.grammar import Description, Link, NounPhrase
from research.scenes.truth import is_true
from research.scenes.world import (
    ACTIONS_OF,
    CATEGORIES,
    CATEGORY,
    COLOURLESS,
    HELD,
    NOUNS,
    ON_TABLE,
    OUTDOOR,
    SEATED,
    SETTINGS,
    SEVERAL,
    SHADED,
    Scene,
    colours_of,
    fits,
)


@dataclass(frozen=True)
class SceneNoise:
    """A false caption. `changed`: indices of the words that make it false; `kind`: what changed."""

    description: Description
    changed: frozenset[int]
    kind: str


KINDS = (
    "colour", "noun", "count", "size", "action", "setting", "weather", "relation", "negation",
)  # fmt: skip
#: Relative frequencies with which each kind is tried first.
_WEIGHTS = (2.2, 3.2, 1.8, 1.2, 2.4, 1.2, 1.0, 5.0, 0.8)


def fine_grained(
    description: Description,
    scene: Scene,
    rng: random.Random,
    kinds: Sequence[str] = KINDS,
) -> SceneNoise | None:
    """Change one claim so that the caption is false of the scene; None if that is impossible."""
    weights = {kind: _WEIGHTS[KINDS.index(kind)] for kind in kinds}
    while weights:
        kind = rng.choices(list(weights), list(weights.values()))[0]
        del weights[kind]
        variant = _CHANGES[kind](description, scene, rng)
        if variant is not None and not is_true(variant, scene):
            return SceneNoise(variant, changed_words(description, variant), kind)
    return None


def changed_words(before: Description, after: Description) -> frozenset[int]:
    """Indices of the words of `after` that are not in `before`, except function words; both sides
    of an exchange."""
    texts = before.words, after.words, phrasing.WITHOUT_A_CLAIM
    return new_words(*texts) | jumped_over(*texts)


def _replace_phrase(description: Description, number: int, phrase: NounPhrase) -> Description:
    phrases = list(description.phrases)
    phrases[number] = phrase
    return replace(description, phrases=tuple(phrases))


def _colour(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    candidates = [k for k, p in enumerate(d.phrases) if p.colour]
    if not candidates:
        return None
    k = rng.choice(candidates)
    phrase = d.phrases[k]
    options = set(colours_of(phrase.noun, scene.unfamiliar)) - {phrase.colour}
    return (
        _replace_phrase(d, k, replace(phrase, colour=rng.choice(sorted(options))))
        if options
        else None
    )


def _noun(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    order = list(range(len(d.phrases)))
    rng.shuffle(order)
    for k in order:
        phrase = d.phrases[k]
        near = CATEGORIES[CATEGORY[phrase.noun]] if rng.random() < 0.6 else NOUNS
        options = [noun for noun in near if _can_stand(noun, k, d, scene)]
        if options:
            return _replace_phrase(d, k, replace(phrase, noun=rng.choice(options)))
    return None


def _can_stand(noun: str, number: int, d: Description, scene: Scene) -> bool:
    """Whether the noun fits the setting, the phrase's other words and its relations."""
    phrase = d.phrases[number]
    if scene.find(noun) is not None or not fits(noun, scene.setting):
        return False
    if phrase.action and phrase.action not in ACTIONS_OF.get(noun, ()):
        return False
    if phrase.colour and (
        noun in COLOURLESS or phrase.colour not in colours_of(noun, scene.unfamiliar)
    ):
        return False
    if phrase.is_person != (CATEGORY[noun] == "person") and (phrase.colour or phrase.size):
        return False
    if phrase.count > 1 and noun not in SEVERAL:
        return False
    choices: dict[tuple[str, bool], tuple[str, ...]] = {
        ("holds", True): CATEGORIES["person"],
        ("holds", False): HELD,
        ("rides", True): CATEGORIES["person"],
        ("rides", False): ("horse", "bicycle"),
        ("on", True): ON_TABLE,
        ("on", False): ("table",),
        ("sits", True): SEATED,
        ("sits", False): ("bench", "chair"),
        ("under", True): SHADED,
        ("under", False): ("tree", "umbrella", "table"),
        ("above", True): ("kite", "bird", "balloon"),
    }
    for link in d.links:
        if number in (link.subject, link.object):
            nouns = choices.get((link.kind, number == link.subject))
            if nouns is not None and noun not in nouns:
                return False
    return True


def _count(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    participants = {
        k for link in d.links if link.kind not in ("near", "and", "with", "left", "right")
        for k in (link.subject, link.object)
    }  # fmt: skip
    candidates = [k for k, p in enumerate(d.phrases) if p.noun in SEVERAL and k not in participants]
    several = [k for k in candidates if d.phrases[k].count > 1]
    if not candidates:
        return None
    k = rng.choice(several or candidates)
    phrase = d.phrases[k]
    options = [count for count in (1, 2, 2, 3) if count != phrase.count]
    return _replace_phrase(d, k, replace(phrase, count=rng.choice(options)))


def _size(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    candidates = [k for k, p in enumerate(d.phrases) if p.size]
    if not candidates:
        return None
    k = rng.choice(candidates)
    other = "small" if d.phrases[k].size == "big" else "big"
    return _replace_phrase(d, k, replace(d.phrases[k], size=other))


def _action(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    candidates = [k for k, p in enumerate(d.phrases) if p.action and p.noun in ACTIONS_OF]
    if not candidates:
        return None
    k = rng.choice(candidates)
    options = [a for a in ACTIONS_OF[d.phrases[k].noun] if a != d.phrases[k].action]
    return (
        _replace_phrase(d, k, replace(d.phrases[k], action=rng.choice(options)))
        if options
        else None
    )


def _setting(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    if d.setting is None:
        return None
    options = [
        setting for setting in SETTINGS
        if setting != d.setting and all(fits(p.noun, setting) for p in d.phrases)
        and (d.weather is None or setting in OUTDOOR)
    ]  # fmt: skip
    return replace(d, setting=rng.choice(options)) if options else None


def _weather(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    if d.weather is None:
        return None
    return replace(d, weather=rng.choice([w for w in phrasing.WEATHERS if w != d.weather]))


def _relation(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    order = list(range(len(d.links)))
    rng.shuffle(order)
    for k in order:
        link = d.links[k]
        inverse = link.subject > link.object
        if link.kind in ("left", "right"):
            if rng.random() < 0.5 and k == 0:
                return _exchange(d)
            return _relink(d, k, "right" if link.kind == "left" else "left")
        object = d.phrases[link.object].noun
        if link.kind == "on" and not inverse and d.phrases[link.subject].noun in SHADED:
            return _relink(d, k, "under")
        if link.kind == "under" and object == "table" and d.phrases[link.subject].noun != "dog":
            return _relink(d, k, "on", wording=0)
        if link.kind == "above" and k == 0:
            return _exchange(d)
    return None


def _relink(d: Description, k: int, kind: str, wording: int | None = None) -> Description:
    links = list(d.links)
    old = links[k]
    links[k] = Link(kind, old.subject, old.object, old.wording if wording is None else wording)
    return replace(d, links=tuple(links))


def _exchange(d: Description) -> Description:
    first, second = d.phrases[0], d.phrases[1]
    return replace(d, phrases=(second, first, *d.phrases[2:]))


def _negation(d: Description, scene: Scene, rng: random.Random) -> Description | None:
    mentions = {phrase.noun for phrase in d.phrases}
    silent = [thing.noun for thing in scene.things if thing.noun not in mentions]
    if d.absent is None or not silent:
        return None
    return replace(d, absent=rng.choice(silent))


_CHANGES: dict[str, Callable[[Description, Scene, random.Random], Description | None]] = {
    "colour": _colour,
    "noun": _noun,
    "count": _count,
    "size": _size,
    "action": _action,
    "setting": _setting,
    "weather": _weather,
    "relation": _relation,
    "negation": _negation,
}


class BalancedNoise:
    """Fine-grained noise whose words are about equally frequent in false and true captions.

    Counts terms (`_terms`) of the true captions received and of the false ones returned, and
    returns the candidate whose terms are least typical of false captions.
    """

    def __init__(self, candidates: int = 4) -> None:
        self._candidates = candidates
        self._true: Counter[str] = Counter()
        self._false: Counter[str] = Counter()

    def __call__(
        self, description: Description, scene: Scene, rng: random.Random
    ) -> SceneNoise | None:
        self._true.update(_terms(description))
        candidates = [fine_grained(description, scene, rng) for _ in range(self._candidates)]
        best = min((m for m in candidates if m is not None), key=self._excess, default=None)
        if best is not None:
            self._false.update(_terms(best.description))
        return best

    def _excess(self, noise: SceneNoise) -> float:
        """How much more frequent the terms are in false captions so far; at most 1 per term."""
        terms = Counter(_terms(noise.description))
        total = 0.0
        for term in terms:
            true, false = self._true[term] + 4.0, self._false[term] + 4.0
            total += (false - true) / (false + true)
        return total


def _terms(description: Description) -> list[str]:
    """The balanced terms: words, each noun with its count, action and colour, and relations."""
    terms = list(description.words)
    for phrase in description.phrases:
        terms += [f"{phrase.noun}*{phrase.count}"]
        terms += [f"{phrase.noun}/{part}" for part in (phrase.action, phrase.colour) if part]
    for link in description.links:
        subject, object = description.phrases[link.subject], description.phrases[link.object]
        terms.append(f"{subject.noun} {link.kind} {object.noun}")
    return terms


def random_swap(
    index: int,
    pairs: Sequence[tuple[Scene, Description]],
    rng: random.Random,
    among: Sequence[int] | None = None,
) -> Description:
    """Another scene's caption that is false here and shares no noun with the true one.

    `among`: the pairs whose captions may be taken, None: all.
    """
    return _swap(index, pairs, rng, among, shares_noun=False)


def noun_swap(
    index: int,
    pairs: Sequence[tuple[Scene, Description]],
    rng: random.Random,
    among: Sequence[int] | None = None,
) -> Description:
    """Another scene's caption that is false here and shares a noun with the true one."""
    return _swap(index, pairs, rng, among, shares_noun=True)


def _swap(
    index: int,
    pairs: Sequence[tuple[Scene, Description]],
    rng: random.Random,
    among: Sequence[int] | None,
    shares_noun: bool,
) -> Description:
    scene, description = pairs[index]
    nouns = {phrase.noun for phrase in description.phrases}
    fallback = None
    #: By number, as few captions are drawn many times: whether it is false here and shares a noun.
    cache: dict[int, tuple[bool, bool]] = {}
    for _ in range(4000):
        number = rng.randrange(len(pairs)) if among is None else rng.choice(among)
        other = pairs[number][1]
        if number not in cache:
            cache[number] = (
                other.words != description.words and not is_true(other, scene),
                bool(nouns & {phrase.noun for phrase in other.phrases}),
            )
        is_false, shares = cache[number]
        if not is_false:
            continue
        fallback = other
        if shares == shares_noun:
            return other
    if fallback is None:
        raise ValueError("No caption of this collection is false for the scene; give more pairs.")
    return fallback
