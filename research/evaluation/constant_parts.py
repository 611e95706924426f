"""What parts that stand in every caption do to the ranking and to the suspect words, with the
parts left out, judged, and stated by a person; and what becomes of sets of one noun.

    python -m research.evaluation.constant_parts data/constant_parts.jsonl

Fresh drawn scenes, every second caption wrong, the same captions in each form. A line of the file
is a run; what is in it is not measured again. The tables are printed at the end.

Sets of one noun: every caption says "dog", and in the wrong ones the picture shows another animal
instead.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from backend.engine.captions import Caption
from backend.jobs import export_scores
from backend.settings import MODELS
from research.evaluation.labelled import from_scenes
from research.evaluation.metrics import auc
from research.evaluation.row_alignment import TRAININGS
from research.markdown_tables import cell, cells, table
from research.scenes.grammar import Description, describe
from research.scenes.renderer import PICTURE_SIZE, render
from research.scenes.truth import is_true
from research.scenes.world import ACTIONS_OF, CATEGORY, Scene, colours_of, make_scene
from research.user_datasets import import_pairs

#: Does not overlap with the seeds of the trainings and other evaluations; chose nothing.
_FIRST_SEED = 6_000_000_000
SEEDS = (70, 71, 72)
_QUARTERS = ("random", "fine-grained", "noun", "fine-grained")
#: The noun that all captions of a set of one noun have.
NOUN = "dog"
AS_IT_IS, NO_STOP = "as it is", "without a full stop"
#: What becomes of the parts: those that are found, none, and those that a person states as well.
LEFT_OUT, JUDGED, STATED = "left out", "judged", "stated"


@dataclass(frozen=True)
class DrawnPair:
    """`caption`: what is said of the scene; `changed`: the indices of the words that make it wrong,
    none if all of them do."""

    scene: Scene
    caption: str
    is_wrong: bool
    changed: frozenset[int]


@dataclass(frozen=True)
class Form:
    """`text(pair, index)`: the caption as it is written; `parts`: what becomes of its parts, each
    measured; `stated`: what a person would state; `base`: the form without the parts."""

    text: Callable[[DrawnPair, int], str]
    parts: tuple[str, ...] = (LEFT_OUT, JUDGED)
    stated: str = ""
    base: str = AS_IT_IS


@dataclass(frozen=True)
class Run:
    """The figures of one form by one training. `top_right`: share of the `located` errors whose
    most suspicious word is a wrong one; `outside`: share of the captions whose most suspicious word
    is none of the caption's own; `digest`: of the scores."""

    world: str
    training: int
    form: str
    parts: str
    auc: float
    auc_s_0: float
    top_right: float
    located: int
    outside: float
    digest: str


def lower_first(text: str) -> str:
    """
    >>> lower_first("A dog.")
    'a dog.'
    """
    return text[:1].lower() + text[1:]


def _before(part: str) -> Callable[[DrawnPair, int], str]:
    return lambda pair, _: part + lower_first(pair.caption)


def _behind(part: str) -> Callable[[DrawnPair, int], str]:
    return lambda pair, _: f"{pair.caption.removesuffix('.')}, {part}."


def _in_several_wordings(pair: DrawnPair, index: int) -> str:
    wordings = ("The image shows ", "This image features ", "In this picture we can see ")
    return wordings[index % len(wordings)] + lower_first(pair.caption)


def _as_json(pair: DrawnPair, index: int) -> str:
    about = {"width": 96, "style": "drawing", "index": index}
    return json.dumps({"high_level_description": pair.caption, "meta": about})


_STYLE, _CAMERA = "oil painting in impressionist style", "shot on Canon, 35mm, bokeh"
_ALL = (LEFT_OUT, JUDGED, STATED)
FORMS = {
    AS_IT_IS: Form(lambda pair, _: pair.caption),
    NO_STOP: Form(lambda pair, _: pair.caption.removesuffix("."), (LEFT_OUT,)),
    "trigger": Form(_before("ohwx style, ")),
    "opening": Form(_before("The image shows ")),
    "quality": Form(_behind("8k, highly detailed, masterpiece"), base=NO_STOP),
    "JSON": Form(_as_json, (LEFT_OUT,)),
    "invented word": Form(_behind("krbz"), base=NO_STOP),
    "openings in three wordings": Form(_in_several_wordings),
    "style": Form(_behind(_STYLE), _ALL, _STYLE, NO_STOP),
    "camera": Form(_behind(_CAMERA), _ALL, _CAMERA, NO_STOP),
}
FORMS_OF_ONE_NOUN = {
    AS_IT_IS: Form(lambda pair, _: pair.caption, _ALL, NOUN),
    "trigger and noun": Form(_before(f"A photo of sks {NOUN}, ")),
    "noun in front": Form(_before(f"{NOUN}, "), _ALL, NOUN),
}


def draw_mixed(count: int, seed: int) -> list[DrawnPair]:
    """Captions of fresh scenes, every second wrong: half of those in one claim, a quarter by a noun
    and a quarter at random."""
    samples = [from_scenes(count, noise, seed) for noise in _QUARTERS]
    rows = [(samples[index * len(samples) // count], index) for index in range(count)]
    return [
        DrawnPair(of.scenes[row], of.captions[row], bool(of.wrong[row]), of.changed[row])
        for of, row in rows
    ]


def draw_one_noun(count: int, seed: int) -> list[DrawnPair]:
    """Captions that begin with a dog; every second is of a scene with another animal in its place,
    and right otherwise."""
    rng = random.Random(_FIRST_SEED + seed)
    pairs: list[DrawnPair] = []
    while len(pairs) < count:
        is_wrong = len(pairs) % 2 == 1
        scene = make_scene(rng)
        description = describe(scene, rng)
        noun = description.phrases[0].noun
        if is_wrong != (noun != NOUN) or CATEGORY[noun] != "animal":
            continue
        description = _of_a_dog(description)
        if is_true(description, scene) == is_wrong:
            continue
        words = [word.lower() for word in Caption.parse(description.text).words]
        changed = {index for index, word in enumerate(words) if word in (NOUN, f"{NOUN}s")}
        words_of_error = frozenset(changed if is_wrong else ())
        pairs.append(DrawnPair(scene, description.text, is_wrong, words_of_error))
    return pairs


def _of_a_dog(description: Description) -> Description:
    """The description with its first thing called a dog, without what no dog has."""
    first, *others = description.phrases
    dog = replace(
        first,
        noun=NOUN,
        name=0,
        colour=first.colour if first.colour in colours_of(NOUN) else None,
        action=first.action if first.action in ACTIONS_OF[NOUN] else None,
    )
    return replace(description, phrases=(dog, *others))


@dataclass(frozen=True)
class World:
    """`draw`: `count` pairs of a seed."""

    draw: Callable[[int, int], list[DrawnPair]]
    count: int
    forms: Mapping[str, Form]


WORLDS = {
    "mixed errors": World(draw_mixed, 100, FORMS),
    "one noun": World(draw_one_noun, 160, FORMS_OF_ONE_NOUN),
}


def measure(world: str, training: int, form: str, parts: str, pairs: Sequence[DrawnPair]) -> Run:
    """Import the captions in this form, score them as a user would, and compare with the truth."""
    of = WORLDS[world].forms[form]
    texts = [of.text(pair, index) for index, pair in enumerate(pairs)]
    settings = {"model": str(MODELS / TRAININGS[training] / "scenes-blip-itm")}
    stated = (of.stated,) if parts == STATED else ()
    with import_pairs(
        enumerate(texts), lambda row: render(pairs[row].scene, PICTURE_SIZE), settings
    ) as (workspace, dataset):
        workspace.jobs.score(
            dataset, suggestions=False, anyway=True, constants=parts != JUDGED, constant=stated
        )
        rows = sorted(
            export_scores.score_rows(workspace.store, dataset), key=lambda row: int(row["id"])
        )
    wrong = np.array([pair.is_wrong for pair in pairs])
    p_error = np.array([row["p_error"] for row in rows], np.float64)
    s_0 = np.array([row["s_0"] for row in rows], np.float64)
    suspects = [_suspect_word(row, pair) for row, pair in zip(rows, pairs, strict=True)]
    hits = [
        word in {Caption.parse(pair.caption).words[index].lower() for index in pair.changed}
        for (word, _), pair in zip(suspects, pairs, strict=True)
        if pair.changed
    ]
    return Run(
        world, training, form, parts, auc(wrong, p_error), auc(wrong, -s_0),
        float(np.mean(hits)), len(hits), float(np.mean([not is_own for _, is_own in suspects])),
        hashlib.sha256(p_error.tobytes() + s_0.tobytes()).hexdigest()[:16],
    )  # fmt: skip


def _suspect_word(row: Mapping[str, Any], pair: DrawnPair) -> tuple[str, bool]:
    """The most suspicious word, and whether it is one of the pair's own caption."""
    text = Caption.parse(row["caption"])
    start, end, _ = max(row["suspects"], key=lambda suspect: suspect[2])
    index = next(n for n, (a, b) in enumerate(text.spans) if a < end and start < b)
    words, own = ([w.lower() for w in c.words] for c in (text, Caption.parse(pair.caption)))
    matcher = SequenceMatcher(None, own, words, autojunk=False)
    blocks = matcher.get_matching_blocks()
    return words[index], any(block.b <= index < block.b + block.size for block in blocks)


def measure_all(file: Path) -> list[Run]:
    """The runs of the file, after those that were missing have been added to it."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    runs = [Run(**json.loads(line)) for line in lines]
    done = {(run.world, run.training, run.form, run.parts) for run in runs}
    for name, world in WORLDS.items():
        samples = [world.draw(world.count, seed) for seed in SEEDS]
        for parts, form, training in product(_ALL, world.forms, range(len(SEEDS))):
            if (name, training, form, parts) in done or parts not in world.forms[form].parts:
                continue
            runs.append(measure(name, training, form, parts, samples[training]))
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(runs[-1])) + "\n")
    return runs


def markdown(runs: Sequence[Run]) -> str:
    """A table of each world: means over the trainings with their standard errors, and how far from
    the same captions without the parts."""
    return "\n\n".join(_table([run for run in runs if run.world == world]) for world in WORLDS)


_HEAD = (
    "captions", "parts", "AUC of p_error", "of s_0", "top suspect right", "top suspect outside",
    "AUC, less that without", "top suspect, less that without", "same bytes as without",
)  # fmt: skip


def _table(runs: Sequence[Run]) -> str:
    bases = {(run.form, run.training): run for run in runs if run.parts == LEFT_OUT}
    rows = []
    every = sorted(runs, key=lambda run: list(WORLDS[run.world].forms).index(run.form))
    for form, parts in dict.fromkeys((run.form, run.parts) for run in every):
        of = [run for run in runs if (run.form, run.parts) == (form, parts)]
        plain = [bases[WORLDS[run.world].forms[form].base, run.training] for run in of]
        both = list(zip(of, plain, strict=True))
        same = sum(run.digest == base.digest for run, base in both)
        rows.append(
            [
                form, parts, *cells(of, "auc", "auc_s_0", "top_right", "outside"),
                cell([run.auc - base.auc for run, base in both]),
                cell([run.top_right - base.top_right for run, base in both]),
                f"{same} of {len(of)}",
            ]
        )  # fmt: skip
    return table(_HEAD, rows)


def main() -> None:
    """Measure what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    print(markdown(measure_all(options.file)))


if __name__ == "__main__":
    main()
