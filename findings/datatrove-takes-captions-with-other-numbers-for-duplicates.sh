#!/usr/bin/env bash
# MinHash finds near-duplicate texts, and a hash by which "a red bus stands there" and "a blue bus stands there" are two can be expected to
# tell "bus 42" from "bus 17". datatrove puts 0 in place of every number first, and takes accents and points out: captions that
# differ in how many dogs there are, or in the number on a bus, are one text, of which one is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check datatrove==0.10.1 spacy==3.8.18 xxhash==3.6.0 orjson regex tokenizers
cd "$folder"
cat >deduplicate.py <<'PYTHON'
import json
import sys
from importlib.metadata import version
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.text import TextNormConfig

CAPTIONS = [
    "a red bus stands at the old station",
    "a blue bus stands at the old station",
    "bus 42 stands at the old station",
    "bus 17 stands at the old station",
    "2 dogs run over the wet sand",
    "5 dogs run over the wet sand",
    "the sign on the bridge says 3.5 t",
    "the sign on the bridge says 35 t",
]


def run(*steps, tasks=1):
    LocalPipelineExecutor(pipeline=list(steps), tasks=tasks, workers=1, logging_dir=None).run()


def left(folder, config):
    reader = JsonlReader("captions")
    run(reader, MinhashDedupSignature(f"{folder}/signatures", config=config, language="eng"))
    run(MinhashDedupBuckets(f"{folder}/signatures", f"{folder}/buckets", config=config), tasks=config.num_buckets)
    run(MinhashDedupCluster(f"{folder}/buckets", f"{folder}/removed", config=config))
    run(reader, MinhashDedupFilter(f"{folder}/removed"), JsonlWriter(f"{folder}/left", compression=None))
    lines = [line for path in Path(folder, "left").iterdir() for line in path.read_text().splitlines()]
    return [json.loads(line)["text"] for line in lines]


Path("captions").mkdir()
Path("captions/a.jsonl").write_text("".join(json.dumps({"text": text, "id": str(row)}) + "\n" for row, text in enumerate(CAPTIONS)))
by_default = left("default", MinhashConfig())
with_numbers = left("numbers", MinhashConfig(norm_config=TextNormConfig(norm_numbers=False)))
print("datatrove", version("datatrove"), "with", len(CAPTIONS), "captions")
print("left by default:", by_default)
print("left with norm_numbers=False:", with_numbers)
if by_default != [CAPTIONS[row] for row in (0, 1, 2, 4, 6)] or not {CAPTIONS[3], CAPTIONS[5]} < set(with_numbers):
    sys.exit("This has changed: captions with other numbers are other captions.")
PYTHON
env/bin/python deduplicate.py 2>log || { tail -n 5 log; exit 1; }
