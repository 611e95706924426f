"""The load test detects verdicts that are lost, duplicated or never confirmed."""

import json
from pathlib import Path

from tests.hostile.load import Act, wrong_acts
from tests.hostile.load_work import Journal, grow

ACTS: list[Act] = [(1, 1, "drop", "Ben"), (1, 2, None, "Ben"), (2, 1, "correct", "Cleo")]


def test_confirmed_verdicts_must_be_stored_exactly_once() -> None:
    assert wrong_acts(ACTS, ACTS, 0) == []
    assert "1 lost" in wrong_acts(ACTS[1:], ACTS, 0)[0]
    assert "1 confirmed to nobody" in wrong_acts(ACTS, ACTS[1:], 0)[0]
    assert wrong_acts(ACTS, ACTS[1:], 1) == []  # a call without a response
    doubled = [*ACTS, (2, 1, "drop", "Ben")]
    assert "1 doubled" in wrong_acts(doubled, doubled, 0)[0]
    assert "1 lost" in wrong_acts([(1, 1, "drop", "Eve"), *ACTS[1:]], ACTS, 0)[0]


def test_the_source_grows_and_ids_stay_unique(tmp_path: Path) -> None:
    row = {"file_name": "a.png", "id": "scene-0000", "caption": "A dog."}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row) + "\n")
    grow(tmp_path, 3)
    grow(tmp_path, 2)
    lines = (tmp_path / "metadata.jsonl").read_text("utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == 6


def test_a_failed_job_is_noted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "jobs.jsonl", tmp_path / "stop")

    def fails() -> str:
        raise KeyError("gone")

    journal.do("score", fails)
    (tmp_path / "stop").touch()

    def goes_on() -> str:
        journal.progress(1, 2, "")
        return "done"

    journal.do("train", goes_on)  # stopped: neither done nor failed
    (line,) = (tmp_path / "jobs.jsonl").read_text("utf-8").splitlines()
    assert "KeyError" in json.loads(line)["problem"]
