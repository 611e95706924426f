"""`keys`: printed once, listed without the key, revoked at once."""

import json
from pathlib import Path

import pytest

from backend.accounts.team_accounts import PREFIX
from backend.errors import NotFound
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.cli.invoking import invoked


def test_a_key_is_added_listed_and_revoked(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path), "COLUMNS": "40"}
    accounts = Workspace(load_settings({"data_directory": str(tmp_path)}, {})).accounts
    assert invoked(environment, "keys", "add", "Ada", "report")[0] == 8, "no such account"
    accounts.add("Ada", "a long password")
    assert invoked(environment, "keys", "add", "Ada", "report", "--scope", "all")[0] == 2
    assert invoked(environment, "keys", "add", "Ada", " ")[0] == 2
    _, out, _ = invoked(environment, "keys", "add", "Ada", "report", "--scope", "review")
    token = out.strip()
    assert token.startswith(PREFIX)
    key = accounts.keys.find(token)
    assert key is not None
    assert (key.name, key.label, key.may_review) == ("Ada", "report", True)
    _, listed, _ = invoked(environment, "keys", "list", "--json")
    assert token not in listed
    assert [row["label"] for row in json.loads(listed)["keys"]] == ["report"]
    assert invoked(environment, "keys", "revoke", "7")[0] == 8
    assert invoked(environment, "keys", "revoke", str(key.id))[0] == 0
    assert accounts.keys.find(token) is None
    accounts.change("Ada", active=False)
    assert invoked(environment, "keys", "add", "Ada", "report")[0] == 2


def test_an_account_revokes_only_its_own_keys(tmp_path: Path) -> None:
    accounts = Workspace(load_settings({"data_directory": str(tmp_path)}, {})).accounts
    for name in ("Ada", "Ben"):
        accounts.add(name, "a long password")
    key, token = accounts.keys.add("Ada", "hers")
    assert not key.may_review
    assert accounts.keys.of("Ben") == []
    with pytest.raises(NotFound):
        accounts.keys.revoke(key.id, "Ben")
    assert accounts.keys.find(token) == key
    accounts.keys.revoke(key.id, "Ada")
    assert accounts.keys.find(token) is None


def test_an_account_before_the_first_start_does_not_cost_the_scored_demo(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path), "TRACED_PASSWORD": "a long password"}
    assert invoked(environment, "curators", "add", "Ada")[0] == 0
    opened = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    assert opened.accounts.has_accounts()
    assert [summary.scored for summary in opened.datasets()] == [600]
