#!/usr/bin/env bash
# A dataset for Roboflow is a folder for each split, with the pictures and the file of their captions or boxes, and names such as 0001.jpg may
# be in each. One would expect a picture to be uploaded with what the file beside it says. roboflow looks names up in all files, without
# their folders, and takes the first: a picture of the validation split has the caption of another picture, from the training split, in
# JSON lines, COCO and CSV alike. Only text files with a name for each picture are matched by their folder. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check roboflow==1.7.3 numpy==2.4.6 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import io
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from PIL import Image
from roboflow.util.folderparser import parsefolder

messages = []
warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
CAPTIONS = {
    "train": {"0001.jpg": "a red dog", "0002.jpg": "a green dog"},
    "valid": {"0001.jpg": "a blue car", "0003.jpg": "a grey cat"},
}


def write_lines(folder, captions):
    lines = [json.dumps({"image": name, "prefix": "caption en", "suffix": caption}) for name, caption in captions.items()]
    (folder / "annotations.jsonl").write_text("\n".join(lines) + "\n")


def write_coco(folder, captions):
    numbered = list(enumerate(captions.items()))
    coco = {
        "info": {},
        "licenses": [],
        "images": [{"id": number, "file_name": name, "width": 8, "height": 8} for number, (name, _) in numbered],
        "categories": [{"id": 0, "name": "object"}],
        "annotations": [
            {"id": number, "image_id": number, "category_id": 0, "bbox": [0, 0, 8, 8], "area": 64, "iscrowd": 0, "caption": caption}
            for number, (_, caption) in numbered
        ],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(coco))


def write_csv(folder, captions):
    (folder / "_annotations.csv").write_text("filename,caption\n" + "".join(f"{name},{text}\n" for name, text in captions.items()))


def write_texts(folder, captions):
    for name, caption in captions.items():
        (folder / name).with_suffix(".txt").write_text(caption)


def caption_of(root, picture):
    """The caption among what would be uploaded with a picture."""
    annotation = picture["annotationfile"]
    text = annotation.get("rawText") or Path(f"{root}{annotation['file']}").read_text()
    return [caption for captions in CAPTIONS.values() for caption in captions.values() if caption in text]


print("roboflow", version("roboflow"))
found = {}
for name, write in {"JSON lines": write_lines, "COCO": write_coco, "CSV": write_csv, "texts": write_texts}.items():
    for split, captions in CAPTIONS.items():
        folder = Path(name) / split
        folder.mkdir(parents=True)
        write(folder, captions)
        for picture in captions:
            Image.new("RGB", (8, 8)).save(folder / picture)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        pictures = parsefolder(name)["images"]
    messages += said.getvalue().splitlines()
    found[name] = {picture["file"]: caption_of(name, picture) for picture in pictures}
    print(f"{name}: {found[name]}")
print("said meanwhile:", messages)
right = {f"/{split}/{name}": [caption] for split, captions in CAPTIONS.items() for name, caption in captions.items()}
mixed = right | {"/valid/0001.jpg": ["a red dog"]}
if found != {"JSON lines": mixed, "COCO": mixed, "CSV": mixed, "texts": right} or messages:
    sys.exit("This has changed: roboflow takes captions from the file beside a picture.")
PYTHON
