"""The command that tries all hostile things tells the truth."""

import subprocess
import sys

from tests.hostile.__main__ import Outcomes, table
from tests.hostile.attacks import ATTACKS, ROOT, Attack


def test_every_attack_names_files_that_exist() -> None:
    for attack in ATTACKS:
        for test in attack.tests:
            path, _, name = test.partition("::")
            text = (ROOT / "tests" / path).read_text(encoding="utf-8")
            assert f"def {name}(" in text if name else "def test_" in text


def test_what_fails_or_is_never_run_did_not_hold() -> None:
    outcomes = Outcomes()
    outcomes.by_test = {"tests/a.py::one[x]": "passed", "tests/b.py::two": "failed"}
    assert table(outcomes, (Attack("a", ("a.py",)),))[1]
    assert table(outcomes, (Attack("a", ("a.py::one",)),))[1]
    text, held = table(outcomes, (Attack("a", ("a.py",)), Attack("b", ("b.py",))))
    assert not held
    assert "| b | 1 | 0 | 1 | 0 |" in text
    assert not table(outcomes, (Attack("c", ("c.py",)),))[1]


def test_the_command_prints_what_was_tried() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "--only", "orders"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "| captions that give a language model orders |" in done.stdout
