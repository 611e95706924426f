"""Accounts in the page, for adjudicators: add somebody, change a password or a role, let in or not.

Where nobody logs in there is nobody who may: whoever reaches the page could make themselves an
account for the day on which login is switched on.
"""

from typing import Any

import gradio as gr

from backend.accounts.records import ROLES
from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui.messages import guarded, note

#: What can be done with an account, and how the page calls it.
CHANGES = {
    "password": "set this password",
    "role": "give this role",
    "out": "may not log in any more",
    "in": "may log in again",
}


def build(workspace: Workspace, listing: gr.HTML, listed: Any) -> None:
    """The form; called inside the page. `listed`: what draws `listing`, the table of accounts."""
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

    @guarded
    def added(name: str, password: str, role: str, request: gr.Request) -> tuple[str, str, str]:
        said = add_account(workspace, request.username, name or "", password or "", role)
        return note(said, "good"), listed(), ""

    @guarded
    def changed(
        name: str, password: str, role: str, change: str, request: gr.Request
    ) -> tuple[str, str, str]:
        said = change_account(workspace, request.username, name or "", change, password or "", role)
        return note(said, "good"), listed(), ""

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    shown = [message, listing, password]  # a password does not stay in the page
    add.click(added, [name, password, role], shown, **options)
    do.click(changed, [name, password, role, change], shown, **options)


def add_account(workspace: Workspace, by: str | None, name: str, password: str, role: str) -> str:
    """What the page says of it. `by`: who has logged in. Raises SettingsError."""
    _check_right(workspace, by)
    made = workspace.accounts.add(name, password, role)
    return f"{made.name} may log in now, as {made.role}."


def change_account(
    workspace: Workspace, by: str | None, name: str, change: str, password: str, role: str
) -> str:
    """As `add_account`, for one of CHANGES. Nobody shuts themselves out, or takes their own role:
    there is always an adjudicator left."""
    _check_right(workspace, by)
    name = " ".join(name.split())
    if change not in CHANGES:
        raise SettingsError(f"There is no change '{change[:40]}'.")
    if name == by and change != "password":
        raise SettingsError("Somebody else has to change your own role or login.")
    if change == "password":
        workspace.accounts.change(name, password=password)
        return f"{name} has a new password, and has to log in with it."
    if change == "role":
        workspace.accounts.change(name, role=role)
        return f"{name} is {'an' if role[:1] in 'aeiou' else 'a'} {role} now."
    workspace.accounts.change(name, active=change == "in")
    return f"{name} may log in again." if change == "in" else f"{name} may not log in any more."


def _check_right(workspace: Workspace, by: str | None) -> None:
    if not by:
        raise SettingsError(
            "Nobody has to log in here: whoever runs the server adds the first accounts."
        )
    if not workspace.accounts.may_settle(by):
        raise SettingsError("Only an adjudicator may add or change accounts.")
