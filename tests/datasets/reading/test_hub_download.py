"""Datasets of the hub, over HTTP from a hub on this machine, by the hub's own client."""

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading import hub_download
from backend.datasets.reading.hub_cards import configs_of
from backend.datasets.reading.hub_copies import is_snapshot
from backend.datasets.reading.hub_download import fetch
from backend.datasets.reading.hub_names import HubName, is_hub_name
from backend.datasets.reading.name_patterns import matching
from backend.errors import (
    DatasetError,
    DatasetFormatError,
    DatasetNotFound,
    SettingsError,
    UnsafePath,
)
from tests.datasets.folders import encoded, json_lines, read, write, zip_bytes
from tests.fixtures.features import needs
from tests.fixtures.hub_server import TOKEN, Hub, Repository, dataset_hub, set_constants

datasets.disable_progress_bars()
PETS = HubName("somebody/pets")
MOST = 1e9


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with dataset_hub(monkeypatch, tmp_path / "hub") as server:
        yield server


def parquet(*captions: str) -> bytes:
    rows = {"image": [{"bytes": encoded(), "path": None} for _ in captions], "text": captions}
    buffer = io.BytesIO()
    pq.write_table(pa.table(rows), buffer)
    return buffer.getvalue()


def card(*configs: Mapping[str, Any]) -> bytes:
    return f"---\n{json.dumps({'configs': configs})}\n---\n# Pets\n".encode()


def publish(hub: Hub, files: dict[str, bytes], **about: Any) -> Repository:
    repository = Repository(private=False, files=files, **about)
    hub.repositories[PETS.repository] = repository
    return repository


def captions(folder: Path, **options: Any) -> list[tuple[str | None, str]]:
    pairs, reader = read(folder, **options)
    assert reader.problems == []
    return sorted((pair.split, pair.caption) for pair in pairs)


#: What begins like a name on the hub and is none.
HOSTILE = [
    "hf:", "hf:csv", "hf:json", "hf:imagefolder", "hf:/etc", "hf:../x", "hf:./x", "hf:~/x",
    "hf:a/b/c", "hf:a/../b", "hf:a/..", "hf:a//b", "hf:a\\b", "hf:C:/x", "hf:a/b\n", "hf: a/b",
    "hf:http://127.0.0.1/x", "hf:file:/etc/x", "hf:zip:/x::a/b", "hf:a/b::c", "hf:a/b@", "hf:a/b:",
    "hf:a/b@../x", "hf:a/b@x/y", "hf:a/b:../x", "hf:a/b:/x", "hf:a/b:v1/../x", "hf:a/b@c\0",
    "hf:a/b\0", "hf:ａ/b", "hf:-a/b", "hf:a/-b", "hf:a/b--c", "hf:datasets/a/b", "hf:a/b?x=1",
    "hf:a/b#x", "hf:a/b%2e%2e", "hf:@a/b", "hf:a@b/c", "hf:a/" + "b" * 97,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_name_on_the_hub_is_refused(hub: Hub, name: str) -> None:
    assert is_hub_name(name)
    with pytest.raises(SettingsError):
        HubName.parse(name)
    assert hub.requests == []


@pytest.mark.parametrize("name", ["hf:a/b", "hf:a/b@en", "hf:a/b:v1", "hf:A-1/b.c_d@x y:refs/pr/1"])
def test_a_name_is_written_as_it_is_read(name: str) -> None:
    assert str(HubName.parse(name)) == name


def test_a_copy_is_read_like_a_folder_and_brought_up_to_date(hub: Hub, tmp_path: Path) -> None:
    train, test = "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"
    files = {train: parquet("A dog."), test: parquet("A cat."), "notes.pdf": b"%PDF", "x.py": b"1"}
    repository = publish(hub, files, large=(train,))
    folder = fetch(PETS, tmp_path, MOST)
    assert captions(folder) == [("test", "A cat."), ("train", "A dog.")]
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        Path(train).name, Path(test).name
    }  # fmt: skip
    hub.requests.clear()
    assert fetch(PETS, tmp_path, MOST) == folder
    assert not [request for request in hub.requests if "/resolve/" in request]
    repository.files = {train: parquet("A dog."), "data/val-00000-of-00001.parquet": parquet("Hm.")}
    fetch(PETS, tmp_path, MOST)
    assert captions(folder) == [("train", "A dog."), ("val", "Hm.")]
    assert len([request for request in hub.requests if "/resolve/" in request]) == 1


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("mds", marks=needs("streaming")),
        pytest.param("litdata", marks=needs("streaming")),
        pytest.param("lance", marks=needs("lance")),
    ],
)
def test_tables_of_features_are_copied_whole(hub: Hub, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "set"
    rows = [{"caption": f"A {colour} square.".encode(), "image": encoded(colour=colour)}
            for colour in ("red", "blue")]  # fmt: skip
    if kind == "lance":
        lance = pytest.importorskip("lance")
        lance.write_dataset(
            pa.table({key: [row[key] for row in rows] for key in rows[0]}).cast(
                pa.schema({"caption": pa.string(), "image": pa.large_binary()})
            ),
            str(source / "train.lance"),
        )
    elif kind == "mds":
        from tests.datasets.shard_writer import write_mds

        write_mds(source, {"caption": "str", "image": "jpeg"}, [rows[:1], rows[1:]])
    else:
        from tests.datasets.shard_writer import write_litdata

        samples = [{str(n): value for n, value in enumerate(row.values())} for row in rows]
        write_litdata(source, ["str", "jpeg"], {"caption": None, "image": None}, samples)
    publish(hub, files_of(source))
    copy = fetch(PETS, tmp_path / "copies", MOST)
    assert files_of(copy) == files_of(source)
    assert len(read(copy)[0]) == len(rows)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_of_this_machine_is_read_by_the_name_of_a_dataset(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "somebody" / "pets" / "train.csv", "image,text\na.png,secret\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetNotFound, match="none of that name"):
        fetch(PETS, tmp_path / "fetched", MOST)


def test_a_revision_and_a_subset_have_their_own_copies(hub: Hub, tmp_path: Path) -> None:
    names = ["hf:a/b", "hf:a/b@x", "hf:a/b:x", "hf:a/b@x:x", "hf:a/b-x", "hf:a-b/x", "hf:A/b"]
    places = {hub_download.folder_for(HubName.parse(name), tmp_path) for name in names}
    assert len(places) == len(names)
    publish(hub, {"train.parquet": parquet("A dog.")})
    assert captions(fetch(HubName(PETS.repository, revision="v1"), tmp_path, MOST))
    with pytest.raises(DatasetNotFound, match="revision"):
        fetch(HubName(PETS.repository, revision="v2"), tmp_path, MOST)


def test_only_what_a_subset_needs_is_downloaded(hub: Hub, tmp_path: Path) -> None:
    pictures = {f"photos/{n}.png": encoded((20 + n, 9)) for n in range(2)}
    rows = [{"file_name": f"photos/{n}.png", "text": f"Photo {n}."} for n in range(2)]
    publish(hub, {
        "README.md": card(
            {"config_name": "photos", "data_files": "rows.jsonl"},
            {"config_name": "en", "data_dir": "en"},
            {"config_name": "de", "data_dir": "./de/", "data_files": [
                {"split": "test", "path": ["*.parquet"]}]},
        ),
        "rows.jsonl": json_lines(rows).encode(), **pictures,
        "en/train-0.parquet": parquet("A dog."), "en/test-0.parquet": parquet("A cat."),
        "de/0.parquet": parquet("Ein Hund."), "raw.zip": zip_bytes({"a": "b"}),
    })  # fmt: skip
    with pytest.raises(DatasetFormatError, match="photos, en, de"):
        fetch(PETS, tmp_path, MOST)
    captions_of_subsets = {}
    for subset in ("en", "de", "photos"):
        folder = fetch(HubName(PETS.repository, subset), tmp_path, MOST)
        captions_of_subsets[subset] = captions(folder, subset=subset)
        tables = {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}
        assert all(name.startswith(f"{subset}/") for name in tables)
        assert (folder / "raw.zip").exists() == (subset == "photos")
    assert captions_of_subsets == {
        "en": [("test", "A cat."), ("train", "A dog.")],
        "de": [("test", "Ein Hund.")],
        "photos": [("train", "Photo 0."), ("train", "Photo 1.")],
    }


def too_large(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(hub, {"train.csv": b"x" * 2000})


def too_many(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_download, "_MOST_FILES", 2)
    publish(hub, {f"{n}.csv": b"a,b\n" for n in range(3)})


def longer_than_listed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(hub, {"train.csv": b"a,b\n"})
    hub.sends["train.csv"] = b"a,b\n" * 1000


def other_than_listed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(hub, {"train.csv": b"a,b\n"})
    hub.sends["train.csv"] = b"c,d\n"


def redirected_here(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server inside, which is not the hub: the same machine, another port."""
    publish(hub, {"train.csv": b"a,b\n"})
    port = int(hub.url.rpartition(":")[2])
    hub.redirects["train.csv"] = f"http://127.0.0.1:{port ^ 1}/secret"


def outside(name: str) -> Callable[[Hub, pytest.MonkeyPatch], None]:
    def make(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = {"type": "file", "path": name, "size": 4, "oid": "0" * 40}
        publish(hub, {"train.csv": b"a,b\n"}, listed_too=(entry,))

    return make


def listing(path: str) -> Callable[[Hub, pytest.MonkeyPatch], None]:
    def make(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        config = {"config_name": "x", "data_files": [{"split": "train", "path": path}]}
        publish(hub, {"README.md": card(config), "train.csv": b"a,b\n"})

    return make


def nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(hub, {"README.md": b"# Pets", "pets.py": b"raise SystemExit"})


@pytest.mark.parametrize(
    "make",
    [too_large, too_many, longer_than_listed, other_than_listed, redirected_here, nothing,
     *map(outside, ["../x.csv", "/x.csv", "a/../../x.csv", "a\\x.csv", "a//x.csv", "a\n.csv"]),
     *map(listing, ["/etc/hostname", "../x.csv", "a/../../x", "http://127.0.0.1/x.csv", "file:/x",
                    "zip://a.csv::train.zip", "simplecache::s3://a/b", "gone.csv", "**.csv"])],
)  # fmt: skip
def test_a_hostile_repository_is_refused_and_leaves_no_tables(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[..., None]
) -> None:
    make(hub, monkeypatch)
    with pytest.raises((DatasetError, SettingsError)) as refused:
        fetch(PETS, tmp_path / "fetched", 1000)
    assert not list(tmp_path.rglob("*.csv"))
    assert not list(tmp_path.rglob("*.part"))
    assert len(str(refused.value)) < 500


def test_without_a_token_only_public_datasets_are_found(hub: Hub, tmp_path: Path) -> None:
    repository = publish(hub, {"train.parquet": parquet("A dog.")})
    fetch(PETS, tmp_path, MOST, anonymous=True)
    assert set(hub.credentials) == {None}
    repository.private = True
    with pytest.raises(DatasetNotFound):
        fetch(PETS, tmp_path / "again", MOST, anonymous=True)
    fetch(PETS, tmp_path / "again", MOST)
    assert set(hub.credentials) == {None, f"Bearer {TOKEN}"}


def test_offline_nothing_is_asked(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_constants(monkeypatch, HF_HUB_OFFLINE=True)
    with pytest.raises(DatasetNotFound, match="HF_HUB_OFFLINE"):
        fetch(PETS, tmp_path, MOST)
    assert hub.requests == []


# Cards and names


LAYOUTS: list[list[str]] = [
    ["data/train-00000-of-00002.csv", "data/train-00001-of-00002.csv",
     "data/dev-00000-of-00001.csv", "x.csv"],
    ["train/a.csv", "test/b.csv", "other/c.csv"], ["a/training/x.csv", "a/val-2/y.csv"],
    ["train.csv", "my_test.csv", "evaluation set.csv", "x.csv"], ["a.csv", "b/c.csv"],
    ["training.csv", "strain.csv", "x-dev-y.csv"], [".hidden/train.csv", "__x__/test.csv", "a.csv"],
    ["test/train.csv", "train/test.csv"], ["config.json", "dataset_infos.json", "a.csv"],
]  # fmt: skip


@pytest.mark.parametrize("names", LAYOUTS)
def test_splits_are_inferred_as_the_library_does(tmp_path: Path, names: list[str]) -> None:
    from datasets.data_files import DataFilesDict, get_data_patterns

    for name in names:
        write(tmp_path / name, "image,text\n")
    patterns = get_data_patterns(str(tmp_path))
    theirs = DataFilesDict.from_patterns(patterns, base_path=str(tmp_path))
    expected: dict[str, str] = {}
    for split, paths in theirs.items():
        for path in paths:
            name = Path(path).relative_to(tmp_path).as_posix()
            is_all = list(patterns.values()) == [["**"]]
            expected.setdefault(name, "" if is_all else str(split))
    (config,) = configs_of("---\nconfigs:\n- config_name: x\n---\n").values()
    splits = config.splits_of(frozenset(names))
    assert {name: splits[name] for name in expected} == expected


PATTERNS = [
    "*.csv", "**/*.csv", "data/*", "data/**", "data/*/*.csv", "**", "d?ta/x.csv", "[ab].csv",
    "[!a].csv", "**/data/**", "*", "data", "data/", "./a.csv", ".h/*", "**/.h.csv", "data/**/y.csv",
    "__s__/*", "README.md",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_in_the_library(tmp_path: Path, pattern: str) -> None:
    from datasets.data_files import resolve_pattern

    names = [
        "a.csv", "b.csv", "b.tsv", "data/x.csv", "data/in/y.csv", "data/in/deep/z.csv", ".h.csv",
        ".h/a.csv", "__s__/a.csv", "README.md", "other/data/w.csv",
    ]  # fmt: skip
    for name in names:
        write(tmp_path / name, "")
    try:
        paths = resolve_pattern(pattern, str(tmp_path))
        theirs = sorted(Path(path).relative_to(tmp_path).as_posix() for path in paths)
    except FileNotFoundError:
        theirs = []
    assert matching(pattern.removeprefix("./").rstrip("/"), frozenset(names)) == theirs


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "yaml",
    [
        "configs: &a [*a]", "configs: [[", "configs: {a: b}", "configs: [{config_name: ''}]",
        "configs: [{config_name: x, data_files: {a: b}}]", "configs: " + "[" * 50,
        "configs: [{config_name: x, data_files: [{split: a, path: b}, {split: a, path: c}]}]",
        "configs: [{config_name: x, data_files: [[a]]}]", "configs: !!python/name:builtins.len x",
        "configs: [{config_name: x, data_dir: [a]}]",
        "configs: [!!python/object/apply:builtins.len [abc]]",
        "a: &a [x, x]\nb: &b [*a, *a]\nconfigs: [*b, *b]",
        "configs: [{config_name: x, data_files: [" + "'*a', " * 20_000 + "]}]",
    ],
)  # fmt: skip
def test_a_broken_list_of_subsets_is_refused_at_once(yaml: str) -> None:
    with pytest.raises(DatasetFormatError) as refused:
        configs_of(f"---\n{yaml}\n---\n")
    assert len(str(refused.value)) < 500


def test_names_of_subsets_are_texts() -> None:
    text = "---\nconfigs:\n- config_name: 20220301\n- config_name: no\n- config_name: 2024-01-01\n"
    assert configs_of("---\nconfigs: null\n---\n") == configs_of("---\nconfigs:\n---\n") == {}
    assert list(configs_of(text)) == ["20220301", "no", "2024-01-01"]


# The hub's cache


def in_cache(cache: Path, files: Mapping[str, bytes]) -> Path:
    """A snapshot as the hub's client writes it: links to the blobs of its repository."""
    snapshot = cache / "datasets--somebody--pets" / "snapshots" / "0123abcd"
    for number, (name, content) in enumerate(files.items()):
        blob = write(snapshot.parent.parent / "blobs" / f"{number:040x}", content)
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).symlink_to(os.path.relpath(blob, (snapshot / name).parent))
    return snapshot


def test_a_snapshot_of_the_cache_is_copied_without_its_links(tmp_path: Path) -> None:
    rows = json_lines([{"file_name": "a.png", "text": "A dog."}]).encode()
    files = {"train/metadata.jsonl": rows, "train/a.png": encoded()}
    snapshot = in_cache(tmp_path / "cache", files)
    # A blob that several repositories share is a link to a store beside them.
    blob = (snapshot / "train" / "a.png").resolve()
    write(tmp_path / "cache" / "blobs" / ".huggingface-shared-blobs", "1\n")
    shared = tmp_path / "cache" / "blobs" / "ab" / "abcd"
    shared.parent.mkdir()
    blob.rename(shared)
    blob.symlink_to(shared)
    assert is_snapshot(snapshot)
    copy = hub_download.copy_snapshot(snapshot, tmp_path / "fetched")
    assert captions(copy) == [("train", "A dog.")]
    assert not any(path.is_symlink() for path in copy.rglob("*"))
    for elsewhere in (blob, snapshot.parent, snapshot.parent.parent):
        with pytest.raises(DatasetNotFound, match="0123abcd"):
            is_snapshot(elsewhere)


@pytest.mark.parametrize("name", ["secret.csv", "secrets"])
def test_links_of_a_snapshot_to_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    snapshot = in_cache(tmp_path / "cache", {"a.csv": b"image,text\n"})
    write(tmp_path / "secrets" / "secret.csv", "image,text\n")
    (snapshot / name).symlink_to(
        tmp_path / "secrets" if name == "secrets" else tmp_path / "secrets" / name
    )
    with pytest.raises(UnsafePath):
        hub_download.copy_snapshot(snapshot, tmp_path / "fetched")
