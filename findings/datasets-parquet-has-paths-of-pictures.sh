#!/usr/bin/env bash
# `datasets` keeps the pictures of a folder as paths, and one would expect all that it writes to a disk to be
# whole. `save_to_disk` puts the pictures in; `to_parquet` and `to_json` write the paths of this machine,
# with a column of bytes that is null, and say nothing: elsewhere such a table has captions and no pictures.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pillow==13.0.0
HF_HOME="$folder/cache" HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder" <<'PYTHON'
import json
import sys
from pathlib import Path

import datasets
import pyarrow.parquet as pq
from PIL import Image

datasets.disable_progress_bars()
folder = Path(sys.argv[1])
source = folder / "pictures"
source.mkdir()
Image.new("RGB", (8, 8), "red").save(source / "a.png")
(source / "metadata.jsonl").write_text(json.dumps({"file_name": "a.png", "text": "A red square."}))
table = datasets.load_dataset("imagefolder", data_dir=str(source), split="train")
table.to_parquet(folder / "t.parquet")
table.to_json(folder / "t.jsonl")
table.save_to_disk(folder / "saved")
saved = datasets.load_from_disk(folder / "saved").cast_column("image", datasets.Image(decode=False))
cells = {
    "to_parquet": pq.read_table(folder / "t.parquet").to_pylist()[0]["image"],
    "to_json": json.loads((folder / "t.jsonl").read_text())["image"],
    "save_to_disk": saved[0]["image"],
}
print("datasets", datasets.__version__)
for name, cell in cells.items():
    print(f"{name}: bytes {cell['bytes'] and len(cell['bytes'])}, path {Path(cell['path']).name}, absolute {Path(cell['path']).is_absolute()}")
if {name: bool(cell["bytes"]) for name, cell in cells.items()} != {"to_parquet": False, "to_json": False, "save_to_disk": True}:
    sys.exit("This has changed: other writers put the pictures in.")
PYTHON
