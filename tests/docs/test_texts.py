"""One word for a verdict, a measure or a state also outside the pages: in command line, API,
reports, data cards and documentation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from backend.measures import MEASURES
from tests.docs.reference import ROOT, commands
from tests.words import other_words, texts_in, without_names
from traced_ui.api import create_api

#: What people read is written here: reports, errors, data cards, labels, messages.
FOLDERS = (
    "backend/accounts", "backend/cli", "backend/datasets", "backend/jobs", "backend/operations",
    "backend/review", "backend/features", "traced_ui",
)  # fmt: skip
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def problems(texts: Iterator[tuple[str, str]]) -> list[str]:
    """`texts`: each with its place."""
    return [
        f"{place}: {problem}"
        for place, text in texts
        for problem in other_words(without_names(text))
    ]


def test_no_text_in_code_has_another_word() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    paths += sorted((ROOT / "backend").glob("*.py"))
    texts = ((str(path.relative_to(ROOT)), text) for path in paths for text in texts_in(path))
    assert problems(texts) == []


def test_no_help_of_a_command_has_another_word() -> None:
    def helps() -> Iterator[tuple[str, str]]:
        for name, command in commands():
            yield name, command.help or ""
            for parameter in command.params:
                yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""

    assert problems(helps()) == []


def test_no_title_or_description_of_the_api_has_another_word() -> None:
    def described(part: object, field: str = "") -> Iterator[tuple[str, str]]:
        if isinstance(part, dict):
            for name, value in part.items():
                # A title that nobody has written is the field's name.
                is_name = name == "title" and value == field.replace("_", " ").title()
                if name in ("title", "summary", "description") and isinstance(value, str):
                    yield f"{field} {name}", "" if is_name else value
                else:
                    yield from described(value, name)
        elif isinstance(part, list):
            for value in part:
                yield from described(value, field)

    openapi = create_api(cast(Any, None)).openapi()
    assert problems(described(openapi)) == []
    for name in ("p_error", "s_0", "icc"):
        assert openapi["components"]["schemas"]["Pair"]["properties"][name]["title"] == (
            MEASURES[name].title
        )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_page_of_the_documentation_has_another_word(path: Path) -> None:
    text = without_names(path.read_text(encoding="utf-8"))
    assert [(path.name, problem) for problem in other_words(text)] == []
