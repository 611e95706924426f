"""What a selection in two stages tells: what it keeps, and what it loses."""

from dataclasses import dataclass, field

from backend.counts import count_of, counted
from backend.features.selection.options import TwoStage

#: Captions of at most this many words are short.
SHORT = 4
#: A split is reported if it loses this much more than the whole.
_THINNED = 0.1


def _at_least(line: float | None) -> str:
    return "any" if line is None else f"≥ {line:.4g}"


@dataclass(frozen=True)
class SelectionLosses:
    """Losses of a selection, so that no filter removes a kind of caption unnoticed.

    `kinds`: for each kind of word, the share of its occurrences that stays; `short`: the share of
    captions of at most 4 words that stays; `words`: how many words occur only in captions that
    leave; `examples`: five of them; `splits`: the share of each split that stays; `images`: number
    of images that lose all their captions."""

    kinds: dict[str, float]
    short: float | None
    words: int
    examples: tuple[str, ...]
    splits: dict[str, float]
    images: int


@dataclass(frozen=True)
class SelectionReport:
    """`taking_part`: undecided pairs of the split; `pool`, `kept`: those left after stages one and
    two; `decided`: pairs that curators have judged, which count towards no quota; `edited`:
    undecided pairs of the split with an edited caption, which stay as well. `align_line`,
    `keep_line`: the lowest match and the lowest stage-two value that stayed. `refitted`: support
    was renormalised for this first stage. `stays`, `goes`: fields of queues that show what stays
    and, by stage, what leaves."""

    dataset_id: int
    choice: TwoStage
    taking_part: int
    pool: int
    kept: int
    decided: int
    edited: int
    align_line: float | None
    keep_line: float | None
    refitted: bool
    lost: SelectionLosses
    stays: dict[str, str] = field(default_factory=dict)
    goes: dict[str, dict[str, str]] = field(default_factory=dict)
    view: str = ""
    notes: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The splits that the undecided pairs are of, in words behind "pairs"; "": all."""
        splits = self.choice.splits
        return f" of the split '{', '.join(splits)}'" if splits else ""

    def in_words(self) -> str:
        """Counts, thresholds and losses."""
        choice = self.choice
        lines = [
            f"{count_of(self.taking_part, 'undecided pair')}{self.where}: {self.pool} "
            f"by match, {self.kept} of them by {choice.criterion}; "
            f"{counted(self.decided, 'decided pair is', 'decided pairs are')} not counted.",
            f"Thresholds: s {_at_least(self.align_line)}, {choice.criterion} "
            f"{_at_least(self.keep_line)}.",
            *self.losses_in_words(),
        ]
        if self.view:
            lines.append(f"Saved as the view '{self.view}'.")
        return "\n".join(lines)

    def losses_in_words(self) -> list[str]:
        """In sentences: a filter that silently removes all captions with "left of" is worse than
        none."""
        losses = self.lost
        kinds = ", ".join(f"{kind} {share:.0%}" for kind, share in losses.kinds.items())
        lines = [f"Kept, by kind of word: {kinds}."] if kinds else []
        if losses.short is not None:
            lines.append(f"Captions of at most {SHORT} words: {losses.short:.0%} stay.")
        if losses.words:
            count = counted(losses.words, "word is", "words are")
            lines.append(f"{count} lost: {', '.join(losses.examples)}.")
        whole = self.kept / self.taking_part if self.taking_part else 1.0
        thin = [
            f"{name} {share:.0%}"
            for name, share in losses.splits.items()
            if share < whole - _THINNED
        ]
        if thin:
            lines.append(f"Splits that lose more than the dataset as a whole: {', '.join(thin)}.")
        if losses.images:
            count = counted(losses.images, "image loses all its", "images lose all their")
            lines.append(f"{count} captions.")
        return lines
