"""Precedence of settings: command line, environment, files, defaults."""

import os
from pathlib import Path

import pytest

from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError
from backend.settings import EMBEDDED_CAPTIONER, load_settings, user_file


def test_options_override_the_environment_and_the_defaults() -> None:
    environment = {"TRACED_PORT": "9000", "TRACED_HOST": "localhost", "HOME": "/x"}
    settings = load_settings({"port": 9001, "model": None}, environment)
    assert (settings.port, settings.host) == (9001, "localhost")
    assert settings.database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"TRACED_PORT": "many"}, "port"),
        ({"TRACED_PORT": "70000"}, "port"),
        ({"TRACED_EXPLORER": "walking"}, "elimination, gcd, fast-gcd"),
        ({"TRACED_UNIT": "letter"}, "word, token"),
        ({"TRACED_DIRECTION": "sideways"}, "maximise, minimise"),
        ({"TRACED_STEPS": "0"}, "steps"),
        ({"TRACED_TOP": "few"}, "top"),
        ({"TRACED_UPLOAD_LIMIT": "nan"}, "upload_limit"),
        ({"TRACED_UPLOAD_LIMIT": "inf"}, "upload_limit"),
        ({"TRACED_UPLOAD_LIMIT": "-5"}, "upload_limit"),
        ({"TRACED_MODEL_MEMORY": "nan"}, "model_memory"),
        ({"TRACED_CORRECTOR_TIMEOUT": "-1"}, "corrector_timeout"),
        ({"TRACED_LEMON": "half"}, "'fix', 'opt' or 'auc'"),
        ({"TRACED_PRICES": "gpt-4o-mini=0.15"}, "'gpt-4o-mini=0.15'.*prices"),
        ({"TRACED_PRICES": "=1/2"}, "prices"),
        ({"TRACED_PRICES": "a=1/nan"}, "prices"),
        ({"TRACED_PRICES": "a=-1/2"}, "prices"),
        ({"TRACED_DATA_DIRECTORY": "/data/what?"}, "/data/what"),
    ],
)
def test_invalid_values_are_refused_by_name(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings({}, environment)


def test_exploration_settings_are_grouped() -> None:
    environment = {"TRACED_EXPLORER": "gcd", "TRACED_SEED": "7", "TRACED_WHOLE_WORDS": "no"}
    exploring = load_settings({"steps": 3}, environment).exploring
    assert exploring == Exploring("gcd", steps=3, seed=7, whole_words=False)
    assert Exploring.from_run(exploring.name, exploring.parameters()) == exploring


def test_variables_for_tests_are_not_settings() -> None:
    load_settings({}, {"TRACED_TEST_POSTGRESQL_URL": "x"})


def test_the_embedded_captioner_is_the_default_only_with_the_embedded_scorer() -> None:
    assert load_settings({}, {}).captioner_model == str(EMBEDDED_CAPTIONER)
    assert load_settings({"model": "openai/clip-vit-base-patch32"}, {}).captioner_model is None
    assert load_settings({"captioner": "none"}, {}).captioner_model is None
    assert load_settings({"captioner": "auto"}, {}).captioner_model == str(EMBEDDED_CAPTIONER)
    for model in ("a/b", "fast", "thorough"):
        settings = load_settings({"model": model, "captioner": "auto"}, {})
        assert settings.captioner_model == "Salesforce/blip-image-captioning-base"
    settings = load_settings({"model": "a/b", "captioner": "c/d"}, {})
    assert settings.captioner_model == "c/d"


def test_the_data_directory_is_absolute(tmp_path: Path) -> None:
    settings = load_settings({"data_directory": str(tmp_path / "x" / "..")}, {})
    assert settings.data_directory == tmp_path


def test_an_unknown_variable_only_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    settings = load_settings({}, {"TRACED_PROT": "1", "TRACED_PORT": "9000"})
    assert settings.port == 9000
    (message,) = caplog.messages
    assert "TRACED_PROT" in message
    assert "Did you mean TRACED_PORT?" in message


def test_environment_and_options_override_files(tmp_path: Path) -> None:
    user, folder = tmp_path / "user.toml", tmp_path / "traced.toml"
    user.write_text('port = 1\nhost = "a"\nauthor = "Ada"\nmodel = "m"\nallow_host = ["x", "y"]\n')
    folder.write_text('port = 2\nhost = "b"\nauthor = "Ben"\nwhole_words = false\n')
    settings = load_settings(
        {"port": 4}, {"TRACED_PORT": "3", "TRACED_HOST": "c"},
        [user, folder, tmp_path / "there is none.toml"],
    )  # fmt: skip
    assert (settings.port, settings.host, settings.author) == (4, "c", "Ben")
    assert (settings.model, settings.allow_host) == ("m", ("x", "y"))
    assert not settings.whole_words


def test_the_user_file_and_the_local_file_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    user_file().parent.mkdir(parents=True)
    # As editors of Windows write it, with a byte order mark.
    user_file().write_text('author = "Ada"\nseed = 5\n', encoding="utf-8-sig")
    (tmp_path / "traced.toml").write_text("seed = 6\n")
    settings = load_settings()
    assert (settings.author, settings.seed) == ("Ada", 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "no setting 'prot'. Did you mean 'port'"),
        ("port = ", "is not valid TOML"),
        ("port = [1]", "cannot be list"),
        ("[serve]\nport = 1", "no setting 'serve'"),
        ("port = 'many'", "not a number"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "traced.toml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings({}, {}, [tmp_path / "traced.toml"])


@pytest.mark.parametrize("kind", ["fifo", "large", "nested", "folder"])
def test_a_configuration_that_is_no_small_text_file_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "traced.toml"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_text("# " + "x" * (2 << 20) if kind == "large" else "a = " + "[" * 100_000)
    with pytest.raises(SettingsError, match=r"traced\.toml"):
        load_settings({}, {}, files=[file])
