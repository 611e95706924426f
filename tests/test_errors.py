"""Every error has a title, an exit status and an explanation in plain words."""

import re
import sys

import pytest

from backend import errors
from backend.errors import SettingsError, StoreError, TracedError, explain
from backend.loaded_models import Engine
from backend.settings import load_settings
from backend.store import open_database
from tests.fixtures.features import needs


def all_errors() -> list[type[TracedError]]:
    result, open_ = [], [TracedError]
    while open_:
        error = open_.pop()
        result.append(error)
        open_ += error.__subclasses__()
    return result


def test_each_error_is_in_the_documented_tree_and_has_an_explanation() -> None:
    for error in all_errors():
        assert re.search(rf"\b{error.__name__}\b", errors.__doc__ or "")
        assert (
            explain(error("Row 3 of a.csv is empty.")) == f"{error.title}: Row 3 of a.csv is empty."
        )
        assert explain(error("")) == f"{error.title}."
        assert 1 <= error.exit_status < 126


def test_system_errors_name_the_file() -> None:
    assert "/nowhere/x.csv" in explain(FileNotFoundError(2, "No such file", "/nowhere/x.csv"))


def test_an_unexpected_error_shows_no_traceback() -> None:
    text = explain(ZeroDivisionError("division by zero"))
    assert "Traceback" not in text
    assert "ZeroDivisionError" in text


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        pytest.param("openai", "vlm", marks=needs("vision_language")),
        ("psycopg", "postgres"),
    ],
)
def test_a_missing_extra_is_named(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    server = {"corrector": "m", "corrector_url": "http://localhost:1/v1"}
    uses = {
        "openai": lambda: Engine(load_settings(server, {})).chat_model,
        "psycopg": lambda: open_database("postgresql://nobody@localhost:1/none"),
    }
    with pytest.raises((SettingsError, StoreError), match=f"requirements-{extra}.txt"):
        uses[module]()
