"""Accounts: adjudicators add them and change passwords, roles and access; each curator makes and
revokes keys for programs.

It is disabled without login: otherwise anyone who can reach the page could create an account for
the time when login is enabled.
"""

from typing import Any

import gradio as gr

from backend.accounts.team_accounts import ROLES, SCOPES
from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui.messages import QUIET, note, wired
from traced_ui.templates import render

#: Changes to an account, and their labels.
CHANGES = {
    "password": "set this password",
    "role": "give this role",
    "out": "disable the login",
    "in": "enable the login",
}


def build(workspace: Workspace, listing: gr.HTML, list_accounts: Any) -> None:
    """Build the form; called inside the page. `listed`: renders `listing`, the accounts table."""
    with gr.Accordion("Add or change accounts", open=False, elem_id="accounts-form"):
        name = gr.Textbox(label="Name", elem_id="account-name")
        password = gr.Textbox(label="Password", type="password", elem_id="account-password")
        role = gr.Radio(list(ROLES), value="curator", label="Role", elem_id="account-role")
        add = gr.Button("Add this account", elem_id="account-add")
        change = gr.Radio(
            [(text, kind) for kind, text in CHANGES.items()], value="password",
            label="Or change the account of that name", elem_id="account-change",
        )  # fmt: skip
        do = gr.Button("Change it", elem_id="account-do")
        message = gr.HTML(elem_id="account-message")

    def added(name: str, password: str, role: str, request: gr.Request) -> tuple[str, str, str]:
        confirmation = add_account(workspace, request.username, name or "", password or "", role)
        return note(confirmation, "good"), list_accounts(), ""

    def changed(
        name: str, password: str, role: str, change: str, request: gr.Request
    ) -> tuple[str, str, str]:
        confirmation = change_account(
            workspace, request.username, name or "", change, password or "", role
        )
        return note(confirmation, "good"), list_accounts(), ""

    outputs = [message, listing, password]  # the password field is cleared
    add.click(**wired(added, [name, password, role], outputs, message))
    do.click(**wired(changed, [name, password, role, change], outputs, message))


def add_account(workspace: Workspace, by: str | None, name: str, password: str, role: str) -> str:
    """Add an account; return the message to show. `by`: the logged-in user. Raises
    SettingsError."""
    _check_right(workspace, by)
    account = workspace.accounts.add(name, password, role)
    return f"{account.name} can now log in, as {account.role}."


def change_account(
    workspace: Workspace, by: str | None, name: str, change: str, password: str, role: str
) -> str:
    """Make one of CHANGES, otherwise as `add_account`. Users cannot disable their own login or
    change their own role, so there is always an adjudicator left."""
    _check_right(workspace, by)
    name = " ".join(name.split())
    if change not in CHANGES:
        raise SettingsError(f"There is no change '{change[:40]}'.")
    if name == by and change != "password":
        raise SettingsError("Another adjudicator has to change your own role or login.")
    if change == "password":
        workspace.accounts.change(name, password=password)
        return f"{name} has a new password, and has to log in with it."
    if change == "role":
        workspace.accounts.change(name, role=role)
        return f"{name} is {'an' if role[:1] in 'aeiou' else 'a'} {role} now."
    workspace.accounts.change(name, active=change == "in")
    return f"{name} can log in again." if change == "in" else f"{name} can no longer log in."


def _check_right(workspace: Workspace, by: str | None) -> None:
    if not by:
        raise SettingsError(
            "Login is not enabled: the server's administrator adds the first accounts."
        )
    if not workspace.accounts.may_settle(by):
        raise SettingsError("Only an adjudicator may add or change accounts.")


def build_keys(workspace: Workspace) -> None:
    """Build the form with which each curator makes and revokes keys; called inside the page."""
    with gr.Accordion("Keys for programs", open=False, elem_id="keys-form"):
        listing = gr.HTML(elem_id="keys-list")
        label = gr.Textbox(label="What the key is for", elem_id="key-label", max_length=80)
        scope = gr.Radio(list(SCOPES), value="read", label="It may", elem_id="key-scope")
        make = gr.Button("Make a key", elem_id="key-add")
        number = gr.Number(None, label="Number of a key", precision=0, elem_id="key-number")
        end = gr.Button("Revoke this key", elem_id="key-revoke")
        message = gr.HTML(elem_id="key-message")

    def listed(request: gr.Request) -> str:
        return keys_html(workspace, request.username)

    def added(label: str, scope: str, request: gr.Request) -> tuple[str, str, str]:
        _, token = workspace.accounts.keys.add(_name_of(request), label or "", scope or "")
        text = f"Copy it now, it is not shown again: {token}"
        return note(text, "good"), keys_html(workspace, request.username), ""

    def revoked(number: float | None, request: gr.Request) -> tuple[str, str]:
        workspace.accounts.keys.revoke(int(number or 0), _name_of(request))
        text = f"Key {int(number or 0)} is revoked."
        return note(text, "good"), keys_html(workspace, request.username)

    gr.on(None, listed, None, [listing], **QUIET)
    make.click(**wired(added, [label, scope], [message, listing, label], message))
    end.click(**wired(revoked, [number], [message, listing], message))


def keys_html(workspace: Workspace, name: str | None) -> str:
    """The keys of the logged-in user."""
    keys = workspace.accounts.keys.of(name) if name else []
    rows = [
        [str(key.id), key.label, "review" if key.may_review else "read",
         f"{key.created_at:%Y-%m-%d}"]
        for key in keys
    ]  # fmt: skip
    return render("team/keys.html", rows=rows, is_login=bool(name))


def _name_of(request: gr.Request) -> str:
    """The logged-in user. Raises SettingsError without login: programs need no key then."""
    if not request.username:
        raise SettingsError("Login is not enabled: programs need no key.")
    return request.username
