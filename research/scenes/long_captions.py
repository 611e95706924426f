"""Long captions of drawn scenes: paragraphs of sentences, and lists of tags, with the truth of
every claim.

A paragraph describes parts of its scene in sentences of its own; some refer to the thing before by
a pronoun ("It is sleeping in the park."), some are vague ("Simply perfect in every way."). Errors
are those of `noise.BalancedNoise`: a claim is changed so that it is false of the scene.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from research.noise.language_model import jumped_over, new_words
from research.scenes import phrasing
from research.scenes.grammar import Description, NounPhrase, describe, words_of
from research.scenes.noise import BalancedNoise, fine_grained
from research.scenes.world import COLOURLESS, Scene, make_scene

#: Does not overlap with the seeds of training, the demo, the evaluation and the training curves.
SEED = 6_000_000_000
PRONOUNS = {"man": "he", "woman": "she"}
#: What may be said of a thing that a pronoun names, and so what may be changed.
_OF_A_PRONOUN = ("colour", "action", "setting")
_TRIES = 200


@dataclass(frozen=True)
class DrawnClaim:
    """One claim of a long caption, the characters `start` to `end` of its text.

    * `kind`: what an error changed; "": the claim is right.
    * `changed`: character ranges in the caption that make it wrong.
    * `subject`: the noun that a pronoun stands for, "" if there is none.
    """

    start: int
    end: int
    kind: str = ""
    changed: tuple[tuple[int, int], ...] = ()
    is_vague: bool = False
    subject: str = ""

    @property
    def is_wrong(self) -> bool:
        return bool(self.kind)


@dataclass(frozen=True)
class LongCaption:
    """A scene and its long caption; the claims stand in their order."""

    scene: Scene
    text: str
    claims: tuple[DrawnClaim, ...]


@dataclass(frozen=True)
class _Draft:
    """A claim before it has its place in the text: its words, and which make it wrong."""

    words: tuple[str, ...]
    description: Description | None = None
    subject: str = ""
    kind: str = ""
    changed: frozenset[int] = frozenset()


def paragraphs(
    count: int,
    seed: int,
    sentences: Sequence[int] = range(3, 13),
    errors: Sequence[int] = (0, 1, 2, 3),
    pronouns: float = 0.25,
    vague: float = 0.1,
) -> Iterator[LongCaption]:
    """`count` scenes with a paragraph each; the numbers of its sentences and errors are drawn from
    `sentences` and `errors`. `pronouns`, `vague`: shares of the sentences."""
    sampler = BalancedNoise()
    for number in range(count):
        rng = random.Random(SEED + 1_000_000 * seed + number)
        scene = make_scene(rng)
        drafts = _sentences(scene, rng, rng.choice(sentences), pronouns, vague)
        yield _compose(scene, _with_errors(drafts, scene, rng, rng.choice(errors), sampler), " ")


def tag_lists(
    count: int,
    seed: int,
    tags: Sequence[int] = range(10, 31),
    errors: Sequence[int] = (0, 1, 2, 3),
) -> Iterator[LongCaption]:
    """`count` scenes with a list of tags each, such as "brown dog, dog sleeping, in a park"; scenes
    with few things have fewer tags than were drawn."""
    sampler = BalancedNoise()
    for number in range(count):
        rng = random.Random(SEED + 1_000_000 * seed + 500_000 + number)
        scene = make_scene(rng)
        drafts = _tags(scene, rng, rng.choice(tags))
        yield _compose(scene, _with_errors(drafts, scene, rng, rng.choice(errors), sampler), ", ")


def _sentences(
    scene: Scene, rng: random.Random, count: int, pronouns: float, vague: float
) -> list[_Draft]:
    drafts: list[_Draft] = []
    texts: set[tuple[str, ...]] = set()
    subject: NounPhrase | None = None
    for _ in range(_TRIES):
        if len(drafts) == count:
            break
        draft = None
        if subject is not None and rng.random() < pronouns:
            draft = _about(subject, scene, rng)
        elif drafts and rng.random() < vague:
            words = phrasing.abstract_caption(rng).rstrip(".").split()
            draft = _Draft(tuple(words))
        if draft is None:
            description = describe(scene, rng)
            draft = _Draft(words_of(description), description)
        if draft.words in texts:
            continue
        texts.add(draft.words)
        drafts.append(draft)
        first = draft.description.phrases[0] if draft.description is not None else None
        is_singular = first is not None and first.count == 1 and not draft.subject
        subject = first if is_singular else None
    return drafts


def _about(phrase: NounPhrase, scene: Scene, rng: random.Random) -> _Draft | None:
    """A sentence that names the thing by a pronoun, and says its colour or what it does where;
    None if there is nothing to say, or no pronoun."""
    place = scene.find(phrase.noun)
    if place is None or phrase.noun == "child":
        return None
    thing = scene.things[place]
    if thing.count != 1:
        return None
    colour = thing.colour if not phrase.is_person and phrase.noun not in COLOURLESS else None
    says_colour = colour is not None and rng.random() < 0.5
    description = Description(
        (
            NounPhrase(
                phrase.noun, 1, phrase.name,
                colour=colour if says_colour else None,
                action=None if says_colour else thing.action,
            ),
        ),
        setting=None if says_colour else scene.setting,
        wording=rng.randrange(12),
    )  # fmt: skip
    return _Draft(_pronoun_words(description), description, phrase.noun)


def _pronoun_words(description: Description) -> tuple[str, ...]:
    """The words of a description of one thing, with a pronoun in place of its noun phrase."""
    (phrase,) = description.phrases
    bare = replace(description, phrases=(replace(phrase, colour=None),), copula=True)
    words = words_of(bare)
    behind = words[words.index("is") :]
    colour = (phrase.colour,) if phrase.colour else ()
    return (PRONOUNS.get(phrase.noun, "it"), behind[0], *colour, *behind[1:])


def _tags(scene: Scene, rng: random.Random, count: int) -> list[_Draft]:
    drafts: list[_Draft] = []
    texts: set[tuple[str, ...]] = set()
    for _ in range(_TRIES):
        if len(drafts) == count:
            break
        description = replace(
            describe(scene, rng), opener=0, copula=False, setting_first=False, absent=None
        )
        part = rng.random()
        if part < 0.15 and description.setting:
            words = phrasing.SETTINGS[description.setting][0].split()
            description = replace(description, phrases=(), links=(), weather=None)
        elif len(description.phrases) > 1 and part < 0.35:
            description = replace(
                description, phrases=description.phrases[:2], links=description.links[:1],
                setting=None, weather=None,
            )  # fmt: skip
            words = _without_articles(words_of(description))
        else:
            phrase = rng.choice(description.phrases)
            description = replace(
                description, phrases=(phrase,), links=(), setting=None, weather=None
            )
            words = _without_articles(words_of(description))
        if tuple(words) not in texts and len(words) <= 6:
            texts.add(tuple(words))
            drafts.append(_Draft(tuple(words), description))
    return drafts


def _without_articles(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in ("a", "an")]


def _with_errors(
    drafts: list[_Draft], scene: Scene, rng: random.Random, count: int, sampler: BalancedNoise
) -> list[_Draft]:
    """`count` of the claims changed, or as many as can be."""
    order = [i for i, draft in enumerate(drafts) if draft.description is not None]
    rng.shuffle(order)
    for index in order:
        if not count:
            break
        draft = drafts[index]
        assert draft.description is not None
        false = None
        if not draft.description.phrases:
            setting = rng.choice([name for name in phrasing.SETTINGS if name != scene.setting])
            words = tuple(phrasing.SETTINGS[setting][0].split())
            false = _Draft(words, draft.description, kind="setting")
        elif not draft.subject:
            noise = sampler(draft.description, scene, rng)
            if noise is not None:
                whole = words_of(draft.description) == draft.words
                words = words_of(noise.description)
                words = words if whole else tuple(_without_articles(words))
                false = _Draft(words, noise.description, kind=noise.kind)
        else:
            change = fine_grained(draft.description, scene, rng, _OF_A_PRONOUN)
            if change is not None:
                words = _pronoun_words(change.description)
                false = _Draft(words, change.description, draft.subject, change.kind)
        if false is not None and false.words != draft.words:
            drafts[index] = replace(false, changed=_changed_words(draft.words, false.words))
            count -= 1
    return drafts


def _changed_words(before: Sequence[str], after: Sequence[str]) -> frozenset[int]:
    """Indices of the words of `after` that are new."""
    texts = tuple(before), tuple(after), phrasing.WITHOUT_A_CLAIM
    return new_words(*texts) | jumped_over(*texts)


def _compose(scene: Scene, drafts: Sequence[_Draft], separator: str) -> LongCaption:
    """The text of all claims; a sentence begins with a capital and ends with a stop."""
    is_paragraph = separator == " "
    text, claims = "", []
    for draft in drafts:
        text += separator if text else ""
        start = len(text)
        spans = []
        for number, word in enumerate(draft.words):
            text += " " if number else ""
            form = word[0].upper() + word[1:] if is_paragraph and not number else word
            spans.append((len(text), len(text) + len(form)))
            text += form
        if is_paragraph and text[-1].isalnum():
            text += "."
        error_spans = tuple(spans[i] for i in sorted(draft.changed))
        claims.append(
            DrawnClaim(
                start, len(text), draft.kind, error_spans, draft.description is None, draft.subject
            )
        )
    return LongCaption(scene, text, tuple(claims))
