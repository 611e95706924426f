"""How many verdicts until a writer's planted bias is found, and how many patterns are none?

`python -m research.evaluation.planted_biases`: two writers describe drawn scenes; each is wrong in
BASE of its captions, and more often where it uses its own words. Captions are drawn at random and
judged by the truth, once only as right or wrong, and once with the wrong word marked.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backend.engine.captions import Caption
from backend.engine.statistics.blind_spots import JudgedCaption, Pattern, find_patterns
from research.markdown_tables import table
from research.scenes.grammar import describe
from research.scenes.world import make_scene

#: Share of a writer's captions that are wrong in a word at random.
BASE = 0.08
#: By writer: how often a caption with this word is wrong in it.
BIASES: Mapping[str, Mapping[str, float]] = {
    "first": {"three": 0.5, "dog": 0.3}, "second": {"red": 0.4, "standing": 0.6},
}  # fmt: skip
VERDICTS = (50, 100, 200, 400, 800)
RUNS = 40
_SEED = 5_000_000_000


@dataclass(frozen=True)
class BiasFigures:
    """With `verdicts` on captions of each writer: how often each bias was named (`detected`, by its
    word), and how many patterns of a run were not planted, or no part of what was (`spurious`)."""

    verdicts: int
    are_marked: bool
    detected: dict[str, float]
    spurious: float
    patterns: float


def written(
    writer: str, count: int, rng: random.Random, are_marked: bool
) -> Iterator[JudgedCaption]:
    """Captions of a writer, judged by the truth."""
    for _ in range(count):
        text = describe(make_scene(rng), rng).text
        parsed = Caption.parse(text)
        words = [word.lower() for word in parsed.words]
        wrong = {
            words.index(word)
            for word, share in BIASES[writer].items()
            if word in words and rng.random() < share
        }
        if rng.random() < BASE:
            wrong.add(rng.randrange(len(words)))
        spans = frozenset(parsed.spans[word] for word in wrong) if are_marked else frozenset()
        yield JudgedCaption(text, bool(wrong), spans, writer, at_random=True)


def is_planted(pattern: Pattern) -> bool:
    """Whether a pattern is a planted word, or a phrase with one, of its writer."""
    words = pattern.name.split()
    return pattern.kind in ("word", "phrase") and any(w in BIASES[pattern.writer] for w in words)


def evaluate_biases(
    verdicts: Sequence[int] = VERDICTS, runs: int = RUNS, first_seed: int = 0
) -> list[BiasFigures]:
    """`verdicts`: on captions of each writer."""
    results = []
    for are_marked in (False, True):
        for count in verdicts:
            detected = {word: 0 for biases in BIASES.values() for word in biases}
            spurious = patterns = 0
            for run in range(runs):
                rng = random.Random(_SEED + first_seed + run)
                judged = [
                    caption
                    for writer in BIASES
                    for caption in written(writer, count, rng, are_marked)
                ]
                named, _ = find_patterns(judged)
                patterns += len(named)
                spurious += sum(not is_planted(pattern) for pattern in named)
                for word in detected:
                    detected[word] += any(
                        word in pattern.name.split() and is_planted(pattern) for pattern in named
                    )
            shares = {word: hits / runs for word, hits in detected.items()}
            results.append(BiasFigures(count, are_marked, shares, spurious / runs, patterns / runs))
    return results


def markdown(results: Sequence[BiasFigures]) -> str:
    words = [(word, share) for biases in BIASES.values() for word, share in biases.items()]
    rows = [
        [r.verdicts, "yes" if r.are_marked else "no",
         *(f"{r.detected[word]:.0%}" for word, _ in words), f"{r.patterns:.2f}",
         f"{r.spurious:.2f}"]
        for r in results
    ]  # fmt: skip
    head = ["verdicts of each writer", "wrong words marked",
            *(f"“{word}”, wrong in {share:.0%}" for word, share in words), "patterns a run",
            "not planted"]  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    print(markdown(evaluate_biases()))
