"""Megatron-Energon prepares a webdataset export and reads its samples."""

from pathlib import Path

from tests.crossings.conftest import Run, python_with
from tests.crossings.test_open_clip_train import drawn_rows, expected_pairs
from tests.datasets.test_export_loaders import write

PACKAGES = ("torch==2.13.0", "megatron-energon==7.4.1")
SCRIPT = """
import json
import subprocess
import sys
from pathlib import Path

from megatron.energon import WorkerConfig, get_loader, get_val_dataset

folder = Path(sys.argv[1])
energon = Path(sys.executable).parent / "energon"
subprocess.run(
    [energon, "prepare", str(folder), "--non-interactive", "--split-parts", "val:train-.*",
     "--sample-type", "CaptioningSample", "--field-map", '{"image": "png", "caption": "txt"}'],
    check=True, stdout=sys.stderr,
)
dataset = get_val_dataset(
    str(folder), split_part="val", batch_size=2,
    worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
)
pairs = {}
for batch in get_loader(dataset):
    for caption, image in zip(batch.caption, batch.image):
        pairs[caption] = [round(float(level) * 255) for level in image[:, 1, 1]]
print(json.dumps(pairs))
"""


def test_energon_reads_what_was_exported(tmp_path: Path, run_with: Run) -> None:
    assert python_with(*PACKAGES).exists()
    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "webdataset", rows)
    pairs = run_with(PACKAGES, SCRIPT, out)
    assert {text: tuple(pixel) for text, pixel in pairs.items()} == expected_pairs(rows)
