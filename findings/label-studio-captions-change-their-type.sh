#!/usr/bin/env bash
# Where annotators may write several captions of a picture, one would expect an export of Label Studio to have a list for each task,
# or a row for each caption. Its JSON-MIN and CSV have a text for a task with one caption, but an object with a list, in CSV as JSON
# within the cell, for one with several or none: read as a text, the JSON itself becomes the caption.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check label-studio-sdk==2.1.2
cd "$folder"
env/bin/python - <<'PYTHON'
import csv
import json
import sys
from importlib.metadata import version
from pathlib import Path

from label_studio_sdk.converter import Converter

LABELS = '<View><Image name="image" value="$image"/><TextArea name="caption" toName="image" maxSubmissions="3"/></View>'
captions = [["a dog"], ["a dog", "a dog in the snow"], []]
tasks = [
    {"id": number, "data": {"image": f"{number}.jpg"}, "annotations": [{"id": number, "completed_by": {"id": 1}, "result": [
        {"id": f"r{number}", "from_name": "caption", "to_name": "image", "type": "textarea", "value": {"text": texts}}
    ]}]}
    for number, texts in enumerate(captions, 1)
]
Path("tasks.json").write_text(json.dumps(tasks))
for kind in ("JSON_MIN", "CSV"):
    Converter(LABELS, project_dir=".").convert("tasks.json", kind, kind, is_dir=False)
in_json = [row["caption"] for row in json.loads(Path("JSON_MIN/result.json").read_text())]
with open("CSV/result.csv", encoding="utf-8", newline="") as table:
    in_csv = [row["caption"] for row in csv.DictReader(table)]
print("label-studio-sdk", version("label-studio-sdk"))
for texts, one, other in zip(captions, in_json, in_csv, strict=True):
    print(f"{texts}: JSON-MIN {one!r}, CSV {other!r}")
objects = [{"text": texts} for texts in captions[1:]]
if in_json != ["a dog", *objects] or in_csv[0] != "a dog" or [json.loads(cell) for cell in in_csv[1:]] != objects:
    sys.exit("This has changed: the type of a caption no longer depends on how many there are.")
PYTHON
