"""Emoji sets: their archives, their names, and the messages if they cannot be downloaded."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from backend.errors import DatasetNotFound, SettingsError
from research.emoji.sets import NAMES, STYLES, EmojiSets, Package, fetch, unpack
from tests.research.emoji.few_emoji import write_sets


def archive(path: Path, names: list[str]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            packed.addfile(member, io.BytesIO(b"x"))
    return path


def test_only_the_pictures_of_the_named_folder_are_unpacked(tmp_path: Path) -> None:
    names = [
        "package/img/64/1f600.png", "package/img/128/1f601.png", "package/img/64/sheet.css",
        "package/img/64/../../../outside.png",
    ]  # fmt: skip
    packed = archive(tmp_path / "set.tgz", names)
    unpack(packed, Package("set", "1", "img/64", "MIT"), tmp_path / "place")
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["1f600.png"]
    assert not packed.exists()
    assert not list(tmp_path.rglob("outside.png"))


def test_sets_agree_on_emoji_whatever_their_file_names(tmp_path: Path) -> None:
    sets = EmojiSets(write_sets(tmp_path))
    cook = next(emoji for emoji in sets.emoji if emoji.name == "man cook: dark skin tone")
    assert (cook.code, cook.base, cook.tones) == ("1f468-1f3ff-1f373", "1f468-1f373", (5,))
    assert all(cook.code in sets.files[style] for style in STYLES)
    assert "light skin tone" not in [emoji.name for emoji in sets.emoji]  # a component


def test_a_missing_set_is_named_with_the_command_that_downloads_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFound, match=r"python -m research\.emoji\.sets"):
        EmojiSets(tmp_path)
    with pytest.raises(SettingsError, match="no style"):
        EmojiSets(write_sets(tmp_path), ("crayon",))


@pytest.mark.parametrize(
    ("script", "message"),
    [(None, "npm is not installed"), ("echo 'ENOTFOUND registry' >&2; exit 1", "ENOTFOUND")],
)
def test_without_npm_or_network_the_message_says_what_to_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, message: str
) -> None:
    (tmp_path / "bin").mkdir()
    if script:
        npm = tmp_path / "bin" / "npm"
        npm.write_text(f"#!/bin/sh\n{script}\n")
        npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    with pytest.raises(SettingsError, match=message) as raised:
        fetch(tmp_path / "sets")
    assert NAMES.spec in str(raised.value)
    assert "npm pack" in str(raised.value)


def test_existing_sets_are_not_downloaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_sets(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    fetch(folder)
    names = json.loads((folder / "sets" / NAMES.name / "data.json").read_text())
    assert names
