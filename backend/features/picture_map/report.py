"""What drawing a map tells."""

from dataclasses import dataclass

from backend.counts import count_of


@dataclass(frozen=True)
class MapReport:
    """`pictures`, with `pairs`, are on the map; `without`: pictures without a vector."""

    dataset_id: int
    run_id: int
    pictures: int
    pairs: int
    without: int

    def in_words(self) -> str:
        without = f" Left out, without a vector: {self.without:,}." if self.without else ""
        return (
            f"On the map: {count_of(self.pictures, 'picture')} ({count_of(self.pairs, 'pair')})."
            f"{without} See the Map page."
        )
