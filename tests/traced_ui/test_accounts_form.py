"""Accounts on the page: who may change them, and that the last adjudicator stays."""

import re

import pytest

from backend.errors import NotFound, SettingsError
from backend.workspace import Workspace
from traced_ui.accounts_form import accounts_html, add_account, change_account, keys_html

PASSWORD = "a long password"


@pytest.fixture
def team(workspace: Workspace) -> Workspace:
    workspace.accounts.add("Eve", PASSWORD, "adjudicator")
    workspace.accounts.add("Ada", PASSWORD, "curator")
    return workspace


@pytest.mark.parametrize("by", [None, "", "Ada", "nobody"])
def test_only_adjudicators_may_change_accounts(team: Workspace, by: str | None) -> None:
    with pytest.raises(SettingsError):
        add_account(team, by, "Mallory", PASSWORD, "adjudicator")
    with pytest.raises(SettingsError):
        change_account(team, by, "Ada", "role", "", "adjudicator")
    assert {account.name: account.role for account in team.accounts.accounts()} == {
        "Eve": "adjudicator",
        "Ada": "curator",
    }


def test_an_adjudicator_adds_and_changes_accounts(team: Workspace) -> None:
    added = add_account(team, "Eve", " Ben ", PASSWORD, "curator")
    assert added.endswith("can now log in, as a curator.")
    token = team.accounts.log_in("Ben", PASSWORD)
    assert token is not None
    change_account(team, "Eve", "Ben", "password", "another password", "curator")
    assert team.accounts.who(token) is None  # the old token is no longer valid
    assert team.accounts.log_in("Ben", PASSWORD) is None
    assert team.accounts.log_in("Ben", "another password") is not None
    assert "an adjudicator" in change_account(team, "Eve", "Ben", "role", "", "adjudicator")
    assert team.accounts.may_settle("Ben")
    change_account(team, "Eve", "Ben", "out", "", "curator")
    assert team.accounts.log_in("Ben", "another password") is None
    change_account(team, "Eve", "Ben", "in", "", "curator")
    assert team.accounts.log_in("Ben", "another password") is not None


def test_an_adjudicator_cannot_lock_themselves_out(team: Workspace) -> None:
    for change in ("role", "out"):
        with pytest.raises(SettingsError, match="Another adjudicator"):
            change_account(team, "Eve", "Eve ", change, "", "curator")
    assert team.accounts.may_settle("Eve")
    change_account(team, "Eve", "Eve", "password", "a better password", "curator")


def test_invalid_accounts_and_actions_are_refused(team: Workspace) -> None:
    refused = [
        ("", PASSWORD, "curator"), ("Ada", PASSWORD, "curator"), ("Ben", "short", "curator"),
        ("Ben", PASSWORD, "root"),
    ]  # fmt: skip
    for name, password, role in refused:
        with pytest.raises(SettingsError):
            add_account(team, "Eve", name, password, role)
    with pytest.raises(NotFound):
        change_account(team, "Eve", "Nobody", "out", "", "curator")
    with pytest.raises(SettingsError):
        change_account(team, "Eve", "Ada", "delete", "", "curator")


def test_an_adjudicator_changes_accounts_in_their_rows(team: Workspace) -> None:
    html = accounts_html(team, "Eve")
    buttons = re.findall(r'data-change="(\w+)"(?: data-role="(\w+)")? data-account="(\w+)"', html)
    assert buttons == [
        ("role", "adjudicator", "Ada"), ("password", "", "Ada"), ("out", "", "Ada"),
        ("password", "", "Eve"),
    ]  # fmt: skip
    team.accounts.change("Ada", active=False)
    assert 'data-change="in"' in accounts_html(team, "Eve")
    for other in ("Ada", None):
        assert "data-change" not in accounts_html(team, other)


def test_without_accounts_the_name_that_verdicts_get_is_said(workspace: Workspace) -> None:
    assert f">{workspace.settings.author}</b>" in accounts_html(workspace, None)


def test_a_key_is_revoked_in_its_row(team: Workspace) -> None:
    assert "data-change" not in keys_html(team, "Ada")
    key, _ = team.accounts.keys.add("Ada", "nightly report", "read")
    assert f'data-change="revoke" data-key="{key.id}"' in keys_html(team, "Ada")
    assert "data-change" not in keys_html(team, "Eve")
    team.accounts.keys.revoke(key.id, "Ada")
    assert "data-change" not in keys_html(team, "Ada")
