"""How a migration changes the CHECK that a stored verdict is one of the known ones."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from db.models import decision_check

#: Tables with a column `decision`.
_TABLES = ("pairs", "verdicts", "opinions")


def replace_decision_check(before: Sequence[str], after: Sequence[str]) -> None:
    """Replace the verdicts that the database accepts. Rows that violate the new check are an error.

    SQLite cannot alter a constraint: the tables are copied, as its documentation describes under
    "Making Other Kinds Of Table Schema Changes"; `db.upgrade` disables foreign keys meanwhile.
    """
    old, new = decision_check(before), decision_check(after)
    for table in _TABLES:
        if op.get_bind().dialect.name == "postgresql":
            name = op.f(f"ck_{table}_decision_is_known")
            op.drop_constraint(name, table)
            op.create_check_constraint(name, table, new)
        else:
            _copy_with(table, old, new)


def _copy_with(table: str, old: str, new: str) -> None:
    """Copy a table of SQLite with `new` instead of `old` in its definition."""
    connection = op.get_bind()
    schema = connection.execute(
        sa.text("SELECT type, sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL"),
        {"table": table},
    ).all()
    definition = next(row.sql for row in schema if row.type == "table")
    name, rest = definition.split("(", 1)
    assert old in rest, f"the check of {table} is another one"
    copy = f"{table}_copy"
    connection.exec_driver_sql(f"{name.replace(table, copy)}({rest.replace(old, new)}")
    connection.exec_driver_sql(f"INSERT INTO {copy} SELECT * FROM {table}")
    if "AUTOINCREMENT" in rest:  # ids of deleted rows are never used again
        connection.exec_driver_sql(f"DELETE FROM sqlite_sequence WHERE name = '{copy}'")
        connection.exec_driver_sql(
            f"INSERT INTO sqlite_sequence SELECT '{copy}', seq FROM sqlite_sequence "
            f"WHERE name = '{table}'"
        )
    connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(f"ALTER TABLE {copy} RENAME TO {table}")
    for row in schema:
        if row.type != "table":
            connection.exec_driver_sql(row.sql)
    assert not connection.exec_driver_sql(f"PRAGMA foreign_key_check({table})").first()
