"""Formats of other tools: hub clones, sidecars, conversations, captions in image metadata."""

import gzip
import io
import json
import os
import struct
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard, DatasetCardData
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files import arrow_cells
from backend.datasets.safe_files.images import load_image
from backend.errors import DatasetError, DatasetFormatError, UnsafePath
from tests.datasets.folders import encoded, json_lines, make_tar, picture, read, write
from tests.fixtures.sizes import Sizes

datasets.disable_progress_bars()
COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255)}


def coloured(names: list[str]) -> datasets.Dataset:
    """A picture per colour, with the colour as caption."""
    rows = [{"image": Image.new("RGB", (8, 8), COLOURS[n]), "text": f"All {n}."} for n in names]
    features = datasets.Features({"image": datasets.Image(), "text": datasets.Value("string")})
    return datasets.Dataset.from_list(rows, features=features)


def shown(pair: SourcePair) -> tuple[str, Any]:
    return pair.caption, load_image(pair.image_path).getpixel((0, 0))


def card(folder: Path, configs: list[dict[str, Any]]) -> None:
    data = DatasetCardData(configs=configs)
    DatasetCard(f"---\n{data.to_yaml()}\n---\n# Pets\n").save(folder / "README.md")


def test_the_root_of_a_hub_clone_is_read_as_the_library_does(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split, names in (("train", ["red", "blue"]), ("test", ["blue"])):
        coloured(names).to_parquet(tmp_path / "data" / f"{split}-00000-of-00001.parquet")
    write(tmp_path / "README.md", "---\nlicense: mit\n---\n# Pets\n")
    write(tmp_path / ".gitattributes", "*.parquet filter=lfs\n")
    theirs = datasets.load_dataset(str(tmp_path), cache_dir=str(tmp_path / ".cache"))
    pairs, reader = read(tmp_path)
    assert reader.problems == []
    assert sorted((p.split, *shown(p)) for p in pairs) == sorted(
        (split, row["text"], row["image"].getpixel((0, 0)))
        for split, rows in theirs.items()
        for row in rows
    )


def test_a_hub_clone_with_several_configurations_needs_a_subset(tmp_path: Path) -> None:
    for name, colours in (("warm", ["red"]), ("cold", ["blue", "blue"])):
        (tmp_path / name).mkdir()
        coloured(colours).to_parquet(tmp_path / name / "part-0.parquet")
    paths = {name: [{"split": "test", "path": f"{name}/*.parquet"}] for name in ("warm", "cold")}
    configs: list[dict[str, Any]] = [
        {"config_name": name, "data_files": files} for name, files in paths.items()
    ]
    card(tmp_path, configs)
    with pytest.raises(DatasetFormatError, match=r"2 subsets.*: warm, cold"):
        read(tmp_path)
    with pytest.raises(DatasetFormatError, match=r"no subset 'hot'.*warm, cold"):
        read(tmp_path, subset="hot")
    pairs, _ = read(tmp_path, subset="warm")
    assert [(p.split, *shown(p)) for p in pairs] == [("test", "All red.", (255, 0, 0))]
    configs[1]["default"] = True
    card(tmp_path, configs)
    assert len(read(tmp_path)[0]) == 2


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("../outside/*.parquet", UnsafePath, "outside"),
        ("/etc/hostname", UnsafePath, "outside"),
        ("https://example.org/x.parquet", UnsafePath, "outside"),
        ("zip://x.csv::data.zip", UnsafePath, "outside"),
        ("gone/*.parquet", DatasetFormatError, "no such file"),
        (7, DatasetFormatError, r"README\.md"),
    ],
)
def test_a_card_cannot_refer_to_files_elsewhere(
    tmp_path: Path, path: Any, error: type[Exception], message: str
) -> None:
    configs = [{"config_name": "x", "data_files": [{"split": "train", "path": path}]}]
    write(tmp_path / "README.md", f"---\n{json.dumps({'configs': configs})}\n---\n")
    with pytest.raises(error, match=message):
        read(tmp_path)


def test_a_git_lfs_pointer_is_refused_with_what_to_do(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
    write(tmp_path / "data" / "train-00000-of-00001.parquet", pointer)
    with pytest.raises(DatasetFormatError, match="git lfs pull"):
        read(tmp_path)


def test_captions_in_files_next_to_images_are_read(tmp_path: Path) -> None:
    for name in ("train/a.jpg", "train/b.PNG", "test/deep/c.webp", "d.png", "e.png"):
        picture(tmp_path / name)
    for name, text in {
        "train/a.txt": "Ein Mädchen.\r\n", "train/b.caption": "Two\nlines.\n",
        "test/deep/c.webp.txt": "A cat.", "d.txt": b"caf\xe9", "gone.txt": "Nothing there.",
        "README.txt": "Not a caption.",
    }.items():  # fmt: skip
        write(tmp_path / name, text)
    pairs, reader = read(tmp_path)
    assert [(p.caption, p.split, p.image_path.name) for p in pairs] == [
        ("A cat.", "test", "c.webp"),
        ("Ein Mädchen.", "train", "a.jpg"),
        ("Two\nlines.", "train", "b.PNG"),
    ]
    problems = sorted(problem.message for problem in reader.problems)
    assert len(problems) == 3
    assert "'d.txt' is not UTF-8" in problems[0]
    assert "'e.png' has no caption" in problems[1]
    assert "no image for the caption 'gone.txt'" in problems[2]
    assert "café" in [p.caption for p in read(tmp_path, encoding="latin-1")[0]]


def test_the_output_of_img2dataset_is_read(tmp_path: Path) -> None:
    """The layout of its FilesSampleWriter and of its lists of shards."""
    keys = ["000000000", "000000001"]
    for key in keys:
        picture(tmp_path / "00000" / f"{key}.jpg")
        meta = {"caption": f"Picture {key}.", "url": f"http://x.org/{key}", "key": key,
                "status": "success", "error_message": None, "width": 20, "exif": "{}"}  # fmt: skip
        (tmp_path / "00000" / f"{key}.txt").write_text(str(meta["caption"]))
        (tmp_path / "00000" / f"{key}.json").write_text(json.dumps(meta, indent=4))
    rows = {"url": ["http://x.org/0"] * 3, "key": [*keys, "000000002"], "caption": ["x"] * 3,
            "status": ["success", "success", "failed_to_download"]}  # fmt: skip
    pq.write_table(pa.table(rows), tmp_path / "00000.parquet")
    (tmp_path / "00000_stats.json").write_text(json.dumps({"count": 3, "successes": 2}))
    pairs, reader = read(tmp_path)
    assert reader.problems == []
    assert [(p.id, p.caption, p.extra["width"]) for p in pairs] == [
        (key, f"Picture {key}.", 20) for key in keys
    ]


def test_a_list_of_json_objects_is_read(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png")
    rows = [{"image": "images/a.png", "caption": "A dog."}, 7, {"image": "x.png", "caption": "B."}]
    packed = {"version": "1.0", "data": rows}
    for name, text in (("a.json", json.dumps(rows, indent=1)), ("b.json", json.dumps(packed))):
        file = write(tmp_path / name, text)
        for path in (file, tmp_path):  # or the folder with the list and its images
            pairs, reader = read(path)
            assert [p.caption for p in pairs] == ["A dog."]
            assert [p.row for p in reader.problems] == [2, 3]
        file.unlink()


def test_llava_conversations_are_read(tmp_path: Path) -> None:
    for name in ("coco/train2017/a.jpg", "coco/train2017/b.jpg"):
        picture(tmp_path / name)
    ask = {"from": "human", "value": "<image>\nWhat is this?"}
    rows = [
        {"id": "1", "image": "coco/train2017/a.jpg",
         "conversations": [ask, {"from": "gpt", "value": "A dog."}]},
        {"id": "2", "image": "coco/train2017/b.jpg",
         "conversations": [ask, {"from": "gpt", "value": "A cat."},
                           {"from": "human", "value": "And?"}, {"from": "gpt", "value": "A bed."}]},
        {"id": "3", "conversations": [ask, {"from": "gpt", "value": "No image."}]},
        {"id": "4", "image": ["coco/train2017/a.jpg", "coco/train2017/b.jpg"],
         "conversations": [ask, {"from": "gpt", "value": "Two."}]},
        {"id": "5", "image": "coco/train2017/a.jpg", "conversations": [ask]},
    ]  # fmt: skip
    pairs, reader = read(write(tmp_path / "llava.json", json.dumps(rows)))
    assert [(p.id, p.caption, p.image_path.name) for p in pairs] == [
        ("1", "A dog.", "a.jpg"), ("2", "A cat.", "b.jpg"),
    ]  # fmt: skip
    assert pairs[0].extra["conversations"] == rows[0]["conversations"], "nothing is lost"
    assert [p.row for p in reader.problems] == [3, 4, 5]
    for problem, word in zip(
        reader.problems, ("does not name an image", "2 images", "no answer"), strict=True
    ):
        assert word in problem.message


def conversations() -> datasets.Dataset:
    """The format of TRL's documentation for training with images."""
    ask = [{"type": "image", "text": None}, {"type": "text", "text": "What is shown?"}]
    rows = [
        {
            "images": [Image.new("RGB", (8, 8), COLOURS[name])] * count,
            "messages": [
                {"role": "user", "content": ask},
                {"role": "assistant", "content": [{"type": "text", "text": f"All {name}."}]},
            ],
        }
        for name, count in (("red", 1), ("blue", 1), ("red", 2), ("red", 0))
    ]
    part = {"type": datasets.Value("string"), "text": datasets.Value("string")}
    turn = {"role": datasets.Value("string"), "content": datasets.List(part)}
    features = datasets.Features(
        {"images": datasets.List(datasets.Image()), "messages": datasets.List(turn)}
    )
    return datasets.Dataset.from_list(rows, features=features)


@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_images_and_messages_of_trl_are_read(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("train.parquet" if form == "parquet" else "saved")
    if form == "parquet":
        conversations().to_parquet(path)
    else:
        conversations().save_to_disk(str(path))
    pairs, reader = read(path)
    assert [shown(p) for p in pairs] == [("All red.", (255, 0, 0)), ("All blue.", (0, 0, 255))]
    assert [p.row for p in reader.problems] == [3, 4]
    assert "2 images" in reader.problems[0].message


def test_prompts_and_completions_in_json_lines_are_read(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    user = {"role": "user", "content": "<image>What is it?"}
    rows: list[dict[str, Any]] = [
        {"images": ["a.png"], "messages": [user, {"role": "assistant", "content": "A dog."}]},
        {"image": "a.png", "prompt": [user],
         "completion": [{"role": "assistant", "content": "A cat."}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "image": "a.png"}]},
                      {"role": "assistant", "content": "A cow."}]},
        {"images": ["a.png"], "caption": "Its own caption.", "messages": [user]},
    ]  # fmt: skip
    pairs, reader = read(write(tmp_path / "t.jsonl", json_lines(rows)))
    assert [p.caption for p in pairs] == ["A dog.", "A cat.", "A cow.", "Its own caption."]
    assert reader.problems == []


def with_iptc(jpeg: bytes, caption: bytes) -> bytes:
    """A JPEG with a Photoshop segment, which contains the IPTC record."""
    record = b"\x1c\x02\x78" + struct.pack(">H", len(caption)) + caption
    block = (
        b"8BIM\x04\x04\0\0" + struct.pack(">I", len(record)) + record + b"\0" * (len(record) % 2)
    )
    segment = b"Photoshop 3.0\0" + block
    return jpeg[:2] + b"\xff\xed" + struct.pack(">H", len(segment) + 2) + segment + jpeg[2:]


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description><rdf:Alt>
 <rdf:li xml:lang="de">Ein Hund.</rdf:li><rdf:li xml:lang="x-default">A dog.</rdf:li>
 </rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>"""


def jpeg(**options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def test_captions_in_image_metadata_are_read(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "A bird."
    windows = Image.Exif()
    windows[0x9C9C] = "Ein Mädchen.".encode("utf-16-le") + b"\0\0"
    texts = PngInfo()
    texts.add_itxt("Description", "犬 on a beach.")
    written = {
        "a.jpg": jpeg(xmp=XMP.encode(), exif=exif),
        "b.jpg": with_iptc(jpeg(), "Une fille à vélo.".encode()),
        "c.jpg": jpeg(exif=exif),
        "d.jpg": jpeg(exif=windows),
        "test/f.jpg": with_iptc(jpeg(), b"caf\xe9"),
        "g.jpg": jpeg(),
        "h.jpg": b"no image",
    }
    for name, content in written.items():
        write(tmp_path / name, content)
    Image.new("RGB", (8, 8)).save(tmp_path / "e.png", pnginfo=texts)
    pairs, reader = read(tmp_path, caption_from="metadata")
    assert {p.image_path.name: p.caption for p in pairs} == {
        "a.jpg": "A dog.", "b.jpg": "Une fille à vélo.", "c.jpg": "A bird.",
        "d.jpg": "Ein Mädchen.", "e.png": "犬 on a beach.", "f.jpg": "café",
    }  # fmt: skip
    by_name = {p.image_path.name: p for p in pairs}
    assert by_name["a.jpg"].extra == {"exif_description": "A bird."}
    assert by_name["f.jpg"].split == "test"
    assert sorted("no caption" in p.message for p in reader.problems) == [False, True]
    with pytest.raises(DatasetFormatError, match="the cards"):
        read(tmp_path, caption_from="the cards")
    with pytest.raises(DatasetFormatError, match="is not a folder"):
        read(tmp_path / "a.jpg", caption_from="metadata")


@pytest.mark.parametrize(
    ("names", "saw"),
    [
        (["a.jpg", "b.jpg"], ["'a.jpg', 'b.jpg'", "a.txt", "metadata.csv"]),
        (["notes.docx"], ["'notes.docx'", "metadata.jsonl"]),
        (["x.tar.gz"], ["compressed tars"]),
        ([], ["holds nothing"]),
    ],
)
def test_a_folder_that_is_not_a_dataset_is_refused_with_what_it_contains(
    tmp_path: Path, names: list[str], saw: list[str]
) -> None:
    for name in names:
        write(tmp_path / name, jpeg() if name.endswith("jpg") else b"x")
    with pytest.raises(DatasetFormatError) as refused:
        read(tmp_path)
    assert all(word in str(refused.value) for word in saw), refused.value


def test_a_file_that_is_not_a_dataset_is_refused_with_its_kind(tmp_path: Path) -> None:
    for name, saw in {
        "x.xlsx": "Excel", "x.pkl": "pickle", "x.csv.gz": "compressed",
        "x.tar.gz": "compressed tar", "x.txt": "its folder",
    }.items():  # fmt: skip
        with pytest.raises(DatasetFormatError, match=saw):
            read(write(tmp_path / name, b"x"))


def test_a_number_out_of_range_in_a_json_list_costs_only_its_row(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    good = {"file_name": "a.png", "caption": "A dog 1e999, " + "7" * 5000}
    line = json.dumps(good)
    bad = [f'{{"file_name": "a.png", "caption": "x", "n": {n}}}' for n in ("9" * 5000, "1e999")]
    text = f'[{line}, {bad[0]}, {bad[1]}, {line[:-1]}, "id": 8}}]'
    pairs, reader = read(write(tmp_path / "x.json", text))
    assert [p.caption for p in pairs] == [good["caption"]] * 2
    assert [p.row for p in reader.problems] == [2, 3]
    assert "4,300 digits" in reader.problems[0].message


def arrow(image: pa.Array, caption: pa.Array, form: str = "stream", **options: Any) -> bytes:
    """A stream of Arrow's, or a file."""
    table, buffer = pa.table({"image": image, "caption": caption}), io.BytesIO()
    new = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    with new(buffer, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["stream", "file"])
def test_compressed_arrow_is_read_up_to_a_limit(tmp_path: Path, form: str, sizes: Sizes) -> None:
    padded = encoded() + b"\0" * 200_000
    content = arrow(pa.array([padded] * 3), pa.array(["A dog."] * 3), form, compression="zstd")
    assert len(content) < len(padded)
    path = write(tmp_path / "x.arrow", content)
    pairs, _ = read(path)
    assert [load_image(p.image_path).size for p in pairs] == [(12, 8)] * 3
    sizes(MOST_BYTES=2 * len(padded))
    with pytest.raises(DatasetFormatError, match="unpacks into 600,"):
        read(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["x.parquet", "x.zip", "x.arrow", "x.tar"])
def test_a_pipe_named_like_a_container_does_not_block(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    row = {"file_name": f"{name}!/{'0+1/a.png' if name == 'x.tar' else '0/image'}", "caption": "x"}
    write(tmp_path / "metadata.jsonl", json.dumps(row))
    pairs, reader = read(tmp_path)
    assert pairs == []
    assert "regular file" in reader.problems[0].message


def test_an_invalid_index_into_a_list_of_images_is_a_problem(tmp_path: Path) -> None:
    conversations().to_parquet(tmp_path / "t.parquet")
    for inner in ("0/images/7", "0/images/x", "3/images/0", "0/images"):
        row = {"file_name": f"t.parquet!/{inner}", "caption": "x"}
        pairs, reader = read(write(tmp_path / "t.jsonl", json.dumps(row)))
        assert (pairs, len(reader.problems)) == ([], 1)


def gzipped_tar(path: Path) -> Path:
    plain = make_tar(path, {"a.png": encoded(), "a.txt": b"A dog."}).read_bytes()
    return write(path, gzip.compress(plain))


def test_a_gzipped_tar_cannot_be_read_in_place(tmp_path: Path) -> None:
    path = gzipped_tar(tmp_path / "x.tgz")
    with pytest.raises(DatasetError, match="gunzip"):
        read(path)
    pairs, _ = read(write(tmp_path / "x.tar", gzip.decompress(path.read_bytes())))
    assert [p.caption for p in pairs] == ["A dog."]


@pytest.mark.parametrize("column", ["image", "caption"])
def test_an_arrow_file_with_a_column_that_arrow_finds_invalid_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    """The file is sound: the validation, which is Arrow's, is stood in for."""

    class Invalid:
        type = pa.binary()

        def validate(self, *, full: bool = False) -> None:
            raise pa.ArrowInvalid("an offset is out of range")

    check = arrow_cells._check
    monkeypatch.setattr(
        arrow_cells,
        "_check",
        lambda chunk, name: check(Invalid() if name == column else chunk, name),
    )
    path = write(tmp_path / "x.arrow", arrow(pa.array([encoded()] * 3), pa.array(["A dog."] * 3)))
    with pytest.raises(DatasetFormatError, match=f"column '{column}' is damaged"):
        read(path)
