"""Groups of near duplicates as curators see them; keep one picture, drop the others.

Dropping a copy says nothing about its caption: the author of such verdicts is a rule
(`db.authors`), so they are used neither for training nor for precision estimates.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from backend.errors import SettingsError
from backend.features.near_duplicates import queries
from backend.features.near_duplicates.queries import MemberRow
from backend.store import Store
from db.authors import duplicate_author
from db.decisions import NOT_EXPORTED, RIGHT_NOW
from db.queries import run_queries, verdict_queries

#: Which picture of a group stays: the first that was imported, the sharpest, or the one whose
#: caption is least likely wrong.
WAYS = ("first", "sharpest", "best")


@dataclass(frozen=True)
class DuplicatePicture:
    """A picture of a group with its pairs, in import order."""

    rows: tuple[MemberRow, ...]

    @property
    def image_path(self) -> str:
        return self.rows[0].image_path

    @property
    def pair_ids(self) -> tuple[int, ...]:
        return tuple(row.pair_id for row in self.rows)

    @property
    def stays(self) -> bool:
        """Whether any of its pairs would be exported."""
        return any(row.decision not in NOT_EXPORTED for row in self.rows)

    @property
    def sharpness(self) -> float | None:
        """Higher is sharper; None: not measured."""
        return next((row.sharpness for row in self.rows if row.sharpness is not None), None)


@dataclass(frozen=True)
class DuplicateGroup:
    """`pictures`: the reference picture, then its near duplicates, nearest first."""

    id: int
    pictures: tuple[DuplicatePicture, ...]


@dataclass(frozen=True)
class DuplicatesView:
    """A page of groups, and the counts of all. `open_count`: groups with undecided pairs to choose
    from. `threshold`: minimum cosine to a group's first picture; `compared`: the pictures that had
    a vector when they were searched."""

    groups: tuple[DuplicateGroup, ...]
    threshold: float
    has_more: bool
    group_count: int
    open_count: int
    picture_count: int
    compared: int


@dataclass(frozen=True)
class KeptView:
    """In `groups` groups one picture is kept. `dropped`: pairs of the other pictures that were
    dropped; `left_alone`: already decided otherwise; `passed_over`: another curator was faster."""

    groups: int
    dropped: int
    left_alone: int
    passed_over: int


def groups_of(
    store: Store,
    dataset_id: int,
    only_open: bool = False,
    after: int | None = None,
    limit: int | None = None,
) -> DuplicatesView | None:
    """Groups in import order, after the group `after`; None if they have not been computed.
    `only_open`: only groups with undecided pairs to choose from."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "duplicates")
        if run is None:
            return None
        more = None if limit is None else limit + 1
        ids = queries.group_ids(session, dataset_id, only_open, after, more)
        has_more = limit is not None and len(ids) > limit
        rows = queries.members(session, ids[:limit])
        counts = queries.counts(session, dataset_id)
    return DuplicatesView(
        groups=_groups(rows),
        threshold=float(run.parameters["threshold"]),
        has_more=has_more,
        group_count=counts.groups,
        open_count=counts.open,
        picture_count=counts.pictures,
        compared=int(run.parameters["pictures"]),
    )


def keep_one(
    store: Store,
    dataset_id: int,
    group_id: int,
    pair_to_keep: int,
    seen_versions: Sequence[tuple[int, int]],
    author: str,
) -> KeptView:
    """Keep the picture of the pair `pair_to_keep`, and drop undecided pairs of the group's other
    pictures, each given as (pair, version seen). A single action that one undo reverts.

    Decided pairs are not changed. Raises SettingsError if the picture does not belong to the group
    or has itself been dropped.
    """
    with store.reading() as session:
        in_dataset = queries.group_ids(session, dataset_id, after=group_id - 1, limit=1)
        rows = queries.members(session, [group_id]) if in_dataset == [group_id] else []
    pictures = [picture for group in _groups(rows) for picture in group.pictures]
    picture = next((picture for picture in pictures if pair_to_keep in picture.pair_ids), None)
    if picture is None:
        raise SettingsError("That picture is no longer in this group. Look at the group again.")
    if not picture.stays:
        raise SettingsError("That picture was removed: undo that first, or keep another picture.")
    versions = dict(seen_versions)
    others = [row for row in rows if row.image_path != picture.image_path]
    waiting = [(row.pair_id, versions.get(row.pair_id, -1)) for row in others if row.is_open]
    left_alone = sum(
        row.decision is not None and row.decision not in NOT_EXPORTED for row in others
    )
    return _drop(store, waiting, 1 if waiting else 0, left_alone, author)


def keep_in_all(
    store: Store, dataset_id: int, way: str, author: str, dry_run: bool = False
) -> KeptView:
    """Keep one picture of every open group and drop the undecided pairs of the others, as one
    action. If curators have called captions correct, one of their pictures stays. `way`: one of
    WAYS. Raises SettingsError for any other value, and for *sharpest* if pictures have not been
    measured."""
    if way not in WAYS:
        raise SettingsError(f"'{way}' is not a way to choose; there are {', '.join(WAYS)}.")
    view = groups_of(store, dataset_id, only_open=True)
    waiting: list[tuple[int, int]] = []
    left_alone = 0
    for group in view.groups if view is not None else ():
        pair_to_keep = choose_kept(group, way)
        for picture in group.pictures:
            if picture is not pair_to_keep:
                waiting += [(row.pair_id, row.verdict_version) for row in picture.rows
                            if row.is_open]  # fmt: skip
                left_alone += sum(row.decision in RIGHT_NOW for row in picture.rows)
    groups = len(view.groups) if view is not None else 0
    if dry_run:
        return KeptView(groups, len(waiting), left_alone, 0)
    return _drop(store, waiting, groups, left_alone, author)


def _drop(
    store: Store, waiting: Sequence[tuple[int, int]], groups: int, left_alone: int, author: str
) -> KeptView:
    if not waiting:
        return KeptView(groups, 0, left_alone, 0)
    with store.writing(large=True) as session:
        outcome = verdict_queries.add_verdicts(
            session, waiting, "drop", author=duplicate_author(author)
        )
    return KeptView(groups, len(outcome.written), left_alone, len(outcome.passed_over))


def choose_kept(group: DuplicateGroup, way: str) -> DuplicatePicture:
    """The picture of an open group that stays. Raises SettingsError, see `keep_in_all`."""
    staying = [picture for picture in group.pictures if picture.stays]
    right = [picture for picture in staying if any(r.decision in RIGHT_NOW for r in picture.rows)]
    candidates = right or staying
    if way == "first":
        return min(candidates, key=lambda picture: min(picture.pair_ids))
    if way == "best":
        return min(candidates, key=lambda picture: (_doubt(picture), *_blur(picture)))
    if any(picture.sharpness is None for picture in candidates):
        raise SettingsError(
            "The sharpness of the pictures has not been measured.",
            terminal="Run: python app.py quality NAME",
            page="Measure it under Add data.",
        )
    return min(candidates, key=_blur)


def _groups(rows: Sequence[MemberRow]) -> tuple[DuplicateGroup, ...]:
    groups = []
    for group_id, members in groupby(rows, key=lambda row: row.group_id):
        pictures: dict[str, list[MemberRow]] = defaultdict(list)
        for row in members:
            pictures[row.image_path].append(row)
        groups.append(
            DuplicateGroup(
                group_id, tuple(DuplicatePicture(tuple(members)) for members in pictures.values())
            )
        )
    return tuple(groups)


def _doubt(picture: DuplicatePicture) -> float:
    """Mean probability of error of the captions that would be exported."""
    probabilities = [row.p_error for row in picture.rows if row.p_error is not None]
    return sum(probabilities) / len(probabilities) if probabilities else 1.0


def _blur(picture: DuplicatePicture) -> tuple[float, float, int]:
    """Sort key, sharpest first; ties are broken by picture size, then by import order."""
    return -(picture.sharpness or 0.0), -(picture.rows[0].size or 0.0), min(picture.pair_ids)
