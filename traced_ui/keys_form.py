"""Keys for programs: each curator makes and revokes their own."""

import gradio as gr

from backend.accounts.team_accounts import SCOPES
from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui.messages import guarded, note
from traced_ui.templates import render


def build(workspace: Workspace) -> None:
    """Build the form; called inside the page."""
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

    @guarded
    def added(label: str, scope: str, request: gr.Request) -> tuple[str, str, str]:
        _, token = workspace.accounts.keys.add(_name_of(request), label or "", scope or "")
        text = f"Copy it now, it is not shown again: {token}"
        return note(text, "good"), keys_html(workspace, request.username), ""

    @guarded
    def revoked(number: float | None, request: gr.Request) -> tuple[str, str]:
        workspace.accounts.keys.revoke(int(number or 0), _name_of(request))
        text = f"Key {int(number or 0)} is revoked."
        return note(text, "good"), keys_html(workspace, request.username)

    gr.on(None, listed, None, [listing], api_visibility="private", show_progress="hidden")
    make.click(
        added, [label, scope], [message, listing, label], api_visibility="private",
        show_progress="hidden",
    )  # fmt: skip
    end.click(
        revoked, [number], [message, listing], api_visibility="private", show_progress="hidden"
    )


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
