"""Rule-based stand-in for a language model: joins and enriches captions of a scene.

No language model comes with the program, so `evaluate boosting` serves these answers instead. They
parse the claims of captions and phrase them again with the same grammar, so that every claim added,
kept or lost can be counted. They say nothing about how well a real model follows the prompts.

    blend      the first caption and everything that the others add to it
    holistic   the trusted caption and what the other one adds; in conflicts, the trusted one wins
    visual     everything in a picture, as far as it fits, and occasionally something invented

The grammar links every thing to the first one: a relation between two others cannot be expressed
and is omitted.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from backend.engine.captions import Caption
from research.scenes import phrasing
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import Description, Link, NounPhrase
from research.scenes.labelled_bags import rich
from research.scenes.noise import fine_grained
from research.scenes.truth import TELLING
from research.scenes.world import COLOURLESS, COLOURS, NOUNS, SIZES, Scene, colours_of, fits

#: Maximum number of inventions in a description; the rate is divided among them.
_CHANCES = 3
#: Probability that an invention is an absent thing; otherwise an existing claim is changed.
_INVENTED_THING = 0.5


def description_of(text: str) -> Description | None:
    """Parse a caption to a description with the same claims and default wordings; None if the
    grammar cannot parse it.

    >>> description_of("There is a puppy to the left of two big red cars at night.").text
    'A dog to the left of two big red cars at night.'
    """
    claims = claims_of(text)
    if claims is None:
        return None
    words = _words(text)
    mentions = dict.fromkeys(phrasing.NOUN_OF.get(word) for word in words)
    nouns = [noun for noun in mentions if noun is not None and noun in claims]
    first = nouns[0]
    phrases = tuple(_phrase(noun, claims) for noun in nouns)
    links = tuple(
        _link(first, noun, index, claims, _is_near(words, noun))
        for index, noun in enumerate(nouns[1:], 1)
    )
    return Description(
        phrases,
        links,
        setting=_value("in ", claims),
        weather=_value("at ", claims),
        absent=_value("no ", claims),
    )


def blend(captions: Sequence[str]) -> str:
    """The first caption and everything that the others add. Captions that the grammar cannot parse
    add nothing; if the first is one of them, it is returned unchanged.

    >>> blend(["A man.", "A guy in a red shirt and a dog.", "A puppy in the park."])
    'A man in a red shirt and a dog in a park.'
    """
    base = description_of(captions[0])
    if base is None:
        return captions[0]
    for other in captions[1:]:
        description = description_of(other)
        base = base if description is None else merge(base, description)
    return _in_words_of(base, captions)


def holistic(trusted_caption: str, other: str) -> str:
    """The trusted caption enriched by the other."""
    return blend([trusted_caption, other])


def _in_words_of(description: Description, captions: Sequence[str]) -> str:
    """The description as a sentence that keeps the captions' words, as a model is asked to: of the
    wordings of place, weather and absent thing, those with the fewest words that occur in no
    caption; ties are resolved by most words in common with the first caption."""
    first_words = set(_words(captions[0]))
    all_words = {word for caption in captions for word in _words(caption)}

    def words_missed(wording: str) -> tuple[int, int]:
        words = set(wording.split())
        return len(words - all_words), -len(first_words & words)

    links = tuple(
        replace(link, wording=_near(first_words, all_words)) if link.kind == "near" else link
        for link in description.links
    )
    parts = [replace(description, links=links, setting=None, weather=None, absent=None).text[:-1]]
    if description.setting:
        parts.append(min(phrasing.SETTINGS[description.setting], key=words_missed))
    if description.weather:
        parts.append(min(phrasing.WEATHERS[description.weather], key=words_missed))
    if description.absent:
        noun = phrasing.NAMES[description.absent][0][0]
        article = "an" if noun[0] in "aeiou" else "a"
        ways = [f"{before} {noun} {behind}".strip() for before, behind in phrasing.ABSENT]
        parts.append(min(ways, key=words_missed).replace("without a ", f"without {article} "))
    return " ".join(parts) + "."


def _near(first_words: set[str], all_words: set[str]) -> int:
    """Index of the wording of "near" that the captions use, preferably the first one; default 0."""
    words = [set(before.split()) - {"to"} for before, _, _ in phrasing.LINKS["near"]]
    return next(
        (n for of in (first_words, all_words) for n, wording in enumerate(words) if wording <= of),
        0,
    )


def merge(base: Description, other: Description) -> Description:
    """Everything that `base` claims and what `other` adds without contradicting it."""
    phrases, links = list(base.phrases), list(base.links)
    places = {phrase.noun: index for index, phrase in enumerate(phrases)}
    for phrase in other.phrases:
        if phrase.noun in places:
            earlier = phrases[places[phrase.noun]]
            phrases[places[phrase.noun]] = replace(
                earlier,
                colour=earlier.colour or phrase.colour,
                size=earlier.size or phrase.size,
                action=earlier.action or phrase.action,
            )
        elif phrase.noun != base.absent:
            places[phrase.noun] = len(phrases)
            phrases.append(phrase)
            links.append(Link("and", 0, len(phrases) - 1))
    for link in other.links:
        subject, object = other.phrases[link.subject].noun, other.phrases[link.object].noun
        link_and_place = _tie(phrases[0].noun, link.kind, subject, object, places)
        if link_and_place is not None and links[link_and_place[1] - 1].kind in ("and", "near"):
            links[link_and_place[1] - 1] = link_and_place[0]
    absent = base.absent or other.absent
    sitters = {link.subject for link in links if link.kind == "sits"}
    phrases = [
        replace(phrase, action=None) if index in sitters else phrase
        for index, phrase in enumerate(phrases)
    ]
    return replace(
        base,
        phrases=tuple(phrases),
        links=tuple(links),
        setting=base.setting or other.setting,
        weather=base.weather or other.weather,
        absent=None if absent in places else absent,
    )


def visual(scene: Scene, rng: random.Random, rate: float = 0.3) -> Description:
    """A detailed description with hallucinations: about `rate` false claims on average."""
    description = rich(scene, rng)
    for _ in range(_CHANCES):
        if rng.random() < rate / _CHANCES:
            description = invent(description, scene, rng) or description
    return description


def invent(description: Description, scene: Scene, rng: random.Random) -> Description | None:
    """The description with one more false claim; None if nothing can be invented."""
    if rng.random() < _INVENTED_THING:
        mentions = {phrase.noun for phrase in description.phrases}
        absent = [
            noun
            for noun in NOUNS
            if scene.find(noun) is None and noun not in mentions and fits(noun, scene.setting)
        ]
        noun = rng.choice(absent)
        colour = None if noun in COLOURLESS else rng.choice(colours_of(noun))
        phrases = (*description.phrases, NounPhrase(noun, 1, colour=colour))
        links = (*description.links, Link("and", 0, len(description.phrases)))
        return replace(description, phrases=phrases, links=links)
    false = fine_grained(description, scene, rng, ("colour", "noun", "count", "size", "action",
                                            "setting", "weather", "relation"))  # fmt: skip
    return None if false is None else false.description


def _is_near(words: Sequence[str], noun: str) -> bool:
    """Whether a synonym of "near" stands between the noun and the one before it."""
    place = next(n for n, word in enumerate(words) if phrasing.NOUN_OF.get(word) == noun)
    before = takewhile(lambda word: word not in phrasing.NOUN_OF, reversed(words[:place]))
    return not {"near", "beside", "next"}.isdisjoint(before)


def _words(text: str) -> list[str]:
    return [word.lower() for word in Caption.parse(text).words]


def _phrase(noun: str, claims: frozenset[str]) -> NounPhrase:
    qualities = [claim.partition("/")[2] for claim in claims if claim.startswith(f"{noun}/")]
    count = next((n for n in (1, 2, 3) if f"{noun}*{n}" in claims), 1)
    return NounPhrase(
        noun,
        count,
        colour=next((word for word in qualities if word in COLOURS), None),
        size=next((word for word in qualities if word in SIZES), None),
        action=next((word for word in qualities if word in phrasing.ACTIONS), None),
    )


def _link(first: str, noun: str, place: int, claims: frozenset[str], near: bool) -> Link:
    for kind in TELLING:
        for subject, object in ((first, noun), (noun, first)):
            if f"{subject} {kind} {object}" in claims:
                link_and_place = _tie(first, kind, subject, object, {first: 0, noun: place})
                if link_and_place is not None:
                    return link_and_place[0]
    return Link("near" if near else "and", 0, place)


def _tie(
    first: str, kind: str, subject: str, object: str, places: dict[str, int]
) -> tuple[Link, int] | None:
    """A link between the first thing and another, and the place of the other; None if the grammar
    cannot express the relation."""
    if kind not in TELLING or subject not in places or object not in places:
        return None
    if subject == first:
        return Link(kind, 0, places[object]), places[object]
    if object != first:
        return None
    for wording, (_, _, inverse) in enumerate(phrasing.LINKS[kind]):
        if inverse:
            return Link(kind, places[subject], 0, wording), places[subject]
    return None


def _value(prefix: str, claims: frozenset[str]) -> str | None:
    values = (claim.removeprefix(prefix) for claim in sorted(claims) if claim.startswith(prefix))
    return next(values, None)
