"""`curators`: manage the accounts of people who can log in."""

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
    with reported(False):
        workspace = open_workspace(load_settings({"database": db}))
        account = workspace.accounts.add(name, _password(), role)
        results.print(f"{escape(account.name)} may log in ({account.role}).")


@curators.command("list")
def list_curators(db: DATABASE = None, as_json: AS_JSON = False) -> None:
    """All accounts."""
    with reported(as_json):
        from backend.accounts.team_accounts import AccountsView

        accounts = open_workspace(load_settings({"database": db})).accounts.accounts()
        listing = "\n".join(
            f"{a.name}  {a.role}{'' if a.active else '  (may not log in)'}" for a in accounts
        )
        emit(AccountsView(tuple(accounts)), as_json, listing or "There are no accounts.")


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
