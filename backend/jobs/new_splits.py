"""New splits of what an export writes: by shares, drawn from a seed, and so that what belongs
together is in one.

A group of pairs has a number that follows from the seed and the group alone. The pairs that are
written, in the order of these numbers, are divided by the shares; a group is never cut. The same
pairs, seed and shares give the same splits, in whatever order the pairs come.
"""

import hashlib
from collections.abc import Callable, Iterable
from itertools import accumulate

import numpy as np

from backend.datasets.cells import picture_key
from backend.errors import SettingsError
from backend.jobs import export_steps
from backend.jobs.export_choice import PICTURE, NewSplits
from backend.store import Store
from db.queries import pair_queries
from db.queries.pair_queries import PairRow

Group = Callable[[PairRow], str]


class NewExportSplits:
    """The new splits of the pairs that an export writes."""

    #: Nothing is in several splits, and the source's splits do not matter.
    shared = moved = 0

    def __init__(self, splits: NewSplits, group_of: Group, pairs: Iterable[PairRow]) -> None:
        """`pairs`: those that are written."""
        self._names, self._seed, self._group_of = splits.names, splits.seed, group_of
        numbers = np.sort(np.fromiter(map(self._number, pairs), np.uint64))
        *ends, total = accumulate(splits.parts)
        counts = [round(len(numbers) * end / total) for end in ends]
        self._ends = [int(numbers[count - 1]) if count else -1 for count in counts]

    def add(self, pair: PairRow) -> str | None:
        """The split of a pair that is written."""
        number = self._number(pair)
        places = (place for place, end in enumerate(self._ends) if number <= end)
        return self._names[next(places, len(self._ends))]

    def _number(self, pair: PairRow) -> int:
        key = f"{self._seed}\0{self._group_of(pair)}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(key).digest()[:8])


def groups(store: Store, dataset_id: int, together: Iterable[str]) -> Group:
    """What a pair belongs to: its picture, or the first, by name, of all pictures that it hangs
    together with by equal values in columns and by what features know. Of all pairs of the dataset,
    so that what an export leaves out joins no others. Raises SettingsError for a column that no
    pair has."""
    criteria = [name for name in dict.fromkeys(together) if name != PICTURE]
    if not criteria:
        return lambda pair: picture_key(pair.image_path)
    components = _Components()
    first_with: dict[tuple[str, str], str] = {}
    with store.reading() as session:
        from_steps = {name: export_steps.groups_of(session, dataset_id, name) for name in criteria}
        for pair in pair_queries.iterate_pairs(session, dataset_id):
            picture = picture_key(pair.image_path)
            for name in criteria:
                values = from_steps[name]
                value = pair.extra.get(name) if values is None else values.get(pair.id)
                if value is not None and value != "":
                    components.join(picture, first_with.setdefault((name, str(value)), picture))
    if missing := set(criteria) - {name for name, _ in first_with}:
        raise SettingsError(
            f"No pair has a column '{min(missing)[:80]}', whose values would stay together."
        )
    return lambda pair: components.first(picture_key(pair.image_path))


class _Components:
    """Names that hang together; each set is known by its first name in alphabetical order."""

    def __init__(self) -> None:
        self._towards: dict[str, str] = {}

    def first(self, name: str) -> str:
        root = name
        while (towards := self._towards.get(root, root)) != root:
            root = towards
        while name != root:  # shorten the way for later
            self._towards[name], name = root, self._towards[name]
        return root

    def join(self, one: str, other: str) -> None:
        roots = sorted((self.first(one), self.first(other)))
        self._towards[roots[1]] = roots[0]
