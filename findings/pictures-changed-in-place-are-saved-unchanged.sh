#!/usr/bin/env bash
# Who blackens a face or reduces a picture with Pillow and then saves it in a dataset would expect the changed picture there.
# `ImageDraw` and `thumbnail` change a picture in place, and it goes on to name the file that it was opened from: the
# writers of datasets and LitData then store that file, as it was before. webdataset's writer stores the change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pillow==12.3.0 webdataset==1.0.2 litdata==0.2.76 torch==2.13.0
cd "$folder"
env/bin/python - <<'PYTHON'
import io
import sys
import tarfile
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
import datasets
import webdataset
from litdata.streaming.serializers import JPEGSerializer
from PIL import Image, ImageDraw

datasets.disable_progress_bars()
Image.new("RGB", (640, 480), "white").save("a.jpg")


def changed():
    picture = Image.open("a.jpg")
    ImageDraw.Draw(picture).rectangle((0, 0, 640, 480), fill="black")
    picture.thumbnail((64, 64))
    return picture


def blacken(row):
    ImageDraw.Draw(row["image"]).rectangle((0, 0, 640, 480), fill="black")
    row["image"].thumbnail((64, 64))
    return row


stored = {"in memory": changed()}
features = datasets.Features(image=datasets.Image())
datasets.Dataset.from_list([{"image": changed()}], features=features).save_to_disk("saved")
stored["datasets, from_list"] = datasets.load_from_disk("saved")[0]["image"]
rows = datasets.Dataset.from_list([{"image": "a.jpg"}], features=features).map(blacken)
stored["datasets, map"] = rows[0]["image"]
stored["LitData"] = Image.open(io.BytesIO(JPEGSerializer().serialize(changed())[0]))
with webdataset.TarWriter("a.tar") as tar:
    tar.write({"__key__": "a", "jpg": changed()})
with tarfile.open("a.tar") as tar:
    stored["webdataset"] = Image.open(io.BytesIO(tar.extractfile("a.jpg").read()))

print({name: version(name) for name in ("datasets", "pillow", "webdataset", "litdata")})
is_changed = {}
for name, picture in stored.items():
    brightness = picture.convert("L").resize((1, 1)).getpixel((0, 0))
    is_changed[name] = picture.size == (64, 48) and brightness < 10
    print(f"{name}: {picture.size}, brightness {brightness} of 255")
keeps = ["in memory", "webdataset"]
if [name for name, yes in is_changed.items() if yes] != keeps:
    sys.exit("This has changed: other writers store the changed picture, or these no longer do.")
PYTHON
