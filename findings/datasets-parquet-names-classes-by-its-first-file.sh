#!/usr/bin/env bash
# Parts of a dataset are often made one by one, so that each Parquet file has classes of its own, numbered from 0. Read together, one
# would expect `datasets` to match them by name, or to refuse, as `concatenate_datasets` does. All files get the names of the first:
# what was a dog is read as a cat.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1
cd "$folder"
HF_HOME="$folder" env/bin/python - 2>log <<'PYTHON' || { tail -n 20 log >&2; exit 1; }
import sys
from importlib.metadata import version

from datasets import ClassLabel, Dataset, Features, Value, concatenate_datasets, load_dataset

parts = []
for file, names in (("a", ["cat", "dog"]), ("b", ["dog", "horse"])):
    features = Features({"caption": Value("string"), "animal": ClassLabel(names=names)})
    rows = {"caption": [f"a photo of a {name}" for name in names], "animal": names}
    parts.append(Dataset.from_dict(rows, features=features))
    parts[-1].to_parquet(f"{file}.parquet")


def animals(**options):
    """What the caption of each row says, and the name of its class."""
    together = load_dataset("parquet", data_files=["a.parquet", "b.parquet"], split="train", **options)
    label = together.features["animal"]
    return [(row["caption"].split()[-1], label.int2str(row["animal"])) for row in together]


try:
    concatenate_datasets(parts)
    is_refused = False
except ValueError:
    is_refused = True
read = {"at once": animals(), "streaming": animals(streaming=True)}
print("datasets", version("datasets"), "pyarrow", version("pyarrow"))
for way, pairs in read.items():
    print(f"{way}: caption's animal and class", pairs)
print("refused by concatenate_datasets:", is_refused)
first = [("cat", "cat"), ("dog", "dog"), ("dog", "cat"), ("horse", "dog")]
if not is_refused or any(pairs != first for pairs in read.values()):
    sys.exit("This has changed: files with other classes are matched by name, or refused.")
PYTHON
