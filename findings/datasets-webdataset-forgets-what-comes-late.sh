#!/usr/bin/env bash
# A tar in the WebDataset format may have pictures of two suffixes, or captions that some samples lack, and one would expect
# `load_dataset("webdataset")` to read them all, or to say what it cannot read. It takes the columns from the first five
# samples and refuses those only if they differ: a suffix that appears first in the sixth is left out without a word, whether
# it is that of captions or of pictures.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON'
import io
import sys
import tarfile

import datasets
from PIL import Image

datasets.disable_progress_bars()
COUNT = 12


def encoded(format):
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, format)
    return content.getvalue()


def load(name, fields_of):
    with tarfile.open(f"{name}.tar", "w") as tar:
        for number in range(COUNT):
            for suffix, content in fields_of(number).items():
                member = tarfile.TarInfo(f"{number:03}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return datasets.load_dataset("webdataset", data_files=f"{name}.tar", split="train", cache_dir=f"{name}-cache")


def has(rows, *columns):
    return sum(any(row.get(column) is not None for column in columns) for row in rows)


jpg, png = encoded("JPEG"), encoded("PNG")
print("datasets", datasets.__version__)
def is_refused(first):
    try:
        load(f"refused{first}", lambda n: {"jpg": jpg} | ({"txt": b"a dog"} if n >= first else {}))
    except ValueError:
        return True
    return False


captions = load("captions", lambda n: {"jpg": jpg} | ({"txt": b"a dog"} if n >= 5 else {}))
pictures = load("pictures", lambda n: ({"jpg": jpg} if n < 5 else {"png": png}) | {"txt": b"a dog"})
seen = is_refused(4), has(captions, "txt"), has(pictures, "jpg", "png")
print("captions that begin with the fifth sample are refused:", seen[0])
print(f"of {COUNT - 5} captions that begin with the sixth, {seen[1]} are read; of {COUNT} pictures whose suffix changes there, {seen[2]}")
if seen != (True, 0, 5):
    sys.exit("This has changed: what appears first in a later sample is read, or refused.")
PYTHON
