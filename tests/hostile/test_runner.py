"""The command that runs all attacks reports correctly."""

import re
import subprocess
import sys

import pytest

from tests.hostile.__main__ import Outcomes, table, within
from tests.hostile.attacks import ATTACKS, ROOT, Attack


def test_every_attack_names_files_that_exist() -> None:
    for attack in ATTACKS:
        for test in attack.tests:
            path, _, name = test.partition("::")
            if (ROOT / "tests" / path).is_dir():
                assert list((ROOT / "tests" / path).glob("test_*.py"))
                continue
            text = (ROOT / "tests" / path).read_text(encoding="utf-8")
            assert f"def {name}(" in text if name else "def test_" in text


def named_in_security() -> list[str]:
    """Tests named in SECURITY.md, below tests/; a bare file name is in the folder of the
    preceding name."""
    names, folder = [], ""
    for name in re.findall(r"`([^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8")):
        path, _, test = name.partition("::")
        if path.startswith("tests/"):
            folder = path if not path.endswith(".py") else path.rpartition("/")[0]
        elif re.fullmatch(r"test_\w+\.py", path):
            path = f"{folder}/{path}"
        else:
            continue
        if not path.endswith("conftest.py"):  # the browser's, which all browser tests use
            names.append(f"{path}::{test}" if test else path)
    return [name.removeprefix("tests/") for name in names]


def test_every_test_named_in_security_is_run() -> None:
    tried = [test for attack in ATTACKS for test in attack.tests]
    named = named_in_security()
    assert len(named) > 40
    for name in named:
        path, _, test = name.partition("::")
        assert (ROOT / "tests" / path).exists(), name
        assert not test or f"def {test}(" in (ROOT / "tests" / path).read_text("utf-8"), name
    assert [name for name in named if not any(within(name, wanted) for wanted in tried)] == []


def test_a_test_belongs_to_its_file_and_folder() -> None:
    assert within("a/test_b.py::test_c", "a/test_b.py")
    assert within("a/test_b.py", "a")
    assert not within("a/test_b.py", "a/test_b.py::test_c")
    assert not within("a/test_b.py", "a/test")


def test_failed_or_unrun_tests_count_as_not_held() -> None:
    outcomes = Outcomes()
    outcomes.by_test = {"tests/a.py::one[x]": "passed", "tests/b.py::two": "failed"}
    assert table(outcomes, (Attack("a", ("a.py",)),))[1]
    assert table(outcomes, (Attack("a", ("a.py::one",)),))[1]
    text, held = table(outcomes, (Attack("a", ("a.py",)), Attack("b", ("b.py",))))
    assert not held
    assert "| b | 1 | 0 | 1 | 0 |" in text
    assert not table(outcomes, (Attack("c", ("c.py",)),))[1]


@pytest.mark.nightly
def test_the_command_prints_what_was_tried() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "--only", "orders"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "| captions that give a language model orders |" in done.stdout
