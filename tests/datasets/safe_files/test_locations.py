"""Files at addresses are listed, copied and written whole, or it is said by name why not."""

import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.safe_files import locations
from backend.datasets.safe_files.locations import Location, WebFiles, fetch
from backend.errors import DatasetFormatError, DatasetNotFound, ExportError, SettingsError, explain
from tests.fixtures.object_store import ObjectStore
from tests.fixtures.sizes import Sizes

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def stored(object_store: ObjectStore, sizes: Sizes) -> ObjectStore:
    """s3://shop/in/train/1.tar in three blocks, and two small files."""
    sizes(_BLOCK=4096)
    object_store.put("shop/in/train/1.tar", CONTENT)
    object_store.put("shop/in/a.csv", b"a")
    object_store.put("shop/inner.csv", b"beside it")
    return object_store


def test_files_are_listed_with_versions_and_copied(stored: ObjectStore, tmp_path: Path) -> None:
    place = Location("s3://shop/in/")
    small, large = place.files()
    assert [small.name, large.name] == ["a.csv", "train/1.tar"]
    assert (small.size, large.size) == (1, len(CONTENT))
    assert place.copy(large, tmp_path).read_bytes() == CONTENT
    assert [file.name for file in Location("s3://shop/in/a.csv").files()] == ["a.csv"]
    stored.put("shop/in/a.csv", b"b")
    assert place.files()[0].version != small.version
    assert place.files()[1] == large


def test_what_is_written_can_be_read(stored: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "result").write_bytes(CONTENT)
    for place in (Location("s3://shop/out"), Location(tmp_path / "out")):
        assert place.read("run.json") is None
        place.write("run.json", b"{}")
        place.write("run.json", b"{1}")
        place.put_file("deep/result", tmp_path / "result")
        assert place.read("run.json") == b"{1}"
        assert [(file.name, file.size) for file in place.files()] == [
            ("deep/result", len(CONTENT)), ("run.json", 3),
        ]  # fmt: skip


def test_a_fault_that_passes_goes_unnoticed(stored: ObjectStore, tmp_path: Path) -> None:
    place = Location("s3://shop/in")
    (_, large) = place.files()
    for fault in ("503", "cut"):
        faults = [fault, fault]
        stored.fault = lambda method, _, left=faults: left.pop() if method == "GET" and left else ""
        assert place.copy(large, tmp_path / fault).read_bytes() == CONTENT
        assert faults == []


def test_a_fault_that_stays_is_named_without_secrets(
    stored: ObjectStore, tmp_path: Path, sizes: Sizes
) -> None:
    place = Location("s3://shop/in")
    (_, large) = place.files()
    for fault, reason in (
        ("503", "Could not read"), ("cut", "Could not read"), ("403", "No permission"),
        ("slow", "takes too long"),
    ):  # fmt: skip
        stored.fault = lambda method, _, now=fault: now if method == "GET" else ""
        if fault == "slow":
            sizes(_SECONDS=0.2)
        with pytest.raises(DatasetNotFound, match=reason) as caught:
            place.copy(large, tmp_path)
        message = explain(caught.value)
        assert "s3://shop/in" in message
        assert "secret" not in message
        assert "an-identity" not in message
        assert list(tmp_path.rglob("*.tar")) == []


def test_a_file_that_changes_while_it_is_read_is_refused(
    stored: ObjectStore, tmp_path: Path
) -> None:
    place = Location("s3://shop/in")
    (_, large) = place.files()

    def change(method: str, path: str) -> str:
        if method == "GET" and "1.tar" in path:
            stored.fault = lambda method, path: ""
            stored.put("shop/in/train/1.tar", CONTENT[::-1])
        return ""

    stored.fault = change
    with pytest.raises(DatasetFormatError, match="changed while it was read"):
        place.copy(large, tmp_path)
    assert list(tmp_path.rglob("*.tar")) == []


def test_what_is_not_there_or_not_allowed_is_named(stored: ObjectStore, tmp_path: Path) -> None:
    for address in ("s3://shop/nothing", "s3://no-such-bucket/in"):
        with pytest.raises(DatasetNotFound, match=address):
            Location(address).files()
    with pytest.raises(SettingsError, match="no bucket"):
        Location("s3:///in")
    with pytest.raises(SettingsError, match="user or a password"):
        Location("https://me:word@example.org/a.csv")
    stored.fault = lambda method, path: "403" if method in ("PUT", "POST") else ""
    with pytest.raises(ExportError, match="No permission to write"):
        Location("s3://shop/out").write("run.json", b"{}")
    stored.fault = lambda method, path: "403"
    with pytest.raises(DatasetNotFound, match="No permission to read"):
        Location("s3://shop/in").files()


def test_an_address_is_fetched_once_and_follows_its_source(
    stored: ObjectStore, tmp_path: Path
) -> None:
    folder = fetch("s3://shop/in", tmp_path, most=1e6)
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} == {
        "a.csv", "train/1.tar",
    }  # fmt: skip
    stored.requests.clear()
    assert fetch("s3://shop/in/", tmp_path, most=1e6) == folder
    assert not any("GET" in request and "1.tar" in request for request in stored.requests)
    stored.put("shop/in/a.csv", b"new")
    assert (fetch("s3://shop/in", tmp_path, most=1e6) / "a.csv").read_bytes() == b"new"
    assert fetch("s3://shop/in/a.csv", tmp_path, most=1e6).name == "a.csv"
    with pytest.raises(SettingsError, match="more than fits"):
        fetch("s3://shop/in", tmp_path, most=100)


class _InParts(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = CONTENT[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(part)


@pytest.fixture
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _InParts)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/a.tar?signature=hidden"
    server.shutdown()
    server.server_close()


def test_a_web_server_serves_one_file_but_no_private_one(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    sizes(_BLOCK=4096)
    pauses: list[float] = []
    monkeypatch.setattr(locations.time, "sleep", pauses.append)
    with pytest.raises(DatasetNotFound, match="the address is not public") as caught:
        Location(web).files()
    assert not pauses, "no second try would change it"
    assert "hidden" not in explain(caught.value)
    monkeypatch.setattr(locations, "WebFiles", lambda: WebFiles(allow_private=True))
    place = Location(web)
    (file,) = place.files()
    assert (file.name, file.size) == ("a.tar", len(CONTENT))
    assert place.copy(file, tmp_path).read_bytes() == CONTENT
    with pytest.raises(ExportError, match="can only be read"):
        place.write("b", b"")


def test_empty_objects_that_stand_for_folders_are_no_files(
    object_store: ObjectStore, tmp_path: Path
) -> None:
    for name in ("images/a.png", "images/deep/b.png", "empty.txt"):
        object_store.put(f"shop/in/{name}", b"" if name == "empty.txt" else b"x")
    for marker in ("", "images/", "images/deep/", "images/deep", "none/", "images_$folder$"):
        object_store.put(f"shop/in/{marker}", b"")
    names = [file.name for file in Location("s3://shop/in").files()]
    assert names == ["empty.txt", "images/a.png", "images/deep/b.png"]
    folder = fetch("s3://shop/in", tmp_path, most=1e6)
    assert (folder / "images" / "deep" / "b.png").read_bytes() == b"x"


def test_a_key_keeps_every_character_from_the_listing_to_the_export(
    object_store: ObjectStore, tmp_path: Path
) -> None:
    from backend.datasets.reading.dataset_reader import read_dataset
    from tests.datasets.folders import image_folder

    odd = ("?", "#", "%41", " ", "+", "&a=b", "é")
    names = tuple(f"{number}{text}x.png" for number, text in enumerate(odd))
    rows = [{"file_name": f"in ?%/{name}", "caption": name} for name in names]
    source = image_folder(tmp_path / "source", rows, tuple(f"in ?%/{name}" for name in names))
    object_store.put("shop/other", b"")  # makes the bucket
    place = Location("s3://shop/who?#%25 x")
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        place.put_file(file.relative_to(source).as_posix(), file)
    assert str(place) == "s3://shop/who?#%25 x"
    folder = fetch(str(place), tmp_path / "fetched", most=1e6)
    reader = read_dataset(folder)
    pictures = {pair.caption: Path(str(pair.image_path)).name for pair in reader}
    assert (pictures, reader.problems) == ({name: name for name in names}, [])
