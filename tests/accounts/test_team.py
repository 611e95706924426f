"""Passwords, limits and devices: the parts that need no database."""

from pathlib import Path

import pytest

from backend.accounts.team_accounts import hash_password, is_right
from backend.accounts.throttle import Throttle, known_device, new_device
from backend.engine.statistics.agreement import check_overlap
from backend.errors import SettingsError
from backend.settings import load_settings
from backend.workspace import Workspace


def test_a_password_is_kept_as_a_salted_hash() -> None:
    first, second = hash_password("correct horse"), hash_password("correct horse")
    assert first != second
    assert first.startswith("$argon2id$")
    assert "correct horse" not in first
    assert is_right("correct horse", first)
    assert not is_right("correct horsf", first)


@pytest.mark.parametrize("kept", [None, "", "no hash", "$argon2id$broken"])
def test_without_a_valid_hash_no_password_is_accepted(kept: str | None) -> None:
    assert not is_right("anything at all", kept)


@pytest.mark.parametrize("password", ["", "short", "x" * 300])
def test_the_length_of_passwords_is_limited(password: str) -> None:
    with pytest.raises(SettingsError, match="8 to 200"):
        hash_password(password)


def test_attempts_are_counted_before_they_are_checked() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    waits = [throttle.admit({"Ada": 3, "10.0.0.1": 10}) for _ in range(5)]
    assert waits == [0, 0, 0, 60, 60]
    assert throttle.admit({"Ben": 3, "10.0.0.1": 10}) == 0


def test_the_wait_grows_and_ends() -> None:
    time = [0.0]
    throttle = Throttle(seconds=60, longest=200, clock=lambda: time[0])
    assert [throttle.admit({"Ada": 1}), throttle.admit({"Ada": 1})] == [0, 60]
    time[0] = 60.0
    assert [throttle.admit({"Ada": 1}), throttle.admit({"Ada": 1})] == [0, 120]
    time[0] = 180.0
    assert [throttle.admit({"Ada": 1}), throttle.admit({"Ada": 1})] == [0, 200]
    time[0] = 381.0
    assert [throttle.admit({"Ada": 1}), throttle.admit({"Ada": 1})] == [0, 60], "forgotten"


def test_success_clears_its_own_key_and_one_attempt_of_shared_keys() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    limits = {"Ada": 2, "10.0.0.1": 2}
    for _ in range(5):
        assert throttle.admit(limits) == 0
        throttle.record_success("Ada")
        throttle.take_back("10.0.0.1")
    assert throttle.admit({"Ben": 9, "10.0.0.1": 2}) == 0
    assert throttle.admit(limits) == 0
    assert throttle.admit({"Cid": 9, "10.0.0.1": 2}) == 60, "two failed at this address"


def test_the_oldest_of_too_many_keys_are_dropped() -> None:
    throttle = Throttle(keys=2, clock=lambda: 0.0)
    for name in ("Ada", "Ben", "Cid"):
        throttle.admit({name: 1})
    assert throttle.admit({"Cid": 1}) == 60
    assert throttle.admit({"Ada": 1}) == 0


def test_a_device_is_known_only_for_its_account_and_database() -> None:
    cookie = new_device(b"secret", "Ada")
    assert known_device(b"secret", "Ada", cookie) == cookie.partition(".")[0]
    for secret, name, sent in (
        (b"secret", "Ben", cookie), (b"other", "Ada", cookie), (b"secret", "Ada", cookie[:-1]),
        (b"secret", "Ada", None), (b"secret", "Ada", "ä.ü"),
    ):  # fmt: skip
        assert known_device(secret, name, sent) is None


@pytest.mark.parametrize("name", ["rule: p <= 0.1", " Rule:x", "RULE:"])
def test_a_person_cannot_have_the_name_of_a_rule(name: str, tmp_path: Path) -> None:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    with pytest.raises(SettingsError, match="rules"):
        workspace.accounts.add(name, "a long enough password")
    workspace.store.close()
    with pytest.raises(SettingsError, match="rules"):
        load_settings({"author": name}, {})


@pytest.mark.parametrize(("share", "people"), [(-0.1, 2), (1.1, 2), (0.5, 1), (0.5, 99)])
def test_an_invalid_overlap_is_refused(share: float, people: int) -> None:
    with pytest.raises(SettingsError, match="share"):
        check_overlap(share, people)
