"""Pictures that a table has as text: data URIs and base64."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.containers import locate, relative_name
from backend.datasets.safe_files.written_pictures import is_written_picture
from backend.datasets.writing.dataset_writer import write_dataset
from backend.datasets.writing.export_images import image_and_ending
from backend.errors import ImageError
from tests.datasets.folders import csv_file, encoded, json_lines, read, write

RED, BLUE = encoded(), encoded(colour="blue", format="JPEG")


def plain(content: bytes) -> str:
    return base64.b64encode(content).decode()


def uri(content: bytes) -> str:
    return f"data:image/png;base64,{plain(content)}"


def message(url: Any) -> dict[str, Any]:
    return {"messages": [
        {"role": "user", "content": [{"type": "text", "text": "Describe."}, url]},
        {"role": "assistant", "content": "It."},
    ]}  # fmt: skip


def contents(pairs: list[SourcePair]) -> list[bytes]:
    return [image_and_ending(pair.image_path)[0] for pair in pairs]


FORMS: dict[str, Any] = {
    "uri": lambda c: {"image": uri(c), "caption": "It."},
    "base64": lambda c: {"image": plain(c), "caption": "It."},
    "wrapped": lambda c: {"image": base64.encodebytes(c).decode(), "caption": "It."},
    "url-safe": lambda c: {"image": base64.urlsafe_b64encode(c).decode(), "caption": "It."},
    "percent": lambda c: {
        "image": f"data:image/png;base64,{quote(plain(c), safe='')}",
        "caption": "It.",
    },
    "bytes": lambda c: {"image": f"data:image/png,{quote(c, safe='')}", "caption": "It."},
    "upper case": lambda c: {"image": f"DATA:IMAGE/PNG;BASE64,{plain(c)}", "caption": "It."},
    "blanks": lambda c: {"image": f"\n {uri(c)} ", "caption": "It."},
    "no type": lambda c: message({"type": "input_image", "image_url": f"data:base64,{plain(c)}"}),
    "list": lambda c: {"images": [uri(c)], "caption": "It."},
    "object": lambda c: {"image": {"url": uri(c)}, "caption": "It."},
    "image_url": lambda c: message({"type": "image_url", "image_url": {"url": uri(c)}}),
    "input_image": lambda c: message({"type": "input_image", "image_url": uri(c)}),
    "source": lambda c: message({"type": "image", "source": {"type": "base64", "data": plain(c)}}),
}


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize("form", FORMS)
def test_pictures_written_in_json_are_read(tmp_path: Path, form: str, ending: str) -> None:
    rows = [FORMS[form](content) for content in (RED, BLUE, RED)]
    rows = [{"id": str(number), **row} for number, row in enumerate(rows)]
    text = json_lines(rows) if ending == "jsonl" else json.dumps(rows)
    pairs, reader = read(write(tmp_path / f"t.{ending}", text))
    assert (contents(pairs), reader.problems) == ([RED, BLUE, RED], [])
    assert not any(plain(RED)[:40] in str(pair.extra) for pair in pairs)
    again = locate(tmp_path, relative_name(pairs[1].image_path, tmp_path))
    assert image_and_ending(again)[0] == BLUE


@pytest.mark.parametrize("escaped", ["/", "="])
def test_what_writers_of_json_escape_is_found(tmp_path: Path, escaped: str) -> None:
    row = {"image": uri(RED + b"\xff" * 4 + b"x"), "caption": "It."}
    text = json.dumps(row).replace(escaped, {"/": "\\/", "=": "\\u003d"}[escaped])
    pairs, _ = read(write(tmp_path / "t.jsonl", text))
    assert contents(pairs) == [RED + b"\xff" * 4 + b"x"]


@pytest.mark.parametrize("form", ["parquet", "list", "csv", "tsv"])
def test_pictures_written_in_other_tables_are_read(tmp_path: Path, form: str) -> None:
    table = tmp_path / "t.parquet"
    if form in ("parquet", "list"):
        name = "images" if form == "list" else "image"
        cells: Any = [[uri(c)] if form == "list" else uri(c) for c in (RED, BLUE)]
        pq.write_table(pa.table({name: cells, "caption": ["Red.", "Blue."]}), table)
    else:
        rows = [{"image": uri(c), "caption": "It."} for c in (RED, BLUE)]
        table = csv_file(tmp_path / "t.csv", rows)
        if form == "tsv":
            tabs = ["\t".join(row) for row in (rows[0], *(r.values() for r in rows))]
            table = write(tmp_path / "t.tsv", "\n".join(tabs))
    pairs, reader = read(table)
    assert (contents(pairs), reader.problems) == ([RED, BLUE], [])


@pytest.mark.parametrize(
    "picture", ["data:image/png;base64,????", uri(RED)[:90], "data:image/svg+xml,%3Csvg%3E"]
)
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_broken_one_costs_its_row_and_is_not_repeated(
    tmp_path: Path, form: str, picture: str
) -> None:
    rows = [{"image": uri(RED), "caption": "Red."}, {"image": picture, "caption": "No."}]
    if form == "jsonl":
        table = write(tmp_path / "t.jsonl", json_lines(rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), table := tmp_path / "t.parquet")
    pairs, reader = read(table)
    assert [pair.caption for pair in pairs] == ["Red."]
    (problem,) = reader.problems
    assert problem.row == 2
    assert "iVBOR" not in problem.message


def test_text_that_cannot_be_found_again_is_refused_in_short(tmp_path: Path) -> None:
    rows = [{"image": uri(RED), "caption": "Red."}] * 5
    wide = write(tmp_path / "t.jsonl", json_lines(rows).encode("utf-16"))
    row = message({"type": "image_url", "image_url": {"url": uri(RED)}})
    row["messages"][1]["content"] = [{"type": "text", "text": "It."}]
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "t.parquet")
    other = write(tmp_path / "o.jsonl", json_lines([{"img": {"x": uri(RED)}, "caption": "It."}]))
    for table in (wide, tmp_path / "t.parquet", other):
        pairs, reader = read(table)
        assert pairs == []
        assert all("base64" in problem.message for problem in reader.problems)
        assert all("iVBOR" not in problem.message for problem in reader.problems)


@pytest.mark.parametrize("format", ["imagefolder", "jsonl", "parquet-images", "webdataset"])
def test_such_pictures_are_exported(tmp_path: Path, format: str) -> None:
    rows = [FORMS["image_url"](content) for content in (RED, BLUE)]
    pairs, reader = read(write(tmp_path / "s" / "t.jsonl", json_lines(rows)))
    every = [ExportRow(p.id, p.image_path, p.caption, p.caption, extra=p.extra) for p in pairs]
    out = tmp_path / "out"
    write_dataset(every, out, format=format, card="", source_root=reader.root)
    again, reader = read(out)
    assert (sorted(contents(again)), reader.problems) == (sorted([RED, BLUE]), [])


def test_a_file_that_changed_shows_no_other_picture(tmp_path: Path) -> None:
    table = write(tmp_path / "t.jsonl", json_lines([{"image": uri(RED), "caption": "It."}]))
    (pair,), _ = read(table)
    write(table, table.read_bytes().replace(plain(RED).encode(), plain(RED).swapcase().encode()))
    with pytest.raises(ImageError):
        image_and_ending(pair.image_path)


def test_names_are_no_pictures() -> None:
    assert not is_written_picture("/9j/a/b/c.jpg")
    assert not is_written_picture("R0lGOD.gif")
    assert not is_written_picture("/9j/" + "folder/" * 30 + "a.jpg")
