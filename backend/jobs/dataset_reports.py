"""What imports, deletions and moves of a dataset have done."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from backend.counts import count_of

if TYPE_CHECKING:  # `--help` needs no database
    from db.queries.dataset_queries import ProblemRow


#: Problems included in a report; the others are in the store.
SHOWN_PROBLEMS = 20


@dataclass(frozen=True)
class SourceChanges:
    """Rows of a source compared with its last import. `changed`: another caption or split;
    `moved`: the picture alone has another address; `gone`: pairs without a row, `same`: the rest.
    """

    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    same: int = 0

    def in_words(self) -> str:
        """ "" if there was nothing to compare with."""
        counts = asdict(self)
        if not any(counts.values()):
            return ""
        by_kind = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        return f"Compared with the last import: {by_kind}."


@dataclass(frozen=True)
class ImportReport:
    dataset_id: int
    name: str
    added: int
    already_there: int
    problems: int
    first_problems: "tuple[ProblemRow, ...]" = ()
    #: Choices made automatically: an encoding, a column that contains no ids.
    notes: tuple[str, ...] = ()
    #: Why the dataset's model cannot score its pictures, "" if it can or was not checked.
    asks_for_model: str = ""
    #: Of a dataset that existed before; `update`: whether changed rows were taken or kept as they
    #: were; `hidden`: pairs hidden now because they are gone; `replaced`, `unproved`: see
    #: `backend.jobs.compare_source.Comparison`.
    changes: SourceChanges = SourceChanges()
    update: str = "keep"
    hidden: int = 0
    replaced: int = 0
    unproved: int = 0
    #: What a first look at the dataset says, of the command line: pages run it in the background.
    first_look: tuple[str, ...] = ()

    def in_words(self) -> str:
        text = (
            f"Dataset '{self.name}': {count_of(self.added, 'pair')} added, {self.already_there} "
            f"there already, {count_of(self.problems, 'row')} left out."
        )
        return f"{text} {self.changes.in_words()}".rstrip()


#: The kind of run that records a draw. Its parameter `pairs`: of how many; what a random draw shows
#: holds for all of them.
DRAWN, SAMPLED = "draw", "sample"


@dataclass(frozen=True)
class Deletion:
    """Extent of the deletion of a dataset. `reviewed` pairs have a verdict; `acts`: number
    of verdicts, undos and redos on its pairs, all of them saved in `verdict_file`. `is_upload`: its
    images were uploaded for it alone, and are removed with what nobody uses."""

    dataset_id: int
    name: str
    root: str
    pairs: int
    scored: int
    reviewed: int
    acts: int
    verdict_file: str = ""
    is_upload: bool = False

    @property
    def about_images(self) -> str:
        """What becomes of the images."""
        if self.is_upload:
            return "Its images were uploaded for it: they are removed too, at a later start."
        return f"The images in {self.root} are not touched."


@dataclass(frozen=True)
class Relocation:
    """The new folder of a dataset; of the pictures `checked` there, some are `missing`."""

    dataset_id: int
    name: str
    root: str
    checked: int
    missing: int

    def in_words(self) -> str:
        return (
            f"'{self.name}' is in {self.root} now: {self.checked - self.missing} of {self.checked} "
            "pictures checked are there."
        )
