"""What a search for near duplicates tells."""

from dataclasses import dataclass

from backend.counts import count_of


@dataclass(frozen=True)
class DuplicatesReport:
    """`pictures` were compared, `without` have no vector; the `groups` of near duplicates have
    `members` pictures in all. `threshold`: the minimum cosine with a group's first picture."""

    dataset_id: int
    threshold: float
    pictures: int
    without: int
    groups: int
    members: int

    def in_words(self) -> str:
        without = f" Not compared, without a vector: {self.without:,}." if self.without else ""
        holds = "holds" if self.groups == 1 else "hold"
        return (
            f"{count_of(self.groups, 'group')} of near duplicates {holds} {self.members:,} of "
            f"{count_of(self.pictures, 'picture')}.{without}"
        )
