#!/usr/bin/env bash
# The package tfrecord reads and writes TensorFlow's records without TensorFlow, and one would expect several bytes of one feature, such as
# the masks of a picture's regions, back as they were written, as a single one is. From two on they come as an array of NumPy's, which has
# no zeros at the end of a text: masks are cut behind their last pixel, an empty one is nothing. The file itself has them whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check tfrecord==1.14.6 protobuf==7.36.2 crc32c==2.9.post0 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

import numpy as np
from tfrecord import TFRecordWriter, example_pb2, tfrecord_loader
from tfrecord.reader import tfrecord_iterator

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
#: Masks of 8 by 8 pixels: the upper half, the lower half, and nothing.
upper, lower = np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8)
upper[:4], lower[4:] = 1, 1
regions = [upper.tobytes(), lower.tobytes(), bytes(64)]
masks = {"one.jpg": regions[:1], "two.jpg": regions[:2], "three.jpg": regions}
writer = TFRecordWriter("regions.tfrecord")
for name, several in masks.items():
    writer.write({"name": (name.encode(), "byte"), "masks": (several, "byte")})
writer.close()

stored, read = {}, {}
for record in tfrecord_iterator("regions.tfrecord"):
    features = example_pb2.Example.FromString(bytes(record)).features.feature
    stored[features["name"].bytes_list.value[0].decode()] = [len(mask) for mask in features["masks"].bytes_list.value]
for row in tfrecord_loader("regions.tfrecord", None, {"name": "byte", "masks": "byte"}):
    found = row["masks"]
    read[bytes(row["name"]).decode()] = [len(found)] if isinstance(found, bytes) else [len(mask) for mask in found]
print({name: version(name) for name in ("tfrecord", "numpy", "protobuf")})
print("bytes of the masks in the file:", stored)
print("as read:", read, "said meanwhile:", said)
whole = {name: [64] * len(several) for name, several in masks.items()}
if stored != whole or read != {"one.jpg": [64], "two.jpg": [32, 64], "three.jpg": [32, 64, 0]} or said:
    sys.exit("This has changed: tfrecord gives bytes in lists as they were written.")
PYTHON
