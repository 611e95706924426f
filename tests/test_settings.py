"""Command line over environment over default; unknown names are refused."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.settings import EMBEDDED_CAPTIONER, load_settings


def test_layers() -> None:
    environment = {"TRACED_PORT": "9000", "TRACED_HOST": "localhost", "HOME": "/x"}
    settings = load_settings({"port": 9001, "model": None}, environment)
    assert (settings.port, settings.host) == (9001, "localhost")
    assert settings.database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    "environment", [{"TRACED_PROT": "1"}, {"TRACED_PORT": "many"}, {"TRACED_PORT": "70000"}]
)
def test_nonsense_is_refused_by_name(environment: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"port|TRACED_PORT"):
        load_settings({}, environment)


def test_test_variables_are_not_settings() -> None:
    load_settings({}, {"TRACED_TEST_POSTGRESQL_URL": "x"})


def test_the_embedded_captioner_stays_beside_embedded_scorers() -> None:
    assert load_settings({}, {}).captioner_model == str(EMBEDDED_CAPTIONER)
    assert load_settings({"model": "openai/clip-vit-base-patch32"}, {}).captioner_model is None
    assert load_settings({"captioner": "none"}, {}).captioner_model is None
    chosen = load_settings({"model": "a/b", "captioner": "c/d"}, {})
    assert chosen.captioner_model == "c/d"


def test_the_data_directory_is_absolute(tmp_path: Path) -> None:
    settings = load_settings({"data_directory": str(tmp_path / "x" / "..")}, {})
    assert settings.data_directory == tmp_path
