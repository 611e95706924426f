"""Alembic's entry point. Uses the connection it is given (`db.upgrade`), else `-x url=…`."""

from alembic import context
from sqlalchemy import Connection

from db.models import Base
from db.session import make_engine
from db.upgrade import parse_url


def migrate(connection: Connection) -> None:
    # SQLite cannot alter most things in place: later migrations use batch mode, which copies.
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    connection_given = context.config.attributes.get("connection")
    if connection_given is not None:
        migrate(connection_given)
        return
    url = context.get_x_argument(as_dictionary=True).get("url")
    if not isinstance(url, str):
        raise SystemExit("Say which database: alembic -x url=sqlite:////path/name.db …")
    with make_engine(parse_url(url), migrates=True).begin() as connection:
        migrate(connection)


main()
