#!/usr/bin/env bash
# COCO's annotations may have texts for ids (many caption sets do), and pycocotools indexes them. One
# would expect `getAnnIds(imgIds="12")` to give the captions of picture "12". A text counts as a list:
# it gives those of the pictures "1" and "2", and nothing for "12" itself, without a word. In a list
# the id is taken whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pycocotools==2.0.10 numpy==2.2.6
"$folder/venv/bin/python" - <<'PYTHON'
import contextlib
import io
import sys
from importlib.metadata import version

from pycocotools.coco import COCO

with contextlib.redirect_stdout(io.StringIO()):
    coco = COCO()
    coco.dataset = {
        "images": [{"id": name, "file_name": f"{name}.jpg"} for name in ("1", "2", "12")],
        "annotations": [
            {"id": number, "image_id": name, "caption": f"The picture {name}."}
            for number, name in enumerate(("1", "2", "12"), 1)
        ],
    }
    coco.createIndex()


def captions(ids):
    return [row["caption"] for row in coco.loadAnns(coco.getAnnIds(imgIds=ids))]


print("pycocotools", version("pycocotools"))
print('getAnnIds(imgIds="12")  :', captions("12"))
print('getAnnIds(imgIds=["12"]):', captions(["12"]))
if captions("12") != ["The picture 1.", "The picture 2."] or captions(["12"]) != ["The picture 12."]:
    sys.exit("This has changed: a text is not taken apart any more.")
PYTHON
