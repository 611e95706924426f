#!/usr/bin/env bash
# clip-score takes a folder of pictures and one of captions, paired by file name as its description says. It sorts both folders by whole
# names, ending included, and pairs what stands at the same place: beach.new.jpg comes after beach.jpg, but beach.new.txt before
# beach.txt, so that each of the two pictures is scored with the other's caption. Endings such as .png and .v2 happen to be sorted alike.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    clip-score==0.2.1 torch==2.14.1 torchvision==0.29.1 transformers==5.24.0 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import os
import sys
from importlib.metadata import version

from clip_score.clip_score import DummyDataset
from PIL import Image

NAMES = "beach", "beach.new", "cat", "cat.v2", "dog"
for kind in ("jpg", "png", "captions"):
    os.mkdir(kind)
for name in NAMES:
    open(f"captions/{name}.txt", "w").write(name)
    for kind in ("jpg", "png"):
        Image.new("RGB", (8, 8)).save(f"{kind}/{name}.{kind}")

print("clip-score", version("clip-score"))
others = {}
for kind in ("jpg", "png"):
    pairs = {os.path.splitext(os.path.basename(pair["real"].filename))[0]: pair["fake"] for pair in DummyDataset(kind, "captions")}
    others[kind] = {name: caption for name, caption in pairs.items() if name != caption}
    print(f"{kind}: {len(pairs)} pairs, with another's caption:", others[kind])
swapped = {"beach": "beach.new", "beach.new": "beach"}
if others != {"jpg": swapped, "png": {}}:
    sys.exit("This has changed: clip-score pairs pictures and captions by name.")
PYTHON
