"""Every error has a title, an exit status and an explanation in plain words."""

import re

import pytest

from backend import errors
from backend.errors import TracedError, explain


def all_errors() -> list[type[TracedError]]:
    result, open_ = [], [TracedError]
    while open_:
        error = open_.pop()
        result.append(error)
        open_ += error.__subclasses__()
    return result


@pytest.mark.parametrize("error", all_errors())
def test_each_error_is_in_the_documented_tree_and_has_an_explanation(
    error: type[TracedError],
) -> None:
    assert re.search(rf"\b{error.__name__}\b", errors.__doc__ or "")
    assert explain(error("Row 3 of a.csv is empty.")) == f"{error.title}: Row 3 of a.csv is empty."
    assert explain(error("")) == f"{error.title}."
    assert 1 <= error.exit_status < 126


def test_system_errors_name_the_file() -> None:
    assert "/nowhere/x.csv" in explain(FileNotFoundError(2, "No such file", "/nowhere/x.csv"))


def test_an_unexpected_error_shows_no_traceback() -> None:
    text = explain(ZeroDivisionError("division by zero"))
    assert "Traceback" not in text
    assert "ZeroDivisionError" in text
