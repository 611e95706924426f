"""Blind spots of the writers of a dataset's captions, by the verdicts of people."""

from collections.abc import Iterator
from dataclasses import dataclass

from backend.counts import count_of, counted
from backend.datasets.caption_writers import COLUMNS
from backend.datasets.cells import trim
from backend.engine.captions import replaced_spans
from backend.engine.statistics.stopping import exact_interval
from backend.errors import SettingsError, TooFewVerdicts
from backend.features.patterns import queries
from backend.features.patterns.error_patterns import (
    Feature,
    JudgedCaption,
    Pattern,
    find_patterns,
    occurrences,
)
from backend.jobs.batched_reads import read_in_batches
from backend.jobs.tagging import tag_exactly
from backend.progress import Progress, no_progress
from backend.store import Store
from db.authors import is_rule
from db.decisions import AT_RANDOM, RIGHT_OR_WRONG, is_wrong
from db.queries import pair_queries, tag_queries, word_mark_queries
from db.queries.pair_queries import PairRow

#: The column under which an import keeps who wrote a caption.
WRITER = COLUMNS[0]
#: What the tags of patterns begin with.
PREFIX = "pattern: "
#: Fewest verdicts of people, and wrong captions among them.
FEWEST, FEWEST_WRONG = 20, 3
#: Verdicts at random on captions with a pattern from which the others are estimated.
FEWEST_AT_RANDOM = 5
_AT_ONCE = 5000


@dataclass(frozen=True)
class BlindSpot:
    """A pattern, and what is known of the captions that have it and that nobody has judged.

    * `tag`: of all pairs that have it, a queue; "" if none was given;
    * `undecided`: pairs without a verdict that have it;
    * `mends`, `breaks`: how many of these one verdict "wrong" for all would get right, and how many
      wrong: least and most with 95 % confidence, by the verdicts at random; None if there are too
      few of them.
    """

    pattern: Pattern
    tag: str
    undecided: int
    mends: tuple[int, int] | None
    breaks: tuple[int, int] | None

    def in_words(self) -> str:
        return f"{self.finding()} {self.outlook()}".rstrip()

    def finding(self) -> str:
        """What is wrong more often than elsewhere."""
        of = self.pattern
        writer = f"{of.writer}: " if of.writer else ""
        share = f"{of.share:.0%} ({of.low:.0%} to {of.high:.0%})"
        if of.kind == "position":
            return (
                f"{writer}the first wrong word is in the {of.name} in {share} of {of.captions:,} "
                f"captions; {of.elsewhere:.0%} of the words are there."
            )
        name = {"kind": f"words of the kind {of.name}"}.get(of.kind, f"“{of.name}”")
        return (
            f"{writer}of {of.captions:,} captions with {name} {share} are wrong, of the "
            f"{of.others:,} others {of.elsewhere:.0%}."
        )

    def outlook(self) -> str:
        """What one verdict for all that nobody has judged would get right and wrong; "" if there
        are none, or for a position."""
        of = self.pattern
        if of.kind == "position" or not self.undecided:
            return ""
        if self.mends is not None and self.breaks is not None:
            (least, most), (fewest, largest) = self.mends, self.breaks
            return (
                f"Of {of.random:,} drawn at random {of.random_wrong:,} are wrong: calling all "
                f"{self.undecided:,} undecided ones wrong would be right for {least:,} to "
                f"{most:,} and wrong for {fewest:,} to {largest:,}."
            )
        return (
            f"{counted(self.undecided, 'undecided caption has', 'undecided captions have')} it. To "
            f"say how many of these are wrong takes {FEWEST_AT_RANDOM} verdicts on pairs drawn at "
            f"random; so far {counted(of.random, 'was', 'were')} given."
        )


@dataclass(frozen=True)
class PatternsReport:
    """`captions`, `wrong`: judged by people; `tested`: words, kinds, phrases and positions that
    are frequent enough; `rate`: the false discovery rate."""

    captions: int
    wrong: int
    writers: int
    tested: int
    rate: float
    spots: tuple[BlindSpot, ...]

    def in_words(self) -> str:
        lines = [spot.in_words() for spot in self.spots]
        number = count_of(len(lines), "pattern") if lines else "No pattern"
        lines.append(
            f"{number} in {self.captions:,} verdicts, {self.wrong:,} of them wrong; "
            f"{self.tested:,} words, kinds, phrases and positions were tested. At most about "
            f"{self.rate:.0%} of such patterns are chance."
        )
        return "\n".join(lines)


def verdicts_missing(store: Store, dataset_id: int) -> tuple[int, int]:
    """How many more verdicts of people, and how many more wrong captions, a search takes."""
    judged_count, wrong = store.read(queries.judged_by_people, dataset_id)
    return max(0, FEWEST - judged_count), max(0, FEWEST_WRONG - wrong)


def find_blind_spots(
    store: Store,
    dataset_id: int,
    author: str | None,
    column: str | None = None,
    least: int = 5,
    rate: float = 0.1,
    progress: Progress = no_progress,
) -> PatternsReport:
    """`author`: whose tags they are, None: nothing is tagged. `column`: of the source, that names
    the writer of a caption; None: the one that the import keeps; "": all are one writer's. `least`,
    `rate`: see `find_patterns`.

    Raises TooFewVerdicts with counts for too few verdicts, SettingsError for an unknown column.
    """
    progress(0, 0, "Reading verdicts")
    marks = store.read(word_mark_queries.marked_words, dataset_id)
    captions = [
        _judged_caption(pair, marks.get(pair.id), column)
        for pair in read_in_batches(store, pair_queries.pairs_after, dataset_id)
        if pair.judgement in RIGHT_OR_WRONG and not is_rule(pair.decided_by)
    ]
    wrong = sum(each.is_wrong for each in captions)
    if len(captions) < FEWEST or wrong < FEWEST_WRONG:
        raise TooFewVerdicts(
            f"{len(captions):,} captions were judged right or wrong by people, {wrong:,} of them "
            f"wrong. Patterns take at least {FEWEST}, of which {FEWEST_WRONG} are wrong."
        )
    if column and not any(each.writer for each in captions):
        raise SettingsError(
            f"No judged caption has a value in a column '{trim(column)}' of its source."
        )
    patterns, tested_count = find_patterns(captions, least, rate)
    spots = _spots(store, dataset_id, patterns, column, author, progress)
    return PatternsReport(
        len(captions),
        wrong,
        len({each.writer for each in captions}),
        tested_count,
        rate,
        tuple(spots),
    )


def _judged_caption(
    pair: PairRow, marks: set[tuple[int, int]] | None, column: str | None
) -> JudgedCaption:
    wrong = is_wrong(pair.judgement)
    spans = set[tuple[int, int]]()
    if wrong:
        spans = marks or replaced_spans(pair.caption, pair.corrected_caption or "")
    return JudgedCaption(
        pair.caption, wrong, frozenset(spans), _writer(pair, column), pair.sampling == AT_RANDOM
    )


def _writer(pair: PairRow, column: str | None) -> str:
    value = pair.extra.get(WRITER if column is None else column)
    return "" if value is None else str(value)


def _spots(
    store: Store,
    dataset_id: int,
    patterns: list[Pattern],
    column: str | None,
    author: str | None,
    progress: Progress,
) -> Iterator[BlindSpot]:
    """Each pattern with the captions of the whole dataset that have it."""
    having: dict[tuple[str, Feature], tuple[list[int], list[int]]] = {
        (pattern.writer, (pattern.kind, pattern.name)): ([], []) for pattern in patterns
    }
    for done, pair in enumerate(
        read_in_batches(store, pair_queries.pairs_after, dataset_id), start=1
    ):
        writer = _writer(pair, column)
        for feature in {feature for feature, _ in occurrences(pair.caption)}:
            if (lists := having.get((writer, feature))) is not None:
                lists[0].append(pair.id)
                if pair.decision is None:
                    lists[1].append(pair.id)
        if done % _AT_ONCE == 0:
            progress(done, 0, "Looking for blind spots")
    tags: dict[str, list[int]] = {}
    for pattern in patterns:
        ids, open_ids = having[pattern.writer, (pattern.kind, pattern.name)]
        tag = _tag_of(pattern) if author is not None and pattern.kind != "position" else ""
        if tag:
            tags.setdefault(tag, []).extend(ids)
        mends, breaks = _one_verdict_for_all(pattern, len(open_ids))
        yield BlindSpot(pattern, tag, len(open_ids), mends, breaks)
    if author is not None:
        earlier = [name for name in store.read(tag_queries.counts, dataset_id)
                   if name.startswith(PREFIX)]  # fmt: skip
        for name in {*tags, *earlier}:
            tag_exactly(store, dataset_id, name, tags.get(name, ()), author)


def _tag_of(pattern: Pattern) -> str:
    of_kind = f"kind {pattern.name}" if pattern.kind == "kind" else pattern.name
    writer = f" by {pattern.writer}" if pattern.writer else ""
    return f"{PREFIX}{of_kind}{writer}"[:60]


def _one_verdict_for_all(
    pattern: Pattern, undecided_count: int
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    if pattern.kind == "position" or pattern.random < FEWEST_AT_RANDOM:
        return None, None
    low, high = exact_interval(pattern.random_wrong, pattern.random)
    least, most = round(undecided_count * low), round(undecided_count * high)
    return (least, most), (undecided_count - most, undecided_count - least)
