"""`pip install .` into a fresh environment outside the repository, and the command it installs.

The dependencies are those of the environment that runs the tests, added with a `.pth` file:
nothing is downloaded.
"""

import email
import json
import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from backend.version import VERSION
from tests.fixtures.postgresql import find_binaries, temporary_server

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel and without the source tree."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
         "--no-index", str(wheel)],
        check=True,
    )  # fmt: skip
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "shared.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return home / "bin"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TRACED_", "PYTHONPATH"))}
    return {**clean, "TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1"}


def run(installed: Path, folder: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [str(installed / "traced-curator"), *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_every_file_that_the_program_reads(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "backend", "db", "traced_curator", "traced_ui", "assets/demo",
         "assets/demo-scored.tar.xz", "assets/models"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    needed = {
        f"backend/{name}" if name.startswith("assets/") else name
        for name in tracked
        if "assets/models/seed-" not in name and (ROOT / name).exists()
    }
    assert sorted(needed - packed) == []
    assert not any(name.startswith(("tests/", "research/", "app.py")) for name in packed)


def test_the_metadata_are_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    assert about["Version"] == VERSION
    assert f"version: {VERSION}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert {"Summary", "Author", "Keywords", "Requires-Python"} <= set(about.keys())
    assert set(about.get_all("Provides-Extra", [])) == {
        "all", "formats", "models", "postgres", "quality", "ray", "storage", "text", "vlm",
    }  # fmt: skip
    needed = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(needed) > 30
    assert not any("==" in line.partition(";")[0] for line in needed)
    assert not any(line.startswith(("torch", "scipy", "transformers")) for line in needed)


@pytest.mark.nightly
def test_code_and_files_come_from_the_wheel(
    installed: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    script = (
        "import backend.bundled as b, traced_curator as t, traced_ui, db; t.Workspace; "
        "print(b.ASSETS, b.__file__, t.__file__, traced_ui.__file__, db.__file__)"
    )
    printed = subprocess.run(
        [str(installed / "python"), "-c", script],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    home = installed.parent.resolve()
    assert [path for path in printed if not Path(path).resolve().is_relative_to(home)] == []


@pytest.mark.nightly
def test_from_the_bundled_demo_to_an_export(
    installed: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Twelve pairs of the demo in the wheel, scored by the models in the wheel."""
    (demo,) = installed.parent.glob("lib/python*/site-packages/backend/assets/demo")
    few = tmp_path / "few"
    (few / "images").mkdir(parents=True)
    lines = (demo / "metadata.jsonl").read_text().splitlines()[:12]
    for line in lines:
        name = json.loads(line)["file_name"]
        shutil.copy(demo / name, few / name)
    (few / "metadata.jsonl").write_text("\n".join(lines) + "\n")
    # Imported by the same command, because each command loads all libraries.
    scored = json.loads(run(installed, tmp_path, environment, "score", "few", "--json"))
    assert scored["scored"] == len(lines)
    run(installed, tmp_path, environment, "export", "few", "clean", "--format", "jsonl")
    assert len((tmp_path / "clean" / "data.jsonl").read_text().splitlines()) == len(lines)


@pytest.mark.nightly
@pytest.mark.skipif(find_binaries() is None, reason="PostgreSQL is not installed")
def test_an_account_can_be_added_to_a_postgresql_database(
    installed: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """What `docker compose run app curators add` does, with the installed wheel."""
    binaries = find_binaries()
    assert binaries is not None
    with temporary_server(binaries) as url:
        environment = {**environment, "TRACED_DATABASE": url, "TRACED_PASSWORD": "open sesame, now"}
        run(installed, tmp_path, environment, "curators", "add", "Ada")
        assert "Ada" in run(installed, tmp_path, environment, "curators", "list", "--json")
