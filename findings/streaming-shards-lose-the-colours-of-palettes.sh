#!/usr/bin/env bash
# GIFs and many drawings in PNG keep their colours in a palette, and one would expect a picture to come back from shards as it went in.
# LitData, which stores whatever Pillow has opened but JPEGs so, and mosaicml-streaming's `pil` column write the mode and the numbers of
# the pixels, without the palette: the colours are gone for good, and with them what is transparent. Size and number of pictures are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    litdata==0.2.76 mosaicml-streaming==0.13.0 torch==2.14.1 torchvision==0.29.1 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
from litdata import StreamingDataset as LitData
from litdata.streaming import Cache
from PIL import Image
from streaming import MDSWriter, StreamingDataset

#: Half of it is red, half blue.
drawing = Image.new("RGB", (16, 16), "red")
drawing.paste("blue", (0, 8, 16, 16))
drawing.save("rgb.png")
drawing.quantize(2).save("palette.png")
drawing.save("picture.gif")
NAMES = ("rgb.png", "palette.png", "picture.gif")


def colours(picture):
    picture = picture.convert("RGB")
    return picture.getpixel((0, 0)), picture.getpixel((0, 15))


seen = {"as files": [colours(Image.open(name)) for name in NAMES]}
cache = Cache("litdata", chunk_bytes="1MB")
for number, name in enumerate(NAMES):
    cache[number] = {"image": Image.open(name), "caption": "red above blue"}
cache.done()
cache.merge()
rows = LitData("litdata")
seen["LitData"] = [colours(rows[number]["image"]) for number in range(len(NAMES))]
for kind in ("pil", "png"):
    with MDSWriter(out=kind, columns={"image": kind, "caption": "str"}) as writer:
        for name in NAMES:
            writer.write({"image": Image.open(name), "caption": "red above blue"})
    rows = StreamingDataset(local=kind, batch_size=1)
    seen[f"mosaicml-streaming, {kind}"] = [colours(rows[number]["image"]) for number in range(len(NAMES))]

print({name: version(name) for name in ("litdata", "mosaicml-streaming", "pillow")})
RED_AND_BLUE = (255, 0, 0), (0, 0, 255)
right = {}
for writer, found in seen.items():
    right[writer] = [pair == RED_AND_BLUE for pair in found]
    print(f"{writer}:", dict(zip(NAMES, found, strict=True)))
kept, lost = [True, True, True], [True, False, False]
if right != {"as files": kept, "LitData": lost, "mosaicml-streaming, pil": lost, "mosaicml-streaming, png": kept}:
    sys.exit("This has changed: pictures with a palette keep their colours.")
PYTHON
