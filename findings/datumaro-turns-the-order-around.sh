#!/usr/bin/env bash
# Datumaro reads COCO's captions and writes them again, and one would expect the order to stay. Pictures and the
# captions of each come back in the reverse order: whoever compares such files row by row, or takes the
# first caption of a picture, compares other ones. Written for CVAT, the captions are gone without a word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datumaro==1.13.12
"$folder/env/bin/python" - "$folder" <<'PYTHON'
import json
import sys
from pathlib import Path

import datumaro
from PIL import Image

root = Path(sys.argv[1])
source = root / "coco"
(source / "images" / "val").mkdir(parents=True)
(source / "annotations").mkdir()
names = ["a.jpg", "b.jpg", "c.jpg"]
for name in names:
    Image.new("RGB", (20, 10)).save(source / "images" / "val" / name)
images = [{"id": n, "file_name": name, "width": 20, "height": 10} for n, name in enumerate(names, 1)]
captions = [{"id": 10 * n + k, "image_id": n, "caption": f"{name} {k}"} for n, name in enumerate(names, 1) for k in (1, 2)]
(source / "annotations" / "captions_val.json").write_text(json.dumps({"images": images, "annotations": captions}))
dataset = datumaro.Dataset.import_from(str(source), "coco_captions")
dataset.export(str(root / "again"), "coco_captions")
again = json.loads(next((root / "again").rglob("captions_*.json")).read_text())
order = [row["caption"] for row in again["annotations"]]
print("datumaro", datumaro.__version__, order)
dataset.export(str(root / "cvat"), "cvat", save_media=True)
cvat = next((root / "cvat").rglob("*.xml")).read_text()
lost = not any(row["caption"] in cvat for row in captions)
print("captions in CVAT's file:", not lost)
if order != [row["caption"] for row in reversed(captions)] or not lost:
    sys.exit("This has changed: the order stays, or CVAT's file has captions.")
PYTHON
