"""Drawn pairs are a dataset, and their truth fits them."""

import json
from pathlib import Path

import pytest

from backend.datasets.reading.dataset_reader import read_dataset
from backend.errors import SettingsError
from research.evaluation.drawn_dataset import write


def test_clean_and_noisy_pairs_with_their_truth(tmp_path: Path) -> None:
    clean, noisy = (
        write(tmp_path / "a", 40, 0, "noun", 1),
        write(tmp_path / "b", 40, 0.2, "fine-grained", 1),
    )
    assert (clean.wrong, noisy.wrong) == (0, 8)
    for report in (clean, noisy):
        pairs = {pair.id: pair for pair in read_dataset(report.out)}
        truth = [json.loads(line) for line in (report.out / "truth.jsonl").open()]
        assert len(pairs) == len(truth) == 40
        assert sum(row["is_error"] for row in truth) == report.wrong
        for row in truth:
            caption = pairs[row["id"]].caption
            assert (caption == row["original"]) == (not row["is_error"])
            assert bool(row["changed"]) == row["is_error"]
            assert all(caption[start:end].strip() for start, end in row["changed"])


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for rate, noise, message in ((0.2, "rude", "no noise"), (0.2, "noun", "not empty")):
        with pytest.raises(SettingsError, match=message):
            write(tmp_path, 4, rate, noise, 0)
