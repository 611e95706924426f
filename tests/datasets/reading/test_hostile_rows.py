"""Whatever a table contains: each row becomes a pair, stored unchanged, or a problem with its
place; no row affects another, and nothing outside of the folder is reached. On both databases."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.datasets.cells import split_proof
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.errors import DatasetError, DatasetFormatError, UnsafePath
from backend.jobs.dataset_reports import ImportReport
from backend.jobs.import_dataset import import_dataset
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from tests.datasets.folders import json_lines, picture, read, tar_bytes, write, zip_bytes

GOOD = [{"file_name": "a.png", "caption": f"A dog {n}.", "id": f"good {n}"} for n in range(2)]
DIGITS = "9" * 5000


def imported(store: Store, path: Path, **options: Any) -> tuple[ImportReport, list[Any]]:
    report = import_dataset(store, path, name="hostile", options=ReadOptions(**options))
    with store.reading() as session:
        pairs = list(pair_queries.iterate_pairs(session, report.dataset_id))
        problems = dataset_queries.list_problems(session, report.dataset_id)
    assert len(problems) == report.problems
    assert len(pairs) == report.added
    assert all(problem.file and problem.message for problem in problems)
    return report, pairs


def parquet(folder: Path, **columns: Any) -> Path:
    """A table whose rows name the picture `a.png`, unless a column does."""
    picture(folder / "a.png")
    size = len(next(iter(columns.values())))
    table = pa.table({"file_name": ["a.png"] * size} | columns)
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.mark.parametrize(
    "line",
    [
        rb'{"file_name": "a.png", "caption": "half \ud83d"}',
        rb'{"file_name": "\ud83d.png", "caption": "x"}',
        rb'{"file_name": "\udcff.png", "caption": "x"}',
        rb'{"file_name": "a\u0000.png", "caption": "x"}',
        rb'{"file_name": "a.png", "caption": "x", "split": "\ud83d"}',
        rb'{"file_name": "a.png", "caption": "x", "split": "a\u0000b"}',
        rb'{"file_name": "a.png", "caption": "x", "more": "\ud83d"}',
        rb'{"file_name": "a.png", "caption": "x", "more": {"\u0000": [1, "\udcff"]}}',
        rb'{"file_name": "a.png", "caption": "x", "\ud83d": 1}',
        rb'{"file_name": "a.png", "caption": "x", "id": "\ud83d"}',
        b'{"file_name": "a.png", "caption": "x", "more": %s}' % DIGITS.encode(),
        b'{"file_name": "a.png", "caption": "x", "id": %s}' % DIGITS.encode(),
        b'{"file_name": "a.png", "caption": "bad \xff bytes"}',
        b'{"file_name": "a.png", "caption": "one", "caption": "two"}',
        b'{"file_name": "a.png", "caption": "x", "more": ' + b"[" * 3000 + b"]" * 3000 + b"}",
        b'{"file_name": "' + b"x/" * 3000 + b'a.png", "caption": "x"}',
    ],
)
def test_a_bad_json_line_costs_only_its_row(store: Store, tmp_path: Path, line: bytes) -> None:
    picture(tmp_path / "a.png")
    good = [json.dumps(row).encode() for row in GOOD]
    path = write(tmp_path / "rows.jsonl", b"\n".join([good[0], line, good[1]]))
    report, pairs = imported(store, path)
    assert [pair.external_id for pair in pairs] == ["good 0", "good 1"]
    assert [problem.row for problem in report.first_problems] == [2]


def test_values_that_json_or_python_lack_are_imported(store: Store, tmp_path: Path) -> None:
    nan, endless = float("nan"), float("inf")
    path = parquet(
        tmp_path,
        caption=["one", "two", "three"],
        aesthetic=[nan, endless, -endless],
        nested=[[nan], [1.5], None],
        far=pa.array([2**62, 0, 1], pa.timestamp("us")),
        on_mars=pa.array([1, 2, 3], pa.timestamp("us", tz="Mars/Phobos")),
        deep=pa.array([[2**62], [0], None], pa.list_(pa.timestamp("us"))),
    )
    report, pairs = imported(store, path)
    assert report.problems == 0
    assert [pair.extra["aesthetic"] for pair in pairs] == [None, "Infinity", "-Infinity"]
    assert [pair.extra["nested"] for pair in pairs] == [[None], [1.5], None]
    assert [str(2**62) in pair.extra["far"] for pair in pairs] == [True, False, False]
    assert all("Mars" in pair.extra["on_mars"] for pair in pairs)


def test_captions_and_ids_of_any_type_are_imported(store: Store, tmp_path: Path) -> None:
    kind = pa.struct([("a", pa.int64()), ("when", pa.timestamp("s"))])
    ids = pa.array([{"a": 1, "when": 0}, {"a": 2, "when": 2**40}], kind)
    dates = pa.array([[0, 1], [2]], pa.list_(pa.date32()))
    report, pairs = imported(store, parquet(tmp_path, caption=dates, id=ids))
    assert report.problems == 0
    assert [pair.caption for pair in pairs] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    assert len({pair.external_id for pair in pairs}) == 3


@pytest.mark.parametrize("column", ["caption", "file_name", "more"])
def test_parquet_text_that_is_not_utf8_costs_only_its_row(
    store: Store, tmp_path: Path, column: str
) -> None:
    cells = {"file_name": [b"a.png"] * 3, "caption": [b"one", b"two", b"three"], "more": [b""] * 3}
    cells[column] = [cells[column][0], b"\xff\xfe", cells[column][2]]
    as_text = {
        name: pa.StringArray.from_buffers(3, *pa.array(values, pa.binary()).buffers()[1:])
        for name, values in cells.items()
    }
    report, pairs = imported(store, parquet(tmp_path, **as_text))
    assert [pair.caption for pair in pairs] == ["one", "three"]
    assert [problem.row for problem in report.first_problems] == [2]


def test_captions_stored_as_bytes_are_read_as_text(store: Store, tmp_path: Path) -> None:
    captions = pa.array([b"A dog.", "Ein Mädchen".encode(), b"\xff no text"], pa.binary())
    report, pairs = imported(store, parquet(tmp_path, caption=captions, id=["1", "2", "3"]))
    assert [pair.caption for pair in pairs] == ["A dog.", "Ein Mädchen"]
    assert [problem.row for problem in report.first_problems] == [3]


def test_binary_captions_are_never_taken_for_paths(tmp_path: Path) -> None:
    content = pa.array([picture(tmp_path / "a.png").read_bytes()])
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"image": content, "caption": content}), path)
    with pytest.raises(DatasetFormatError, match="caption"):
        read(path)
    pairs, reader = read(path, caption_column="caption")
    assert pairs == []
    assert ["binary" in problem.message for problem in reader.problems] == [True]


def test_a_subfolder_whose_name_is_not_utf8_is_a_problem(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    for place, name in ((folder, "a.png"), (tmp_path / "train", "b.png")):
        picture(place / name)
        write(place / "metadata.jsonl", json_lines([{"file_name": name, "caption": "A dog."}]))
    report, pairs = imported(store, tmp_path)
    assert [split_proof(pair.image_path)[0] for pair in pairs] == ["train/b.png"]
    assert report.problems == 1
    with pytest.raises(DatasetFormatError, match="Rename"):
        import_dataset(store, folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("dataset_dict.json", {"splits": splits}) for splits in (
            ["."], [".."], ["train", "../.."], ["/"], [None], "train", [""],
        )),
        ("state.json", {"_data_files": [{"filename": "../outside.arrow"}]}),
    ],
)  # fmt: skip
def test_a_saved_dataset_that_leads_out_is_refused(tmp_path: Path, name: str, content: Any) -> None:
    write(tmp_path / name, json.dumps(content))
    with pytest.raises(DatasetFormatError, match=r"saved dataset|list of 'splits'|metadata"):
        read(tmp_path)


# Links and pipes


def linked(path: Path, content: str) -> None:
    """A link to a file outside the folder, with that content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(write(path.parent.parent / f"secret of {path.name}", content))


def test_tables_that_link_out_of_the_folder_are_refused(store: Store, tmp_path: Path) -> None:
    linked(tmp_path / "d" / "metadata.csv", "image,caption\na.png,secret\n")
    with pytest.raises(UnsafePath, match=r"metadata\.csv"):
        read(tmp_path / "d")
    linked(tmp_path / "packed" / "x.tar.gz", "")
    with pytest.raises(UnsafePath, match=r"x\.tar\.gz"):
        import_dataset(store, tmp_path / "packed", data_directory=tmp_path / "state")
    picture(tmp_path / "clone" / "a.png")
    linked(tmp_path / "clone" / "README.md", "---\nconfigs: secret\n---\n")
    with pytest.raises(DatasetFormatError, match="leads out") as refused:
        read(tmp_path / "clone")
    assert "secret\n" not in str(refused.value)


def films(folder: Path) -> Path:
    """Two films, of which only the first has a text."""
    for number in (1, 2):
        picture(folder / f"{number}.jpeg")
    write(folder / "1.json", json.dumps({"plot outline": "A thief."}))
    return folder


def test_captions_that_link_out_of_the_folder_cost_only_their_rows(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    for name in ("a", "b", "c"):
        picture(folder / f"{name}.png")
    linked(folder / "a.txt", "secret")
    linked(folder / "b.json", '{"caption": "secret"}')
    write(folder / "caption of c", "Within the folder.")
    (folder / "c.txt").symlink_to("caption of c")
    linked(films(tmp_path / "films") / "2.json", json.dumps({"plot outline": "secret"}))
    for place, captions, count in ((folder, ["Within the folder."], 2), ("films", ["A thief."], 1)):
        pairs, reader = read(tmp_path / place)
        assert [pair.caption for pair in pairs] == captions
        assert ["leads out" in problem.message for problem in reader.problems] == [True] * count


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name", ["t.csv", "t.jsonl", "t.json", "t.parquet", "t.tar", "t.zip", "t.arrow"]
)
def test_a_pipe_named_like_a_table_does_not_block(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DatasetError, match="regular file"):
        read(tmp_path / name)
    if name not in ("t.arrow", "t.json"):
        with pytest.raises(DatasetError):
            read(tmp_path)


@pytest.mark.timeout(20)
def test_pipes_in_saved_datasets_and_films_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.arrow")
    write(tmp_path / "state.json", json.dumps({"_data_files": [{"filename": "x.arrow"}]}))
    with pytest.raises(DatasetError, match="regular file"):
        read(tmp_path)
    os.mkfifo(films(tmp_path / "films") / "2.json")
    pairs, reader = read(tmp_path / "films")
    assert [pair.caption for pair in pairs] == ["A thief."]
    assert "regular file" in reader.problems[0].message


# Anything


#: Any value that a table can hold, including malformed ones.
TEXT = st.text(max_size=12)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.just("\ud83d")
    | st.just("5,000 digits"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(["file_name", "caption", "id", "split", "more", "\ud83d", ""]),
        ANY | st.just("a.png"),
        max_size=5,
    ),
    max_size=5,
)
ARROW = st.sampled_from(
    [
        pa.array([1, 2**62], pa.timestamp("us")), pa.array([1, 2], pa.timestamp("s", tz="Mars/X")),
        pa.array([2**30, 1], pa.date32()), pa.array([b"\xff", b"a.png"]), pa.array(["a.png"] * 2),
        pa.array([float("nan"), float("inf")]), pa.array([{"bytes": b"x", "path": None}] * 2),
        pa.array([[1], None]), pa.array([{"a": b"\xff"}] * 2), pa.nulls(2),
        pa.array([2**62, 1], pa.duration("s")), pa.array([None, "x"]).dictionary_encode(),
    ]
)  # fmt: skip


def check(store: Store, folder: Path, path: Path) -> tuple[ImportReport, list[Any]] | None:
    """It is imported, and its values can be written as JSON; or it is refused (None), and nothing
    of it is left."""
    try:
        report, pairs = imported(store, path, image_root=folder)
    except DatasetError:
        assert store.read(dataset_queries.list_datasets) == []
        return None
    for pair in pairs:
        json.dumps(pair.extra, allow_nan=False, ensure_ascii=False).encode("utf-8")
    store.write(dataset_queries.delete_dataset, report.dataset_id)
    return report, pairs


#: Every plane of Unicode, including control characters and NUL; surrogates cannot be encoded.
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
HOSTILE = st.sampled_from(
    [
        "<script>alert(1)</script>", "{{7*7}}${7*7}", "=cmd|' /C calc'!A0", "@SUM(1)", "a\x00b",
        "\u202egnp.tac", "'; DROP TABLE pairs; --", "\U0010fffd", "🐕‍🦺", "‏كلب", "犬", "\r\n", "",
        "x" * 5000,
    ]
)  # fmt: skip
PATHS = st.sampled_from(
    [
        "a.png", "A.PNG", "../a.png", "/etc/hostname", "..\\a.png", "a.png\x00.jpg", "a\nb.png",
        "link.png", ".", "", "a.png/", "sub/../a.png", "C:\\a.png", "file:///a.png", "%2e%2e/a.png",
        "x" * 300,
    ]
)  # fmt: skip


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"file_name": PATHS | UNICODE, "caption": UNICODE | HOSTILE},
            optional={"id": ANY, "split": ANY | HOSTILE, "more": ANY | HOSTILE},
        ),
        max_size=8,
    )
)
def test_each_row_becomes_a_pair_as_it_is_or_a_problem(
    store: Store, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    folder = picture(tmp_path / "in" / "a.png").parent
    picture(tmp_path / "outside.png")
    if not (folder / "link.png").is_symlink():
        (folder / "link.png").symlink_to(tmp_path / "outside.png")
    path = write(folder / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    if (result := check(store, folder, path)) is None:
        return
    report, pairs = result
    assert len(pairs) + report.problems == len(rows)
    as_read = read_dataset(path, ReadOptions(image_root=folder))
    assert [(p.external_id, p.caption) for p in pairs] == [(p.id, p.caption) for p in as_read]
    for pair in pairs:
        assert pair.caption.strip()
        assert (folder / split_proof(pair.image_path)[0]).resolve() == folder / "a.png"


def in_a_zip(content: bytes) -> bytes:
    return zip_bytes({"metadata.jsonl": content, "metadata.csv": content})


def in_a_tar(content: bytes) -> bytes:
    return tar_bytes((name, content) for name in ("a.png", "a.json", "b.txt", "b.png", "c.txt"))


def as_list(content: bytes) -> bytes:
    return b"[%s]" % content.replace(b"\n", b",")


def as_coco(content: bytes) -> bytes:
    items = as_list(content)
    return b'{"images": %s, "annotations": %s}' % (items, items)


def as_karpathy(content: bytes) -> bytes:
    return b'{"images": %s}' % as_list(content)


#: How lines of JSON are written, by the name of the file.
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "rows.jsonl": bytes, "list.json": as_list, "captions_coco.json": as_coco,
    "dataset_karpathy.json": as_karpathy, "rows.csv": bytes, "rows.zip": in_a_zip,
    "rows.tar": in_a_tar, "rows.parquet": bytes, "rows.arrow": bytes,
}  # fmt: skip


@given(rows=ROWS, forms=st.permutations(list(FORMS)))
def test_any_rows_are_imported_or_refused_by_all_text_readers(
    store: Store, tmp_path: Path, rows: list[Any], forms: list[str]
) -> None:
    picture(tmp_path / "a.png")
    # Python refuses to write the longest numbers; other programs do not.
    lines = [json.dumps(row).replace('"5,000 digits"', DIGITS).encode() for row in rows]
    for name in forms[:3]:
        check(store, tmp_path, write(tmp_path / name, FORMS[name](b"\n".join(lines))))


@given(columns=st.lists(st.tuples(TEXT, ARROW), max_size=3), id=ARROW, caption=ARROW, image=ARROW)
def test_any_parquet_and_arrow_columns_are_imported_or_refused(
    store: Store, tmp_path: Path, columns: list[Any], id: Any, caption: Any, image: Any
) -> None:
    picture(tmp_path / "a.png")
    named = {"file_name": image, "caption": caption, "id": id}
    extra = {name: column for name, column in columns if "\0" not in name and name.isprintable()}
    table = pa.table({**extra, **named})
    pq.write_table(table, tmp_path / "rows.parquet")
    check(store, tmp_path, tmp_path / "rows.parquet")
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    check(store, tmp_path, write(tmp_path / "rows.arrow", buffer.getvalue()))


TABLE = pa.table({"file_name": ["a.png"] * 3, "caption": ["One.", "Two.", "Three."]})


def as_parquet(_: bytes) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(TABLE, buffer, row_group_size=2)
    return buffer.getvalue()


def as_arrow(_: bytes) -> bytes:
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(buffer, TABLE.schema, options=options) as writer:
        writer.write_table(TABLE)
    return buffer.getvalue()


DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1), st.sampled_from(["replace", "insert", "delete", "end"]),
        st.binary(min_size=1, max_size=8),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


def damaged(content: bytes, damage: list[tuple[float, str, bytes]]) -> bytes:
    """The content with changes, each at a share of its length."""
    changed = bytearray(content)
    for share, kind, piece in damage:
        at = int(share * len(changed))
        if kind == "end":
            del changed[at:]
        else:
            length = 0 if kind == "insert" else len(piece)
            changed[at : at + length] = b"" if kind == "delete" else piece
    return bytes(changed)


LINES = json_lines(GOOD).encode().strip()


@given(
    lines=st.just(LINES) | st.binary(max_size=300),
    damage=DAMAGE | st.just([]),
    form=st.sampled_from([*FORMS, "captions.csv"]),
)
def test_a_damaged_or_random_file_is_imported_or_refused(
    store: Store, tmp_path: Path, lines: bytes, damage: list[tuple[float, str, bytes]], form: str
) -> None:
    picture(tmp_path / "a.png")
    build = {
        **FORMS, "rows.parquet": as_parquet, "rows.arrow": as_arrow,
        "captions.csv": lambda _: b'file_name,caption\na.png,One.\na.png,"Two, three."\n',
    }[form]  # fmt: skip
    check(store, tmp_path, write(tmp_path / form, damaged(build(lines), damage)))
