#!/usr/bin/env bash
# ROUGE has a precision, a recall, and an F between the two. One would expect the F that ignite gives to be between them. With its default
# settings it is the recall: a caption that names everything there could be has the full score with any reference among it, and where
# captions are compared by F, the longest wins.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pytorch-ignite==0.5.5 torch==2.14.1 rouge-score==0.1.2 numpy
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

from ignite.metrics import Rouge
from rouge_score.rouge_scorer import RougeScorer

REFERENCE = "a dog on the beach"
CAPTIONS = [
    "a dog on a beach",
    "a man and a woman with a dog and a cat on the sofa or in the sea near the beach beside a bus",
]


def of_ignite(caption, **options):
    metric = Rouge(variants=["L"], multiref="best", **options)
    metric.update(([caption.split()], [[REFERENCE.split()]]))
    return [round(metric.compute()[f"Rouge-L-{part}"], 3) for part in "PRF"]


def of_rouge_score(caption):
    score = RougeScorer(["rougeL"]).score(REFERENCE, caption)["rougeL"]
    return [round(part, 3) for part in (score.precision, score.recall, score.fmeasure)]


readers = {
    "rouge-score": of_rouge_score,
    "ignite": of_ignite,
    "ignite, alpha=0.5": lambda caption: of_ignite(caption, alpha=0.5),
}
print("ignite", version("pytorch-ignite"), "rouge-score", version("rouge-score"))
print("reference:", REFERENCE)
found = {}
for name, read in readers.items():
    found[name] = [read(caption) for caption in CAPTIONS]
    for caption, (precision, recall, f) in zip(CAPTIONS, found[name], strict=True):
        print(f"{name}: precision {precision}, recall {recall}, F {f}: {caption!r}")
best = {name: max(range(2), key=lambda row: scores[row][2]) for name, scores in found.items()}
by_recall = all(f == recall > precision for precision, recall, f in found["ignite"][1:])
if not by_recall or best != {"rouge-score": 0, "ignite": 1, "ignite, alpha=0.5": 0}:
    sys.exit("This has changed: ignite's F is between precision and recall.")
PYTHON
