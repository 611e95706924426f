"""Which tables of features say something of pictures or captions: kept in the database, so that it
is known while a feature is away."""

from collections.abc import Iterable

from sqlalchemy import Column, Integer, MetaData, Table, inspect
from sqlalchemy.orm import Session

from db.feature_tables import is_computed
from db.queries.setting_queries import get_setting, set_setting

_KINDS = "computed_tables"


def lacks(session: Session, features: Iterable[MetaData]) -> bool:
    """Whether the database does not know it of all these tables yet."""
    return not _kinds_of(features).items() <= get_setting(session, _KINDS, {}).items()


def keep(session: Session, features: Iterable[MetaData]) -> None:
    set_setting(session, _KINDS, get_setting(session, _KINDS, {}) | _kinds_of(features))


def of_absent_features(session: Session, features: Iterable[MetaData]) -> list[Table]:
    """Those in the database that are not of these features, with their column `pair_id` alone."""
    kinds: dict[str, str] = get_setting(session, _KINDS, {})
    own = {name for tables in features for name in tables.tables}
    there = inspect(session.connection()).get_table_names()
    return [
        Table(name, MetaData(), Column("pair_id", Integer), info={"of": kinds[name]})
        for name in sorted(kinds.keys() - own)
        if name in there
    ]


def _kinds_of(features: Iterable[MetaData]) -> dict[str, str]:
    """What each is about, by its name."""
    return {
        name: table.info["of"]
        for tables in features
        for name, table in tables.tables.items()
        if is_computed(table)
    }
