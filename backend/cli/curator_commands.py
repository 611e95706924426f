"""`curators`, `keys`: accounts of people who can log in, and with what programs act for them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.cli.commands import as_command
from backend.cli.output import emit, open_workspace, results
from backend.operations.common_options import AsJson, Database
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.accounts.team_accounts import Team

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
@as_command
def add_curator(name: NAME, role: ROLE = "curator", db: Database = None) -> None:
    """Add an account."""
    from backend.jobs import scored_demo

    settings = load_settings({"database": db})
    scored_demo.unpack(settings)  # `serve` finds a database with the account in it: not its first
    workspace = open_workspace(settings)
    password = _password()
    with _beginning_login(workspace.accounts):
        account = workspace.accounts.add(name, password, role)
        results.print(f"{escape(account.name)} may log in ({account.role}).")


@curators.command("list")
@as_command
def list_curators(db: Database = None, as_json: AsJson = False) -> None:
    """All accounts."""
    accounts = open_workspace(load_settings({"database": db})).accounts.accounts()
    listing = "\n".join(
        f"{a.name}  {a.role}{'' if a.active else '  (may not log in)'}" for a in accounts
    )
    emit({"accounts": accounts}, as_json, listing or "There are no accounts.")


@curators.command("password")
@as_command
def change_password(name: NAME, db: Database = None) -> None:
    """Give an account a new password. All its browsers have to log in again."""
    open_workspace(load_settings({"database": db})).accounts.change(name, password=_password())
    results.print(f"{escape(name)} has a new password.")


@curators.command("role")
@as_command
def change_role(name: NAME, role: ROLE, db: Database = None) -> None:
    """Make an account a curator or an adjudicator."""
    open_workspace(load_settings({"database": db})).accounts.change(name, role=role)
    results.print(f"{escape(name)} is {escape(role)} now.")


@curators.command("remove")
@as_command
def remove_curator(name: NAME, db: Database = None) -> None:
    """Close an account; its verdicts stay. `restore` opens it again."""
    open_workspace(load_settings({"database": db})).accounts.change(name, active=False)
    results.print(f"{escape(name)} can no longer log in.")


@curators.command("restore")
@as_command
def restore_curator(name: NAME, db: Database = None) -> None:
    """Open a closed account again."""
    accounts = open_workspace(load_settings({"database": db})).accounts
    with _beginning_login(accounts):
        accounts.change(name, active=True)
        results.print(f"{escape(name)} may log in again.")


@contextmanager
def _beginning_login(team: "Team") -> Iterator[None]:
    """Around what may open the first account, with which everybody has to log in: returns when
    servers that are running have noticed, and says so."""
    from backend.accounts.team_accounts import NOTICED_WITHIN  # not for --help

    had_accounts = team.has_accounts()
    yield
    if not had_accounts:
        time.sleep(NOTICED_WITHIN)
        results.print(
            "Everybody has to log in from now on, also at a server that is running, unless it was "
            "started with --no-login."
        )


def _password() -> str:
    password = os.environ.get("TRACED_PASSWORD")
    return password or typer.prompt("Password", hide_input=True, confirmation_prompt=True)


keys = typer.Typer(
    name="keys",
    help="Keys with which programs use the API for an account, if login is enabled.",
    no_args_is_help=True,
)


@keys.command("add")
@as_command
def add_key(
    name: Annotated[str, typer.Argument(help="The account for which the program acts.")],
    label: Annotated[str, typer.Argument(help="What the key is for, such as 'nightly report'.")],
    scope: Annotated[
        str, typer.Option(help="read, or review: also write, as the account may.")
    ] = "read",
    db: Database = None,
) -> None:
    """Print a new key. It is shown only now; the database keeps a digest."""
    workspace = open_workspace(load_settings({"database": db}))
    results.print(escape(workspace.accounts.keys.add(name, label, scope)[1]), soft_wrap=True)


@keys.command("list")
@as_command
def list_keys(
    name: Annotated[str | None, typer.Argument(help="Only of this account.")] = None,
    db: Database = None,
    as_json: AsJson = False,
) -> None:
    """The keys of all accounts, or of one: id, account, label, scope and day."""
    rows = open_workspace(load_settings({"database": db})).accounts.keys.of(name)
    lines = (
        f"{key.id}  {key.name}  {key.label}  {'review' if key.may_review else 'read'}  "
        f"{key.created_at:%Y-%m-%d}"
        for key in rows
    )
    emit({"keys": rows}, as_json, "\n".join(lines) or "There are no keys.")


@keys.command("revoke")
@as_command
def revoke_key(
    key: Annotated[int, typer.Argument(help="Its id, as in the list.")], db: Database = None
) -> None:
    """End a key at once."""
    open_workspace(load_settings({"database": db})).accounts.keys.revoke(key)
    results.print(f"Key {key} is revoked.")
