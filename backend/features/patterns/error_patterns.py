"""Blind spots of a writer: what is wrong more often in captions that say it than in the others.

"of 23 captions with *smiling* 61 % are wrong, of the others 8 %": for each word, kind of
word and phrase, Fisher's exact test of the captions that have it against those of the same writer
that do not. All tests of a run together are held to a false discovery rate (Benjamini and Hochberg
1995). What remains is told once: a pattern is dropped that says nothing new without the captions of
a stronger one, as *is smiling* and *action* after *smiling*.

Where people corrected captions or marked words in them, a pattern has to be what they touched in at
least half of those that have it; a caption that was only called wrong counts for all that it says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from backend.engine.captions import Caption
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import FUNCTION_WORDS
from backend.engine.statistics.stopping import exact_interval
from backend.features.patterns.chances import (
    binomial_tail,
    false_discovery_rates,
    hypergeometric_tail,
)

Span = tuple[int, int]
PatternKind = Literal["word", "kind", "phrase", "position"]
#: (kind, name).
Feature = tuple[PatternKind, str]

#: The parts of a caption whose share of the wrong words is compared with their share of all words.
THIRDS = ("first third", "middle third", "last third")
#: Words of the longest phrase.
_LONGEST_PHRASE = 3
#: A weaker pattern has to hold this clearly without the captions of stronger ones.
_STILL_HOLDS = 0.05


@dataclass(frozen=True)
class JudgedCaption:
    """`wrong_spans`: the characters of the words that people replaced or marked; empty: not known.
    `writer`: who or what wrote the caption; `at_random`: whether it was drawn at random."""

    caption: str
    is_wrong: bool
    wrong_spans: frozenset[Span] = frozenset()
    writer: str = ""
    at_random: bool = False


@dataclass(frozen=True)
class Pattern:
    """What is wrong more often than elsewhere.

    * `captions`, `wrong`: judged captions of the writer that have it, and the wrong ones; of a
      position: captions whose wrong word is known, and those where it lies there;
    * `low`, `high`: exact 95 % interval of their ratio;
    * `elsewhere`: share of the writer's other captions that are wrong; of a position: its share of
      all words; `others`: how many other captions;
    * `p`, `q`: of the exact test, and adjusted for all tests of the run;
    * `random`, `random_wrong`: of those drawn at random.
    """

    writer: str
    kind: PatternKind
    name: str
    captions: int
    wrong: int
    low: float
    high: float
    elsewhere: float
    others: int
    p: float
    q: float
    random: int = 0
    random_wrong: int = 0

    @property
    def share(self) -> float:
        return self.wrong / self.captions


@dataclass(frozen=True)
class _TestedFeature:
    """`rows`: captions that have the feature; `hits`: those of them that are wrong. `is_touched`:
    whether people changed or marked it where they said what was wrong."""

    writer: str
    feature: Feature
    rows: frozenset[int]
    hits: frozenset[int]
    p: float
    elsewhere: float
    is_touched: bool = True


def occurrences(caption: str) -> Iterator[tuple[Feature, Span]]:
    """The words, kinds of words and phrases of a caption, with their characters. Phrases begin and
    end with a word that says something.

    >>> [f"{kind}: {name}" for (kind, name), _ in occurrences("A dog runs")]
    ['word: dog', 'kind: object', 'phrase: dog runs', 'word: runs', 'kind: action']
    """
    parsed = Caption.parse(caption)
    words = [word.lower() for word in parsed.words]
    for first, (start, end) in enumerate(parsed.spans):
        if words[first] in FUNCTION_WORDS:
            continue
        yield ("word", words[first]), (start, end)
        if (kind := kind_of(words[first])) != "other":
            yield ("kind", kind), (start, end)
        for last in range(first + 1, min(first + _LONGEST_PHRASE, len(words))):
            if words[last] not in FUNCTION_WORDS:
                name = " ".join(words[first : last + 1])
                yield ("phrase", name), (start, parsed.spans[last][1])


def find_patterns(
    captions: Sequence[JudgedCaption], least: int = 5, rate: float = 0.1
) -> tuple[list[Pattern], int]:
    """The patterns of all writers, the clearest first, and how many were tested.

    `least`: captions that have a pattern, and that lack it; `rate`: the false discovery rate, the
    expected share of the patterns that are none.
    """
    tests: list[_TestedFeature] = []
    for writer in sorted({each.writer for each in captions}):
        rows = [row for row, each in enumerate(captions) if each.writer == writer]
        tests += _test_features(captions, rows, writer, least)
        tests += _test_positions(captions, rows, writer, least)
    if not tests:
        return [], 0
    q_values = false_discovery_rates([each.p for each in tests])
    clear = [
        (each, float(q))
        for each, q in zip(tests, q_values, strict=True)
        if q <= rate and each.is_touched
    ]
    clear.sort(key=lambda each: (each[0].p, each[0].feature[0] != "word", each[0].feature))
    distinct: list[tuple[_TestedFeature, float]] = []
    for each, q in clear:
        stronger = [other for other, _ in distinct if other.writer == each.writer]
        if each.feature[0] == "position" or _holds_without(captions, each, stronger):
            distinct.append((each, q))
    return [_pattern(captions, each, q) for each, q in distinct], len(tests)


def _test_features(
    captions: Sequence[JudgedCaption], rows: Sequence[int], writer: str, least: int
) -> list[_TestedFeature]:
    having: dict[Feature, set[int]] = {}
    overlaps: dict[Feature, set[int]] = {}
    for row in rows:
        for feature, (start, end) in occurrences(captions[row].caption):
            having.setdefault(feature, set()).add(row)
            if any(a < end and start < b for a, b in captions[row].wrong_spans):
                overlaps.setdefault(feature, set()).add(row)
    wrong = {row for row in rows if captions[row].is_wrong}
    located_rows = {row for row in wrong if captions[row].wrong_spans}
    tests = []
    for feature, with_it in having.items():
        others = len(rows) - len(with_it)
        if len(with_it) < least or others < least:
            continue
        hits = wrong & with_it
        is_touched = 2 * len(overlaps.get(feature, ())) >= len(hits & located_rows)
        wrong_elsewhere = len(wrong - with_it)
        p = _fisher(len(hits), len(with_it), wrong_elsewhere, others)
        tests.append(
            _TestedFeature(writer, feature, frozenset(with_it), frozenset(hits), p,
                    wrong_elsewhere / others, is_touched)
        )  # fmt: skip
    return tests


def _fisher(wrong: int, captions: int, wrong_elsewhere: int, others: int) -> float:
    """One-sided: at least as many of the wrong captions among these, if both are alike.

    >>> round(_fisher(5, 5, 0, 5), 4)
    0.004
    """
    return hypergeometric_tail(wrong, captions, wrong + wrong_elsewhere, captions + others)


def _test_positions(
    captions: Sequence[JudgedCaption], rows: Sequence[int], writer: str, least: int
) -> list[_TestedFeature]:
    """Whether the first wrong word of a caption lies in a third more often than words do: one word
    of each caption, because those of one error stand together."""
    of_third: list[set[int]] = [set() for _ in THIRDS]
    shares: list[list[float]] = []
    located_rows: set[int] = set()
    for row in rows:
        spans = Caption.parse(captions[row].caption).spans
        wrong = [
            word
            for word, (start, end) in enumerate(spans)
            if any(a < end and start < b for a, b in captions[row].wrong_spans)
        ]
        if not wrong or len(spans) < len(THIRDS) or not captions[row].is_wrong:
            continue
        thirds = [word * len(THIRDS) // len(spans) for word in range(len(spans))]
        of_third[thirds[wrong[0]]].add(row)
        shares.append([thirds.count(third) / len(spans) for third in range(len(THIRDS))])
        located_rows.add(row)
    if len(located_rows) < least:
        return []
    expected_shares = np.mean(shares, axis=0)
    return [
        _TestedFeature(
            writer, ("position", name), frozenset(located_rows), frozenset(hits),
            binomial_tail(len(hits), len(located_rows), float(share)),
            float(share),
        )
        for name, hits, share in zip(THIRDS, of_third, expected_shares, strict=True)
    ]  # fmt: skip


def _holds_without(
    captions: Sequence[JudgedCaption], each: _TestedFeature, stronger: Sequence[_TestedFeature]
) -> bool:
    """Whether a pattern says something beyond stronger ones: without the captions of these."""
    explained_rows = frozenset[int]().union(
        *(other.rows for other in stronger if other.feature[0] != "position")
    )
    if not explained_rows:
        return True
    rows = {
        row
        for row, caption in enumerate(captions)
        if caption.writer == each.writer and row not in explained_rows
    }
    with_it, others = rows & each.rows, rows - each.rows
    wrong_elsewhere = sum(captions[row].is_wrong for row in others)
    p = _fisher(len(with_it & each.hits), len(with_it), wrong_elsewhere, len(others))
    return bool(with_it) and p <= _STILL_HOLDS


def _pattern(captions: Sequence[JudgedCaption], each: _TestedFeature, q: float) -> Pattern:
    kind, name = each.feature
    count, wrong = len(each.rows), len(each.hits)
    low, high = exact_interval(wrong, count)
    of_writer = sum(caption.writer == each.writer for caption in captions)
    at_random = frozenset(row for row in each.rows if captions[row].at_random)
    return Pattern(
        each.writer, kind, name, count, wrong, low, high, each.elsewhere,
        0 if kind == "position" else of_writer - count, each.p, q, len(at_random),
        len(at_random & each.hits),
    )  # fmt: skip
