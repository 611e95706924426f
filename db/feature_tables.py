"""Tables of features and of other packages (the plug-in group `tables`) beside those of
`db.models`.

Each row belongs to a dataset or to a pair, by a foreign key `dataset_id` or `pair_id`, and is
deleted with its dataset; except of those that are `OF_PICTURE` or `OF_CAPTION`, nothing else of the
program touches them. Tables of a feature that is no longer there stay, and are in use again once
it is back; what they say of a caption or picture that is replaced meanwhile is deleted as well.
"""

from collections.abc import Callable, Iterable

from sqlalchemy import MetaData, Table, inspect
from sqlalchemy.orm import Session

from db.models import Base
from db.session import Store

#: The columns by which rows belong to something, and the tables that they refer to.
_OWNERS = {"dataset_id": "datasets", "pair_id": "pairs"}
#: `info` of a table whose rows say something of a pair's picture, which was computed: they are
#: deleted when the pair gets another picture, and a package of pairs has them. A column of it that
#: names another pair has the `info` OTHER_PAIR; one that packs several (`blobs.encode_integers`),
#: OTHER_PAIRS.
OF_PICTURE = {"of": "picture"}
#: The same of its caption as well: they are also deleted when the pair gets another caption.
OF_CAPTION = {"of": "caption"}
OTHER_PAIR, OTHER_PAIRS = {"of": "pair"}, {"of": "pairs"}


def new_tables() -> MetaData:
    """Where a feature declares its tables: their constraints are named as the program's are."""
    return MetaData(naming_convention=Base.metadata.naming_convention)


def joining() -> Callable[[MetaData], None]:
    """A check of the tables of one feature after the other. It raises ValueError for those that
    cannot be: a name that others have, or rows that would outlive their dataset."""
    names = set(Base.metadata.tables)

    def join(tables: MetaData) -> None:
        for name, table in tables.tables.items():
            if name in names:
                raise ValueError(f"There is a table '{name}' already.")
            if not _has_owner(table):
                raise ValueError(
                    f"The table '{name}' has neither dataset_id nor pair_id that refers to the "
                    "program's."
                )
        names.update(tables.tables)

    return join


def create_missing(store: Store, tables: MetaData) -> None:
    """Create those that the database does not have yet."""
    with store.engine.connect() as connection:
        there = set(inspect(connection).get_table_names())
    missing = [table for name, table in tables.tables.items() if name not in there]
    if missing:
        with store.writing() as session:
            tables.create_all(session.connection(), tables=missing)


def is_computed(table: Table) -> bool:
    """Whether its rows say something of a pair's picture or caption."""
    return table.info in (OF_PICTURE, OF_CAPTION)


def added_tables(session: Session) -> list[Table]:
    """The tables in the database whose rows belong to the program's datasets and pairs, but which
    are not its own, whether or not their feature is there; those that refer to others first."""
    connection = session.connection()
    names = set(inspect(connection).get_table_names()) - set(Base.metadata.tables)
    found = MetaData()
    found.reflect(connection, only=sorted(names))
    return [t for t in reversed(found.sorted_tables) if t.name in names and _has_owner(t)]


def unknown_tables(session: Session, known: Iterable[MetaData]) -> list[str]:
    """The names of the added tables that are of no feature which is there."""
    names = {name for tables in known for name in tables.tables}
    return sorted(table.name for table in added_tables(session) if table.name not in names)


def missing_columns(session: Session, tables: MetaData) -> list[str]:
    """The columns that these tables lack in the database, as TABLE.COLUMN: another version of the
    feature, or another program, made them."""
    inspector = inspect(session.connection())
    there = {
        (name, column["name"])
        for name in tables.tables
        if inspector.has_table(name)
        for column in inspector.get_columns(name)
    }
    return [
        f"{table.name}.{column.name}"
        for table in tables.sorted_tables
        for column in table.columns
        if (table.name, column.name) not in there
    ]


def _has_owner(table: Table) -> bool:
    return any(key.column.table.name == _OWNERS.get(key.parent.name) for key in table.foreign_keys)
