"""Lance's datasets: pictures in both forms, the version that is read, and one that was removed."""

import datetime
import io
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.containers import locate, relative_name
from backend.errors import DatasetFormatError, ImageError, SettingsError
from backend.features.lance.versions import READER, version_of
from tests.datasets.folders import encoded, read

COLOURS = ("red", "blue", "green", "yellow")


@pytest.fixture
def lance() -> Any:
    return pytest.importorskip("lance")


def columns(pictures: pa.Array) -> pa.Table:
    texts = [f"A {colour} square." for colour in COLOURS]
    return pa.table({"id": list("abcd"), "image": pictures, "caption": texts})


def written(lance: Any, folder: Path, form: str = "binary") -> Path:
    contents = [encoded(colour=colour) for colour in COLOURS]
    table = columns(pa.array(contents, pa.large_binary()))
    if form == "lists":
        table = columns(pa.array([[content] for content in contents], pa.list_(pa.binary())))
    elif form == "blob":
        field = pa.field("image", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        schema = pa.schema([table.schema.field("id"), field, table.schema.field("caption")])
        table = table.cast(schema)
    elif form == "blob array":
        table = columns(lance.blob_array(contents))
    version = "2.2" if form == "blob array" else "2.0"
    lance.write_dataset(table, str(folder), mode="overwrite", data_storage_version=version)
    return folder


def colours_of(pairs: list[SourcePair], root: Path) -> list[tuple[int, ...]]:
    """As they are read again from their stored places."""
    colours = []
    for pair in pairs:
        picture = locate(root, relative_name(pair.image_path, root))
        assert not isinstance(picture, Path)
        pixel = Image.open(io.BytesIO(picture.read())).convert("RGB").getpixel((1, 1))
        assert isinstance(pixel, tuple)
        colours.append(pixel)
    return colours


EXPECTED = [(255, 0, 0), (0, 0, 255), (0, 128, 0), (255, 255, 0)]


@pytest.mark.parametrize("form", ["binary", "lists", "blob", "blob array"])
def test_each_caption_has_its_picture(lance: Any, tmp_path: Path, form: str) -> None:
    folder = written(lance, tmp_path / "set.lance", form)
    for source in (folder, tmp_path):
        pairs, reader = read(source)
        assert not reader.problems
        assert [(pair.id, pair.caption) for pair in pairs] == [
            (letter, f"A {colour} square.") for letter, colour in zip("abcd", COLOURS, strict=True)
        ]
        assert colours_of(pairs, source) == EXPECTED


def test_a_version_stays_as_it_was_imported_until_it_is_removed(lance: Any, tmp_path: Path) -> None:
    """A changed row moves to the end: positions are those of the version."""
    folder = written(lance, tmp_path / "set.lance")
    before, _ = read(folder)
    dataset = lance.dataset(str(folder))
    dataset.update({"caption": "'A crimson square.'"}, where="id = 'a'")
    assert colours_of(before, folder) == EXPECTED
    after, reader = read(folder)
    assert [pair.id for pair in after] == ["b", "c", "d", "a"]
    assert colours_of(after, folder) == [*EXPECTED[1:], EXPECTED[0]]
    first = next(path for path in (folder / "_versions").iterdir() if version_of(path) == 1)
    assert any(first.name in note for note in reader.notes)
    again, _ = read(first, image_root=folder)
    assert [pair.caption for pair in again] == [pair.caption for pair in before]
    lance.dataset(str(folder)).cleanup_old_versions(older_than=datetime.timedelta())
    assert colours_of(after, folder) == [*EXPECTED[1:], EXPECTED[0]]
    with pytest.raises(ImageError) as problem:
        colours_of(before, folder)
    assert "1" in str(problem.value)
    assert "2" in str(problem.value)


def test_files_elsewhere_are_not_read(lance: Any, tmp_path: Path) -> None:
    folder = written(lance, tmp_path / "set.lance")
    lance.dataset(str(folder)).shallow_clone(str(tmp_path / "clone.lance"), reference=1)
    data = next((folder / "data").iterdir())
    (data.rename(tmp_path / "data.lance"))
    data.symlink_to(tmp_path / "data.lance")
    for source, word in ((tmp_path / "clone.lance", "clone"), (folder, data.name)):
        with pytest.raises(DatasetFormatError) as refusal:
            read(source)
        assert word in str(refusal.value)


def test_a_damaged_dataset_is_refused_by_name(lance: Any, tmp_path: Path) -> None:
    folder = written(lance, tmp_path / "set.lance")
    next((folder / "data").iterdir()).unlink()
    with pytest.raises(DatasetFormatError) as refusal:
        read(folder)
    assert "set.lance" in str(refusal.value)


def test_a_folder_without_a_version_is_refused_by_its_format(tmp_path: Path) -> None:
    (tmp_path / "set.lance/_versions").mkdir(parents=True)
    for source in (tmp_path / "set.lance", tmp_path):
        with pytest.raises(DatasetFormatError) as refusal:
            read(source)
        assert "Lance" in str(refusal.value)


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lance", None)
    manifest = tmp_path / "set.lance/_versions/1.manifest"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(b"x")
    with pytest.raises(SettingsError) as refusal:
        read(tmp_path / "set.lance")
    assert "[formats]" in str(refusal.value)


def test_another_manifest_is_no_version(tmp_path: Path) -> None:
    path = tmp_path / "app.manifest"
    path.write_text("x")
    with pytest.raises(DatasetFormatError):
        list(READER.rows(path))


@pytest.mark.parametrize("form", ["binary", "blob"])
def test_rows_of_several_fragments_after_deletions(lance: Any, tmp_path: Path, form: str) -> None:
    folder = written(lance, tmp_path / "set.lance", form)
    first = lance.dataset(str(folder)).to_table() if form == "binary" else None
    if first is not None:
        lance.write_dataset(first.slice(2), str(folder), mode="append")
    lance.dataset(str(folder)).delete("id = 'b'")
    pairs, reader = read(folder, id_column="")
    colours = dict(zip(COLOURS, EXPECTED, strict=True))
    captions = [pair.caption.split()[1] for pair in pairs]
    assert set(captions) == {"red", "green", "yellow"}
    assert colours_of(pairs, folder) == [colours[name] for name in captions]
    assert {problem.kind for problem in reader.problems} <= {"repeated pair"}


def test_pictures_in_lances_own_type(lance: Any, tmp_path: Path) -> None:
    from lance.arrow import EncodedImageArray, EncodedImageType

    contents = pa.array([encoded(colour=colour) for colour in COLOURS], pa.binary())
    pictures = EncodedImageArray.from_storage(EncodedImageType(), contents)
    lance.write_dataset(columns(pictures), str(tmp_path / "set.lance"))
    pairs, reader = read(tmp_path / "set.lance")
    assert not reader.problems
    assert colours_of(pairs, tmp_path / "set.lance") == EXPECTED


def test_pictures_as_files_beside_the_dataset(lance: Any, tmp_path: Path) -> None:
    for colour in COLOURS:
        (tmp_path / f"{colour}.png").write_bytes(encoded(colour=colour))
    names = pa.array([f"{colour}.png" for colour in COLOURS])
    lance.write_dataset(columns(names), str(tmp_path / "set.lance"))
    pairs, reader = read(tmp_path)
    assert not reader.problems
    assert [pair.caption for pair in pairs] == [f"A {colour} square." for colour in COLOURS]
    assert [Path(str(pair.image_path)).stem for pair in pairs] == [*COLOURS]
