#!/usr/bin/env bash
# A Croissant description says of each field which type it has. One would expect a field declared as text (sc:Text) to come back as
# it was written. mlcroissant has pandas guess the types first and converts afterwards: the ids "0042" and "42" of two pictures both
# come back as 42, from CSV and from JSON lines, and from CSV the captions "NA" and "None" are missing. Nothing is said. The same
# rows in Parquet come back whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check mlcroissant==1.1.0 pandas==3.1.1 pyarrow==26.0.1
cd "$folder"
"$folder/env/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -n 20 "$folder/log" >&2; exit 1; }
import csv
import hashlib
import json
import sys
from importlib.metadata import version

import mlcroissant
import pyarrow
import pyarrow.parquet

ROWS = [("0042", "A dog."), ("42", "NA"), ("0043", "None"), ("0044", "007")]
NAMES = ("id", "caption")
TYPES = {"rows.csv": "text/csv", "rows.jsonl": "application/jsonlines", "rows.parquet": "application/x-parquet"}


def description(file):
    """Both columns declared as text."""
    with open(file, "rb") as source:
        digest = hashlib.sha256(source.read()).hexdigest()
    fields = [
        {"@type": "cr:Field", "@id": f"rows/{name}", "name": name, "dataType": "sc:Text",
         "source": {"fileObject": {"@id": file}, "extract": {"column": name}}}
        for name in NAMES
    ]
    return {
        "@context": {
            "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "cr": "http://mlcommons.org/croissant/",
            "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo", "column": "cr:column",
            "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "extract": "cr:extract", "field": "cr:field",
            "fileObject": "cr:fileObject", "recordSet": "cr:recordSet", "source": "cr:source",
        },
        "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0", "name": "captions",
        "distribution": [{"@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": file,
                          "encodingFormat": TYPES[file], "sha256": digest}],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
    }


def read(file):
    """(id, caption) of each row, as Croissant's own reader gives them."""
    with open("croissant.json", "w") as target:
        json.dump(description(file), target)
    for row in mlcroissant.Dataset(jsonld="croissant.json").records("rows"):
        values = [row[f"rows/{name}"] for name in NAMES]
        yield tuple(value.decode() if isinstance(value, bytes) else value for value in values)


with open("rows.csv", "w", newline="") as target:
    csv.writer(target).writerows([NAMES, *ROWS])
with open("rows.jsonl", "w") as target:
    target.writelines(json.dumps(dict(zip(NAMES, row))) + "\n" for row in ROWS)
columns = dict(zip(NAMES, map(list, zip(*ROWS))))
pyarrow.parquet.write_table(pyarrow.table(columns), "rows.parquet")

seen = {file: list(read(file)) for file in TYPES}
print("mlcroissant", version("mlcroissant"), "pandas", version("pandas"))
print("written", ROWS)
for file, rows in seen.items():
    print(file, rows)
numbers = ["42", "42", "43", "44"]
expected = [
    list(zip(numbers, ["A dog.", None, None, "007"])),
    list(zip(numbers, ["A dog.", "NA", "None", "007"])),
    ROWS,
]
if list(seen.values()) != expected:
    sys.exit("This has changed: texts of CSV or JSON lines come back as they were written, or in another way.")
PYTHON
