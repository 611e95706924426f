#!/usr/bin/env bash
# Captions can be one word or one class, and one would expect a caption that equals its reference to have the full chrF. torchmetrics
# takes runs of up to six letters, and a text with fewer letters counts as wrong in all longer runs: "dog" for "dog" has
# one half. Whole datasets hide it, for there the runs are counted together; sacrebleu, which it follows, says 100 of each.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchmetrics==1.9.0 sacrebleu==2.6.0
cd "$folder"
env/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from sacrebleu.metrics import CHRF
from torchmetrics.functional.text import chrf_score

captions = ["dog", "a cat", "snow", "a red car"]
references = [[caption] for caption in captions]
other = CHRF(char_order=6, word_order=0)
whole, each = chrf_score(captions, references, n_char_order=6, n_word_order=0, return_sentence_level_score=True)
print("torchmetrics", version("torchmetrics"), "sacrebleu", version("sacrebleu"))
by_other = [other.sentence_score(caption, [caption]).score / 100 for caption in captions]
for caption, one, another in zip(captions, each.tolist(), by_other, strict=True):
    print(f"{caption!r} for {caption!r}: torchmetrics {one:.2f}, sacrebleu {another:.2f}")
print(f"all four together: torchmetrics {whole.item():.2f}")
if [round(one, 2) for one in each.tolist()] != [0.5, 0.67, 0.67, 1.0] or by_other != [1, 1, 1, 1] or round(whole.item(), 2) != 1:
    sys.exit("This has changed: a caption that equals its reference has the full chrF, however short.")
PYTHON
