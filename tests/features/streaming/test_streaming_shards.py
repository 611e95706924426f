"""MDS and LitData: what their shards hold, and what of them is refused."""

import io
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageColor

from backend.datasets.safe_files.containers import Member, locate, relative_name, with_proof
from backend.errors import DatasetFormatError, ImageError
from backend.features.streaming.nested_values import nested_value
from tests.datasets.folders import encoded, json_lines, picture, read, write
from tests.datasets.shard_writer import with_table, write_litdata, write_mds

COLOURS = ("red", "blue", "green", "yellow")


def jpeg(colour: str, form: str = "JPEG") -> bytes:
    return encoded((8, 6), colour, form)


def pixels(colour: str, mode: str = "RGB") -> bytes:
    """As both formats store a picture that was not in a file."""
    raw = Image.new("RGB", (8, 6), colour).convert(mode)
    return struct.pack("<3I", 8, 6, len(mode)) + mode.encode() + raw.tobytes()


def several(*pictures: bytes) -> bytes:
    return struct.pack(f"<{len(pictures) + 1}I", len(pictures), *map(len, pictures)) + b"".join(
        pictures
    )


def colour_of(picture: object) -> str:
    assert isinstance(picture, Member)
    pixel = Image.open(io.BytesIO(picture.read())).convert("RGB").getpixel((3, 3))
    assert isinstance(pixel, tuple)
    levels = tuple(pixel)

    def distance(name: str) -> float:
        return sum(abs(a - b) for a, b in zip(ImageColor.getrgb(name), levels, strict=True))

    return min(COLOURS, key=distance)


def samples(colours: tuple[str, ...] = COLOURS) -> list[dict[str, bytes]]:
    return [
        {"caption": f"A {colour} “square”\n".encode(), "image": jpeg(colour),
         "n": struct.pack("<q", number), "tags": json.dumps([colour]).encode()}
        for number, colour in enumerate(colours)
    ]  # fmt: skip


ENCODINGS = {"caption": "str", "image": "jpeg", "n": "int", "tags": "json"}


@pytest.mark.parametrize("compression", ["", "zstd"])
def test_each_caption_of_mds_has_its_picture(tmp_path: Path, compression: str) -> None:
    rows = samples()
    write_mds(tmp_path / "set", ENCODINGS, [rows[:3], rows[3:]], compression)
    pairs, reader = read(tmp_path / "set")
    assert not reader.problems
    assert [pair.caption for pair in pairs] == [f"A {colour} “square”\n" for colour in COLOURS]
    assert [colour_of(pair.image_path) for pair in pairs] == [*COLOURS]
    assert [pair.extra for pair in pairs] == [
        {"n": number, "tags": [colour]} for number, colour in enumerate(COLOURS)
    ]
    place = relative_name(pairs[2].image_path, tmp_path / "set")
    assert colour_of(locate(tmp_path / "set", place)) == "green"


@pytest.mark.parametrize("place", ["embeddings", "index/embeddings"])
@pytest.mark.parametrize("columns", [{}, {"caption": "str"}])
def test_streams_without_captions_and_pictures_do_not_replace_a_table(
    tmp_path: Path, columns: dict[str, str], place: str
) -> None:
    encodings = {"id": "str", **columns}
    write_mds(tmp_path / place, encodings, [[dict.fromkeys(encodings, b"A cat.")]])
    picture(tmp_path / "images/a.png")
    row = {"file_name": "images/a.png", "caption": "A dog."}
    write(tmp_path / "annotations/train.jsonl", json_lines([row]))
    pairs, reader = read(tmp_path, image_root=tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert any("embeddings" in note for note in reader.notes)


def test_a_stream_of_pairs_comes_before_files_that_are_no_table(tmp_path: Path) -> None:
    write_mds(tmp_path / "set/photos/train", ENCODINGS, [samples()[:3]])
    write(tmp_path / "set/stats.json", '{"mean": [0.5]}')
    pairs, reader = read(tmp_path / "set")
    assert len(pairs) == 3
    assert any("stats.json" in note for note in reader.notes)


@pytest.mark.parametrize("inner", ["", "photos/v2/"])
def test_folders_of_mds_are_its_splits_and_the_index_stands_for_its_folder(
    tmp_path: Path, inner: str
) -> None:
    rows = samples()
    write_mds(tmp_path / f"set/{inner}train", ENCODINGS, [rows[:3]])
    write_mds(tmp_path / f"set/{inner}val", ENCODINGS, [rows[3:]])
    pairs, reader = read(tmp_path / "set")
    assert not reader.problems
    assert [pair.split for pair in pairs] == ["train"] * 3 + ["validation"]
    for file, count in (("train/index.json", 3), ("val/shard.00000.mds", 1)):
        assert len(read(tmp_path / "set" / inner / file)[0]) == count


@pytest.mark.parametrize(
    ("encoding", "content"),
    [("pil", pixels), ("png", lambda colour: jpeg(colour, "PNG")), ("bytes", jpeg),
     ("pil", lambda colour: pixels(colour, "CMYK")),
     ("jpeg_array", lambda colour: several(jpeg(colour))),
     ("list[png]", lambda colour: b"\0\0\0\0" + several(jpeg(colour, "PNG"))),
     ("list[pil]", lambda colour: b"\0\0\0\0" + several(pixels(colour)))],
)  # fmt: skip
def test_pictures_in_every_form(tmp_path: Path, encoding: str, content: object) -> None:
    assert callable(content)
    rows = [{"image": content(colour), "caption": colour.encode()} for colour in COLOURS]
    write_mds(tmp_path / "set", {"image": encoding, "caption": "str"}, [rows])
    pairs, reader = read(tmp_path / "set")
    assert not reader.problems
    assert [colour_of(pair.image_path) for pair in pairs] == [pair.caption for pair in pairs]
    assert len(pairs) == len(COLOURS)


def test_a_first_picture_that_is_broken_costs_its_row_alone(tmp_path: Path) -> None:
    rows = [{"photo": jpeg(colour), "caption": colour.encode()} for colour in COLOURS]
    rows[0]["photo"] = b"\0broken\xff"
    write_mds(tmp_path / "set", {"photo": "bytes", "caption": "str"}, [rows])
    pairs, reader = read(tmp_path / "set")
    assert [pair.caption for pair in pairs] == [*COLOURS[1:]]
    assert [problem.row for problem in reader.problems] == [1]


def test_a_picture_whose_palette_was_not_written_is_left_out(tmp_path: Path) -> None:
    rows = [{"image": pixels(colour), "caption": colour.encode()} for colour in COLOURS]
    rows[1]["image"] = pixels(COLOURS[1], "P")
    write_mds(tmp_path / "set", {"image": "pil", "caption": "str"}, [rows])
    pairs, reader = read(tmp_path / "set")
    assert [pair.caption for pair in pairs] == [COLOURS[0], *COLOURS[2:]]
    assert [problem.row for problem in reader.problems] == [2]
    assert "palette" in reader.problems[0].message


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    rows = [{**row, "odd": pickle.dumps(print)} for row in samples()]
    write_mds(tmp_path / "set", {**ENCODINGS, "odd": "pkl"}, [rows])
    pairs, reader = read(tmp_path / "set")
    assert not reader.problems
    assert all("odd" not in pair.extra for pair in pairs)
    assert any("odd" in note and "pkl" in note for note in reader.notes)


def test_each_caption_of_litdata_has_its_picture(tmp_path: Path) -> None:
    rows = [
        {"image": jpeg(c), "text": c.encode(), "score": struct.pack("<d", 0.5), "who": b"Ada"}
        for c in COLOURS
    ]
    names = {"image": None, "caption": None, "about": {"score": None, "who": None}}
    write_litdata(tmp_path / "set", ["image:jpg", "str", "float", "str"], names, rows)
    pairs, reader = read(tmp_path / "set")
    assert not reader.problems
    assert [colour_of(pair.image_path) for pair in pairs] == [*COLOURS]
    assert [pair.caption for pair in pairs] == [*COLOURS]
    assert pairs[0].extra == {"about.score": 0.5, "about.who": "Ada"}


def test_samples_of_litdata_without_names_have_numbers(tmp_path: Path) -> None:
    rows = [{"0": jpeg(colour), "1": colour.encode()} for colour in COLOURS]
    write_litdata(tmp_path / "set", ["jpeg", "str"], [None, None], rows)
    pairs, reader = read(tmp_path / "set", image_column="0", caption_column="1")
    assert not reader.problems
    assert [colour_of(pair.image_path) for pair in pairs] == [pair.caption for pair in pairs]


def table_of(*colours: str) -> list[dict[str, Any]]:
    return [
        {"image": jpeg(colour), "caption": [colour, f"{colour}!"], "n": number}
        for number, colour in enumerate(colours)
    ]


def test_chunks_of_litdata_with_a_table(tmp_path: Path) -> None:
    """What it writes where all values are bytes, texts, numbers, or lists of these."""
    names, form = dict.fromkeys(("image", "caption", "n")), ["bytes", "json", "int"]
    rows: list[dict[str, bytes]] = [{}] * len(COLOURS)
    write_litdata(tmp_path, form, names, rows, with_table(table_of(*COLOURS)))
    pairs, reader = read(tmp_path)
    assert not reader.problems
    assert len(pairs) == 2 * len(COLOURS)
    assert [colour_of(pair.image_path) for pair in pairs] == [
        pair.caption.removesuffix("!") for pair in pairs
    ]
    assert [pair.extra["n"] for pair in pairs] == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("change", [
    lambda chunk: chunk[:40] + chunk[-12:],
    lambda chunk: chunk[:-12] + struct.pack("<I", len(chunk)) + chunk[-8:],
    lambda chunk: with_table(table_of("red"))[:0] + struct.pack("<I", 4) + with_table(
        table_of("red", "blue"))[4:],
])  # fmt: skip
def test_a_table_that_is_cut_or_of_other_samples_is_refused(tmp_path: Path, change: Any) -> None:
    names, form = dict.fromkeys(("image", "caption", "n")), ["bytes", "json", "int"]
    chunk = change(with_table(table_of(*COLOURS)))
    write_litdata(tmp_path, form, names, [{}] * len(COLOURS), chunk)
    with pytest.raises(DatasetFormatError):
        read(tmp_path)


def text_of(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()


NESTED = {
    b"\1" + struct.pack("<I", 2) + text_of("Ein Hünd") + text_of(""): ["Ein Hünd", ""],
    b"\2" + struct.pack("<Iqq", 2, -1, 7): [-1, 7],
    b"\3" + struct.pack("<Id", 1, 0.5): [0.5],
    b"\4" + struct.pack("<I??", 2, True, False): [True, False],
    b"\5" + struct.pack("<I", 2) + text_of("a") + b"\x08" + struct.pack("<q", 3)
    + text_of("b") + b"\7" + text_of("x"): {"a": 3, "b": "x"},
    b"\6" + struct.pack("<II", 2, 2) + text_of("t") + text_of("n") + b"\x11" + text_of("x")
    + b"\x10" + b"\x11" + text_of("y") + b"\x14\1": [{"t": "x", "n": None}, {"t": "y", "n": True}],
    b"\0" + text_of('[1,"a"]'): [1, "a"],
    b'["a"]': ["a"],
    b"\x0b": None,
}  # fmt: skip


@pytest.mark.parametrize(("content", "value"), NESTED.items())
def test_lists_and_dictionaries_of_litdata(content: bytes, value: Any) -> None:
    assert nested_value(content) == value
    for end in range(len(content)):
        with pytest.raises(ValueError, match=r"cut|Expecting|Unterminated|delimiter"):
            nested_value(content[:end])


@pytest.mark.parametrize("content", [b"\x0c" + bytes(8), b"\6" + b"\xff" * 4 + bytes(4)])
def test_values_of_no_kind_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"no kind|no values"):
        nested_value(content)


def test_an_index_that_was_merged_from_those_of_subfolders(tmp_path: Path) -> None:
    rows = samples()
    write_mds(tmp_path / "0", ENCODINGS, [rows[:3]])
    write_mds(tmp_path / "1", ENCODINGS, [rows[3:]])
    shards = []
    for part in "01":
        for about in json.loads((tmp_path / part / "index.json").read_text())["shards"]:
            about["raw_data"]["basename"] = f"{part}/{about['raw_data']['basename']}"
            shards.append(about)
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    for source in (tmp_path, tmp_path / "index.json"):
        pairs, reader = read(source)
        assert not reader.problems
        assert [colour_of(pair.image_path) for pair in pairs] == [*COLOURS]


def test_a_cut_shard_loses_only_what_is_gone(tmp_path: Path) -> None:
    rows = samples()
    write_mds(tmp_path / "set", ENCODINGS, [rows])
    path = tmp_path / "set/shard.00000.mds"
    content = path.read_bytes()
    path.write_bytes(content[:-200])
    pairs, reader = read(tmp_path / "set")
    assert [pair.caption for pair in pairs] == [f"A {colour} “square”\n" for colour in COLOURS[:3]]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [(4, "unreadable row")]


def test_a_shard_that_was_written_again_gives_no_other_picture(tmp_path: Path) -> None:
    rows = samples()
    write_mds(tmp_path / "set", ENCODINGS, [rows])
    (first, *_), _ = read(tmp_path / "set")
    place = relative_name(with_proof(first.image_path), tmp_path / "set")
    write_mds(tmp_path / "set", ENCODINGS, [rows[::-1]])
    picture = locate(tmp_path / "set", place)
    assert isinstance(picture, Member)
    with pytest.raises(ImageError):
        picture.read()


@pytest.mark.parametrize("case", ["gone", "outside", "bare", "other compression", "no columns"])
def test_what_cannot_be_read_is_named(tmp_path: Path, case: str) -> None:
    folder = tmp_path / "set"
    write_mds(folder, ENCODINGS, [samples()])
    source, index = folder, json.loads((folder / "index.json").read_text())
    (about,) = index["shards"]
    word = about["raw_data"]["basename"]
    if case == "gone":
        (folder / word).unlink()
    elif case == "outside":
        word = about["raw_data"]["basename"] = "../shard.00000.mds"
    elif case == "bare":
        (folder / "index.json").unlink()
        source = folder / word
    elif case == "other compression":
        word = about["compression"] = "br:3"
        about["zip_data"] = {"basename": "shard.00000.mds.br"}
    else:
        del about[word := "column_names"]
    if case != "bare":
        (folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(DatasetFormatError) as refusal:
        read(source)
    assert word in str(refusal.value)
    if case == "outside":
        assert not refusal.value.remedies


@pytest.mark.parametrize("what", ["compression", "encryption"])
def test_packed_litdata_is_refused_by_what_it_is(tmp_path: Path, what: str) -> None:
    rows = [{"0": jpeg("red"), "1": b"red"}]
    write_litdata(tmp_path / "set", ["jpeg", "str"], [None, None], rows, **{what: "zstd"})
    with pytest.raises(DatasetFormatError) as refusal:
        read(tmp_path / "set")
    assert f"{what}=None" in str(refusal.value)


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("shards", 0, "column_names"), None, "shards[0].column_names"),
        (("shards", 0, "column_names"), "caption", "shards[0].column_names"),
        (("shards", 0, "column_names"), ["caption"], "shards[0].column_names"),
        (("shards", 0, "column_names"), [["caption"], "image", "n", "tags"], ""),
        (("shards", 0, "column_encodings"), [None, "jpeg", "int", "json"], ""),
        (("shards", 0, "column_sizes"), ["8", None, None, None], "shards[0].column_"),
        (("shards", 0, "column_sizes"), [-8, None, None, None], ""),
        (("shards", 0, "samples"), "3", "shards[0].samples"),
        (("shards", 0, "samples"), True, "shards[0].samples"),
        (("shards", 0, "samples"), float("inf"), ""),
        (("shards", 0, "samples"), 3, ""),  # fewer than it has
        (("shards", 0, "raw_data"), None, "shards[0].raw_data"),
        (("shards", 0, "raw_data", "basename"), 7, "shards[0].raw_data.basename"),
        (("shards", 0, "zip_data"), {"basename": "x.zstd"}, "shards[0].compression"),
        (("shards", 1), None, "shards[1]"),
        (("shards",), [], "index.json"),
        (("chunks", 0, "chunk_size"), None, "chunks[0].chunk_size"),
        (("config", "data_spec"), "[]", ""),
    ],
)
def test_a_damaged_index_is_named_by_file_and_field(
    tmp_path: Path, place: tuple[Any, ...], value: Any, field: str
) -> None:
    if place[0] == "shards":
        parts = [samples(), samples()] if place == ("shards", 1) else [samples()]
        write_mds(tmp_path / "set", ENCODINGS, parts)
    else:
        write_litdata(tmp_path / "set", ["str"], [None], [{"0": b"red"}])
    path = tmp_path / "set/index.json"
    index = record = json.loads(path.read_text())
    for key in place[:-1]:
        record = record[key]
    if value is None and isinstance(place[-1], str):
        del record[place[-1]]
    else:
        record[place[-1]] = value
    path.write_text(json.dumps(index))
    with pytest.raises(DatasetFormatError) as refusal:
        read(tmp_path / "set")
    assert field in str(refusal.value)
    assert not field or "index.json" in str(refusal.value)


@pytest.mark.parametrize("part", [0, 0.5, 0.99])
def test_a_cut_index_is_named(tmp_path: Path, part: float) -> None:
    write_mds(tmp_path / "set", ENCODINGS, [samples()])
    path = tmp_path / "set/index.json"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    for source in (tmp_path / "set", path):
        with pytest.raises(DatasetFormatError) as refusal:
            read(source)
        assert "index.json" in str(refusal.value)
