"""Small files that unpack into gigabytes: refused, or read in little memory, whatever sizes they
declare. Each is read in a separate process, whose memory is measured."""

import json
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.row_pairs import MOST_EXTRA
from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, json_lines, picture, tar_bytes, write, zip_bytes

MIB = 1 << 20
_READ = """
import json, sys
from pathlib import Path
from backend.datasets.reading.dataset_reader import read_dataset
from backend.errors import DatasetError
from tests.fixtures.peak_memory import peak_mebibytes
before = peak_mebibytes()
reader = read_dataset(Path(sys.argv[1]))
try:
    captions, refusal = [pair.caption for pair in reader], ""
except DatasetError as problem:
    captions, refusal = [], str(problem)
grown = (peak_mebibytes() - before) * 2**20
problems = [problem.message for problem in reader.problems]
print(json.dumps([captions, problems, refusal, grown]))
"""


def read(path: Path, most: int = 300 * MIB) -> tuple[list[str], str]:
    """The captions, and the messages about the rest; fails above `most` bytes of memory."""
    answer = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True,
        timeout=250,
    )  # fmt: skip
    captions, problems, refusal, grown = json.loads(answer.stdout)
    assert grown < most, f"{grown / MIB:.0f} MiB for a file of {path.stat().st_size / MIB:.1f} MiB"
    return captions, " ".join([*problems, refusal])


def first_of(values: Iterable[Any]) -> list[Any]:
    """The first in `make test`, all in `make nightly`: each takes a process."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.nightly) for value in others)]


ROWS = 60


def same(value: Any) -> pa.Array:
    """The value in every row, stored once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array([value]))


def written(path: Path, table: dict[str, Any]) -> Path:
    """A Parquet file whose reader cannot tell that its values are stored once."""
    pq.write_table(
        pa.table(table), path, dictionary_pagesize_limit=1 << 30, write_batch_size=10,
        store_schema=False,
    )  # fmt: skip
    assert path.stat().st_size < MIB
    return path


BIG = "x" * (10 * MIB)
#: What a member of a zip unpacks into.
UNPACKED = 48 * MIB
PLACES = pa.array(range(ROWS + 1), pa.int32())
COLUMNS: dict[str, Callable[[], pa.Array]] = {
    "text": lambda: same(BIG),
    "bytes": lambda: same(BIG.encode()),
    "lists": lambda: pa.ListArray.from_arrays(PLACES, same(BIG)),
    "structs": lambda: pa.StructArray.from_arrays([same(BIG)], ["a"]),
}


@pytest.mark.parametrize("kind", first_of(COLUMNS))
def test_a_large_value_shared_by_all_rows_is_refused(tmp_path: Path, kind: str) -> None:
    picture(tmp_path / "a.png")
    table = {"file_name": ["a.png"] * ROWS, "caption": ["A dog."] * ROWS, "more": COLUMNS[kind]()}
    captions, message = read(written(tmp_path / "t.parquet", table))
    assert captions == []
    assert f"at most {MOST_EXTRA:,} are allowed" in message


@pytest.mark.nightly
def test_an_image_shared_by_all_rows_takes_little_memory(tmp_path: Path) -> None:
    content = same(encoded() + b"\0" * 5 * MIB)
    table = {"image": content, "caption": [f"Number {n}" for n in range(ROWS)]}
    captions, _ = read(written(tmp_path / "t.parquet", table), most=200 * MIB)
    assert len(captions) == ROWS


def test_lists_of_repeated_numbers_are_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    numbers = pa.nulls(40 * MIB, pa.int8()).fill_null(7).cast(pa.int64())
    lists = pa.ListArray.from_arrays(pa.array(range(0, 40 * MIB + 1, MIB), pa.int32()), numbers)
    table = {"file_name": ["a.png"] * 40, "caption": ["A dog."] * 40, "more": lists}
    captions, message = read(written(tmp_path / "t.parquet", table))
    assert captions == []
    assert "are read at once" in message


def with_a_lie(path: Path, columns: dict[str, Any]) -> Path:
    """A Parquet file whose footer declares that its pages unpack into 99 bytes."""
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False,
                   data_page_size=1 << 30)  # fmt: skip
    file = pq.ParquetFile(path).metadata.row_group(0).column(2)
    content = path.read_bytes()
    honest, false = (zigzag(n) for n in (file.total_uncompressed_size, 99))
    assert content.count(honest) == 1
    # Padded with zeros to the same length: nothing else in the footer moves.
    padded = bytes([*(byte | 128 for byte in false), *[128] * (len(honest) - len(false) - 1), 0])
    path.write_bytes(content.replace(honest, padded))
    claimed = pq.ParquetFile(path).metadata.row_group(0).column(2).total_uncompressed_size
    assert claimed < 10_000
    return path


def zigzag(number: int) -> bytes:
    number <<= 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_a_footer_that_understates_its_pages_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    columns = {"file_name": ["a.png"] * 48, "caption": ["A dog."] * 48, "more": [BIG] * 48}
    path = with_a_lie(tmp_path / "t.parquet", columns)
    assert path.stat().st_size < MIB
    captions, message = read(path)
    assert captions == []
    assert "unpack into 503" in message


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY"])
def test_pages_of_all_kinds_are_read_unchanged(tmp_path: Path, version: Any, encoding: str) -> None:
    picture(tmp_path / "a.png")
    path = tmp_path / "t.parquet"
    captions = [f"A dog and {n} cats." for n in range(1200)]
    table = pa.table({
        "file_name": ["a.png"] * 1200, "caption": captions,
        "tags": [["a", str(n)] for n in range(1200)], "score": [n / 7 for n in range(1200)],
        "a.b": [[n] for n in range(1200)],
    })  # fmt: skip
    dictionary = encoding == "dictionary"
    texts = dict.fromkeys(("file_name", "caption"), encoding) if not dictionary else None
    pq.write_table(
        table, path, data_page_version=version, use_dictionary=dictionary, column_encoding=texts,
        data_page_size=1000, row_group_size=1000,
    )  # fmt: skip
    reader = read_dataset(path)
    pairs = list(reader)
    assert reader.problems == []
    assert [pair.caption for pair in pairs] == captions
    assert [pair.extra["a.b"] for pair in pairs] == [[n] for n in range(1200)]


@pytest.mark.parametrize("bad", [b"\xff" * 40, b"\x15" + b"\xff" * 12, b"\x1c" * 40, b"\x00"])
def test_a_broken_page_header_costs_only_its_row_group(tmp_path: Path, bad: bytes) -> None:
    picture(tmp_path / "a.png")
    path = tmp_path / "t.parquet"
    captions = [f"Number {n}" for n in range(30)]
    table = pa.table({"file_name": ["a.png"] * 30, "caption": captions})
    pq.write_table(table, path, row_group_size=10, compression="none", use_dictionary=False)
    place = pq.ParquetFile(path).metadata.row_group(1).column(1).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + len(bad)] = bad
    path.write_bytes(content)
    reader = read_dataset(path)
    assert [pair.caption for pair in reader] == captions[:10] + captions[20:]
    assert [problem.row for problem in reader.problems] == [11]


@pytest.mark.parametrize("method", first_of([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
def test_a_zip_without_bounded_decompression_is_refused(tmp_path: Path, method: int) -> None:
    content = zip_bytes({"metadata.jsonl": b'{"caption": "' + b" " * UNPACKED}, method)
    _, message = read(write(tmp_path / "t.zip", content), most=UNPACKED // 2)
    assert "not deflate" in message


@pytest.mark.parametrize(
    "method", first_of([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
)
def test_a_member_larger_than_its_declared_size_is_refused(tmp_path: Path, method: int) -> None:
    rows = json_lines({"file_name": name, "caption": name} for name in ("bomb.png", "a.png"))
    path = write(tmp_path / "t.zip", zip_bytes({"metadata.jsonl": rows, "a.png": encoded()}))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("bomb.png", bytes(UNPACKED), method)
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 100)
    captions, message = read(write(path, bytes(content)), most=UNPACKED // 2)
    assert captions == ["a.png"]
    assert "cannot be unpacked" in message


def test_a_zip_with_damaged_metadata_is_refused(tmp_path: Path) -> None:
    row = b'{"file_name": "a.png", "caption": "A dog."}'
    content = bytearray(zip_bytes({"metadata.jsonl": row}, zipfile.ZIP_LZMA))
    content[60:70] = b"\xff" * 10
    path = write(tmp_path / "t.zip", bytes(content))
    with pytest.raises(DatasetFormatError):
        list(read_dataset(path))


def header(name: str, size: int, kind: bytes) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)[:512]


def good_tar() -> bytes:
    """A tar of two samples, without the end marker: four members of two blocks."""
    samples = {"a.png": encoded(), "a.txt": b"One", "b.png": encoded(), "b.txt": b"Two"}
    return tar_bytes(samples.items())[: 4 * 2 * 512]


LONG_NAMES = [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE]


@pytest.mark.parametrize("kind", first_of(LONG_NAMES))
def test_a_long_member_name_takes_little_memory(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "t.tar"
    with path.open("wb") as file:
        file.write(good_tar() + header("long", 400_000_000, kind))
        file.truncate(file.tell() + 400_001_024)  # a hole, which takes no disk space
    captions, message = read(path, most=100 * MIB)
    assert captions == ["One"]
    assert "ends prematurely" in message


@pytest.mark.parametrize("kind", LONG_NAMES)
def test_an_endless_chain_of_headers_is_stopped(tmp_path: Path, kind: bytes) -> None:
    content = b"7 a=bc\n" if kind != tarfile.GNUTYPE_LONGNAME else b"a.png\0\0"
    member = header("long", 7, kind) + content.ljust(512, b"\0")
    reader = read_dataset(write(tmp_path / "t.tar", good_tar() + member * 5000))
    assert [pair.caption for pair in reader] == ["One"]
    assert ["without end" in problem.message for problem in reader.problems] == [True]


def test_a_damaged_tar_header_is_reported(tmp_path: Path) -> None:
    samples = ((f"{n}.{end}", encoded() if end == "png" else b"Dog") for n in range(6)
               for end in ("png", "txt"))  # fmt: skip
    content, place = bytearray(tar_bytes(samples)), 4 * 4 * 512  # after four samples
    content[place : place + 512] = b"\xaa" * 512
    reader = read_dataset(write(tmp_path / "t.tar", bytes(content)))
    assert len(list(reader)) == 3, "whether the fourth is complete is unknown"
    (problem,) = reader.problems
    assert f"byte {place:,} is damaged" in problem.message


def test_many_empty_members_take_little_memory(tmp_path: Path) -> None:
    content = good_tar() + header("c/empty", 0, tarfile.REGTYPE) * 30_000
    captions, _ = read(write(tmp_path / "t.tar", content), most=8 * MIB)
    assert captions == ["One", "Two"]
