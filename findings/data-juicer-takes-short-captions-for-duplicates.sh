#!/usr/bin/env bash
# Captions are often shorter than five words. One would expect Data-Juicer's removal of near duplicates by MinHash to compare such
# texts as a whole, or to leave them alone. It compares runs of five words (`window_size`), of which they have none, and takes all
# that have none for one text: of all short captions of a dataset one is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check py-data-juicer==1.6.1 ray==2.60.0 aiohttp scipy regex
cd "$folder"
HF_HUB_OFFLINE=1 HF_HOME="$folder" env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

from data_juicer.core.data import NestedDataset
from data_juicer.ops.deduplicator.document_minhash_deduplicator import DocumentMinhashDeduplicator

short = ["a red car", "two cats asleep", "snow", "the old town hall"]
long = ["a dog runs along the beach", "a man eats an apple in a park"]
captions = [*short, *long]


def kept(**options):
    operator = DocumentMinhashDeduplicator(**options)
    rows = NestedDataset.from_list([{"text": caption} for caption in captions])
    rows, _ = operator.process(rows.map(operator.compute_hash))
    return rows["text"]


by_five, by_one = list(kept()), list(kept(window_size=1))
print("py-data-juicer", version("py-data-juicer"))
print("given:", captions)
print("left by runs of five words:", by_five)
print("left by single words:", by_one)
if by_one != captions or by_five != [short[0], *long]:
    sys.exit("This has changed: short captions are compared as a whole, or left alone.")
PYTHON
