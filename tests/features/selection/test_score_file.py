"""Scores by other programs: files that are none."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.features.selection.score_file import read_scores
from tests.datasets.folders import write


@pytest.mark.parametrize("name", ["scores.json", "scores.xlsx", "scores.tar"])
def test_scores_in_another_format_are_no_list_of_ids(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError):
        read_scores(write(tmp_path / name, '{"id": "p0", "score": 1}\n'))
