"""Command line over environment over default; unknown names are refused."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.settings import EMBEDDED_CAPTIONER, load_settings
from backend.trajectories.exploring import Exploring


def test_layers() -> None:
    environment = {"TRACED_PORT": "9000", "TRACED_HOST": "localhost", "HOME": "/x"}
    settings = load_settings({"port": 9001, "model": None}, environment)
    assert (settings.port, settings.host) == (9001, "localhost")
    assert settings.database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TRACED_PROT": "1"}, "TRACED_PORT"),
        ({"TRACED_PORT": "many"}, "port"),
        ({"TRACED_PORT": "70000"}, "port"),
        ({"TRACED_EXPLORER": "walking"}, "elimination, gcd, fast-gcd"),
        ({"TRACED_UNIT": "letter"}, "word, token"),
        ({"TRACED_DIRECTION": "sideways"}, "maximise, minimise"),
        ({"TRACED_STEPS": "0"}, "steps"),
        ({"TRACED_TOP": "few"}, "top"),
        ({"TRACED_LEMON": "half"}, "'fix' or 'opt'"),
    ],
)
def test_nonsense_is_refused_by_name(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings({}, environment)


def test_how_captions_are_edited_comes_as_one() -> None:
    environment = {"TRACED_EXPLORER": "gcd", "TRACED_SEED": "7", "TRACED_WHOLE_WORDS": "no"}
    exploring = load_settings({"steps": 3}, environment).exploring
    assert exploring == Exploring("gcd", steps=3, seed=7, whole_words=False)
    assert Exploring.recorded(exploring.name, exploring.parameters()) == exploring


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
