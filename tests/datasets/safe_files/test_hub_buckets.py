"""Buckets of the hub: read by plain HTTP through the checked connections, and never written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.datasets.safe_files.locations import Location, fetch
from backend.errors import DatasetFormatError, DatasetNotFound, ExportError, SettingsError
from tests.datasets.folders import encoded, read
from tests.fixtures.hub_buckets import Bucket
from tests.fixtures.hub_server import TOKEN, Hub, Repository, dataset_hub
from tests.fixtures.sizes import Sizes

ADDRESS = "hf://buckets/somebody/pets"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes) -> Iterator[Hub]:
    sizes(_PAUSES=())
    with dataset_hub(monkeypatch, tmp_path / "hub") as server:
        yield server


def publish(hub: Hub, files: dict[str, bytes], private: bool = False) -> Bucket:
    assert hub.buckets is not None
    hub.buckets["somebody/pets"] = bucket = Bucket(files, private)
    return bucket


def test_a_folder_of_a_bucket_is_read_like_one_of_this_machine(
    hub: Hub, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(_BLOCK=100)
    picture = encoded((90, 70))
    names = ("a", "b/ä ß@1", "b/100%25 #c")
    publish(
        hub,
        {f"train/{name}.png": picture for name in names}
        | {f"train/{name}.txt": f"A pet, {name}.".encode() for name in names}
        | {"training/other.png": picture, "train.csv": b"x"},
        private=True,
    )
    folder = fetch(f"{ADDRESS}/train", tmp_path, 1e9)
    requests = [request for request in hub.requests if "buckets/somebody/pets" in request]
    assert len([request for request in requests if "/tree" in request]) == 1
    pairs, reader = read(folder)
    assert sorted(pair.caption for pair in pairs) == sorted(f"A pet, {name}." for name in names)
    assert reader.problems == []
    assert (folder / "a.png").read_bytes() == picture
    assert fetch(f"{ADDRESS}/train/a.png", tmp_path, 1e9).read_bytes() == picture
    assert f"Bearer {TOKEN}" in hub.credentials


def test_a_copy_follows_its_bucket_within_one_program(hub: Hub, tmp_path: Path) -> None:
    bucket = publish(hub, {"a.csv": b"one", "b.csv": b"two"})
    folder = fetch(ADDRESS, tmp_path, 1e9)
    hub.requests.clear()
    assert fetch(ADDRESS, tmp_path, 1e9) == folder
    assert not [request for request in hub.requests if "/resolve/" in request]
    bucket.files |= {"a.csv": b"new"}  # as long as before, at the same time
    del bucket.files["b.csv"]
    fetch(ADDRESS, tmp_path, 1e9)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.csv": b"new"}


def test_a_file_is_asked_about_alone_however_many_lie_beside_it(hub: Hub, tmp_path: Path) -> None:
    publish(hub, {f"{n}.csv": b"x" for n in range(9)})
    place = Location(ADDRESS)
    files = place.files()
    hub.requests.clear()
    for file in files:
        place.copy(file, tmp_path)
    assert not [request for request in hub.requests if "/tree" in request]


def test_a_file_that_changes_while_it_is_read_is_refused(
    hub: Hub, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(_BLOCK=2)
    bucket = publish(hub, {"a.csv": b"once"})
    place = Location(ADDRESS)
    (file,) = place.files()
    part = place.part

    def change(*span: object) -> bytes:
        bucket.files["a.csv"] = b"when"
        return part(*span)  # type: ignore[arg-type]

    place.part = change  # type: ignore[method-assign]
    with pytest.raises(DatasetFormatError, match="changed"):
        place.copy(file, tmp_path)


def test_a_file_that_has_grown_since_it_was_listed_is_refused(hub: Hub, tmp_path: Path) -> None:
    bucket = publish(hub, {"a.csv": b"once"})
    place = Location(ADDRESS)
    (file,) = place.files()
    bucket.files["a.csv"] = b"once upon"
    with pytest.raises(DatasetFormatError, match="changed"):
        place.copy(file, tmp_path)


def test_what_is_missing_or_closed_is_said_at_once(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in (ADDRESS, "hf://buckets/somebody", "hf://buckets", f"{ADDRESS}@main/train"):
        with pytest.raises((DatasetNotFound, SettingsError)):
            fetch(address, tmp_path, 1e9)
    publish(hub, {"a.csv": b"x"}, private=True)
    with pytest.raises(DatasetNotFound, match="There is nothing at"):
        fetch(f"{ADDRESS}/nothing", tmp_path, 1e9)
    monkeypatch.setenv("HF_TOKEN", "hf_of_someone_else")
    with pytest.raises(DatasetNotFound, match="HF_TOKEN"):
        fetch(ADDRESS, tmp_path, 1e9)
    hub.buckets = None
    with pytest.raises(DatasetNotFound, match="knows no buckets"):
        fetch(ADDRESS, tmp_path, 1e9)


def test_a_bucket_leads_to_no_private_network(hub: Hub, tmp_path: Path) -> None:
    publish(hub, {"a.csv": b"x"})
    hub.redirects["a.csv"] = "http://127.0.0.1:9/secret"
    with pytest.raises(DatasetNotFound, match="not public"):
        fetch(ADDRESS, tmp_path, 1e9)


def test_a_bucket_is_refused_as_a_target_before_any_work(hub: Hub, tmp_path: Path) -> None:
    publish(hub, {})
    place = Location(ADDRESS)
    with pytest.raises(ExportError, match="hf buckets sync"):
        place.check_writable()
    with pytest.raises(ExportError, match="hf buckets sync"):
        place.write("run.json", b"{}")
    assert not [request for request in hub.requests if request.startswith("POST")]


def test_a_dataset_at_an_address_is_read_by_its_versions(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["somebody/pets"] = repository = Repository(False, {"data/a.csv": b"one"})
    folder = fetch("hf://datasets/somebody/pets/data", tmp_path, 1e9)
    assert (folder / "a.csv").read_bytes() == b"one"
    repository.files["data/a.csv"] = b"new"
    fetch("hf://datasets/somebody/pets/data", tmp_path, 1e9)
    assert (folder / "a.csv").read_bytes() == b"new"
