"""The locks name every library that the requirements name, within its range and by its hash."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tree import ROOT

DEVELOPMENT = "requirements-dev.txt"
LOCKS = {
    "requirements.lock": (
        "requirements.txt", "requirements-postgres.txt", "requirements-quality.txt",
        "requirements-vlm.txt",
    ),
    "requirements-dev.lock": (DEVELOPMENT,),
}  # fmt: skip
#: Pinned in constraints.txt, and installed from whichever index has builds for the machine.
OUTSIDE = {"torch", "torchvision"}


def requirements(path: Path) -> list[Requirement]:
    """Those of a file, and of the files that it names."""
    libraries = []
    for line in path.read_text().splitlines():
        text = line.partition(" #")[0].strip()
        if text.startswith("-r "):
            libraries += requirements(ROOT / text.removeprefix("-r "))
        elif text and not text.startswith("#"):
            libraries.append(Requirement(text))
    return libraries


def locked(name: str) -> dict[str, list[str]]:
    """The versions of each library in a lock, by its canonical name."""
    versions: dict[str, list[str]] = {}
    text = (ROOT / name).read_text().replace("\\\n", " ")
    for line in filter(None, text.splitlines()):
        match = re.match(r"([\w.-]+)(?:\[[^]]*\])?==([\w.+!-]+)", line)
        assert match is not None, line
        assert "--hash=sha256:" in line, line
        versions.setdefault(canonicalize_name(match[1]), []).append(match[2])
    return versions


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_each_requirement_within_its_range(lock: str) -> None:
    versions = locked(lock)
    for file in LOCKS[lock]:
        for requirement in requirements(ROOT / file):
            name = canonicalize_name(requirement.name)
            if name not in OUTSIDE:
                known = versions.get(name, [])
                assert any(map(requirement.specifier.contains, known)), (
                    f"{requirement} is not in {lock}: make lock"
                )
    assert not OUTSIDE & versions.keys()


def test_the_locks_agree() -> None:
    development = locked("requirements-dev.lock")
    for name, versions in locked("requirements.lock").items():
        assert set(versions) <= set(development.get(name, [])), name
