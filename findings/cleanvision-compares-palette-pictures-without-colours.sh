#!/usr/bin/env bash
# CleanVision finds exact duplicates among the pictures of a dataset, of which one usually keeps one. One would expect pictures of
# one set to be equal. It compares the bytes that a picture is stored as, without what they mean: in pictures with a palette (PNG-8,
# GIF) they are numbers of colours, so that a red and a blue square are exact duplicates, and plain pictures are, whichever way they
# are turned, without the size that tells them apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check cleanvision==0.3.7 pillow==12.3.0
cd "$folder"
"$folder/env/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -n 20 "$folder/log" >&2; exit 1; }
import os
import sys
from contextlib import redirect_stdout
from importlib.metadata import version

from cleanvision import Imagelab
from PIL import Image, ImageDraw


def square(name, colour, mode):
    """A square in this colour on white."""
    image = Image.new("RGB", (64, 48), "white")
    ImageDraw.Draw(image).rectangle((10, 10, 40, 30), fill=colour)
    image.convert(mode).save(f"pictures/{name}.png")


os.mkdir("pictures")
for colour in ("red", "blue"):
    square(f"{colour}-palette", colour, "P")
    square(f"{colour}-rgb", colour, "RGB")
Image.new("RGB", (64, 48), "green").save("pictures/wide.png")
Image.new("RGB", (48, 64), "green").save("pictures/tall.png")

# Each with its own palette, of only the colours that it has.
for name in ("red-palette", "blue-palette"):
    with Image.open(f"pictures/{name}.png") as image:
        image.convert("RGB").quantize(2).save(f"pictures/{name}.png")

lab = Imagelab(data_path="pictures")
with redirect_stdout(sys.stderr):
    lab.find_issues({"exact_duplicates": {}}, n_jobs=1)
sets = sorted(sorted(os.path.basename(path) for path in each) for each in lab.info["exact_duplicates"]["sets"])
colours = {}
for name in ("red-palette", "blue-palette"):
    with Image.open(f"pictures/{name}.png") as image:
        colours[name] = image.convert("RGB").getpixel((20, 20))
print("cleanvision", version("cleanvision"), "pillow", version("pillow"))
print("colours of the squares", colours)
print("exact duplicates", sets)
if sets != [["blue-palette.png", "red-palette.png"], ["tall.png", "wide.png"]]:
    sys.exit("This has changed: exact duplicates have equal colours and sizes, or are found otherwise.")
PYTHON
