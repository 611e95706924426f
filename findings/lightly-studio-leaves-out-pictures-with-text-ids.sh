#!/usr/bin/env bash
# Caption sets in COCO's format often have texts for ids. One would expect LightlyStudio to take such a picture, or to say that it
# cannot. It leaves it out with its captions, and the report of what was added, missing or broken does not count it. Who has a
# second file of captions for the same pictures gets none of them: the pictures are "already present". What comes out again has
# the ids 0, 1, 2, … in place of those that went in, and absolute paths: corrections made there cannot be joined by id.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --extra-index-url https://download.pytorch.org/whl/cpu \
    lightly-studio==1.2.0 torch==2.13.0 torchvision==0.28.0 pillow
cd "$folder"
LIGHTLY_STUDIO_ANALYTICS_ENABLED=0 "$folder/env/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -n 20 "$folder/log" >&2; exit 1; }
import json
import os
import sys
from importlib.metadata import version

import lightly_studio
from PIL import Image

IDS = {"a.png": 501, "b.png": "picture-b", "c.png": 77}


def write(file, captions):
    """A file of COCO's captions: (id, picture, text)."""
    names = dict.fromkeys(name for _, name, _ in captions)
    content = {
        "images": [{"id": IDS[name], "file_name": name, "width": 32, "height": 32} for name in names],
        "annotations": [{"id": number, "image_id": IDS[name], "caption": text} for number, name, text in captions],
    }
    with open(file, "w") as target:
        json.dump(content, target)


os.mkdir("pictures")
for name in IDS:
    Image.new("RGB", (32, 32), "red").save(f"pictures/{name}")
write("first.json", [(9001, "a.png", "A red square."), (9002, "b.png", "A square."), (9003, "c.png", "All red.")])
write("second.json", [(9101, "a.png", "A wall."), (9102, "c.png", "A flag.")])

dataset = lightly_studio.ImageDataset.create(name="captions")
for file in ("first.json", "second.json"):
    dataset.add_samples_from_coco_caption(annotations_json=file, images_path="pictures", embed=False)
dataset.export().to_coco_captions("exported.json")
with open("exported.json") as file:
    exported = json.load(file)
seen = {os.path.basename(row["file_name"]): row["id"] for row in exported["images"]}
captions = {row["caption"]: row["id"] for row in exported["annotations"]}
with open("log") as file:
    reports = [line.split("result: ")[1].strip() for line in file if "File processing result" in line]
print("lightly-studio", version("lightly-studio"))
print("pictures went in as", IDS, "and came out as", seen)
print("captions came out as", captions)
print("reports:", *reports, sep="\n  ")
if seen != {"a.png": 0, "c.png": 1} or set(captions) != {"A red square.", "All red."}:
    sys.exit("This has changed: pictures with a text for an id, or captions of a second file, are read.")
PYTHON
