#!/usr/bin/env bash
# A caption may be the word "None" or "NA" (text on a sign, an answer of a model), or be missing, and one would expect open_clip's
# training on a CSV file to read the word, and to leave out or refuse a row without a caption. Both are the caption "nan" for it:
# pandas takes such words for missing values, and the missing value is written out as text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 pandas==3.1.1 pillow==12.3.0 numpy
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
cd "$folder"
env/bin/python - <<'PYTHON'
import ast
import logging
import sys
import zipfile
from pathlib import Path

import pandas as pd
from PIL import Image
from torch.utils.data import Dataset

# The class alone, as it is: the module around it imports what training needs.
(wheel,) = Path().glob("*.whl")
source = zipfile.ZipFile(wheel).read("open_clip_train/data.py").decode()
(reader,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == "CsvDataset")
names = {"Dataset": Dataset, "Image": Image, "logging": logging, "pd": pd}
exec(compile(ast.Module([reader], []), "data.py", "exec"), names)

captions = ["a dog", "None", "NA", "null", ""]
Image.new("RGB", (8, 8)).save("a.png")
Path("pairs.csv").write_text("filepath\ttitle\n" + "".join(f"a.png\t{caption}\n" for caption in captions))
pairs = names["CsvDataset"]("pairs.csv", transforms=lambda picture: picture, img_key="filepath", caption_key="title", tokenizer=lambda texts: texts)
read = [pairs[row][1] for row in range(len(pairs))]
print("open_clip", wheel.name.split("-")[1], "pandas", pd.__version__)
for caption, text in zip(captions, read, strict=True):
    print(f"{caption!r} is read as {text!r}")
if read != ["a dog", "nan", "nan", "nan", "nan"]:
    sys.exit("This has changed: such captions are read as they stand, left out or refused.")
PYTHON
