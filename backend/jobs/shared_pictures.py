"""Pictures with captions in several splits: a model that was trained on one split has seen them
when it is tested on another. Pairs without a split count as training pairs, as in exports."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from backend.datasets.cells import picture_key
from backend.datasets.reading.on_disk import Names, SplitsByPicture
from backend.datasets.splits import WORDS
from backend.datasets.writing.export_images import UNNAMED
from backend.store import Store
from db.queries import split_queries
from db.queries.pair_queries import PairRow

#: Which split all pairs of a picture move to: the one that is tested on, so that no test pair is
#: lost and training sees none of its pictures.
_ORDER = {"test": 0, "validation": 1, "train": 3}
_OTHERS = 2
#: Combinations of splits that are listed.
_MOST_LISTED = 5


@dataclass(frozen=True)
class SharedPictures:
    """`by_splits`: the number of pictures by the names of their splits."""

    by_splits: dict[str, int]

    @property
    def pictures(self) -> int:
        return sum(self.by_splits.values())

    def in_words(self) -> str:
        """ "" if there are none."""
        if not self.by_splits:
            return ""
        ordered = sorted(self.by_splits.items(), key=lambda each: -each[1])
        listing = "; ".join(f"{splits}: {number:,}" for splits, number in ordered[:_MOST_LISTED])
        are = "1 picture is" if self.pictures == 1 else f"{self.pictures:,} pictures are"
        return f"{are} in several splits ({listing}): a model would be tested on what it has seen."


def shared_pictures(store: Store, dataset_id: int, is_exported: bool = False) -> SharedPictures:
    """`is_exported`: only of pairs that an export writes, unless its options say otherwise."""
    with _places(store, dataset_id, is_exported) as places:
        counts = Counter(" and ".join(splits) for _, splits in places.find_shared())
    return SharedPictures(dict(counts))


def pairs_of_shared_pictures(store: Store, dataset_id: int) -> frozenset[int]:
    """The ids of the pairs whose picture is in several splits."""
    with _places(store, dataset_id) as places:
        return frozenset(places.find_pairs())


@contextmanager
def _places(store: Store, dataset_id: int, is_exported: bool = False) -> Iterator[SplitsByPicture]:
    """The splits of all pictures, none if the dataset has one split; with bounded memory."""
    with closing(SplitsByPicture()) as places, store.reading() as session:
        if split_queries.has_several_splits(session, dataset_id):
            for pair, path, split in split_queries.splits_of_pairs(
                session, dataset_id, is_exported
            ):
                places.add(picture_key(path), split or UNNAMED, pair)
        yield places


class ExportSplits:
    """The splits of the pairs that an export writes. `moved`: pairs that are in another one than in
    the source, because all pairs of a picture are kept in one."""

    def __init__(self, several: SplitsByPicture | None, target: Names | None) -> None:
        self._several, self._target = several, target
        self.moved = 0

    def add(self, pair: PairRow) -> str | None:
        """The split of a pair that is written."""
        key, split = picture_key(pair.image_path), pair.split
        if self._several is not None:
            self._several.add(key, split or UNNAMED)
        if self._target is None:
            return split
        try:
            target = str(self._target[key])
        except KeyError:
            return split
        self.moved += target != (split or UNNAMED)
        return target

    @property
    def shared(self) -> int:
        """Pictures that are written in several splits."""
        return sum(1 for _ in self._several.find_shared()) if self._several is not None else 0


@contextmanager
def export_splits(store: Store, dataset_id: int, keep_together: bool) -> Iterator[ExportSplits]:
    """With bounded memory. Which split the pairs of a picture are kept in follows from all pairs of
    the dataset, so that what an export leaves out moves no picture."""
    with ExitStack() as stack:
        if not store.read(split_queries.has_several_splits, dataset_id):
            yield ExportSplits(None, None)
        elif not keep_together:
            yield ExportSplits(stack.enter_context(closing(SplitsByPicture())), None)
        else:
            target = stack.enter_context(closing(Names()))
            with _places(store, dataset_id) as places:
                for picture, splits in places.find_shared():
                    target[picture] = min(splits, key=_rank)
            yield ExportSplits(None, target)


def _rank(split: str) -> tuple[int, str]:
    """
    >>> sorted(["train", "extra", "val", "test"], key=_rank)
    ['test', 'val', 'extra', 'train']
    """
    return _ORDER.get(WORDS.get(split.lower(), split), _OTHERS), split
