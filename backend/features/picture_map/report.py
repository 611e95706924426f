"""What drawing a map tells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MapReport:
    """`pictures`, with `pairs`, are on the map; `without`: pictures without a vector."""

    dataset_id: int
    run_id: int
    pictures: int
    pairs: int
    without: int

    def in_words(self) -> str:
        without = f" {self.without:,} have no vector." if self.without else ""
        return (
            f"{self.pictures:,} pictures ({self.pairs:,} pairs) are on the map.{without} See the "
            "Map page."
        )
