"""Invalid arguments of an endpoint are refused with a message before anything is looked up."""

from typing import Any

import pytest

from backend.errors import SettingsError
from traced_ui.arguments import checked


def looked_up(pair_id: int, caption: str = "", request: object | None = None) -> tuple[Any, ...]:
    return pair_id, caption, request


@pytest.mark.parametrize("given", [3, 3.0, "3", " 3"])
def test_whole_numbers_are_accepted_in_any_form(given: Any) -> None:
    marker = object()
    assert checked(looked_up)(given, "x", request=marker) == (3, "x", marker)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([],), "'pair_id' must be a whole number"),
        (({},), "'pair_id' must be a whole number"),
        ((None,), "'pair_id' must be a whole number"),
        ((True,), "'pair_id' must be a whole number"),
        ((3.5,), "'pair_id' must be a whole number"),
        ((float("inf"),), "'pair_id' must be a whole number"),
        (("three",), "'pair_id' must be a whole number"),
        (("9" * 5000,), "'pair_id' must be a whole number"),
        ((2**63,), "'pair_id' is too large"),
        ((2**31,), "'pair_id' is too large"),
        ((1, ["x"]), "'caption' must be text"),
        ((1, "a\0b"), "'caption' cannot be used: it holds a zero byte"),
        ((1, "\ud83d"), "'caption' cannot be used"),
        ((), "Unknown arguments"),
    ],
)
def test_invalid_arguments_are_refused(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        checked(looked_up)(*given)
