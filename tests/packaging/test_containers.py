"""The Dockerfile and compose.yaml as far as they can be checked without Docker: the files they
copy, the command they run, the port, and the settings as the program reads them."""

import json
import re
from pathlib import Path

import pytest
import typer
import yaml
from sqlalchemy.engine import make_url

from app import app
from backend.settings import Settings, load_settings
from db.upgrade import parse_url

ROOT = Path(__file__).resolve().parents[2]
INSTRUCTION = re.compile(r"^([A-Z]+) (.+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text()
    return INSTRUCTION.findall(re.sub(r"\\\n\s*", "", text))


@pytest.fixture(scope="module")
def services() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def arguments(instructions: list[tuple[str, str]], name: str) -> list[str]:
    return [words for instruction, words in instructions if instruction == name]


def image_settings(instructions: list[tuple[str, str]]) -> dict[str, str]:
    (line,) = arguments(instructions, "ENV")
    return dict(word.split("=", 1) for word in line.split())


def test_the_image_runs_the_installed_command(instructions: list[tuple[str, str]]) -> None:
    scripts = re.findall(
        r"^([\w-]+) = \"traced_curator\.", (ROOT / "pyproject.toml").read_text(), re.M
    )
    assert [json.loads(words) for words in arguments(instructions, "ENTRYPOINT")] == [scripts]
    (words,) = arguments(instructions, "CMD")
    command, *options = json.loads(words)
    group = typer.main.get_command(app)
    context = group.commands[command].make_context(command, options)  # pyrefly: ignore[missing-attribute]
    assert context.params["host"] == "0.0.0.0"
    assert not context.params["no_login"]


def test_copied_files_exist_and_are_not_ignored(instructions: list[tuple[str, str]]) -> None:
    allowed = [
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert [pattern for pattern in allowed if not list(ROOT.glob(pattern))] == []
    project = (ROOT / "pyproject.toml").read_text()
    packed = re.findall(r'^"([^"]+)" = "', project, re.M)
    packed += json.loads(re.findall(r"^packages = (.+)$", project, re.M)[0])
    files = [name for name in packed if (ROOT / name).exists()]
    assert len(files) > 5
    for name in files:
        assert any(Path(name).is_relative_to(pattern) for pattern in allowed), name
    constraints = (ROOT / "constraints.txt").read_text()
    assert len(re.findall(r"^torch(?:vision)?==", constraints, re.M)) == 2


def test_the_settings_exist_in_the_program(
    instructions: list[tuple[str, str]], services: dict[str, dict]
) -> None:
    environment = {**image_settings(instructions), **services["app"]["environment"]}
    environment["TRACED_DATABASE"] = re.sub(
        r"\$\{POSTGRES_PASSWORD:\?[^}]*\}", "secret", environment["TRACED_DATABASE"]
    )
    environment["TRACED_ALLOW_HOST"] = "captions.example.org"
    settings = load_settings({}, environment)
    assert settings.allow_host == ("captions.example.org",)
    mounted = [volume.split(":")[1] for volume in services["app"]["volumes"]]
    assert [root for root in settings.import_root if root not in mounted] == []
    assert settings.data_directory == Path("/data")
    url = make_url(settings.database_url)
    database = services["database"]["environment"]
    assert url.host in services
    assert (url.username, url.database) == (database["POSTGRES_USER"], database["POSTGRES_DB"])
    assert parse_url(settings.database_url).get_driver_name() == "psycopg"


def test_the_port_is_published_to_this_machine_only(
    instructions: list[tuple[str, str]], services: dict[str, dict]
) -> None:
    port = Settings(data_directory=Path()).port
    assert arguments(instructions, "EXPOSE") == [str(port)]
    assert services["app"]["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_volumes_are_declared_and_contain_the_data(
    instructions: list[tuple[str, str]], services: dict[str, dict]
) -> None:
    declared = yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"]
    mounted = [volume.split(":") for service in services.values() for volume in service["volumes"]]
    named = {source for source, *_ in mounted if not source.startswith((".", "/"))}
    assert named == set(declared)
    folder = image_settings(instructions)["TRACED_DATA_DIRECTORY"]
    assert arguments(instructions, "VOLUME") == [folder]
    assert folder in [target for _, target, *_ in mounted]
