"""What the look at pictures finds."""

from dataclasses import dataclass

from backend.counts import count_of


@dataclass(frozen=True)
class PictureQualityReport:
    """Pictures `measured` now; `unreadable` ones could not be opened. `issues`: number of pairs by
    issue of their picture, in the whole dataset."""

    dataset_id: int
    pairs: int
    measured: int
    unreadable: int
    issues: dict[str, int]

    def in_words(self) -> str:
        issues = ", ".join(
            f"{count:,} {issue.replace('_', ' ')}" for issue, count in self.issues.items() if count
        )
        unreadable = f" {self.unreadable:,} cannot be read." if self.unreadable else ""
        return (
            f"{count_of(self.measured, 'picture')} checked now.{unreadable} Of "
            f"{count_of(self.pairs, 'pair')}: {issues or 'nothing was found'}."
        )
