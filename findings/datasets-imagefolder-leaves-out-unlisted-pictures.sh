#!/usr/bin/env bash
# A folder of pictures with a metadata.jsonl that does not name all of them: one would expect an error, or
# rows without a caption. `datasets` leaves the pictures out and says nothing, so that a caption file cut
# in the middle makes a smaller dataset. Without any metadata the same folder has all pictures.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pillow==13.0.0
HF_HOME="$folder/cache" HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder/pictures" <<'PYTHON'
import json
import sys
from pathlib import Path

import datasets
from PIL import Image

datasets.disable_progress_bars()
folder = Path(sys.argv[1])
folder.mkdir()
for number in range(5):
    Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"{number}.png")
without = len(datasets.load_dataset("imagefolder", data_dir=str(folder), split="train"))
lines = [json.dumps({"file_name": f"{number}.png", "text": f"Number {number}."}) for number in range(3)]
(folder / "metadata.jsonl").write_text("\n".join(lines))
listed = datasets.load_dataset("imagefolder", data_dir=str(folder), split="train")
print("datasets", datasets.__version__, "pictures:", without, "with metadata of three:", len(listed), listed["text"][:])
if (without, len(listed)) != (5, 3):
    sys.exit("This has changed: pictures that the metadata does not name are no longer left out.")
PYTHON
