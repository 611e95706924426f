#!/usr/bin/env bash
# A picture has several reference captions, and one would expect COCO's ROUGE-L of a caption to be that of the reference which it is
# nearest to. Precision is taken from one reference, recall from another: a caption can have the full score of 1 that is like none of
# them, and one very short reference gives any caption with its words the full recall.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pycocoevalcap==1.2 rouge-score==0.1.2
cd "$folder"
env/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from pycocoevalcap.rouge.rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

caption = "a dog"
references = ["a dog runs after a red ball on the beach", "dog"]


def coco(*references):
    return Rouge().compute_score({1: list(references)}, {1: [caption]})[0]


alone, together = [coco(reference) for reference in references], coco(*references)
other = RougeScorer(["rougeL"])
other_alone = [other.score(reference, caption)["rougeL"].fmeasure for reference in references]
other_together = other.score_multi(references, caption)["rougeL"].fmeasure
print("pycocoevalcap", version("pycocoevalcap"), "rouge-score", version("rouge-score"))
print(f"caption {caption!r}, references {references}")
print("pycocoevalcap: with each reference", [f"{score:.2f}" for score in alone], f"with both {together:.2f}")
print("rouge-score: with each reference", [f"{score:.2f}" for score in other_alone], f"with both {other_together:.2f}")
if together != 1 or max(alone) > 0.72 or other_together != max(other_alone):
    sys.exit("This has changed: a caption's ROUGE-L is that of its best reference.")
PYTHON
