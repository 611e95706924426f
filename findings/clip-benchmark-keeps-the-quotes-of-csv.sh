#!/usr/bin/env bash
# Captions of Flickr8k and Flickr30k are passed around as CSV with the columns image and caption, where one with a comma stands in
# quotes. One would expect clip_benchmark, which reads it, to take them off. It splits each line behind the picture's
# name: the marks are part of the caption, those within it doubled, and the model is tested on texts that nobody wrote.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" clip-benchmark==1.6.2
cd "$folder"
env/bin/python - <<'PYTHON'
import ast
import csv
import os
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable, Optional, Tuple


class VisionDataset:
    """Holds what it is given, as that of torchvision does."""

    def __init__(self, root, transform, target_transform):
        self.root = root


# The class alone, as it is: the module around it imports torchvision.
(wheel,) = Path().glob("*.whl")
source = zipfile.ZipFile(wheel).read("clip_benchmark/datasets/flickr.py").decode()
(reader,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == "Flickr")
names = {"os": os, "VisionDataset": VisionDataset, "defaultdict": defaultdict}
names |= {"Any": Any, "Callable": Callable, "Optional": Optional, "Tuple": Tuple}
exec(compile(ast.Module([reader], []), "flickr.py", "exec"), names)

captions = ["a red car", "a man, a dog and a ball", 'a sign that says "open"']
with open("captions.txt", "w", encoding="utf-8", newline="") as table:
    csv.writer(table, lineterminator="\n").writerows([("image", "caption"), *((f"{n}.jpg", text) for n, text in enumerate(captions))])
read = [text for _, texts in names["Flickr"](".", "captions.txt").data for text in texts]
print("clip-benchmark", wheel.name.split("-")[1])
for caption, text in zip(captions, read, strict=True):
    print(f"written {caption!r}, read {text!r}")
if read != ["a red car", '"a man, a dog and a ball"', '"a sign that says ""open"""']:
    sys.exit("This has changed: captions are read without the quotes of CSV.")
PYTHON
