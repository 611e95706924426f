"""Shards that mosaicml-streaming and LitData wrote are imported."""

import io
from pathlib import Path

import pytest
from PIL import Image

from backend.datasets.safe_files.containers import Member
from tests.crossings.conftest import Run
from tests.crossings.test_open_clip_train import corner, drawn_rows
from tests.datasets.folders import read
from tests.tree import ROOT

MDS = ("torch==2.13.0", "mosaicml-streaming==0.13.0")
WRITE_MDS = """
import json
import sys
from pathlib import Path

from PIL import Image

folder, out, compression, ours = sys.argv[1:]
sys.path.append(ours)
import backend.engine.torchvision_compat
from streaming import MDSWriter

columns = {"picture": "png", "pixels": "pil", "caption": "str", "n": "int", "about": "json"}
writing = {"out": out, "columns": columns, "size_limit": 900, "compression": compression or None}
with MDSWriter(**writing) as writer:
    for n, path in enumerate(sorted(Path(folder).glob("*.png"))):
        picture = Image.open(path)
        writer.write({"picture": picture, "pixels": picture, "caption": f"A {path.stem} square.",
                      "n": n, "about": {"name": path.name}})
print(json.dumps(len(list(Path(out).glob("shard*")))))
"""
LITDATA = ("torch==2.13.0", "torchvision==0.28.0", "litdata==0.2.76", "pillow")
WRITE_LITDATA = """
import json
import sys
from pathlib import Path

import litdata
from PIL import Image


as_bytes = sys.argv[3:] == ["bytes"]


def sample(path):
    picture = Path(path).read_bytes() if as_bytes else Image.open(path).convert("RGB")
    return {"picture": picture, "caption": [f"A {Path(path).stem} square."],
            "n": len(path), "about": {"name": Path(path).name}}


if __name__ == "__main__":
    folder, out = sys.argv[1:3]
    paths = sorted(map(str, Path(folder).glob("*.png")))
    litdata.optimize(sample, paths, out, chunk_size=2, num_workers=1)
    print(json.dumps(len(list(Path(out).glob("*.bin")))))
"""


def check(out: Path, source: Path, **options: str) -> None:
    pairs, reader = read(out, **options)
    assert not reader.problems
    assert len(pairs) == len(list(source.glob("*.png")))
    for pair in pairs:
        assert isinstance(pair.image_path, Member)
        picture = Image.open(io.BytesIO(pair.image_path.read()))
        name = pair.extra["about"]["name"] if "about" in pair.extra else pair.extra["about.name"]
        assert corner(picture) == corner(Image.open(source / name))
        assert pair.caption == f"A {Path(name).stem} square."


@pytest.mark.parametrize("compression", ["", "zstd"])
@pytest.mark.parametrize("column", ["picture", "pixels"])
def test_shards_of_mds(tmp_path: Path, run_with: Run, compression: str, column: str) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    drawn_rows(source)
    assert run_with(MDS, WRITE_MDS, source, out, compression, ROOT) > 1
    check(out, source, image_column=column)


@pytest.mark.parametrize("form", ["pixels", "bytes"])
def test_chunks_of_litdata(tmp_path: Path, run_with: Run, form: str) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    drawn_rows(source)
    assert run_with(LITDATA, WRITE_LITDATA, source, out, form) > 1
    check(out, source)
