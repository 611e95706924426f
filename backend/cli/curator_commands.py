"""`curators`, `keys`: accounts of people who can log in, and with what programs act for them."""

import os
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_workspace, reported, results
from backend.settings import load_settings

curators = typer.Typer(
    name="curators",
    help="Accounts of people who can log in. Passwords are prompted for, or read from the "
    "environment variable TRACED_PASSWORD.",
    no_args_is_help=True,
)
NAME = Annotated[str, typer.Argument(help="The curator's name, recorded with each verdict.")]
ROLE = Annotated[
    str,
    typer.Option(help="curator, or adjudicator, who can also settle disagreements and set how many "
                      "pairs several people judge."),
]  # fmt: skip


@curators.command("add")
def add_curator(name: NAME, role: ROLE = "curator", db: DATABASE = None) -> None:
    """Add an account."""
    from backend.jobs import scored_demo

    with reported(False):
        settings = load_settings({"database": db})
        scored_demo.unpack(
            settings
        )  # `serve` finds a database with the account in it: not its first
        workspace = open_workspace(settings)
        account = workspace.accounts.add(name, _password(), role)
        results.print(f"{escape(account.name)} may log in ({account.role}).")


@curators.command("list")
def list_curators(db: DATABASE = None, as_json: AS_JSON = False) -> None:
    """All accounts."""
    with reported(as_json):
        accounts = open_workspace(load_settings({"database": db})).accounts.accounts()
        listing = "\n".join(
            f"{a.name}  {a.role}{'' if a.active else '  (may not log in)'}" for a in accounts
        )
        emit({"accounts": accounts}, as_json, listing or "There are no accounts.")


@curators.command("password")
def change_password(name: NAME, db: DATABASE = None) -> None:
    """Give an account a new password. All its browsers have to log in again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.change(name, password=_password())
        results.print(f"{escape(name)} has a new password.")


@curators.command("role")
def change_role(name: NAME, role: ROLE, db: DATABASE = None) -> None:
    """Make an account a curator or an adjudicator."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.change(name, role=role)
        results.print(f"{escape(name)} is {escape(role)} now.")


@curators.command("remove")
def remove_curator(name: NAME, db: DATABASE = None) -> None:
    """Close an account; its verdicts stay. `restore` opens it again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.change(name, active=False)
        results.print(f"{escape(name)} can no longer log in.")


@curators.command("restore")
def restore_curator(name: NAME, db: DATABASE = None) -> None:
    """Open a closed account again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.change(name, active=True)
        results.print(f"{escape(name)} may log in again.")


def _password() -> str:
    password = os.environ.get("TRACED_PASSWORD")
    return password or typer.prompt("Password", hide_input=True, confirmation_prompt=True)


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
        rows = open_workspace(load_settings({"database": db})).accounts.keys.of(name)
        lines = (
            f"{key.id}  {key.name}  {key.label}  {'review' if key.may_review else 'read'}  "
            f"{key.created_at:%Y-%m-%d}"
            for key in rows
        )
        emit({"keys": rows}, as_json, "\n".join(lines) or "There are no keys.")


@keys.command("revoke")
def revoke_key(
    key: Annotated[int, typer.Argument(help="Its id, as in the list.")], db: DATABASE = None
) -> None:
    """End a key at once."""
    with reported(False):
        open_workspace(load_settings({"database": db})).accounts.keys.revoke(key)
        results.print(f"Key {key} is revoked.")
