#!/usr/bin/env bash
# CLIP's image processor of transformers takes a picture that Pillow has opened, or the path of its file. One would expect the same tensor
# of both. By its path torchvision decodes the file: a photograph is turned upright there alone, transparent parts have their hidden
# colour instead of white, grey of 16 bits goes far beyond what the model knows instead of being cut off at white, and BMP and TIFF
# are refused. A score depends on how the picture was handed over; nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    transformers==5.24.0 torch==2.14.1 torchvision==0.29.1 pillow==12.3.0 numpy
cd "$folder"
TRANSFORMERS_VERBOSITY=error env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

import numpy as np
from PIL import Image
from transformers import CLIPImageProcessor

#: The upper half is red, the lower blue.
halves = Image.new("RGB", (64, 64), "red")
halves.paste("blue", (0, 32, 64, 64))
halves.save("plain.png")
halves.save("palette.gif")
orientation = Image.Exif()
orientation[0x0112] = 3  # to be turned by half
halves.save("photograph.jpg", quality=95, exif=orientation)
Image.new("RGBA", (64, 64), (255, 0, 0, 0)).save("transparent.png")
Image.fromarray(np.full((64, 64), 40000, np.uint16)).save("grey16.png")
halves.save("drawing.bmp")
halves.save("scan.tiff")
NAMES = ("plain.png", "palette.gif", "photograph.jpg", "transparent.png", "grey16.png", "drawing.bmp", "scan.tiff")
processor = CLIPImageProcessor()


def colours(picture):
    """Of the upper and of the lower half, 0 to 255."""
    try:
        levels = processor(images=picture, return_tensors="np")["pixel_values"][0].transpose(1, 2, 0)
    except RuntimeError:
        return "refused"
    levels = np.rint((levels * processor.image_std + processor.image_mean) * 255).astype(int)
    return levels[20, 100].tolist(), levels[200, 100].tolist()


print({name: version(name) for name in ("transformers", "torchvision", "pillow")})
seen = {}
for name in NAMES:
    seen[name] = by_path, opened = colours(name), colours(Image.open(name))
    print(f"{name}: by its path {by_path}, opened {opened}")
if [name for name, (by_path, opened) in seen.items() if by_path != opened] != list(NAMES[2:]):
    sys.exit("This has changed: pictures are seen alike by their paths and opened.")
PYTHON
