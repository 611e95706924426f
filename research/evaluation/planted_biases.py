"""How many verdicts until a writer's planted bias is found, and how many patterns are none?

`evaluate blind-spots`: captions of two writers are drawn at random and judged by the truth. The
writers are simulated here, each wrong in BASE of its captions and more often where it uses its own
words; `biased_captioners` trains real ones.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from backend.engine.captions import Caption
from backend.features.patterns.error_patterns import JudgedCaption, Pattern, find_patterns
from backend.progress import Progress, no_progress
from research.markdown_tables import table
from research.scenes.grammar import describe
from research.scenes.world import make_scene

#: Share of a simulated writer's captions that are wrong in a word at random.
BASE = 0.08
#: By writer: how often a caption with this word is wrong in it.
BIASES: Mapping[str, Mapping[str, float]] = {
    "first": {"three": 0.5, "dog": 0.3}, "second": {"red": 0.4, "standing": 0.6},
}  # fmt: skip
VERDICTS = (50, 100, 200, 400, 800)
RUNS = 40
#: A bias counts as found from so many verdicts on, where this share of the runs name it.
OFTEN = 0.8
_SEED = 5_000_000_000


@dataclass(frozen=True)
class Bias:
    """Planted in the captions of `writer`; words or phrases with one of `words` name it."""

    writer: str
    name: str
    words: frozenset[str]

    def is_named_by(self, pattern: Pattern) -> bool:
        return (
            pattern.writer == self.writer
            and pattern.kind in ("word", "phrase")
            and bool(self.words & set(pattern.name.split()))
        )


class Writers(Protocol):
    @property
    def biases(self) -> Sequence[Bias]: ...

    @property
    def ways(self) -> Sequence[bool]:
        """Whether people mark the wrong words: without, with, or both in turn."""
        ...

    def draw_judged(self, count: int, rng: random.Random, are_marked: bool) -> list[JudgedCaption]:
        """`count` captions of each writer, drawn at random."""
        ...

    def is_none(self, pattern: Pattern) -> bool:
        """Whether captions with the pattern are in truth not wrong more often."""
        ...


@dataclass(frozen=True)
class BiasFigures:
    """With `verdicts` on captions of each writer: how often each bias was named (`detected`, by its
    name), and of a run's `patterns` how many were neither planted nor a part of what was
    (`unplanned`), and how many in truth are none (`spurious`)."""

    verdicts: int
    are_marked: bool
    detected: dict[str, float]
    patterns: float
    unplanned: float
    spurious: float


@dataclass(frozen=True)
class BiasReport:
    """`writers`: what they are, in words."""

    writers: str
    runs: int
    figures: list[BiasFigures]


@dataclass(frozen=True)
class SimulatedWriters:
    """What is not planted is none: other words are wrong at random."""

    biases: Sequence[Bias] = field(
        default_factory=lambda: [
            Bias(writer, f"“{word}”, wrong in {share:.0%}", frozenset({word}))
            for writer, words in BIASES.items()
            for word, share in words.items()
        ]
    )
    ways: Sequence[bool] = (False, True)

    def draw_judged(self, count: int, rng: random.Random, are_marked: bool) -> list[JudgedCaption]:
        return [each for writer in BIASES for each in write(writer, count, rng, are_marked)]

    def is_none(self, pattern: Pattern) -> bool:
        return not any(bias.is_named_by(pattern) for bias in self.biases)

    def __str__(self) -> str:
        return f"Two simulated writers, each also wrong in {BASE:.0%} of its captions at random."


def write(writer: str, count: int, rng: random.Random, are_marked: bool) -> Iterator[JudgedCaption]:
    """Captions of a writer, judged by the truth."""
    for _ in range(count):
        text = describe(make_scene(rng), rng).text
        caption = Caption.parse(text)
        words = [word.lower() for word in caption.words]
        wrong = {
            words.index(word)
            for word, share in BIASES[writer].items()
            if word in words and rng.random() < share
        }
        if rng.random() < BASE:
            wrong.add(rng.randrange(len(words)))
        spans = frozenset(caption.spans[word] for word in wrong) if are_marked else frozenset()
        yield JudgedCaption(text, bool(wrong), spans, writer, at_random=True)


def evaluate_biases(
    writers: Writers,
    verdicts: Sequence[int] = VERDICTS,
    runs: int = RUNS,
    first_seed: int = 0,
    progress: Progress = no_progress,
) -> BiasReport:
    """`verdicts`: on captions of each writer."""
    figures = []
    trials = [(are_marked, count) for are_marked in writers.ways for count in verdicts]
    for number, (are_marked, count) in enumerate(trials):
        progress(number, len(trials), f"{count} verdicts")
        by_run = []
        for run in range(runs):
            rng = random.Random(_SEED + first_seed + run)
            by_run.append(find_patterns(writers.draw_judged(count, rng, are_marked))[0])
        every = [pattern for patterns in by_run for pattern in patterns]
        figures.append(
            BiasFigures(
                count, are_marked,
                {
                    bias.name: sum(any(map(bias.is_named_by, patterns)) for patterns in by_run)
                    / runs
                    for bias in writers.biases
                },
                len(every) / runs,
                sum(not any(bias.is_named_by(each) for bias in writers.biases) for each in every)
                / runs,
                sum(map(writers.is_none, every)) / runs,
            )
        )  # fmt: skip
    return BiasReport(str(writers), runs, figures)


def verdicts_until(figures: Sequence[BiasFigures], bias: str) -> int | None:
    """The fewest verdicts from which on a bias is found in `OFTEN` of the runs."""
    until = None
    for each in sorted(figures, key=lambda each: -each.verdicts):
        if each.detected[bias] < OFTEN:
            break
        until = each.verdicts
    return until


def markdown(report: BiasReport) -> str:
    biases = list(report.figures[0].detected)
    rows: list[list[str | int]] = [
        [r.verdicts, "yes" if r.are_marked else "no", *(f"{r.detected[b]:.0%}" for b in biases),
         f"{r.patterns:.2f}", f"{r.unplanned:.2f}", f"{r.spurious:.2f}"]
        for r in report.figures
    ]  # fmt: skip
    for are_marked in sorted({each.are_marked for each in report.figures}):
        figures = [each for each in report.figures if each.are_marked == are_marked]
        until = [verdicts_until(figures, bias) or "more" for bias in biases]
        rows.append([f"in {OFTEN:.0%} of runs", "yes" if are_marked else "no", *until, "", "", ""])
    head = ["verdicts of each writer", "wrong words marked", *biases, "patterns a run",
            "not planted", "none"]  # fmt: skip
    return f"{report.writers} {report.runs} runs.\n\n{table(head, rows)}"
