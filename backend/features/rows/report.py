"""What the search for captions of other rows finds, in words."""

from dataclasses import dataclass
from typing import Literal

from backend.counts import count_of
from backend.features.rows.orders import Order

#: A caption belongs to the picture so many rows further; the whole file has them in another order;
#: they are mixed up within some rows; they fit no picture nearby; two have changed places.
Kind = Literal["shifted", Order, "permuted", "unordered", "swapped"]
_ORDERS: dict[str, str] = {
    "reversed": "in reversed order",
    "alphabetical": "in the order of the pictures sorted as text (1, 10, 11, 2)",
    "numerical": "in the order of the pictures sorted as numbers (1, 2, 10, 11)",
}
#: Findings, and captions of a change, that the words list.
_LISTED = 20


@dataclass(frozen=True)
class Finding:
    """Rows `first` to `last` of a file of the source, as it numbers them ("" stands for files that
    are too short to be looked at one by one); of a swap these two alone.

    * `rows`: how many of them are pairs of the dataset;
    * `offset`: of `shifted`: the caption of row i belongs to the picture of row i + offset;
    * `likeness`, `own_likeness`: mean likeness of the captions to the pictures that they belong
      to, and to those that they stand with;
    * `chance`: the probability that chance makes such a finding in the file, at most.
    """

    kind: Kind
    file: str
    first: int
    last: int
    rows: int
    offset: int | None = None
    likeness: float = 0.0
    own_likeness: float = 0.0
    chance: float = 1.0

    def what(self) -> str:
        """What is the matter, without the evidence."""
        of = f" of {self.file}" if self.file else " in the order of the import"
        if self.kind == "swapped":
            return f"Rows {self.first:,} and {self.last:,}{of} carry each other's caption."
        where = f"Rows {self.first:,} to {self.last:,}{of}"
        if self.kind == "shifted":
            return f"{where} carry the caption of the row {_name_row(self.offset or 0)}."
        if self.kind in _ORDERS:
            return f"{where} carry their captions {_ORDERS[self.kind]}."
        if self.kind == "permuted":
            return f"{where} carry each other's captions, in another order."
        return (
            f"{where}: the captions fit no picture nearby. They are in another order, of other "
            "pictures, or not understood by the model."
        )

    def in_words(self) -> str:
        if self.kind == "unordered":
            return self.what()
        chance = "below 1 in a million" if self.chance < 1e-6 else f"{self.chance:.2g}"
        return (
            f"{self.what()} Likeness {self.likeness:.2f} there, {self.own_likeness:.2f} where they "
            f"are; by chance: {chance}."
        )


def _name_row(offset: int) -> str:
    """The row whose caption a row carries, if its own caption belongs `offset` rows further.

    >>> _name_row(-1), _name_row(1), _name_row(-3)
    ('before', 'after', '3 before')
    """
    side = "before" if offset < 0 else "after"
    return side if abs(offset) == 1 else f"{abs(offset)} {side}"


@dataclass(frozen=True)
class Change:
    """A picture's caption before and after; `pair`: its id."""

    picture: str
    before: str
    after: str
    pair: int = 0


@dataclass(frozen=True)
class RowsReport:
    """`compared`: pairs whose captions were compared with the pictures of other rows; `reasons`:
    why others were not; `moves`: captions of which it is known where they belong; `moved`: those
    that were moved now; `left_alone`: pictures that keep theirs because of a verdict, of which
    `decided` are the first ids; `open_rows`: rows of a finding whose own caption is nowhere;
    `is_first_look`: at the first rows of a dataset that is not scored, by `model`."""

    dataset_id: int
    pairs: int
    compared: int
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    moves: int = 0
    moved: int = 0
    left_alone: int = 0
    decided: tuple[str, ...] = ()
    open_rows: int = 0
    examples: tuple[Change, ...] = ()
    is_dry_run: bool = True
    is_first_look: bool = False
    model: str = ""

    @property
    def can_mend(self) -> bool:
        """Whether captions can be moved that were not. Of a dataset that is not scored, most rows
        are not known yet."""
        return self.is_dry_run and self.moves > 0 and not self.is_first_look

    def in_words(self) -> str:
        lines = [finding.in_words() for finding in self.findings[:_LISTED]]
        if (more := len(self.findings) - _LISTED) > 0:
            lines.append(f"… and {count_of(more, 'finding')} more.")
        if not self.findings and self.compared:
            lines.append("No caption seems to belong to the picture of another row.")
        lines += self.reasons
        for change in self.examples:
            lines += [change.picture, f"  - {change.before}", f"  + {change.after}"]
        if self.moves:
            verb = "can be moved" if self.is_dry_run else "were moved"
            count = self.moves if self.is_dry_run else self.moved
            once = ", once the dataset is scored" * self.is_first_look
            line = f"{count_of(count, 'caption')} {verb} to the pictures they belong to{once}."
            lines.append(line)
        if self.left_alone:
            names = ", ".join(self.decided)
            lines.append(f"Left alone because of their verdicts: {self.left_alone:,} ({names}).")
        if self.open_rows and self.moves:
            stay = "stays" if self.open_rows == 1 else "stay"
            lines.append(f"{count_of(self.open_rows, 'row')} {stay} open: nothing belongs there.")
        by = f" at a first look, by {self.model}" * bool(self.model)
        lines.append(f"{self.compared:,} of {count_of(self.pairs, 'pair')} compared{by}.")
        return "\n".join(lines)
