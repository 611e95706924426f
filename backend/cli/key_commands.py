"""`keys`: with which programs act for an account."""

from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_workspace, reported, results
from backend.settings import load_settings

keys = typer.Typer(
    name="keys",
    help="Keys with which programs use the API and MCP for an account, if login is enabled.",
    no_args_is_help=True,
)


@keys.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="The account for which the program acts.")],
    label: Annotated[str, typer.Argument(help="What the key is for, such as 'nightly report'.")],
    scope: Annotated[
        str, typer.Option(help="read, or review: also write, as the account may.")
    ] = "read",
    db: DATABASE = None,
) -> None:
    """Print a new key. It is shown only now; the database keeps a digest."""
    with reported(False):
        workspace = open_workspace(load_settings({"database": db}))
        results.print(escape(workspace.accounts.keys.add(name, label, scope)[1]), soft_wrap=True)


@keys.command("list")
def list_keys(
    name: Annotated[str | None, typer.Argument(help="Only of this account.")] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """The keys of all accounts, or of one: id, account, label, scope and day."""
    with reported(as_json):
        from backend.accounts.program_keys import KeysView

        rows = open_workspace(load_settings({"database": db})).accounts.keys.of(name)
        lines = (
            f"{key.id}  {key.name}  {key.label}  {'review' if key.may_review else 'read'}  "
            f"{key.created_at:%Y-%m-%d}"
            for key in rows
        )
        emit(KeysView(tuple(rows)), as_json, "\n".join(lines) or "There are no keys.")


@keys.command("revoke")
def revoke_key(
    key: Annotated[int, typer.Argument(help="Its id, as in the list.")], db: DATABASE = None
) -> None:
    """End a key at once."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.keys.revoke(key)
        results.print(f"Key {key} is revoked.")
