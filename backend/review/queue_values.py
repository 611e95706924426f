"""What a queue contains, field by field: histograms of its numbers, and its words with counts.

A queue of more than `MOST_READ` pairs is described by that many of them, drawn at random.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy.orm import Session

from backend.measures import filter_names
from backend.review.queue_form import ADDED
from db.models import PairTag
from db.queries import queue_values
from db.queries.queue_filter import QueueFilter
from db.queries.queue_values import WORDS

#: And at most so many for the words outside of the groups.
MOST_READ, OTHERS_READ = 3_000, 1_000
#: A histogram has at most so many bars, and a field so many listed words.
BARS, LISTED = 20, 30
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Bar:
    """The pairs with `low` <= value < `high`; of the last bar also those with `high`."""

    low: float
    high: float
    count: int

    @property
    def range(self) -> str:
        """As in a group of conditions."""
        return f"{self.low:g}..{self.high:g}"


@dataclass(frozen=True)
class QueueValues:
    """`pairs`: how many were counted; `is_sample`: there are more. `numbers`, `words`: by field;
    the most frequent words first."""

    pairs: int
    is_sample: bool
    numbers: dict[str, tuple[Bar, ...]]
    words: dict[str, tuple[tuple[str, int], ...]]


def read_values(session: Session, filter: QueueFilter) -> QueueValues:
    """What the queue contains. With groups also, at 0, the words that pairs outside of them have:
    they can be added to a group."""
    values = _count(session, filter, MOST_READ)
    if filter.where is None:
        return values
    others = _count(session, replace(filter, where=None), OTHERS_READ).words
    words = {
        name: (*counts, *((word, 0) for word, _ in others[name] if word not in dict(counts)))
        for name, counts in values.words.items()
    }
    return replace(values, words=words)


def _count(session: Session, filter: QueueFilter, most: int) -> QueueValues:
    rows, is_sample = queue_values.draw(session, filter, most)
    pairs = len(rows)
    pair_ids = [row.pair_id for row in rows]
    columns = dict(
        zip(("id", *filter_names(), *WORDS, "captioned"), zip(*rows, strict=True), strict=False)
    )
    counts = {name: Counter(columns.get(name, ())) for name in (*WORDS, "captioned")}
    counts["tag"] = Counter(queue_values.count_by(session, PairTag.name, pair_ids))
    counts |= {name: Counter(added.count(session, pair_ids)) for name, added in ADDED.items()}
    counts["noted"] = Counter(no=counts["note"].pop("", 0), yes=counts.pop("note").total())
    vague = sum(n for claims, n in counts.pop("vague_claims").items() if claims)
    counts["vague"] = Counter(yes=vague, no=pairs - vague) if vague else Counter()
    for name in ("truncated", "captioned"):
        counts[name] = Counter(yes=counts[name][True], no=counts[name][False])
    return QueueValues(
        pairs,
        is_sample,
        {name: histogram(columns.get(name, ())) for name in filter_names()},
        {
            name: tuple((word, n) for word, n in count.most_common(LISTED) if word and n)
            for name, count in counts.items()
        },
    )


def histogram(values: Sequence[float | None]) -> tuple[Bar, ...]:
    """Bars between round numbers; none without values.

    >>> [bar.range for bar in histogram([0.0, 0.24, 1.0, None]) if bar.count]
    ['0..0.1', '0.2..0.3', '0.9..1']
    """
    numbers = [value for value in values if value is not None]
    if not numbers:
        return ()
    low, high = min(numbers), max(numbers)
    size = (high - low or abs(high) or 1.0) / (BARS - 1)
    power = 10.0 ** math.floor(math.log10(size))
    step = next(step * power for step in _STEPS if step * power >= size)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    edges = [round(number * step, 12) for number in range(first, last + 1)]
    bars = np.searchsorted(edges, numbers, "right") - 1
    counts = np.bincount(bars.clip(0, len(edges) - 2), minlength=len(edges) - 1).tolist()
    return tuple(Bar(*each) for each in zip(edges, edges[1:], counts, strict=False))
