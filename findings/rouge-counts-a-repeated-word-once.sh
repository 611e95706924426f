#!/usr/bin/env bash
# A captioner that runs in a loop ends in "on the beach on the beach on the beach", and ROUGE's precision marks every word down that is too
# many. One would expect it of the package rouge as well. By default it compares the sets of words: a caption in a loop has 1 in
# precision, recall and F of ROUGE-1 and ROUGE-L, as the right one has. With `exclusive=False` it counts as rouge-score does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check rouge==1.0.1 rouge-score==0.1.2 nltk==3.10.4 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

from rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

messages = []
warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
REFERENCE = "a dog runs on the beach"
CAPTIONS = {
    "right": "a dog runs on the beach",
    "another word": "a dog runs on the sand",
    "in a loop": "a dog runs on the beach on the beach on the beach",
}


def score_sets(caption, **options):
    scores = Rouge(**options).get_scores(caption, REFERENCE)[0]
    return [round(scores[name]["f"], 2) for name in ("rouge-1", "rouge-l")]


def score_counts(caption):
    scores = RougeScorer(["rouge1", "rougeL"]).score(REFERENCE, caption)
    return [round(score.fmeasure, 2) for score in scores.values()]


print({name: version(name) for name in ("rouge", "rouge-score")})
found = {}
for name, caption in CAPTIONS.items():
    found[name] = score_sets(caption), score_sets(caption, exclusive=False), score_counts(caption)
    by_default, told, other = found[name]
    print(f"{name}: F of ROUGE-1 and ROUGE-L {by_default} by rouge, {told} with exclusive=False, {other} by rouge-score")
print("said meanwhile:", messages)
right, another, loop = [1, 1], [0.83, 0.83], [0.67, 0.67]
expected = {"right": (right, right, right), "another word": (another, another, another), "in a loop": (right, loop, loop)}
if found != expected or messages:
    sys.exit("This has changed: rouge counts every repetition of a word.")
PYTHON
