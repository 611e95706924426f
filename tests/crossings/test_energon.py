"""Megatron-Energon reads the samples of a webdataset export, by the folder that it has for that."""

from dataclasses import replace
from pathlib import Path

from tests.crossings.conftest import Run, python_with
from tests.crossings.test_open_clip_train import drawn_rows, expected_pairs
from tests.datasets.writing.test_export_loaders import write

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
    [energon, "prepare", str(folder), "--tar-index-only"], check=True, stdout=sys.stderr,
)
pairs = []
for split in sys.argv[2:]:
    dataset = get_val_dataset(
        str(folder), split_part=split, batch_size=2,
        worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
    )
    for batch in get_loader(dataset):
        for caption, image in zip(batch.caption, batch.image):
            levels = [round(float(level) * 255) for level in image[:, 1, 1]]
            pairs.append([caption, [split, *levels]])
print(json.dumps(pairs))
"""


def test_energon_reads_what_was_exported(tmp_path: Path, run_with: Run) -> None:
    assert python_with(*PACKAGES).exists()
    drawn = drawn_rows(tmp_path / "source")
    rows = [replace(row, split="validation" if n > 2 else "train") for n, row in enumerate(drawn)]
    out = write(tmp_path / "source", tmp_path / "out", "webdataset", rows)
    pairs = dict(run_with(PACKAGES, SCRIPT, out, "train", "val"))
    split_of = {row.caption: "val" if row.split == "validation" else "train" for row in rows}
    assert {text: about[0] for text, about in pairs.items()} == split_of
    assert {text: tuple(about[1:]) for text, about in pairs.items()} == expected_pairs(rows)
