"""What a selection in two stages is told. (The help of commands reads this module: it imports
nothing heavy.)"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.options import INPUT_FILE, NOT_TYPED, CommandLine, Options


class TwoStage(Options):
    """A selection of training pairs in two stages: the `align` share with the highest match, then
    the `keep` share of the whole by `by`, or by the user's own `scores`."""

    align: float = Field(0.7, gt=0, le=1)
    """Stage one of a selection for training (see select): share of the pairs to keep, by highest
    match. Default: 0.7."""
    keep: float = Field(0.5, gt=0, le=1)
    """Stage two: share of all pairs to keep. Default: 0.5."""
    by: str = "support"
    """Stage two: support (the paper's mean), worst (the weakest phrase: fewer errors stay),
    alignment, random, or specificity."""
    least_phrases: int = Field(0, ge=0)
    """Captions with fewer tested phrases go last in stage two."""
    split: Annotated[str | tuple[str, ...] | None, NOT_TYPED] = None
    """Only undecided pairs of this split, or of these, take part. None: all."""
    tag: Annotated[bool, NOT_TYPED] = False
    """Tag the pairs instead of leaving any out."""
    seed: Annotated[int, NOT_TYPED] = Field(0, ge=0)
    """Of the random order, where stage two is random. 0: the order of the queue."""
    scores: Annotated[str, CommandLine(metavar="FILE"), INPUT_FILE] = ""
    """Stage two: by your own scores, a table with an id and a score, or a list with one suspect id
    per line. Higher stays, unless its name is that of an error, as p_error or loss."""

    @property
    def criterion(self) -> str:
        """What stage two goes by."""
        return f"the scores in {Path(self.scores).name}" if self.scores else self.by

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits whose pairs take part; none: all pairs do."""
        return (self.split,) if isinstance(self.split, str) else self.split or ()


class SelectionOfExport(Options):
    """Of an export."""

    two_stage: TwoStage | None = None
    """Of undecided pairs only those that a two-stage selection keeps."""
