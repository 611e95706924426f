#!/usr/bin/env bash
# COCO's categories are usually numbered from 1, the classes of YOLO are places in a list, from 0. One would expect pylabel, which turns one
# into the other, to write numbers that fit the list of names it writes beside them. Unless told where numbers begin, it writes COCO's:
# each box has the name of the next class, and the last class, or every one behind a gap in the numbers, none. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pylabel==0.1.55 pandas==2.3.3 numpy==2.4.6 pyyaml==6.0.3
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import io
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import yaml
from pylabel import importer

messages = []
#: pandas announces changes of its own, which are no word about the classes.
warnings.showwarning = lambda message, category, *_, **__: category is FutureWarning or messages.append(str(message))


def classes_of(numbers, **options):
    """The name of each category's box by the file that YOLO reads, or None."""
    names = ["dog", "cat", "bus"]
    coco = {
        "images": [{"id": place, "file_name": f"{name}.jpg", "width": 100, "height": 100} for place, name in enumerate(names)],
        "categories": [{"id": number, "name": name} for number, name in zip(numbers, names)],
        "annotations": [
            {"id": place, "image_id": place, "category_id": number, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0}
            for place, number in enumerate(numbers)
        ],
    }
    Path("coco.json").write_text(json.dumps(coco))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        importer.ImportCoco("coco.json").export.ExportToYoloV5(output_path="yolo/labels", **options)
    messages.extend(said.getvalue().splitlines())
    written = yaml.safe_load(Path("yolo/dataset.yaml").read_text())["names"]
    labels = {name: int(Path(f"yolo/labels/{name}.txt").read_text().split()[0]) for name in names}
    return written, {name: written[label] if label < len(written) else None for name, label in labels.items()}


print({name: version(name) for name in ("pylabel", "pandas")})
found = {
    "numbered from 1": classes_of([1, 2, 3]),
    "with gaps": classes_of([0, 2, 17]),
    "numbered from 1, told to begin at 0": classes_of([1, 2, 3], cat_id_index=0),
}
for name, (written, classes) in found.items():
    print(f"{name}: names written {written}, classes by number {classes}")
print("said meanwhile:", messages)
NAMES = ["dog", "cat", "bus"]
expected = [
    {"dog": "cat", "cat": "bus", "bus": None},
    {"dog": "dog", "cat": "bus", "bus": None},
    {name: name for name in NAMES},
]
if list(found.values()) != [(NAMES, classes) for classes in expected] or messages:
    sys.exit("This has changed: pylabel writes numbers that fit its list of classes.")
PYTHON
