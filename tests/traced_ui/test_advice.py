"""Advice is data: errors state it once for a terminal and once for a page, and no page names
anything that can only be typed into a terminal."""

import ast
import json
import pickle
import re
from collections.abc import Iterator

import pytest

from backend.datasets.read_options import LABELS, where_to_state
from backend.errors import ModelMissing, NotScored, SettingsError, TracedError, explain
from tests.browser.conftest import ROOT
from traced_ui.messages import explain_on_page

OPTION = re.compile(r"(?<![\w-])--[a-z]|app\.py")
#: Modules whose messages no page shows: commands and their checks, what overrides a setting there,
#: how options are typed, what a server says before it serves, and the words of a feature.
_OF_THE_TERMINAL = (
    "cli", "command.py", "doctor_check.py", "common_options.py", "options.py", "settings.py",
    "listening.py", "hosts.py", "feature.py",
)  # fmt: skip
#: Commands to run on another machine, or that this program runs itself.
_ELSEWHERE = re.compile(r"--revision|--format=|--file=|--no-password|--dbname|--sort=name")


def _literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, without docstrings and without what is for a
    terminal."""
    aside = {
        constant
        for node in ast.walk(tree)
        for part in (
            [node.value] if isinstance(node, ast.keyword) and node.arg == "terminal"
            else [node.value] if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            else [value for key, value in zip(node.keys, node.values, strict=True)
                  if isinstance(key, ast.Constant) and key.value == "terminal"]
            if isinstance(node, ast.Dict) else []
        )
        for constant in ast.walk(part)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in aside:
            yield node.lineno, node.value


@pytest.mark.parametrize("folder", ["backend", "db", "traced_ui"])
def test_options_stand_only_in_advice_for_a_terminal(folder: str) -> None:
    """Checks every text in the code that names an option."""
    wrong = []
    for module in sorted((ROOT / folder).rglob("*.py")):
        if set(_OF_THE_TERMINAL) & set(module.relative_to(ROOT).parts):
            continue
        for line, text in _literals(ast.parse(module.read_text(encoding="utf-8"))):
            if OPTION.search(text) and not _ELSEWHERE.search(text):
                wrong.append(f"{module.relative_to(ROOT)}:{line}: {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ["assets/models", "traced_ui/templates"])
def test_no_text_of_models_and_pages_names_an_option(folder: str) -> None:
    for file in (ROOT / folder).rglob("*"):
        if file.name == "traced.json":
            assert not OPTION.search(json.loads(file.read_text(encoding="utf-8"))["limits"])
        # The first account is made on the server: until then the page knows nobody who may.
        elif file.suffix == ".html" and file.name != "accounts.html":
            text = re.sub(r"(?s)<style.*?</style>|<[^>]*>", "", file.read_text("utf-8"))
            assert not OPTION.search(text), file


def test_each_interface_shows_its_own_advice() -> None:
    error = NotScored("'a' has no scores.", terminal="Run: app.py score a", page="Score it here.")
    assert str(error) == "'a' has no scores."
    assert explain(error, "terminal").endswith("'a' has no scores. Run: app.py score a")
    assert explain(error, "page").endswith("'a' has no scores. Score it here.")
    assert explain_on_page(SettingsError("No.", terminal="--yes", page="Click.")) == "No. Click."


@pytest.mark.parametrize("field", LABELS)
def test_a_field_of_an_import_is_named_in_both_interfaces(field: str) -> None:
    advice = where_to_state(field)
    assert f"--{field.replace('_', '-')}" in advice["terminal"]
    assert f"“{LABELS[field]}”" in advice["page"]


@pytest.mark.parametrize(
    "error", [SettingsError("No.", terminal="--yes", page="Click."), ModelMissing("No.", "a/b")]
)
def test_advice_survives_the_way_from_a_worker(error: TracedError) -> None:
    assert explain(pickle.loads(pickle.dumps(error)), "page") == explain(error, "page")
