"""Accounts: adjudicators add them and change passwords, roles and access; each curator makes and
revokes keys for programs.

It is disabled without login: otherwise anyone who can reach the page could create an account for
the time when login is enabled.
"""

from typing import Any

import gradio as gr

from backend.accounts.team_accounts import ROLES
from backend.errors import SettingsError
from backend.review.queue_form import id_in
from backend.workspace import Workspace
from traced_ui.confirmation import CLOSED, Confirmation
from traced_ui.messages import QUIET, event_kwargs, event_value, note, selecting
from traced_ui.templates import render

#: Changes to an account.
CHANGES = ("password", "role", "out", "in")


def build(workspace: Workspace) -> None:
    """Build the accounts, with what an adjudicator can change in the row of each, and the form for
    another; called inside the page."""
    listing = gr.HTML(elem_id="team-accounts", js_on_load=selecting("change"))
    going = gr.State("")
    with gr.Column(visible=False, elem_id="account-new-password") as new_password:
        secret = gr.Textbox(label="New password", type="password", elem_id="account-secret")
        with gr.Row():
            do = gr.Button("Set the password", variant="primary", elem_id="account-do")
            cancel = gr.Button("Cancel", elem_id="account-cancel")
    disabling = Confirmation.build("account-disabling", "Disable the login")
    message = gr.HTML(elem_id="account-message")
    with gr.Accordion("Add a person", open=False, visible=False, elem_id="accounts-form") as form:
        name = gr.Textbox(label="Name", elem_id="account-name")
        password = gr.Textbox(label="Password", type="password", elem_id="account-password")
        role = gr.Radio(list(ROLES), value="curator", label="Role", elem_id="account-role")
        add = gr.Button("Add this account", elem_id="account-add")

    def draw(request: gr.Request) -> tuple[str, gr.Accordion]:
        by = request.username
        may_change = bool(by) and workspace.accounts.may_settle(by)
        return accounts_html(workspace, by), gr.Accordion(visible=may_change)

    def create(name: str, password: str, role: str, request: gr.Request) -> tuple[str, str, str]:
        by = request.username
        confirmation = add_account(workspace, by, name or "", password or "", role)
        return note(confirmation, "good"), accounts_html(workspace, by), ""

    def act(event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        """What a button of a row does; a new password is typed first, and before a login ends it
        asks: (message, accounts, account, new password, its field, disabling, its question)."""
        account, change = event_value(event, "account", ""), event_value(event, "change", "")
        if change == "password":
            _check_right(workspace, request.username)
            field = gr.Textbox("", label=f"New password of {account}")
            return "", gr.skip(), account, gr.Column(visible=True), field, CLOSED, ""
        if change == "out":
            _check_right(workspace, request.username)
            text = f"Disable the login of {account}? It ends at once, everywhere. Verdicts stay."
            return "", gr.skip(), account, CLOSED, "", *disabling.ask(text)
        role = event_value(event, "role", "")
        confirmation = change_account(workspace, request.username, account, change, "", role)
        listed_now = accounts_html(workspace, request.username)
        return note(confirmation, "good"), listed_now, "", CLOSED, "", CLOSED, ""

    def disable(account: str, request: gr.Request) -> tuple[str, str, Any]:
        by = request.username
        confirmation = change_account(workspace, by, account, "out", "", "")
        return note(confirmation, "good"), accounts_html(workspace, by), CLOSED

    def change(account: str, secret: str, request: gr.Request) -> tuple[str, Any, str]:
        by = request.username
        confirmation = change_account(workspace, by, account, "password", secret or "", "")
        return note(confirmation, "good"), CLOSED, ""

    add.click(**event_kwargs(create, [name, password, role], [message, listing, password], message))
    acts = [
        message, listing, going, new_password, secret, disabling.column, disabling.question
    ]  # fmt: skip
    listing.select(**event_kwargs(act, None, acts, message))
    disabling.sure.click(
        **event_kwargs(disable, [going], [message, listing, disabling.column], message)
    )
    do.click(**event_kwargs(change, [going, secret], [message, new_password, secret], message))
    cancel.click(lambda: (CLOSED, ""), None, [new_password, secret], **QUIET)
    gr.on(None, draw, None, [listing, form], **QUIET)


def accounts_html(workspace: Workspace, by: str | None) -> str:
    """The accounts, or how to create some. `by`: the logged-in user; an adjudicator can change
    them."""
    may_change = bool(by) and workspace.accounts.may_settle(by)
    accounts = workspace.accounts.accounts()
    return render(
        "team/accounts.html", accounts=accounts, may_change=may_change, by=by, roles=list(ROLES),
        author=workspace.settings.author,
    )  # fmt: skip


def add_account(workspace: Workspace, by: str | None, name: str, password: str, role: str) -> str:
    """Add an account; return the message to show. `by`: the logged-in user. Raises
    SettingsError."""
    _check_right(workspace, by)
    account = workspace.accounts.add(name, password, role)
    return f"{account.name} can now log in, as {_with_article(account.role)}."


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
        return f"{name} is {_with_article(role)} now."
    workspace.accounts.change(name, active=change == "in")
    return f"{name} can log in again." if change == "in" else f"{name} can no longer log in."


def _with_article(role: str) -> str:
    """
    >>> [_with_article(role) for role in ROLES]
    ['a curator', 'an adjudicator']
    """
    return f"{'an' if role[:1] in 'aeiou' else 'a'} {role}"


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
        listing = gr.HTML(elem_id="keys-list", js_on_load=selecting("change"))
        going = gr.State(0)
        revoking = Confirmation.build("key-revoking", "Revoke the key")
        message = gr.HTML(elem_id="key-message")
        with gr.Column(visible=False, elem_id="key-new") as form:
            label = gr.Textbox(
                label="What the key is for", placeholder="nightly report", elem_id="key-label",
                max_length=80,
            )  # fmt: skip
            scope = gr.Radio(
                [("read", "read"), ("read and give verdicts", "review")], value="read",
                label="It may", elem_id="key-scope",
            )  # fmt: skip
            make = gr.Button("Make a key", elem_id="key-add")

    def draw(request: gr.Request) -> tuple[str, gr.Column]:
        return keys_html(workspace, request.username), gr.Column(visible=bool(request.username))

    def create(label: str, scope: str, request: gr.Request) -> tuple[str, str, str]:
        _, token = workspace.accounts.keys.add(_name_of(request), label or "", scope or "")
        text = f"Copy it now, it is not shown again: {token}"
        return note(text, "good"), keys_html(workspace, request.username), ""

    def ask(event: gr.EventData) -> tuple[int, Any, str, str]:
        """Ask before a key is revoked: (key, confirmation buttons, question, message)."""
        label = event_value(event, "label", "")
        text = f"Revoke '{label}'? Programs that use this key are refused from then on, for good."
        key = id_in(str(event_value(event, "key", ""))) or 0
        return key, *revoking.ask(text), ""

    def revoke(number: int, request: gr.Request) -> tuple[str, str, Any]:
        workspace.accounts.keys.revoke(number, _name_of(request))
        keys = keys_html(workspace, request.username)
        return note("The key is revoked.", "good"), keys, CLOSED

    gr.on(None, draw, None, [listing, form], **QUIET)
    make.click(**event_kwargs(create, [label, scope], [message, listing, label], message))
    outputs = [going, revoking.column, revoking.question, message]
    listing.select(**event_kwargs(ask, None, outputs, message))
    revoking.sure.click(
        **event_kwargs(revoke, [going], [message, listing, revoking.column], message)
    )


def keys_html(workspace: Workspace, name: str | None) -> str:
    """The keys of the logged-in user."""
    keys = workspace.accounts.keys.of(name) if name else []
    return render("team/keys.html", keys=keys, is_login=bool(name))


def _name_of(request: gr.Request) -> str:
    """The logged-in user. Raises SettingsError without login: programs need no key then."""
    if not request.username:
        raise SettingsError("Login is not enabled: programs need no key.")
    return request.username
