#!/usr/bin/env bash
# COCO has its captions in one file and its boxes in another; both know a picture by its id. sahi reads and writes the file of boxes, to rename
# categories for instance, and one would expect the ids to stay. It numbers the pictures from 1 in the order of the file:
# joined by id as before, each caption belongs to the boxes and the picture of another row. Captions in the file itself are gone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check sahi==0.12.8 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import io
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from sahi.utils.coco import Coco
from sahi.utils.file import save_json

messages = []
warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
#: The captions of COCO's second file, by the id of the picture.
CAPTIONS = {1: "a red bus", 2: "a dog on grass", 3: "two boats"}
FILES = {3: "boats.jpg", 1: "bus.jpg", 2: "dog.jpg"}
BOX = [10, 10, 20, 20]
boxes = {
    "images": [{"id": number, "file_name": name, "width": 64, "height": 64} for number, name in FILES.items()],
    "categories": [{"id": 1, "name": "object"}],
    "annotations": [
        {"id": number, "image_id": number, "category_id": 1, "bbox": BOX, "area": 400, "iscrowd": 0, "caption": CAPTIONS[number]}
        for number in FILES
    ],
}
Path("instances.json").write_text(json.dumps(boxes))


def captions_of(coco):
    return {image["file_name"]: CAPTIONS.get(image["id"]) for image in coco["images"]}


with contextlib.redirect_stdout(io.StringIO()) as said:
    coco = Coco.from_coco_dict_or_path("instances.json")
    coco.update_categories(desired_name2id={"object": 1})
    save_json(coco.json, "renamed.json")
messages += said.getvalue().splitlines()
written = json.loads(Path("renamed.json").read_text())
kept = ["caption" in row for row in written["annotations"]]
print("sahi", version("sahi"))
print("captions by the id of the picture, as read:", captions_of(boxes))
print("as written again:", captions_of(written))
print("captions of the boxes kept:", kept)
print("said meanwhile:", messages)
expected = {"boats.jpg": "a red bus", "bus.jpg": "a dog on grass", "dog.jpg": "two boats"}
if captions_of(written) != expected or any(kept) or messages:
    sys.exit("This has changed: sahi keeps the ids of pictures.")
PYTHON
