"""`evaluate regions`: do the regions of words lie on the things that the words are about?

On drawn scenes, whose things have boxes. For words of a phrase about a thing, in true captions and
wrong ones, the thing meant is the one described; for relations it is one of both. A map *hits* if
its strongest patch lies in a box of the thing; for settings and weathers, if it lies beside every
thing. A thing that is added to a caption and absent from the picture should have no region. Things
that cover most of the picture are not counted: every map would hit them.
"""

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from backend.engine.captions import Caption
from backend.engine.english.word_lists import FUNCTION_WORDS
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import BoolArray, Box, Scorer
from backend.errors import SettingsError
from backend.features.regions.part_maps import PartMap, part_maps
from backend.features.regions.region import least_of, region_of
from backend.progress import Progress, no_progress
from research.evaluation.labelled import DIRECTORIES
from research.markdown_tables import table
from research.scenes import phrasing
from research.scenes.grammar import Description, Link, NounPhrase, describe
from research.scenes.noise import fine_grained
from research.scenes.renderer import PICTURE_SIZE, Region, render_with_regions
from research.scenes.world import NOUNS, Scene, fits, make_scene

#: Largest part of the picture that a thing may cover to be counted.
_MOST_AREA = 0.4
_OF_THINGS = ("noun", "colour", "count", "size", "action")
_TRUE = (*_OF_THINGS, "relation", "setting", "weather")
KINDS = (*_TRUE, *(f"wrong {kind}" for kind in _TRUE), "absent noun")


@dataclass(frozen=True)
class Question:
    """A word of a caption, and the boxes of the things that it is about, as fractions of the
    picture's sides; none for an absent thing. `is_around`: it is about what lies around them."""

    kind: str
    caption: Caption
    word: int
    boxes: tuple[Box, ...]
    is_around: bool = False

    def cover(self, side: int = 96) -> BoolArray:
        """Mask [side, side] of the cells whose centre is in what the word is about."""
        inside = _cover(self.boxes, side)
        return ~inside if self.is_around else inside

    def is_at(self, x: float, y: float) -> bool:
        """Whether the word is about this point."""
        inside = any(x0 <= x < x1 and y0 <= y < y1 for x0, y0, x1, y1 in self.boxes)
        return inside != self.is_around


@dataclass(frozen=True)
class Pointing:
    """Figures of one kind of word, one scorer and seed. `hits`: share of maps whose strongest patch
    lies on what the word is about; `hits_shown`: of those with a region; `centre`: the same of the
    picture's centre; `area`: mean share of the picture that this covers; `absent`: share of words
    that nothing in the picture is said to speak for; `seconds`: processor time of a picture's maps,
    by the number of its words."""

    scorer: str
    seed: int
    kind: str
    words: int
    hits: float
    hits_shown: float
    centre: float
    area: float
    absent: float
    seconds: float


@dataclass(frozen=True)
class PointingReport:
    results: list[Pointing] = field(default_factory=list)


def evaluate_pointing(
    scenes: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    scorers: Sequence[str] = ("blip-itm", "blip-itc", "clip"),
    progress: Progress = no_progress,
) -> PointingReport:
    """Every scorer with every seed; seed k takes the k-th folder of models.

    Raises SettingsError for a scorer without an embedded model, ModelUnavailable."""
    if missing := set(scorers) - set(DIRECTORIES):
        raise SettingsError(f"There is no embedded {', '.join(sorted(missing))}.")
    report = PointingReport()
    for seed in range(first_seed, first_seed + seeds):
        folder = model_folders[min(seed - first_seed, len(model_folders) - 1)]
        for number, name in enumerate(scorers):
            done = (seed - first_seed) * len(scorers) + number
            progress(done, seeds * len(scorers), f"{name}, seed {seed}")
            scorer = load_scorer(str(folder / DIRECTORIES[name]), name)
            report.results.extend(_figures(scorer, name, seed, scenes))
    return report


def answers(scorer: Scorer, scenes: int, seed: int) -> Iterator[tuple[Question, PartMap, float]]:
    """The questions of that many scenes, their maps, and the processor time of each map."""
    rng = random.Random(f"pointing {seed}")
    for _ in range(scenes):
        scene = make_scene(rng)
        image, regions = render_with_regions(scene, PICTURE_SIZE)
        for caption, questions in _by_caption(questions_of(scene, regions, rng)):
            before = time.process_time()
            maps = part_maps(scorer, image, caption, [[q.word] for q in questions])
            seconds = (time.process_time() - before) / len(questions)
            yield from ((q, m, seconds) for q, m in zip(questions, maps, strict=True))


def questions_of(scene: Scene, regions: Sequence[Region], rng: random.Random) -> list[Question]:
    """The words of a true caption of the scene, a wrong word of each kind, and one absent thing, as
    far as the scene allows."""
    description = describe(scene, rng)
    questions = list(_about(description, description, scene, regions))
    for kind in _TRUE:
        noise = fine_grained(description, scene, rng, (kind,))
        if noise is not None:
            about = _about(noise.description, description, scene, regions)
            wrong = [q for q in about if q.kind == kind and q.word in noise.changed]
            questions += [replace(q, kind=f"wrong {kind}") for q in wrong]
    options = [n for n in NOUNS if scene.find(n) is None and fits(n, scene.setting)]
    longer = replace(
        description,
        phrases=(*description.phrases, NounPhrase(rng.choice(options), 1)),
        links=(*description.links, Link("and", 0, len(description.phrases))),
        absent=None,
    )
    word = _noun_at(longer.words, longer.phrases[-1].noun)
    questions.append(Question("absent noun", Caption.parse(longer.text), word, ()))
    return questions


def _about(
    description: Description, truth: Description, scene: Scene, regions: Sequence[Region]
) -> Iterator[Question]:
    """Of each part of the description its first word that says something, with the boxes of the
    things that the same part of the true description is about."""
    caption, words = Caption.parse(description.text), description.words
    nouns = [_noun_at(words, phrase.noun) for phrase in description.phrases]
    boxes = [_boxes_of(phrase.noun, scene, regions) for phrase in truth.phrases]

    def find(
        kind: str, about: Sequence[Box], wordings: Iterable[str], first: int, end: int
    ) -> Iterator[Question]:
        content = {word for wording in wordings for word in wording.split()} - FUNCTION_WORDS
        place = next((i for i in range(max(0, first), end) if words[i] in content), None)
        if place is not None and about and _cover(about).mean() <= _MOST_AREA:
            yield Question(kind, caption, place, tuple(about), kind in ("setting", "weather"))

    for phrase, noun, about in zip(description.phrases, nouns, boxes, strict=True):
        yield from find("noun", about, [words[noun]], noun, noun + 1)
        if phrase.colour:
            garment = noun + 5 if phrase.is_person else noun
            yield from find("colour", about, [phrase.colour], noun - 1, min(garment, len(words)))
        if phrase.count > 1:
            yield from find("count", about, [phrasing.COUNTS[phrase.count]], noun - 3, noun)
        if phrase.size:
            yield from find("size", about, phrasing.SIZES[phrase.size], noun - 3, noun)
        if phrase.action:
            yield from find("action", about, phrasing.ACTIONS[phrase.action], noun, len(words))
    for number, link in enumerate(description.links):
        about = boxes[link.subject] + boxes[link.object]
        wordings = [before for before, _, _ in phrasing.LINKS[link.kind]]
        yield from find("relation", about, wordings, nouns[number], nouns[number + 1])
    about = tuple(region.box for region in regions)
    if description.setting:
        yield from find("setting", about, phrasing.SETTINGS[description.setting], 0, len(words))
    if description.weather:
        yield from find("weather", about, phrasing.WEATHERS[description.weather], 0, len(words))


def _boxes_of(noun: str, scene: Scene, regions: Sequence[Region]) -> tuple[Box, ...]:
    thing = next(i for i, thing in enumerate(scene.things) if thing.noun == noun)
    return tuple(region.box for region in regions if region.thing == thing)


def _noun_at(words: Sequence[str], noun: str) -> int:
    return next(i for i, word in enumerate(words) if phrasing.NOUN_OF.get(word) == noun)


def _by_caption(questions: Sequence[Question]) -> Iterator[tuple[Caption, list[Question]]]:
    groups: dict[Caption, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.caption, []).append(question)
    yield from groups.items()


def _cover(boxes: Sequence[Box], side: int = 96) -> BoolArray:
    """Mask [side, side] of the cells whose centre is in a box."""
    centres = (np.arange(side) + 0.5) / side
    across, down = centres[None, :], centres[:, None]
    inside = [(x0 <= across) & (across < x1) & (y0 <= down) & (down < y1)
              for x0, y0, x1, y1 in boxes]  # fmt: skip
    return np.any(inside, 0)


def is_hit(question: Question, of_word: PartMap) -> bool:
    """Whether the word is about the centre of the strongest patch."""
    assert of_word.weights is not None, "every question has a map"
    rows, columns = of_word.weights.shape
    row, column = np.unravel_index(int(of_word.weights.argmax()), (rows, columns))
    return question.is_at((column + 0.5) / columns, (row + 0.5) / rows)


def _has_region(question: Question, of_word: PartMap) -> bool:
    """As the program says it: words about the whole picture are judged by their support alone."""
    least = least_of([question.caption.words[question.word]])
    part_map = replace(of_word, weights=None) if question.is_around else of_word
    return region_of(part_map, least).box is not None


def _figures(scorer: Scorer, name: str, seed: int, scenes: int) -> Iterator[Pointing]:
    every = list(answers(scorer, scenes, seed))
    for kind in KINDS:
        of_kind = [answer for answer in every if answer[0].kind == kind]
        if not of_kind:
            continue
        of_things = [question for question, _, _ in of_kind if question.boxes]
        yield Pointing(
            name, seed, kind, len(of_kind),
            hits=_mean([is_hit(question, of_word) for question, of_word, _ in of_kind]),
            hits_shown=_mean([is_hit(q, m) for q, m, _ in of_kind if _has_region(q, m)]),
            centre=_mean([question.is_at(0.5, 0.5) for question in of_things]),
            area=_mean([question.cover().mean() for question in of_things]),
            absent=_mean([not _has_region(q, m) for q, m, _ in of_kind]),
            seconds=_mean([seconds for _, _, seconds in of_kind]),
        )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def markdown(report: PointingReport) -> str:
    """Means ± standard errors over the seeds, by scorer and kind."""
    rows = []
    for scorer in dict.fromkeys(result.scorer for result in report.results):
        for kind in KINDS:
            of_kind = [r for r in report.results if (r.scorer, r.kind) == (scorer, kind)]
            if of_kind:
                rows.append([
                    scorer, kind, str(sum(r.words for r in of_kind)),
                    *(_with_error([getattr(r, name) for r in of_kind]) if kind != "absent noun"
                      else "" for name in ("hits", "hits_shown", "centre", "area")),
                    _with_error([r.absent for r in of_kind]),
                    f"{_mean([r.seconds for r in of_kind]):.2f}",
                ])  # fmt: skip
    header = ("scorer", "word", "words", "hits", "of regions", "centre of the picture",
              "share of the area", "nothing speaks for it", "seconds a map")  # fmt: skip
    return table(header, rows)


def _with_error(values: Sequence[float]) -> str:
    error = f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
    return f"{_mean(values):.3f}{error}"
