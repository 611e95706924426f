#!/usr/bin/env bash
# Icons and clip art are often drawn in the transparency alone: every pixel is black, and the alpha channel says where one sees it. One
# would expect a perceptual hash to compare what one sees. ImageHash drops the channel, all of its hashes of such pictures are those of
# a black one, and CleanVision, which uses them, calls a disc, a cross and a bar near duplicates of each other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ImageHash==4.3.2 cleanvision==0.3.7 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import io
import sys
from importlib.metadata import version
from pathlib import Path

import imagehash
from cleanvision import Imagelab
from PIL import Image, ImageDraw


def drawing(shape, box, is_transparent):
    """Black on transparent, or on white."""
    seen = Image.new("L", (64, 64), 0)
    getattr(ImageDraw.Draw(seen), shape)(box, fill=255)
    black = Image.new("RGB", (64, 64), "black")
    if is_transparent:
        black.putalpha(seen)
        return black
    white = Image.new("RGB", (64, 64), "white")
    white.paste(black, mask=seen)
    return white


SHAPES = {"disc": ("ellipse", (8, 8, 56, 56)), "bar": ("rectangle", (4, 40, 60, 60)), "block": ("rectangle", (4, 4, 30, 30))}
HASHES = (imagehash.phash, imagehash.dhash, imagehash.average_hash, imagehash.whash)
seen = {}
for ground in ("white", "transparent"):
    pictures = {name: drawing(*shape, ground == "transparent") for name, shape in SHAPES.items()}
    Path(ground).mkdir()
    for name, picture in pictures.items():
        picture.save(f"{ground}/{name}.png")
    different = {each.__name__: len({str(each(picture)) for picture in pictures.values()}) for each in HASHES}
    lab = Imagelab(data_path=ground)
    with contextlib.redirect_stdout(io.StringIO()):
        lab.find_issues({"near_duplicates": {}}, n_jobs=1)
    groups = [sorted(Path(name).stem for name in names) for names in lab.info["near_duplicates"]["sets"]]
    seen[ground] = set(different.values()), groups
    print(f"on {ground}: different hashes of {len(pictures)} drawings {different}, near duplicates {groups}")
print({name: version(name) for name in ("ImageHash", "cleanvision", "pillow")})
if seen != {"white": ({3}, []), "transparent": ({1}, [sorted(SHAPES)])}:
    sys.exit("This has changed: transparent drawings are told apart, or others are not.")
PYTHON
