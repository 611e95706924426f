#!/usr/bin/env bash
# Who reads a chunk of LitData without its package, by the number of samples and the offsets at its beginning, would expect
# each sample at its offset whoever has written it. Where pyarrow is installed beside LitData, samples that are dictionaries, such as
# pictures with captions, have one and the same offset: the rows follow as one Arrow file. Without pyarrow each has its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check litdata==0.2.76 torch==2.13.0
cd "$folder"
cat >write.py <<'PYTHON'
import os
import struct
import sys
from importlib.metadata import PackageNotFoundError, version

from litdata import StreamingDataset
from litdata.streaming import Cache

name, expected = sys.argv[1], int(sys.argv[2])
captions = ["a red dog", "a blue car", "a brown cat on a mat"]
os.makedirs(name)
cache = Cache(name, chunk_size=len(captions))
for row, caption in enumerate(captions):
    cache[row] = {"image": b"picture", "caption": caption, "row": row}
cache.done()
cache.merge()
assert [sample["caption"] for sample in StreamingDataset(name)] == captions
(file,) = (file for file in os.listdir(name) if file.endswith(".bin"))
with open(f"{name}/{file}", "rb") as chunk:
    content = chunk.read()
(count,) = struct.unpack_from("<I", content)
offsets = struct.unpack_from(f"<{count + 1}I", content, 4)
try:
    pyarrow = version("pyarrow")
except PackageNotFoundError:
    pyarrow = "not installed"
print({"litdata": version("litdata"), "pyarrow": pyarrow}, "offsets", offsets)
if len({*offsets}) != expected:
    sys.exit("This has changed: offsets find the samples of dictionaries with pyarrow, or do not without it.")
PYTHON
env/bin/python write.py without 4
env/bin/pip install --quiet --disable-pip-version-check pyarrow==26.0.1
env/bin/python write.py with 1
