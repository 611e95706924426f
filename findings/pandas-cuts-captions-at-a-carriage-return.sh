#!/usr/bin/env bash
# A caption may hold a carriage return (a form, a spreadsheet, an old Macintosh). One would expect pandas to read what it wrote with
# `to_csv`. It puts "\n" into quotation marks, and "\r" not (Python's csv decides, before 3.13 by the line end alone), but reads "\r" as
# the end of a row: the caption is cut, its rest becomes a picture's name in a row of its own, and nothing is said. A list of
# captions beside the table is one row off from there. `datasets`, which reads with pandas, does the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 datasets==5.2.0
cd "$folder"
HF_HOME="$folder" env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version
from platform import python_version

import datasets
import pandas as pd

datasets.disable_progress_bars()
CAPTIONS = ["a red dog", "a blue car\ron a road", "two\ncats", "a man"]
pd.DataFrame({"picture": ["0.jpg", "1.jpg", "2.jpg", "3.jpg"], "caption": CAPTIONS}).to_csv("table.csv", index=False)
by_pandas = pd.read_csv("table.csv")["caption"].tolist()
by_datasets = list(datasets.load_dataset("csv", data_files="table.csv", split="train")["caption"])
quoted = pd.DataFrame({"caption": CAPTIONS})
quoted.to_csv("quoted.csv", index=False, quoting=1)
with_marks = pd.read_csv("quoted.csv")["caption"].tolist()
print("python", python_version(), "pandas", version("pandas"), "datasets", version("datasets"))
print("written:          ", CAPTIONS)
print("read by pandas:   ", by_pandas)
print("read by datasets: ", by_datasets)
print("written with quoting=csv.QUOTE_ALL and read by pandas:", with_marks)
if sys.version_info >= (3, 13):
    print("Python 3.13 and later put such a cell into quotation marks.")
    sys.exit(0 if by_pandas == CAPTIONS else "This has changed: a carriage return is not quoted by Python 3.13.")
cut = ["a red dog", "a blue car", "two\ncats", "a man"]
if [text for text in by_pandas if isinstance(text, str)] != cut or len(by_datasets) != 5 or with_marks != CAPTIONS:
    sys.exit("This has changed: pandas reads the captions that it wrote.")
PYTHON
