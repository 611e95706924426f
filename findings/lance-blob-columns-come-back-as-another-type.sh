#!/usr/bin/env bash
# A column of pictures is declared a blob in Lance by its field's metadata (lance-encoding:blob), so one would expect to
# find a dataset's blob columns by that metadata. pylance writes such a column in its newer form unless told otherwise: it
# comes back as an extension type, and the metadata is gone. The same declaration with an older storage version keeps the
# binary type and the metadata. A reader has to look for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pylance==14.0.2 pyarrow==26.0.1
cd "$folder"
env/bin/python - <<'PYTHON'
import sys

import lance
import pyarrow as pa

declared = {"lance-encoding:blob": "true"}
schema = pa.schema([pa.field("caption", pa.string()), pa.field("image", pa.large_binary(), metadata=declared)])
table = pa.table({"caption": ["a dog", "a cat"], "image": pa.array([b"1", b"2"], pa.large_binary())}, schema=schema)
print("pylance", lance.__version__, "pyarrow", pa.__version__)
seen = {}
for version in (None, "2.0"):
    dataset = lance.write_dataset(table, f"pairs-{version}.lance", data_storage_version=version)
    field = dataset.schema.field("image")
    names = sorted(key.decode() for key in field.metadata or {})
    seen[version] = (str(field.type), names)
    print(f"asked for storage {version}: written as {dataset.data_storage_version}, type {field.type}, metadata {names}")
is_as_seen = "large_binary" not in seen[None][0] and not seen[None][1] and seen["2.0"] == ("large_binary", ["lance-encoding:blob"])
if not is_as_seen:
    sys.exit("This has changed: both forms of a blob column come back alike, or otherwise than seen.")
PYTHON
