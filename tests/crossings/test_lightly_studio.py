"""LightlyStudio reads COCO exports, and `import` reads what it exports."""

from pathlib import Path

from tests.crossings.conftest import Run
from tests.crossings.test_open_clip_train import drawn_rows
from tests.datasets.folders import read
from tests.datasets.writing.test_export_loaders import write

PACKAGES = ("lightly-studio==1.2.0",)
SCRIPT = """
import json
import os
import sys

os.environ["LIGHTLY_STUDIO_ANALYTICS_ENABLED"] = "false"
import lightly_studio

table, images, out = sys.argv[1:]
lightly_studio.db_manager.connect(db_file="lightly.db")
dataset = lightly_studio.ImageDataset.create("pairs")
for _ in range(2):  # the second time nothing is added
    dataset.add_samples_from_coco_caption(table, images, embed=False)
dataset.export().to_coco_captions(out)
print(json.dumps(len(list(dataset))))
"""


def test_its_captions_are_ours_without_blanks_at_their_ends(tmp_path: Path, run_with: Run) -> None:
    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "coco", rows)
    exported = tmp_path / "captions_lightly.json"
    assert run_with(PACKAGES, SCRIPT, out / "captions_train.json", out, exported) == len(rows)
    pairs, reader = read(exported)
    assert reader.problems == []
    assert {pair.image_path.name: pair.caption for pair in pairs} == {
        Path(str(row.image_path)).name: row.caption.strip() for row in rows
    }
    assert all(row.caption != row.caption.strip() for row in rows)
