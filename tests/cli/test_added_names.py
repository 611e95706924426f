"""What packages add takes no name that is taken."""

from dataclasses import replace

import pytest

from backend.cli import score
from backend.cli.commands import ScoreFile
from backend.operations import registry


@pytest.mark.parametrize("name", ["rows_written", "scored", score._STEPS[0].name])
def test_a_file_of_scores_has_no_name_of_the_report(name: str) -> None:
    file = ScoreFile(name, ".moods", "of moods", lambda *_: None)
    with pytest.raises(ValueError, match=name):
        score._add_file(file)
    assert ".moods" not in score._FILES


def test_an_operation_does_not_replace_another() -> None:
    with pytest.raises(ValueError, match="score"):
        registry._join(replace(registry.SCORE))
