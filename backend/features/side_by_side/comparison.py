"""Two captioners over all pictures that both have captioned: whose caption is likelier right.

    picture   first    second
    1         0.10     0.62     the first is likelier right
    2         0.40     0.42     alike: less than ALIKE apart
    3         0.90     (none)   not compared

Of several captions of a picture by one captioner, the first one that is scored counts.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from backend.counts import count_of
from backend.datasets.caption_writers import COLUMNS
from backend.datasets.cells import trim
from backend.datasets.reading.caption_fields import FIELD_COLUMN
from backend.engine.statistics.stopping import exact_interval
from backend.errors import SettingsError, UnknownPictures
from backend.features.side_by_side import queries
from backend.jobs.batched_reads import read_in_batches
from backend.jobs.tagging import tag_exactly
from backend.progress import Progress, no_progress
from backend.store import Store
from db.authors import is_rule
from db.decisions import RIGHT_OR_WRONG, is_wrong
from db.queries import dataset_queries, pair_queries, tag_queries
from db.queries.pair_queries import PairRow

#: Columns of the source that may say whose a caption is, the likeliest first.
NAMED_BY = (COLUMNS[0], FIELD_COLUMN)
#: Fewest pictures of which a share is told.
FEWEST = 30
#: Chances of error that differ by less do not differ.
ALIKE = 0.05
#: What the tags of differences begin with.
PREFIX = "likelier wrong: "


class _Judged(NamedTuple):
    """What is compared of a caption: there may be millions."""

    id: int
    p_error: float | None
    judgement: str | None
    decided_by: str | None


class Counts(NamedTuple):
    """Pictures of which the `first`, or the `second`, is right and the other not, and others."""

    first: int
    second: int
    others: int

    @property
    def all(self) -> int:
        return self.first + self.second + self.others


@dataclass(frozen=True)
class SideBySide:
    """Two captioners, `first` and `second`, by the `column` of the source.

    * `likelier`: pictures by whose caption is likelier right; the others are alike;
    * `judged`: pictures both of whose captions people have judged, by whose is right; in the
      others both are, or neither;
    * `without_first`, `without_second`: pictures that the other has a caption of, this one not;
    * `unscored`: pictures with both, not both of which have a chance of error;
    * `first_tag`, `second_tag`: of the captions that are likelier wrong than the other's; "" if
      there is none;
    * `first_chances`, `second_chances`: how many captions of each had a chance of error, and the
      sum of these; empty in comparisons of earlier versions.
    """

    column: str
    first: str
    second: str
    likelier: Counts
    judged: Counts
    without_first: int
    without_second: int
    unscored: int
    first_tag: str = ""
    second_tag: str = ""
    first_chances: tuple[int, float] | tuple[()] = ()
    second_chances: tuple[int, float] | tuple[()] = ()

    def share(self, counts: Counts, of_first: bool = True) -> tuple[float, float, float] | None:
        """The share of pictures with its bounds at 95 % confidence; None for too few of them."""
        if counts.all < FEWEST:
            return None
        number = counts.first if of_first else counts.second
        return (number / counts.all, *exact_interval(number, counts.all))

    def in_words(self) -> str:
        lines = [self._compared(), *self._missing()]
        if self.judged.all >= FEWEST:
            lines.append(
                f"By people, of {count_of(self.judged.all, 'picture')}: only '{self.first}' right "
                f"in {self.judged.first:,}, only '{self.second}' in {self.judged.second:,}."
            )
        return "\n".join(lines)

    def _compared(self) -> str:
        share = self.share(self.likelier)
        if share is None:
            return (
                f"{count_of(self.likelier.all, 'picture')} can be compared: a share takes {FEWEST}."
            )
        return (
            f"'{self.first}' is likelier right in {share[0]:.0%} ({share[1]:.0%} to "
            f"{share[2]:.0%}) of {count_of(self.likelier.all, 'picture')}, '{self.second}' in "
            f"{self.likelier.second / self.likelier.all:.0%}; the others are alike. This trusts "
            "the model's chances of error."
        )

    def _missing(self) -> Iterator[str]:
        for name, number in ((self.first, self.without_first), (self.second, self.without_second)):
            if number:
                yield (
                    f"'{name}' has no caption of {count_of(number, 'picture')} that the other has "
                    "one of: not compared."
                )
        if self.unscored:
            yield f"{count_of(self.unscored, 'picture')} not scored yet."


def captioners_in(store: Store, dataset_id: int) -> tuple[str, dict[str, int]]:
    """The column that says whose a caption is, and the number of captions of each, the most first;
    "" and none where no column names two."""
    for column in NAMED_BY:
        names = store.read(queries.count_by, dataset_id, column)
        if len(names) > 1:
            return column, names
    return "", {}


def scored_since(store: Store, dataset_id: int, report: SideBySide) -> list[str]:
    """Those of the two whose chances of error are others than they were compared by."""
    before = ((report.first, report.first_chances), (report.second, report.second_chances))
    return [
        name
        for name, chances in before
        if chances
        and not _is_alike(chances, store.read(queries.chances_of, dataset_id, report.column, name))
    ]


def _is_alike(one: tuple[int, float], other: tuple[int, float]) -> bool:
    return one[0] == other[0] and math.isclose(one[1], other[1], rel_tol=1e-9, abs_tol=1e-9)


def compare(
    store: Store,
    dataset_id: int,
    author: str | None,
    first: str | None = None,
    second: str | None = None,
    column: str | None = None,
    progress: Progress = no_progress,
) -> SideBySide:
    """`author`: whose tags they are, None: nothing is tagged. `first`, `second`: the captioners, by
    default those with the most captions. `column`: as for `captioners_in`, by default the one that
    it finds.

    Raises SettingsError for names that the dataset does not have, UnknownPictures where the model
    does not know such pictures: its chances are no figures."""
    progress(0, 0, "Reading captions")
    found_column, names = captioners_in(store, dataset_id)
    column = column or found_column
    if not column:
        raise SettingsError(
            "No column says which of two captioners a caption is from. An import reads it from "
            f"{' or '.join(NAMED_BY)}."
        )
    if column != found_column:
        names = store.read(queries.count_by, dataset_id, column)
    others = [name for name in names if name not in (first, second)]
    first, second = (each or (others.pop(0) if others else "") for each in (first, second))
    for name in (first, second):
        if name not in names:
            listing = ", ".join(f"'{trim(each)}'" for each in list(names)[:10]) or "nobody"
            raise SettingsError(
                f"No caption is by '{trim(name)}' in the column '{trim(column)}'; there are "
                f"{listing}."
            )
    if first == second:
        raise SettingsError("Name two captioners.")
    if store.read(dataset_queries.get_dataset, dataset_id).is_unfamiliar:
        raise UnknownPictures(
            "Its chances of error for these pictures are no figures to compare.",
            terminal="Score the dataset with a model that knows them: python app.py models list",
            page="Score the dataset with a model that knows them (Model under Add data).",
        )
    pictures = _by_picture(store, dataset_id, column, (first, second))
    report, worse = _count(pictures, column, first, second)
    first_chances, second_chances = (
        store.read(queries.chances_of, dataset_id, column, name) for name in (first, second)
    )
    report = replace(report, first_chances=first_chances, second_chances=second_chances)
    if author is None:
        return report
    first_tag, second_tag = tags_of(first, second)
    tags = {tag: pairs for tag, pairs in zip((first_tag, second_tag), worse, strict=True) if pairs}
    earlier = [name for name in store.read(tag_queries.counts, dataset_id)
               if name.startswith(PREFIX)]  # fmt: skip
    for tag in {*tags, *earlier}:
        tag_exactly(store, dataset_id, tag, tags.get(tag, ()), author)
    return replace(
        report,
        first_tag=first_tag if first_tag in tags else "",
        second_tag=second_tag if second_tag in tags else "",
    )


def tags_of(*names: str) -> tuple[str, ...]:
    """The tags of their captions: a tag has no semicolon, and long names may begin alike.

    >>> tags_of("org/blip", "a; b")
    ('likelier wrong: org/blip', 'likelier wrong: a, b')
    """
    texts = [" ".join(name.replace(";", ",").split()) for name in names]
    short = tuple(f"{PREFIX}{text}"[:60] for text in texts)
    if len(set(short)) == len(names):
        return short
    return tuple(f"{PREFIX}{number} {text[-40:]}" for number, text in enumerate(texts, 1))


def _by_picture(
    store: Store, dataset_id: int, column: str, names: tuple[str, str]
) -> dict[str, dict[str, _Judged]]:
    """The caption of each of these captioners, by picture."""
    pictures: dict[str, dict[str, _Judged]] = {}
    for pair in read_in_batches(store, pair_queries.pairs_after, dataset_id):
        name = _name(pair, column)
        if name not in names or not pair.caption:
            continue
        captions = pictures.setdefault(pair.image_path, {})
        if name not in captions or (captions[name].p_error is None and pair.p_error is not None):
            captions[name] = _Judged(pair.id, pair.p_error, pair.judgement, pair.decided_by)
    return pictures


def _count(
    pictures: Mapping[str, Mapping[str, _Judged]], column: str, first: str, second: str
) -> tuple[SideBySide, tuple[list[int], list[int]]]:
    """The comparison, and the pairs of each that are likelier wrong than the other's."""
    likelier, judged = Counter[str](), Counter[str]()
    worse: tuple[list[int], list[int]] = ([], [])
    missing: Counter[str] = Counter()
    unscored = 0
    for captions in pictures.values():
        a, b = captions.get(first), captions.get(second)
        if a is None or b is None:
            missing[first if a is None else second] += 1
            continue
        if (verdict := _verdict(a, b)) is not None:
            judged[verdict] += 1
        if a.p_error is None or b.p_error is None:
            unscored += 1
        elif abs(a.p_error - b.p_error) < ALIKE:
            likelier["others"] += 1
        elif a.p_error < b.p_error:
            likelier["first"] += 1
            worse[1].append(b.id)
        else:
            likelier["second"] += 1
            worse[0].append(a.id)
    report = SideBySide(
        column, first, second, _counts(likelier), _counts(judged), missing[first],
        missing[second], unscored,
    )  # fmt: skip
    return report, worse


def _counts(counts: Mapping[str, int]) -> Counts:
    return Counts(counts["first"], counts["second"], counts["others"])


def _verdict(a: _Judged, b: _Judged) -> str | None:
    """Whose caption is right by people; None if they have not judged both."""
    if any(each.judgement not in RIGHT_OR_WRONG or is_rule(each.decided_by) for each in (a, b)):
        return None
    wrong = is_wrong(a.judgement), is_wrong(b.judgement)
    return {(False, True): "first", (True, False): "second"}.get(wrong, "others")


def _name(pair: PairRow, column: str) -> str:
    value = pair.extra.get(column)
    return "" if value is None else str(value)
