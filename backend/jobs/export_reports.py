"""What an export would have, or has written."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from backend.counts import count_of, counted

if TYPE_CHECKING:  # `--help` needs no database
    from db.queries.dataset_queries import ProblemRow


def unread_note(count: int) -> str:
    """That no threshold leaves out these captions, which the model does not read; "" for none.

    >>> unread_note(1)
    '1 caption is in a language that the model does not read; no threshold leaves it out.'
    """
    if not count:
        return ""
    return counted(
        count,
        "caption is in a language that the model does not read; no threshold leaves it out.",
        "captions are in languages that the model does not read; no threshold leaves them out.",
    )


@dataclass(frozen=True)
class ExportCounts:
    """Number of pairs by what an export does with them; `total` is `kept` plus all `left_out`.
    `by_decision`: of those that are kept; `called_wrong`: that stay although they are."""

    total: int
    kept: int
    corrected: int
    tagged: int
    left_out: dict[str, int]
    by_decision: dict[str, int]
    #: Kept with an enriched caption, accepted or only suggested.
    enriched: int = 0
    #: Kept with a caption that was edited in bulk.
    edited: int = 0
    #: Kept without claims that are wrong, or look so.
    shortened: int = 0
    called_wrong: int = 0
    #: Kept though more likely wrong than right, and not reviewed.
    likely_wrong: int = 0
    #: Undecided captions in languages that the model does not read, which no threshold leaves out.
    unread: int = 0
    #: Kept, by split; "" for those without one.
    by_split: dict[str, int] = field(default_factory=dict)
    #: Why the threshold of the choice cannot be trusted, and for which captions it does not count;
    #: "" if nothing is to be said, or if there is none.
    level_note: str = ""
    #: Pictures that are written in several splits.
    shared_pictures: int = 0
    #: Written in another split than in the source, so that each picture is in one.
    moved: int = 0

    def in_words(self) -> str:
        left_out = sum(self.left_out.values())
        reasons = "; ".join(f"{number:,} {why}" for why, number in sorted(self.left_out.items()))
        phrases = [*self.caption_changes, *([f"{self.tagged:,} tagged"] if self.tagged else ())]
        return (
            f"{count_of(self.total, 'pair')}: {self.kept} kept"
            + (f" ({', '.join(phrases)})" if phrases else "")
            + f", {left_out} left out"
            + (f" ({reasons})." if reasons else ".")
            + self.splits_in_words()
        )

    @property
    def caption_changes(self) -> list[str]:
        """What became of captions that are kept, each with its count; without what befell none."""
        counts = (
            (self.corrected, "corrected"),
            (self.edited, "edited in bulk"),
            (self.enriched, "enriched"),
            (self.shortened, "without some claims"),
        )
        return [f"{count:,} {change}" for count, change in counts if count]

    def splits_in_words(self) -> str:
        """A sentence about pictures in several splits, after a blank; "" without any."""
        if self.shared_pictures:
            are = "is" if self.shared_pictures == 1 else "are"
            pictures = count_of(self.shared_pictures, "picture")
            return f" {pictures} {are} in several splits: what is tested on was seen in training."
        if self.moved:
            return f" {count_of(self.moved, 'pair')} moved to the split of the same picture."
        return ""


@dataclass(frozen=True)
class ExportReport:
    out: Path | str  #: a folder, or an address
    format: str
    counts: ExportCounts
    written: int
    card: str
    #: Number of pairs left out because their picture cannot be shown to be the one that was
    #: imported, and the first of them with the reason.
    unreadable: int = 0
    first_unreadable: "tuple[ProblemRow, ...]" = ()
    #: What identifies the files that were written, see `export_folder.digest_of`.
    digest: str = ""

    def in_words(self) -> str:
        return f"{self.counts.in_words()} Written to {self.out}."
