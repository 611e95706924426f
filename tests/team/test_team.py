"""Passwords, limits, agreement: the parts that need no database."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import SettingsError
from backend.settings import load_settings
from backend.team.agreement import agreement, check_overlap
from backend.team.passwords import hashed, is_right
from backend.team.throttle import Throttle
from backend.workspace import Workspace


def test_a_password_is_kept_as_a_salted_hash() -> None:
    first, second = hashed("correct horse"), hashed("correct horse")
    assert first != second
    assert first.startswith("$argon2id$")
    assert "correct horse" not in first
    assert is_right("correct horse", first)
    assert not is_right("correct horsf", first)


@pytest.mark.parametrize("kept", [None, "", "no hash", "$argon2id$broken"])
def test_without_a_usable_hash_nothing_is_right(kept: str | None) -> None:
    assert not is_right("anything at all", kept)


@pytest.mark.parametrize("password", ["", "short", "x" * 300])
def test_passwords_have_a_length(password: str) -> None:
    with pytest.raises(SettingsError, match="8 to 200"):
        hashed(password)


def test_guessing_has_to_wait_and_success_forgets() -> None:
    time = [0.0]
    throttle = Throttle(failures=3, seconds=60, clock=lambda: time[0])
    for _ in range(2):
        throttle.failed("Ada", "10.0.0.1")
    assert throttle.wait("Ada", "10.0.0.1") == 0
    throttle.failed("Ada", "10.0.0.1")
    assert throttle.wait("Ada") == 60
    assert throttle.wait("Ben", "10.0.0.2") == 0
    time[0] = 59.0
    assert throttle.wait("Ben", "10.0.0.1") == pytest.approx(1)
    time[0] = 61.0
    assert throttle.wait("Ada") == 0
    throttle.failed("Ada")
    throttle.succeeded("Ada")
    assert throttle.wait("Ada") == 0


@pytest.mark.parametrize("name", ["rule: p <= 0.1", " Rule:x", "RULE:"])
def test_nobody_is_called_as_rules_are(name: str, tmp_path: Path) -> None:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    with pytest.raises(SettingsError, match="rules"):
        workspace.team.add(name, "a long enough password")
    workspace.store.close()
    with pytest.raises(SettingsError, match="rules"):
        load_settings({"author": name}, {})


def test_the_throttle_does_not_grow_without_end() -> None:
    throttle = Throttle(failures=1, keys=10)
    for number in range(1000):
        throttle.failed(f"name {number}")
    assert throttle.wait("name 999") > 0
    assert throttle.wait("name 0") == 0


def test_kappa_and_alpha_are_those_of_a_worked_example() -> None:
    # Two people, 4 pairs, 3 the same: p_o = 0.75, p_e = 0.5*0.75 + 0.5*0.25 = 0.5, kappa = 0.5.
    said = [("correct", "correct"), ("drop", "drop"), ("correct", "drop"), ("drop", "drop")]
    found = agreement([{"Ada": a, "Ben": b} for a, b in said])
    assert (found.pairs, found.same) == (4, 3)
    (two,) = found.people
    assert (two.first, two.second, two.pairs, two.same) == ("Ada", "Ben", 4, 3)
    assert two.kappa == pytest.approx(0.5)
    # Observed disagreement 2/8 of the ordered pairs; expected 2*3*5/(8*7): alpha = 1 - 0.25/0.5357.
    assert found.alpha == pytest.approx(1 - 0.25 / (30 / 56))


def test_what_is_not_defined_is_not_told() -> None:
    alike = agreement([{"Ada": "drop", "Ben": "drop"}] * 3)
    assert alike.alpha is None
    assert alike.people[0].kappa is None
    assert agreement([]).pairs == 0
    assert agreement([{"Ada": "drop"}]).pairs == 0


@given(
    st.lists(
        st.dictionaries(st.sampled_from("ABCD"), st.sampled_from(["correct", "drop"]), max_size=4),
        max_size=12,
    )
)
def test_agreement_stays_within_its_bounds(judgements: list[dict[str, str]]) -> None:
    found = agreement(judgements)
    assert 0 <= found.same <= found.pairs == sum(len(one) > 1 for one in judgements)
    assert found.alpha is None or found.alpha <= 1 + 1e-9
    assert all(two.kappa is None or -1 <= two.kappa <= 1 for two in found.people)


@pytest.mark.parametrize(("share", "people"), [(-0.1, 2), (1.1, 2), (0.5, 1), (0.5, 99)])
def test_an_overlap_that_makes_no_sense_is_refused(share: float, people: int) -> None:
    with pytest.raises(SettingsError, match="share"):
        check_overlap(share, people)
