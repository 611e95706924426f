"""What features and other packages add to every export (`export_steps` in docs/extending.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from backend import plugins
from backend.errors import SettingsError, TracedError
from backend.jobs.export_choice import ADDED, ExportChoice, names_taken
from backend.measures import export_names
from backend.options import Options, typed_names

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy.orm import Session

    from backend.datasets.caption_writers import Writer
    from backend.datasets.writing.dataset_writer import Description
    from backend.jobs.export_reports import ExportCounts
    from backend.store import Store
    from db.queries.dataset_queries import DatasetRow

#: What files of scores have without steps, beside the measures.
OF_SCORES = ("id", "caption", "suspects", "phrases", "claims", "constants")
#: Endings of the tables that are written of scores.
TABLE_ENDINGS = (".jsonl", ".parquet", ".csv")
#: The values of a column by the ids of pairs; pairs without one have none.
Column = Callable[["Session", Sequence[int]], Mapping[int, Any]]
#: What each pair of a dataset belongs to, by the ids of pairs.
Grouping = Callable[["Session", int], Mapping[int, Any]]


@dataclass(frozen=True)
class WrittenExport:
    """What an export says of itself once its rows are written. All of it may be told: people are
    numbered, unless they agreed to be named."""

    dataset: "DatasetRow"
    counts: "ExportCounts"
    #: The lines of its card, by their titles.
    lines: Mapping[str, str]
    #: Those of them that say what it was asked for.
    choice: Mapping[str, str]
    #: The titles of the lines that steps add.
    added: Sequence[str]
    #: The titles of the lines about wrong captions that may be left.
    left: Sequence[str]
    #: Who gave verdicts.
    judges: Sequence[str]
    #: Who or what wrote captions, and how many.
    writers: "Sequence[tuple[Writer, int]]"


@dataclass(frozen=True)
class ListColumn:
    """A list for each pair, in exports (as JSON) and in files of scores.

    `type()`: of such a list. `of_dataset(session, dataset_id)`: what reads the lists by the ids of
    pairs; None: the dataset has none, and there is no such column. Of a pair without a list an
    export has an empty one, and a file of scores null."""

    type: "Callable[[], pa.DataType]"
    of_dataset: "Callable[[Session, int], Column | None]"


@dataclass(frozen=True)
class PairMark:
    """What a step says of a pair without a verdict: why it is left out, "" if it is not, and the
    tags that it gets if it stays."""

    left_out_because: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Screening:
    """How a step chooses among the pairs without a verdict that the thresholds leave. `words`: what
    was asked for, as lines of the card by their titles; `leaves_out`: whether any are left out, by
    what no random pair tells about; `marks_of(store, dataset_id)`: the mark of a pair by its id."""

    words: Mapping[str, str]
    leaves_out: bool
    marks_of: "Callable[[Store, int], Callable[[int], PairMark]]"


@dataclass(frozen=True)
class ExportStep:
    """`options`: a model whose fields are options of the command `export`, of the API and from
    Python; `begin(store, dataset_id, author, options)`: what is done with them before pairs are
    counted: it may raise SettingsError, and nothing is exported. `card(store, dataset_id)`: lines
    of the card, by their titles. `columns`: of every pair, by name;
    `picture` is one that every export has, for what is wrong with the picture. `lists`: columns
    that files of scores have as well, by name.
    `together`: what pairs belong to that stays in one new split, by the names that `--together`
    takes; it may raise SettingsError where nothing is known. `describe(export, folder, SHA-256 by
    file name)`: writes files and folders beside the export, of the names `describes`, once all rows
    are written; returns the SHA-256 of those that hold content, {} for none.
    `choice`: a model whose fields `ExportChoice` has, and so the command, the API and Python, as
    the group `export_choices` names it; `screening(choice)`: how it chooses among undecided pairs,
    None if it is not to."""

    name: str
    options: type[Options] = Options
    begin: "Callable[[Store, int, str, Any], None] | None" = None
    card: "Callable[[Store, int], Mapping[str, str]] | None" = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    lists: Mapping[str, ListColumn] = field(default_factory=dict)
    together: Mapping[str, Grouping] = field(default_factory=dict)
    describe: "Callable[[WrittenExport, Path, Mapping[str, str]], Mapping[str, str]] | None" = None
    describes: Sequence[str] = ()
    choice: type[Options] = Options
    screening: "Callable[[Any], Screening | None] | None" = None


def steps() -> tuple[ExportStep, ...]:
    """All of them. A step with an option, a column or a file that an export has without it is left
    out."""
    names, own_files, columns = names_taken(ExportChoice), set[str](), set[str]()
    of_scores = {*OF_SCORES, *export_names()}

    def join(step: ExportStep) -> None:
        if not issubclass(ExportChoice, step.choice):
            raise ValueError(
                f"{step.choice.__name__} is not named in the group export_choices, or is left out."
            )
        own_names = {*step.options.model_fields, *typed_names(step.options)}
        if clash := sorted(names & own_names):
            raise ValueError(f"There is an option '{clash[0]}' already.")
        for name in step.describes:
            if not _is_plain(name) or name in own_files:
                raise ValueError(f"The name '{name[:80]}' is taken or names a folder.")
        if clash := sorted(
            columns.intersection((*step.columns, *step.lists)) | of_scores.intersection(step.lists)
        ):
            raise ValueError(f"There is a column '{clash[0]}' already.")
        names.update(own_names)
        own_files.update(step.describes)
        columns.update(step.columns, step.lists)

    return plugins.load("export_steps", ExportStep, join)


def options_of(options: Options) -> dict[str, Any]:
    """Those of the options that belong to steps."""
    return {name: getattr(options, name) for step in steps() for name in step.options.model_fields}


def begin(store: "Store", dataset_id: int, author: str, options: Mapping[str, Any]) -> None:
    """Do what steps do before an export. Raises SettingsError for an option that none has."""
    rest = dict(options)
    for step in steps():
        own = {name: rest.pop(name) for name in step.options.model_fields if name in rest}
        if step.begin is not None:
            _try(step, step.begin, store, dataset_id, author, step.options.parse(own))
    Options.parse(rest)  # refuses what is left


def screenings(choice: Options) -> list[tuple[ExportStep, Screening]]:
    """What steps say of undecided pairs, as an `ExportChoice` asks for. Raises SettingsError for
    what no step knows of."""
    every = steps()
    usable = {step.choice for step in every}
    for model in ADDED:
        if model not in usable and (chosen := _chosen(model, choice)):
            raise SettingsError(
                f"'{chosen}' is an option of a package that cannot be used; its step is left out.",
                terminal="Run: app.py doctor.",
            )
    answers = [
        (step, _try(step, step.screening, choice)) for step in every if step.screening is not None
    ]
    return [(step, screening) for step, screening in answers if screening is not None]


def _chosen(model: type[Options], choice: Options) -> str:
    """A field of the model that was chosen, "" if all are as by default."""
    fields = model.model_fields.items()
    defaults = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return next((n for n, value in defaults.items() if getattr(choice, n, value) != value), "")


def marks_of(store: "Store", dataset_id: int, choice: Options) -> Callable[[int], PairMark]:
    """The mark of a pair by its id: the first reason, and the tags of all steps. Raises
    SettingsError."""
    by_step = [
        (step, _try(step, screening.marks_of, store, dataset_id))
        for step, screening in screenings(choice)
    ]

    def mark_of(pair_id: int) -> PairMark:
        marks = [_try(step, mark_of_step, pair_id) for step, mark_of_step in by_step]
        return PairMark(
            next((mark.left_out_because for mark in marks if mark.left_out_because), ""),
            tuple(tag for mark in marks for tag in mark.tags),
        )

    return mark_of


def card_lines(store: "Store", dataset_id: int) -> dict[str, str]:
    """The lines that steps add to the card, by their titles."""
    lines: dict[str, str] = {}
    for step in steps():
        if step.card is not None:
            lines |= _try(step, step.card, store, dataset_id)
    return lines


def columns_of(session: "Session", pair_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The columns that steps add, by pair: of each the same ones."""
    columns: dict[int, dict[str, Any]] = {pair_id: {} for pair_id in pair_ids}
    for step in steps():
        for name, column in step.columns.items():
            values = _try(step, column, session, pair_ids)
            for pair_id in pair_ids:
                columns[pair_id][name] = values.get(pair_id)
    return columns


@dataclass(frozen=True)
class ListsOfDataset:
    """The lists that steps add to a dataset's pairs, read when the export or file begins."""

    types: "Mapping[str, pa.DataType]"
    _read: Mapping[str, tuple[ExportStep, Column]]

    def of_pairs(
        self, session: "Session", pair_ids: Sequence[int]
    ) -> dict[str, Mapping[int, Sequence[Any]]]:
        """By the names of the columns, then by pair; pairs without a list are left out."""
        return {
            name: _try(step, read, session, pair_ids) for name, (step, read) in self._read.items()
        }


def lists_of(session: "Session", dataset_id: int) -> ListsOfDataset:
    """The lists that there are in this dataset."""
    read: dict[str, tuple[ExportStep, Column]] = {}
    types = {}
    for step in steps():
        for name, column in step.lists.items():
            of_pairs = _try(step, column.of_dataset, session, dataset_id)
            if of_pairs is not None:
                read[name], types[name] = (step, of_pairs), _try(step, column.type)
    return ListsOfDataset(types, read)


def group_names() -> list[str]:
    """What steps know of that pairs belong to."""
    return [name for step in steps() for name in step.together]


def groups_of(session: "Session", dataset_id: int, name: str) -> Mapping[int, Any] | None:
    """What each pair belongs to, by the step that knows it; None if none does. Raises
    SettingsError."""
    for step in steps():
        if name in step.together:
            return _try(step, step.together[name], session, dataset_id)
    return None


def descriptions_of(tell: "Callable[[], WrittenExport]") -> "list[Description]":
    """What steps write of an export; `tell`: what it says of itself, once its rows are written."""
    from backend.datasets.writing.dataset_writer import Description  # not for a list of options

    return [
        Description(
            step.describes,
            lambda folder, digests, step=step, describe=step.describe: _try(
                step,
                describe,
                tell(),
                folder,
                digests,
                own=(OSError,),  # of a disk that is full
            ),
        )
        for step in steps()
        if step.describe is not None
    ]


def _is_plain(name: str) -> bool:
    """Whether it names something within the folder of the export."""
    return PurePath(name).name == name and name not in ("", "..")


def _try(
    step: ExportStep,
    function: Callable[..., Any],
    *arguments: Any,
    own: tuple[type[Exception], ...] = (),
) -> Any:
    """Errors of a step's author say whose they are; those in `own` are not theirs."""
    try:
        return function(*arguments)
    except (TracedError, *own):
        raise
    except Exception as error:
        raise SettingsError(
            f"'{step.name}', which adds to exports, failed: {type(error).__name__}: {error}. "
            "Repair or uninstall its package."
        ) from error
