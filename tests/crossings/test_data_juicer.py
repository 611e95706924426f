"""Data-Juicer filters an export, converts one to its own format, and `import` reads both again."""

import json
from pathlib import Path

from backend.datasets.export_row import ExportRow
from tests.crossings.conftest import Run
from tests.crossings.test_open_clip_train import drawn_rows
from tests.datasets.folders import read
from tests.datasets.writing.test_export_loaders import write

#: What its command and its converters import beyond its requirements.
PACKAGES = ("py-data-juicer==1.6.1", "aiohttp", "av", "fire")
FILTER = """
import json
import subprocess
import sys
from pathlib import Path

table, out = sys.argv[1:]
Path("recipe.yaml").write_text(json.dumps({
    "dataset_path": table, "export_path": out, "np": 1, "text_keys": "caption",
    "process": [{"text_length_filter": {"max_len": 24}}],
}))
process = Path(sys.executable).parent / "dj-process"
subprocess.run([process, "--config", "recipe.yaml"], check=True, stdout=sys.stderr)
print(json.dumps(len(Path(out).read_text("utf-8").splitlines())))
"""
CONVERT = """
import json
import sys
from pathlib import Path

from tools.fmt_conversion.multimodal.source_format_to_data_juicer_format.llava_to_dj import main

lines, out = sys.argv[1:]
samples = [json.loads(line) for line in Path(lines).read_text("utf-8").splitlines()]
Path("llava.json").write_text(json.dumps(samples))  # it reads a list
main("llava.json", out)
print(json.dumps(len(samples)))
"""


def read_again(table: Path, images: Path) -> dict[str, tuple[str, str]]:
    pairs, reader = read(table, image_root=images)
    assert reader.problems == []
    return {pair.id: (pair.caption, pair.image_path.name) for pair in pairs}


def expected(rows: list[ExportRow]) -> dict[str, tuple[str, str]]:
    return {row.id: (row.caption, Path(str(row.image_path)).name) for row in rows}


def test_a_table_is_filtered_and_read_again(tmp_path: Path, run_with: Run) -> None:
    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "jsonl", rows)
    short = [row for row in rows if len(row.caption) <= 24]
    filtered = tmp_path / "out" / "filtered.jsonl"
    assert run_with(PACKAGES, FILTER, out / "data.jsonl", filtered) == len(short) < len(rows)
    assert read_again(filtered, tmp_path) == expected(short)


def test_what_its_converter_makes_of_conversations_is_read(tmp_path: Path, run_with: Run) -> None:
    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "conversations", rows)
    converted = out / "converted.jsonl"
    assert run_with(PACKAGES, CONVERT, out / "data.jsonl", converted) == len(rows)
    (first, *_) = converted.read_text("utf-8").splitlines()
    assert json.loads(first)["text"].startswith("[[human]]: <image>\n")
    assert read_again(converted, tmp_path) == expected(rows)
