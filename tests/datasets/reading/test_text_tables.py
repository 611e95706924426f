"""Captions in text tables are read unchanged, or a problem of their row says why not."""

import csv
from pathlib import Path

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import csv_file, image_folder, picture, read, write, zip_bytes
from tests.fixtures.sizes import Sizes

GERMAN = ["Ein grüner Fußball liegt auf der Straße.", "Mädchen spielen hübsch im Garten"]
RUSSIAN = ["Собака бежит по пляжу", "Красный автобус в городе", "Девочка с воздушным шаром"]


def table(folder: Path, lines: list[str], encoding: str = "utf-8") -> Path:
    picture(folder / "a.png")
    return write(folder / "t.csv", "\n".join(["image,caption", *lines]).encode(encoding))


# ---------------------------------------------------------------- quotation marks


GOOD = [f"a.png,A dog {n}" for n in range(1000)]


@pytest.mark.parametrize(
    ("lines", "bad_row", "count"),
    [
        ([*GOOD[:1], 'a.png,"Never closed', *GOOD[1:3]], 3, 3),
        ([*GOOD[:1], 'a.png,"Never closed', *GOOD[1:]], 3, 1000),
        ([*GOOD[:1], 'a.png,"Two', *GOOD[1:2], 'a.png,"Four, quoted"', *GOOD[2:3]], 3, 4),
    ],
    ids=["few rows", "many rows", "closed by a later row"],
)
def test_an_unclosed_quotation_mark_costs_only_its_row(
    tmp_path: Path, lines: list[str], bad_row: int, count: int
) -> None:
    pairs, reader = read(table(tmp_path, lines))
    good = [line.removeprefix("a.png,").strip('"') for line in lines]
    assert [pair.caption for pair in pairs] == good[: bad_row - 2] + good[bad_row - 1 :]
    assert len(pairs) == count
    assert [problem.row for problem in reader.problems] == [bad_row]
    assert "quotation mark" in reader.problems[0].message


def test_an_unclosed_quotation_mark_in_the_first_row_costs_only_its_row(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    text = 'caption,image\n"One,a.png\nTwo,a.png\n"Three",a.png\nx,gone.png\n'
    pairs, reader = read(write(tmp_path / "t.csv", text))
    assert [pair.caption for pair in pairs] == ["Two", "Three"]
    assert [problem.row for problem in reader.problems] == [2, 5]


CAPTIONS = [
    "Two lines:\na dog, running\nand a cat, asleep",
    'A sign says "STOP"\r\nand more',
    "Ends with a comma,\n",
    "One\n\n\nafter empty lines, with commas",
    "Hello, world\nHello, moon",
    '"quoted" whole, first\nand then',
    "a.png is what it says,\nsee a.png, there",
]


@pytest.mark.parametrize("columns", [["image", "caption"], ["caption", "image"]])
def test_quoted_captions_of_several_lines_are_kept(tmp_path: Path, columns: list[str]) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": caption} for caption in CAPTIONS]
    path = csv_file(tmp_path / "t.csv", [{name: row[name] for name in columns} for row in rows])
    pairs, reader = read(path)
    assert reader.problems == []
    with path.open(newline="", encoding="utf-8") as file:
        assert [pair.caption for pair in pairs] == [row["caption"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_return_without_quotation_marks_is_a_character_of_its_cell(
    tmp_path: Path, end: str
) -> None:
    """As pandas writes it before Python 3.13."""
    lines = ["image,caption", "a.png,A blue\rcar", 'a.png,"A ""dog"",\rwet"', "a.png,A cat", ""]
    picture(tmp_path / "a.png")
    pairs, reader = read(write(tmp_path / "t.csv", end.join(lines).encode()))
    assert [pair.caption for pair in pairs] == ["A blue\rcar", 'A "dog",\rwet', "A cat"]
    assert ([pair.row for pair in pairs], reader.problems) == ([2, 3, 4], [])


def test_returns_end_the_rows_of_a_table_that_has_no_other_line_ends(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    pairs, reader = read(write(tmp_path / "t.csv", b"image,caption\ra.png,A dog\ra.png,A cat\r"))
    assert ([pair.caption for pair in pairs], reader.problems) == (["A dog", "A cat"], [])


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    ("captions", "encoding"),
    [
        (GERMAN * 5, "cp1252"), (GERMAN, "latin-1"), (RUSSIAN, "cp1251"), (RUSSIAN * 4, "koi8-r"),
        (GERMAN, "utf-16"), (GERMAN, "utf-16-le"), (GERMAN, "utf-16-be"), (RUSSIAN, "utf-32"),
        (["Ein Mädchen", "犬 🐕"], "utf-8"), (["犬 🐕"], "utf-8-sig"), (["A dog"], "ascii"),
    ],
)  # fmt: skip
def test_another_encoding_than_utf8_is_detected_and_noted(
    tmp_path: Path, captions: list[str], encoding: str
) -> None:
    lines = [f"a.png,{caption}" for caption in captions]
    pairs, reader = read(table(tmp_path, lines, encoding), id_column="")
    assert [pair.caption for pair in pairs] == list(dict.fromkeys(captions))
    is_noted = encoding not in ("utf-8", "utf-8-sig", "ascii")
    assert ["is read as" in note for note in reader.notes] == [True] * is_noted


@pytest.mark.parametrize(
    ("captions", "encoding"),
    [(["Un niño pequeño juega en la montaña", "La señora compró piñas"], "cp1252"),
     (["犬が浜辺を走っている"], "shift_jis"), (["A café by the sea"], "latin-1")],
)  # fmt: skip
def test_an_ambiguous_encoding_is_refused_until_it_is_named(
    tmp_path: Path, captions: list[str], encoding: str
) -> None:
    path = table(tmp_path, [f'a.png,"{caption}"' for caption in captions], encoding)
    with pytest.raises(DatasetFormatError, match="its encoding"):
        read(path)
    pairs, reader = read(path, encoding=encoding)
    assert ([pair.caption for pair in pairs], reader.notes) == (captions, [])
    with pytest.raises(DatasetFormatError, match="no encoding 'klingon'"):
        read(path, encoding="klingon")


def test_a_line_in_another_encoding_costs_only_its_row(tmp_path: Path) -> None:
    path = table(tmp_path, [f"a.png,{caption}" for caption in GERMAN])
    path.write_bytes(path.read_bytes() + "\na.png,Hälfte\n".encode("cp1252"))
    pairs, reader = read(path)
    assert [pair.caption for pair in pairs] == GERMAN
    assert [problem.row for problem in reader.problems] == [4]
    assert "not UTF-8" in reader.problems[0].message


def test_a_zero_byte_is_reported_not_removed(tmp_path: Path) -> None:
    pairs, reader = read(table(tmp_path, ["a.png,A\0 dog", "a.png,A cat"]))
    assert [pair.caption for pair in pairs] == ["A cat"]
    assert "zero byte" in reader.problems[0].message


# ---------------------------------------------------------------- columns


def test_two_columns_with_the_same_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "image,caption,caption\na.png,one,two\n")
    with pytest.raises(DatasetFormatError, match=r"2 columns named 'caption' \(columns 2, 3\)"):
        read(path)


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("image,caption,id", ","),
        ("image;caption;id", ";"),
        ("image\tcaption\tid", "\t"),
        ("image|caption|id", "|"),
        ('"image";"caption, a, b"', ";"),
        ('"caption, a, b";image', ";"),
        ('"caption ""x, y, z"" a"|image', "|"),
        ('image\t"caption, a; b"\tid', "\t"),
        ('image,"caption; a; b"', ","),
        ('image;caption 5", a;id', ";"),
        # csv.Sniffer says that these have commas between their cells.
        ("image;caption;id;size (w, h)", ";"),
        ("image|split|caption, a|id", "|"),
    ],
)
def test_the_delimiter_is_found_in_the_header_outside_of_names(
    tmp_path: Path, header: str, delimiter: str
) -> None:
    (names,) = csv.reader([header], delimiter=delimiter)
    caption = next(name for name in names if name.startswith("caption"))
    cells = {"image": "a.png", caption: "A dog, a cat; a \t|", "id": "1"}
    picture(tmp_path / "a.png")
    with (tmp_path / "t.csv").open("w", newline="") as file:
        file.write(f"{header}\n")
        csv.writer(file, delimiter=delimiter).writerow([cells.get(name, "x") for name in names])
    for named in (None, delimiter):
        (pair,), reader = read(tmp_path / "t.csv", caption_column=caption, delimiter=named)
        assert (pair.caption, reader.problems) == ("A dog, a cat; a \t|", [])
    with pytest.raises(DatasetFormatError, match="one character"):
        read(tmp_path / "t.csv", delimiter="ab")


def test_a_first_row_without_a_caption_costs_only_its_row(tmp_path: Path) -> None:
    rows = [{"file_name": "a.png"}, {"file_name": "a.png", "caption": "A dog."}]
    pairs, reader = read(image_folder(tmp_path, rows, ("a.png",)))
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [(1, "empty caption")]


def test_two_captions_of_an_image_are_both_kept(tmp_path: Path) -> None:
    rows = [
        {"file_name": "a.png", "image_id": n // 2, "caption": f"Caption {n}."} for n in range(6)
    ]
    folder = image_folder(tmp_path, rows, ("a.png",))
    pairs, reader = read(folder)
    assert (len(pairs), reader.problems) == (6, [])
    assert "image_id" in reader.notes[0]
    assert [pair.extra["image_id"] for pair in pairs] == [0, 0, 1, 1, 2, 2]
    _, reader = read(folder, id_column="image_id")
    assert [problem.kind for problem in reader.problems] == ["duplicate id"] * 3
    unasked, reader = read(folder, id_column="")
    assert ([pair.id for pair in unasked], reader.notes) == ([pair.id for pair in pairs], [])


def test_an_id_that_repeats_late_loses_no_row(tmp_path: Path) -> None:
    rows = [{"file_name": "a.png", "image_id": n % 1500, "caption": f"{n}."} for n in range(1600)]
    folder = image_folder(tmp_path, rows, ("a.png",))
    pairs, reader = read(folder)
    assert (len(pairs), reader.problems) == (1600, [])
    assert "not unique" in reader.notes[0]
    assert [pair.id for pair in read(folder)[0]] == [pair.id for pair in pairs], "and stay the same"


# ---------------------------------------------------------------- memory


def test_an_overlong_line_is_skipped(tmp_path: Path, sizes: Sizes) -> None:
    sizes(LONGEST_LINE=1000)
    for encoding in ("utf-8", "utf-16"):
        lines = ["a.png,One", "a.png," + "x" * 5000, "a.png,Two"]
        pairs, reader = read(table(tmp_path, lines, encoding))
        assert [pair.caption for pair in pairs] == ["One", "Two"]
        assert ["longer than" in problem.message for problem in reader.problems] == [True]


@pytest.mark.parametrize(
    "line", ['b.png,"Two" dogs', 'b.png,"say \\"two\\""', 'b.png,"Two" ', 'b.png,"Two\nlines" more']
)
def test_text_after_a_closing_quotation_mark_is_reported(tmp_path: Path, line: str) -> None:
    """Python's reader would join the two and drop the quotation marks."""
    pairs, reader = read(table(tmp_path, ["a.png,One", line, "a.png,Three"]))
    assert [pair.caption for pair in pairs] == ["One", "Three"]
    assert "closing quotation mark" in reader.problems[0].message
    assert reader.problems[0].row == 3


def test_odd_quotation_marks_of_a_tsv_are_characters_of_their_captions(tmp_path: Path) -> None:
    """That format has no quotation marks of its own."""
    captions = ['"stop" sign', '" opens', "a dog", '"ends" ', 'a "red" cat', '"last']
    picture(tmp_path / "a.png")
    text = "".join(f"{caption}\ta.png\n" for caption in ["caption", *captions])
    pairs, reader = read(write(tmp_path / "t.tsv", text.replace("a.png", "image", 1)))
    assert ([pair.caption for pair in pairs], reader.problems) == (captions, [])
    lines = 'image\tcaption\na.png\t"Two\nlines" more\na.png\tThree\n'
    pairs, reader = read(write(tmp_path / "u.tsv", lines))
    assert ([pair.caption for pair in pairs], reader.problems[0].row) == (["Three"], 2)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf16_and_utf32_without_a_bom_are_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(DatasetFormatError, match=f"whether it is {encoding}-le"):
        read(table(tmp_path, ["a.png,One"]), encoding=encoding)
    pairs, _ = read(table(tmp_path, ["a.png,Ön"], encoding), encoding=encoding)
    assert [pair.caption for pair in pairs] == ["Ön"]


def test_a_zip_that_unpacks_beyond_the_limit_is_refused(tmp_path: Path, sizes: Sizes) -> None:
    sizes(MOST_BYTES=100)
    path = write(tmp_path / "t.zip", zip_bytes({"metadata.jsonl": "\n" * 101}))
    with pytest.raises(DatasetFormatError, match="unpacks into 101 bytes"):
        read(path)
