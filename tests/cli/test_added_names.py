"""What packages add takes no name that is taken."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import create_model

from backend.cli import score
from backend.cli.commands import CommandVariant, ScoreFile, join_variant
from backend.operations import registry
from backend.operations.operation import Operation
from backend.options import ComposedOptions, Options


def run(*_: Any) -> None: ...


@pytest.mark.parametrize("name", ["rows_written", "scored", *(step.name for step in score._STEPS)])
def test_a_file_of_scores_has_no_name_of_the_report(name: str) -> None:
    file = ScoreFile(name, ".moods", "of moods", lambda *_: None)
    with pytest.raises(ValueError, match=name):
        score._add_file(file)
    assert ".moods" not in score._FILES


def test_a_variant_has_no_option_of_its_command_or_of_another() -> None:
    parameters = {"export": {"seed"}}
    fields: list[Any] = [{"mood": (int, 0)}, {"seed": (int, 0)}]
    mood, seed = (
        CommandVariant("export", create_model("Added", __base__=ComposedOptions, **each), run)
        for each in fields
    )
    join_variant(parameters, mood)
    for variant in (mood, seed):
        with pytest.raises(ValueError, match=next(iter(variant.options.model_fields))):
            join_variant(parameters, variant)


def test_an_operation_that_is_a_command_has_no_option_of_all_commands() -> None:
    class Moods(Options):
        db: str = ""

    with pytest.raises(ValueError, match="'db'"):
        registry._join(Operation("moods", "Moods", Moods, run, is_command=True))
    assert "moods" not in registry.OPERATIONS


def test_an_operation_does_not_replace_another() -> None:
    with pytest.raises(ValueError, match="score"):
        registry._join(replace(registry.SCORE))
