#!/usr/bin/env bash
# Lists of captions and addresses such as Conceptual Captions come as TSV, a format without quotation marks of its own: a mark is a
# character of its caption. One would expect img2dataset's `input_format="tsv"` to read a line as a row. It reads TSV by the rules of CSV:
# from a caption that begins with a mark on, all rows up to the next mark become one, with the address of the last. That picture has
# a caption made of other rows, the pictures between are never fetched, and other captions lose their marks. Nothing is counted as failed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check img2dataset==1.47.0 pyarrow==26.0.1
cd "$folder"
NO_ALBUMENTATIONS_UPDATE=1 env/bin/python - 2>errors <<'PYTHON' || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
from img2dataset.reader import Reader

ROWS = [
    ("a dog on sand", "1.jpg"),
    ('"stop" sign on a street', "2.jpg"),
    ('" happy birthday on a cake', "3.jpg"),
    ("a cat", "4.jpg"),
    ('a sign that says "open"', "5.jpg"),
    ("a man", "6.jpg"),
]
Path("list.tsv").write_text("caption\turl\n" + "".join(f"{caption}\t{url}\n" for caption, url in ROWS))
reader = Reader("list.tsv", "tsv", "url", "caption", None, None, None, 100, set(), ".")
((_, shard),) = reader
read = [(row["caption"], row["url"]) for row in pa.ipc.open_file(shard).read_all().to_pylist()]
print("img2dataset", version("img2dataset"), "pyarrow", version("pyarrow"))
print("given:", *ROWS, sep="\n  ")
print("to be fetched:", *read, sep="\n  ")
if [url for _, url in read] != ["1.jpg", "2.jpg", "5.jpg", "6.jpg"] or "a cat\t4.jpg" not in dict(map(reversed, read))["5.jpg"]:
    sys.exit("This has changed: each line of a TSV is a row.")
PYTHON
