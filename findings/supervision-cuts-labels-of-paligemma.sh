#!/usr/bin/env bash
# PaliGemma answers with boxes and the phrase for each, and supervision reads them. One would expect a phrase to be read up to the ";" that
# ends it. It ends at the first sign that is no letter, digit, blank or hyphen: "dog's bowl" is "dog", "1.5 l bottle" is "1".
# Where the phrases that were asked for are passed as `classes`, such boxes are left out as of none of them. Nothing is said in either case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check supervision==0.31.2 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

import supervision

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
PHRASES = {
    "red-haired woman": "red-haired woman",
    "dog's bowl": "dog",
    "1.5 l bottle": "1",
    "salt & pepper": "salt",
    "man (left)": "man",
}


def labels(phrase, **options):
    answer = f"<loc0100><loc0100><loc0500><loc0500> {phrase} ; <loc0200><loc0200><loc0600><loc0600> cat"
    boxes = supervision.Detections.from_vlm(supervision.VLM.PALIGEMMA, answer, resolution_wh=(1024, 1024), **options)
    return boxes.data["class_name"].tolist()


print("supervision", version("supervision"))
found, filtered = {}, {}
for phrase in PHRASES:
    found[phrase], filtered[phrase] = labels(phrase), labels(phrase, classes=[phrase, "cat"])
    print(f"{phrase!r} and 'cat': {found[phrase]}, with both as classes {filtered[phrase]}")
print("said meanwhile:", said)
expected = {phrase: [label, "cat"] for phrase, label in PHRASES.items()}
left = {phrase: [phrase, "cat"] if phrase == label else ["cat"] for phrase, label in PHRASES.items()}
if found != expected or filtered != left or said:
    sys.exit("This has changed: supervision reads PaliGemma's phrases whole.")
PYTHON
