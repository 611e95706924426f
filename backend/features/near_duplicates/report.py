"""What a search for near duplicates tells."""

from dataclasses import dataclass


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
        without = f" {self.without:,} have no vector." if self.without else ""
        return (
            f"{self.groups:,} groups of near duplicates hold {self.members:,} of "
            f"{self.pictures:,} pictures.{without}"
        )
