"""What is not known is refused: it never becomes a folder, a list of ids or a default."""

from pathlib import Path

import pytest

from backend.datasets.safe_files.regular_files import typed_path
from backend.datasets.writing.dataset_writer import write_dataset
from backend.errors import SettingsError
from backend.settings import load_settings
from tests.cli.invoking import invoked
from tests.datasets.folders import dogs, write
from tests.fixtures.features import has_feature

ADDRESSES = ("gcs://b/x", "S3://b/x", "s3:/b/x", "s3:b", "file:///x", "ftp://h/x", "memory://x")
#: Commands that write, and that read, a path in place of "@".
WRITING = (
    "export d @", "backup @", "score d --out @.jsonl", "score d --features @.csv", "noise pairs @",
    "datasets delete d --yes --keep @", "--log-file @ datasets list",
)  # fmt: skip
READING = ("import @", "import pairs --image-root @", "datasets relocate d @")
OF_FEATURES = {
    "fetch": ("download pairs.csv @",),
    "specificity": ("bags d --out @",),
    "shards": ("export d @ --decisions", "score d --out @/", "score @ --out r/"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    dogs(tmp_path / "pairs", 4)
    write(tmp_path / "pairs.csv", "url,caption\n")
    return tmp_path


def test_an_unknown_scheme_never_becomes_a_folder(folder: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(folder / "state"), "COLUMNS": "200"}
    assert invoked(environment, "import", "pairs", "--name", "d")[0] == 0
    before = sorted(folder.iterdir())
    of_features = (
        command
        for feature in OF_FEATURES
        if has_feature(feature)
        for command in OF_FEATURES[feature]
    )
    for command in (*WRITING, *READING, *of_features):
        for address in ADDRESSES:
            status, _, err = invoked(environment, *command.replace("@", address).split())
            assert (status, address[:2] in err) == (2, True), (command, address, err)
            assert sorted(folder.iterdir()) == before, (command, address)


@pytest.mark.parametrize("path", ["a:b", "C:/x", "C:\\x", "./gcs:/x", "x/s3:/y", "11:30/a"])
def test_paths_with_colons_are_paths(path: str) -> None:
    assert typed_path(path).name == Path(path).name


def test_a_writer_is_given_no_address(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        write_dataset([], Path("gs://b/x"), format="csv", card="", source_root=tmp_path)


@pytest.mark.parametrize("value", ["flase", "2", "ja"])
def test_a_switch_is_on_or_off(value: str) -> None:
    with pytest.raises(SettingsError):
        load_settings({}, {"TRACED_NO_LOGIN": value}, [])
