"""The fuzzer's inputs: values, tables of them in every supported format, and damaged files."""

import csv
import gzip
import io
import json
import math
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

_TEXTS = (
    "", " ", "A dog on a beach.", "a.png", "b.jpg", "../a.png", "/etc/passwd", "a\0b", "\ud83d",
    "犬が走る", "🐕‍🦺", "=cmd|' /C calc'!A0", "<img src=x onerror=alert(1)>", "{{7*7}}", "\r\n",
    "'; DROP TABLE pairs; --", '"', '"unclosed', "train", "validation", "NaN", "1e999", "%00",
    "rows.parquet!/0/image", "rows.tar!/512+70/a.png", "!/", "a.png!/", "<__dj__image> A dog.",
    "<|__dj__eoc|>", "<__dj__image><|__dj__eoc|> x", "<image>\nWhat?", "x" * 300, "y " * 12_000,
    "\u202egnp.tac", "\ufdd0number\ufdd0", "p_error_from=2&order=x",
)  # fmt: skip
_COLUMNS = (
    "file_name", "image", "images", "caption", "captions", "text", "id", "image_id", "split",
    "conversations", "messages", "prompt", "completion", "filename", "extra", "verdict", "", "\0",
    "\ud83d", "a b", "key",
)  # fmt: skip
#: A number that Python refuses to write; it is inserted into the JSON by hand.
_ENDLESS = "5,000 digits"


def text(rng: random.Random) -> str:
    """A text from a list of awkward ones, cut or joined, or random characters."""
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(_TEXTS)
    if kind < 0.85:
        return rng.choice(_TEXTS)[: rng.randrange(12)] + rng.choice(_TEXTS)
    return "".join(
        chr(rng.randrange(1, rng.choice((128, 0xD800)))) for _ in range(rng.randrange(9))
    )


def value(rng: random.Random, depth: int = 0) -> Any:
    """Anything that JSON can represent, and numbers that it cannot."""
    kind = rng.random()
    if kind < 0.45:
        return text(rng)
    if kind < 0.75 or depth > 3:
        return rng.choice(
            (None, True, 0, -1, 1, 7, 2**31, 2**63, -(2**70), 10**400, 0.5, -0.0, 1e308, math.nan,
             math.inf, -math.inf, _ENDLESS)
        )  # fmt: skip
    size = rng.randrange(4)
    if kind < 0.88:
        return [value(rng, depth + 1) for _ in range(size)]
    return {text(rng): value(rng, depth + 1) for _ in range(size)}


def turns(rng: random.Random) -> Any:
    """A roughly valid conversation."""
    made = []
    for _ in range(rng.randrange(4)):
        turn: dict[str, Any] = {
            rng.choice(("role", "from", "who")): rng.choice(
                ("user", "human", "assistant", "gpt", 7)
            ),
            rng.choice(("content", "value")): rng.choice(
                (text(rng), [{"type": "text", "text": text(rng)}, {"type": "image"}], value(rng))
            ),
        }
        made.append(rng.choice((turn, turn, turn, value(rng))))
    return made


def row(rng: random.Random) -> Any:
    """A row that is often partly valid."""
    if rng.random() < 0.05:
        return value(rng)
    made: dict[str, Any] = {}
    if rng.random() < 0.7:
        made["file_name"] = "a.png"
    if rng.random() < 0.7:
        made["caption"] = f"A dog {rng.randrange(99)}."
    for _ in range(rng.randrange(4)):
        made[rng.choice(_COLUMNS)] = value(rng)
    if rng.random() < 0.3:
        made[rng.choice(("messages", "conversations", "completion"))] = turns(rng)
        made["images"] = rng.choice((["a.png"], [], ["a.png", "b.jpg"], "a.png", value(rng)))
    return made


def rows(rng: random.Random) -> list[Any]:
    return [row(rng) for _ in range(rng.randrange(6))]


def as_json(given: Any) -> bytes:
    plain = json.dumps(given, ensure_ascii=True)
    return plain.replace(json.dumps(_ENDLESS), "9" * 5000).encode()


def picture(form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (6, 4), "red").save(buffer, form)
    return buffer.getvalue()


def _lines(given: list[Any]) -> bytes:
    return b"\n".join(map(as_json, given))


def _whole(given: list[Any]) -> bytes:
    return as_json(given)


def _coco(given: list[Any]) -> bytes:
    listed = [
        {"id": number, **entry, "image_id": 1} if isinstance(entry, dict) else entry
        for number, entry in enumerate(given)
    ]
    return as_json({"images": [{"id": 1, "file_name": "a.png"}, *given], "annotations": listed})


def _karpathy(given: list[Any]) -> bytes:
    images = [
        {"filename": "a.png", "sentences": [entry], **entry} if isinstance(entry, dict) else entry
        for entry in given
    ]
    for image in images:
        if isinstance(image, dict) and "caption" in image:
            image["sentences"] = [{"raw": image["caption"]}]
    return as_json({"images": images})


def _csv(given: list[Any], delimiter: str = ",") -> bytes:
    objects = [entry for entry in given if isinstance(entry, dict)]
    names = list(dict.fromkeys(key for entry in objects for key in entry)) or [
        "file_name",
        "caption",
    ]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, escapechar="\\", delimiter=delimiter)
    writer.writeheader()
    writer.writerows({key: str(cell)[:5000] for key, cell in entry.items()} for entry in objects)
    return buffer.getvalue().encode("utf-8", "surrogatepass")


def _zip(given: list[Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train/metadata.jsonl", _lines(given))
        archive.writestr("metadata.csv", _csv(given))
        archive.writestr("a.png", picture())
    return buffer.getvalue()


def _tar(given: list[Any]) -> bytes:
    members = {"a.png": picture(), "a.txt": b"A dog."}
    for number, item in enumerate(given):
        members[f"{number}.jpg"] = picture("JPEG")
        members[f"{number}.json"] = as_json(item)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _table(given: list[Any]) -> pa.Table:
    """Columns as Arrow converts the values, and some of types that only Arrow has."""
    objects = [entry for entry in given if isinstance(entry, dict)]
    names = [n for n in dict.fromkeys(k for entry in objects for k in entry) if _is_utf8(n)]
    columns: dict[str, Any] = {}
    for name in names:
        cells = [entry.get(name) for entry in objects]
        try:
            columns[name] = pa.array(cells)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            columns[name] = pa.array([str(cell).encode("utf-8", "replace") for cell in cells])
    count = len(objects)
    more = {
        "image": [{"bytes": picture(), "path": None}] * count,
        "images": [[{"bytes": picture(), "path": "a.png"}] * (n % 3) for n in range(count)],
        "when": pa.array([2**62 - n for n in range(count)], pa.timestamp("us")),
        "zone": pa.array(range(count), pa.timestamp("s", tz="Mars/Phobos")),
        "raw": [b"\xff\xfe"] * count,
        "text": pa.array(["A dog."] * count).dictionary_encode(),
    }
    for number, (name, cells) in enumerate(more.items()):
        if (count + number) % 2 and name not in columns:
            columns[name] = cells
    return pa.table(columns)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name


def _parquet(given: list[Any]) -> bytes:
    buffer = io.BytesIO()
    try:
        pq.write_table(_table(given), buffer, row_group_size=2)
    except (pa.ArrowException, NotImplementedError):  # a struct without fields, for one
        return b"PAR1"
    return buffer.getvalue()


def _arrow(compression: str | None, is_file: bool) -> Callable[[list[Any]], bytes]:
    def write(given: list[Any]) -> bytes:
        made, table = io.BytesIO(), _table(given)
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(
            made, table.schema, options=options
        ) as writer:
            writer.write_table(table)
        return made.getvalue()

    return write


#: How rows are written, by the name of the file.
FORMS: dict[str, Callable[[list[Any]], bytes]] = {
    "rows.jsonl": _lines,
    "list.json": _whole,
    "captions_coco.json": _coco,
    "dataset_karpathy.json": _karpathy,
    "rows.csv": _csv,
    "rows.tsv": lambda given: _csv(given, "\t"),
    "rows.zip": _zip,
    "rows.tar": _tar,
    "rows.tar.gz": lambda given: gzip.compress(_tar(given), 1),
    "rows.parquet": _parquet,
    "rows.arrow": _arrow(None, False),
    "packed.arrow": _arrow("zstd", False),
    "file.arrow": _arrow("lz4", True),
}


def mutated(rng: random.Random, content: bytes) -> bytes:
    """The file with some bytes flipped, cut, duplicated, or replaced by boundary numbers."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not made:
            break
        place = rng.randrange(len(made))
        length = rng.choice((1, 2, 4, 8, 64))
        match rng.randrange(6):
            case 0:
                made[place] ^= 1 << rng.randrange(8)
            case 1:
                del made[place : place + length]
            case 2:
                made[place:place] = made[place : place + length]
            case 3:
                number = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 0x7F, 0x80))
                made[place : place + 4] = struct.pack("<i", number)
            case 4:
                made[place:place] = rng.randbytes(length)
            case _:
                del made[place:]
    return bytes(made)


def folder(rng: random.Random, target: Path) -> None:
    """A folder in one of the supported layouts, with files that do not belong there."""
    content = _lines(rows(rng))
    match rng.randrange(5):
        case 0:
            (target / "metadata.jsonl").write_bytes(content)
        case 1:
            for split in ("train", "test"):
                (target / split).mkdir(exist_ok=True)
                (target / split / "metadata.csv").write_bytes(_csv(rows(rng)))
        case 2:
            for name in ("a.txt", "b.caption", "c.txt"):
                caption = text(rng).encode("utf-8", "surrogatepass")
                (target / name).write_bytes(rng.choice((caption, rng.randbytes(9))))
            (target / "b.json").write_bytes(as_json(row(rng)))
        case 3:
            (target / "data").mkdir(exist_ok=True)
            (target / "data" / "train-00000-of-00001.parquet").write_bytes(_parquet(rows(rng)))
            listed = {"split": text(rng), "path": rng.choice(("data/*", text(rng), value(rng)))}
            about = {"configs": [{"config_name": text(rng), "data_files": [listed]}, value(rng)]}
            front = rng.choice((as_json(about), as_json(value(rng)), rng.randbytes(30)))
            (target / "README.md").write_bytes(b"---\n" + front + b"\n---\n")
        case _:
            (target / "state.json").write_bytes(
                as_json({"_data_files": [{"filename": "x.arrow"}, value(rng)][: rng.randrange(3)]})
            )
            (target / "x.arrow").write_bytes(_arrow(None, False)(rows(rng)))
