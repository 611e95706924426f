#!/usr/bin/env bash
# A folder of pictures with `metadata.jsonl` has a row for each picture. One would expect names of pictures to be names. datasets reads
# a split from them: where one picture is called "train station.jpg", or "crash-test.jpg", that one is the dataset, even without its
# caption, and all others are left out without a word. With COCO's classes as names, the trains are left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pillow==12.3.0
cd "$folder"
HF_HOME="$folder/cache" HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 env/bin/python - <<'PYTHON'
import json
import sys
from importlib.metadata import version
from pathlib import Path

from datasets import load_dataset
from PIL import Image

FOLDERS = {
    "ordinary": ["bus 1.jpg", "dog 1.jpg", "trains 1.jpg", "latest.jpg"],
    "station": ["bus 1.jpg", "dog 1.jpg", "train station.jpg", "latest.jpg"],
    "crash": ["bus-1.jpg", "dog-1.jpg", "crash-test.jpg", "latest.jpg"],
    "dev": ["pictures/bus_1.jpg", "pictures/dog_1.jpg", "pictures/dev_board.jpg"],
}

print("datasets", version("datasets"))
lost = {}
for folder, names in FOLDERS.items():
    for name in names:
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    lines = [json.dumps({"file_name": name, "text": f"the caption of {name}"}) for name in names]
    Path(folder, "metadata.jsonl").write_text("\n".join(lines) + "\n")
    splits = load_dataset(folder)
    rows = {split: (len(rows), rows.column_names) for split, rows in splits.items()}
    captions = [caption for rows in splits.values() if "text" in rows.column_names for caption in rows["text"]]
    lost[folder] = len(names) - sum(count for count, _ in rows.values()), len(names) - len(captions)
    print(names, "are read as", rows)
print("lost pictures and captions:", lost)
if lost != {"ordinary": (0, 0), "station": (3, 4), "crash": (3, 4), "dev": (2, 3)}:
    sys.exit("This has changed: names of pictures are no splits.")
PYTHON
