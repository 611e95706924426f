"""The fuzzer finds what is wrong, says how to repeat it, and survives the end of its program."""

import json
import random
from pathlib import Path

import pytest

from backend.errors import DatasetFormatError
from tests.hostile import fuzz, fuzz_http, fuzz_inputs


def wrong(rng: random.Random, folder: Path) -> None:
    if rng.random() < 0.5:
        raise DatasetFormatError("Refused.")
    raise KeyError("nobody has foreseen this")


def test_what_is_unexpected_is_counted_once_a_place_and_can_be_repeated(tmp_path: Path) -> None:
    target = fuzz.Target("wrong, SQLite", wrong)
    fuzz.run([target], "7", 0, 0.5, tmp_path / "journal")
    tallies = fuzz.tallied(tmp_path / "journal")
    counts = tallies["wrong, SQLite"].counts
    assert counts["refused"] > 0
    assert counts["unexpected"] > 0
    (shown,) = tallies["wrong, SQLite"].unexpected.values()
    assert "nobody has foreseen this" in shown
    case = shown.partition("--case '")[2].partition("'")[0]
    assert fuzz.feed(target, case)[0] == "unexpected"
    text, is_sound = fuzz.table(tallies)
    assert not is_sound
    assert "KeyError in test_fuzz.py" in text


def test_an_input_that_ends_the_program_is_unexpected(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    lines = [{"case": "7:0:tables"}, {"case": "7:0:tables", "outcome": ["taken", "", ""],
             "seconds": 1.5}, {"case": "7:0:folders"}]  # fmt: skip
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tallies = fuzz.tallied(journal)
    assert tallies["tables"].counts == {"taken": 1}
    assert tallies["folders"].unexpected == {"the program ended": "--seed 7 --case '7:0:folders'\n"}
    assert not fuzz.table({})[1]


@pytest.mark.parametrize("form", sorted(fuzz_inputs.FORMS))
def test_a_good_row_is_written_in_every_form_and_taken(tmp_path: Path, form: str) -> None:
    """Otherwise the fuzzer would feed nothing but what is refused at the door."""
    folder = tmp_path / "one"
    folder.mkdir()
    fuzz._pictures(folder)
    row = {"file_name": "a.png", "caption": "A dog."}
    (folder / form).write_bytes(fuzz_inputs.FORMS[form]([row, row]))
    store = fuzz.open_database(f"sqlite:///{tmp_path}/third.db")
    fuzz.import_of(store)(folder / form, tmp_path)
    store.close()


def urls(folder: Path) -> tuple[str, str]:
    return f"sqlite:///{folder}/a.db", f"sqlite:///{folder}/b.db"


def test_a_few_seconds_find_nothing(tmp_path: Path) -> None:
    with fuzz.targets_on("SQLite", urls(tmp_path), tmp_path) as targets:
        fuzz.run(targets, "11", 0, 5, tmp_path / "journal")
    text, is_sound = fuzz.table(fuzz.tallied(tmp_path / "journal"))
    assert is_sound, text


def test_a_program_that_ends_badly_after_its_last_input_is_unexpected(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    line = {"case": "7:0:tables", "outcome": ["taken", "", ""], "seconds": 1.5}
    journal.write_text(json.dumps(line) + "\n")
    fuzz.note_end(journal, "7:0:tables", -6)
    text, is_sound = fuzz.table(fuzz.tallied(journal))
    assert not is_sound
    assert "the program itself: status -6" in text


@pytest.mark.parametrize(
    ("status", "answer", "is_in", "is_ours"),
    [
        (500, b"", True, True),
        (200, b"root:x:0:0", True, True),
        (200, b"Unexpected error", True, True),
        (200, b"", False, True),
        (200, b"", True, False),
    ],
)
def test_answers_that_must_not_be(status: int, answer: bytes, is_in: bool, is_ours: bool) -> None:
    fuzz_http._check("GET", "/config", 200, b"", True, True)
    fuzz_http._check("GET", "/login", 200, b"", False, True)
    with pytest.raises(fuzz_http.Wrong):
        fuzz_http._check("GET", "/config", status, answer, is_in, is_ours)
