"""The footer of a Parquet file, compared with Arrow's; a damaged one costs only its file."""

import contextlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.datasets.reading.tables import parquet_rows
from backend.datasets.safe_files.parquet_groups import read_footer
from backend.errors import DatasetFormatError
from tests.fixtures.sizes import Sizes

_ENCODINGS = {"PLAIN": 0, "PLAIN_DICTIONARY": 2, "RLE": 3, "BIT_PACKED": 4,
              "DELTA_BINARY_PACKED": 5, "DELTA_LENGTH_BYTE_ARRAY": 6, "DELTA_BYTE_ARRAY": 7,
              "RLE_DICTIONARY": 8, "BYTE_STREAM_SPLIT": 9}  # fmt: skip
TABLE = pa.table(
    {
        "caption": ["A cat.", None, "A dog.", "A cat."] * 5,
        "image": [{"bytes": b"x", "path": None}, {"bytes": None, "path": "a.png"}] * 10,
        "tags": [["a", None], [], None, ["b"]] * 5,
        "size": list(range(20)),
    }
)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"row_group_size": 3}, {"use_dictionary": False}, {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"caption": "DELTA_BYTE_ARRAY"}},
        {"write_statistics": False}, {"version": "1.0", "compression": "gzip"},
    ],
    ids=str,
)  # fmt: skip
def test_the_footer_agrees_with_arrows_metadata(tmp_path: Path, options: dict[str, object]) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, **options)
    metadata = pq.ParquetFile(path).metadata
    with path.open("rb") as raw:
        groups = read_footer(raw)
    assert len(groups) == metadata.num_row_groups
    for number, group in enumerate(groups):
        theirs = metadata.row_group(number)
        assert (group.rows, len(group.chunks)) == (theirs.num_rows, theirs.num_columns)
        for index, chunk in enumerate(group.chunks):
            about = theirs.column(index)
            has_nulls = about.statistics is not None and about.statistics.has_null_count
            assert (chunk.path, chunk.values, chunk.packed, chunk.data_at) == (
                about.path_in_schema, about.num_values, about.total_compressed_size,
                about.data_page_offset,
            )  # fmt: skip
            assert chunk.dictionary_at == about.dictionary_page_offset
            assert chunk.encodings == {_ENCODINGS[name] for name in about.encodings}
            assert chunk.nulls == (about.statistics.null_count if has_nulls else None)


def test_a_footer_that_our_reader_refuses_costs_its_file(tmp_path: Path, sizes: Sizes) -> None:
    """The file is sound, and its footer larger than the limit here: Arrow reads no column of it."""
    sizes(_MOST_FOOTER=100)
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    with path.open("rb") as raw, pytest.raises(DatasetFormatError, match="at most 100 are read"):
        next(parquet_rows(path, raw))


def test_a_truncated_footer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    content = path.read_bytes()
    for cut in (1, 4, 8, 12, 60):
        path.write_bytes(content[:-cut])
        with path.open("rb") as raw, pytest.raises(ValueError, match="footer is missing or broken"):
            read_footer(raw)


@given(st.data())
def test_any_footer_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.parquet"
    pq.write_table(TABLE, path)
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    for _ in range(data.draw(st.integers(1, 8))):
        content[-8 - data.draw(st.integers(1, length))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with path.open("rb") as raw, contextlib.suppress(ValueError):
        assert all(group.rows >= 0 for group in read_footer(raw))
