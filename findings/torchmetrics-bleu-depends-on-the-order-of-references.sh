#!/usr/bin/env bash
# The reference captions of a picture have no order, and one would expect none to matter for BLEU. Where two are equally near in
# length to the caption, BLEU takes the shorter; torchmetrics takes the one that stands first. With the longer in front the
# same caption is punished for its brevity: libraries differ, and torchmetrics from itself once a file's rows are sorted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchmetrics==1.9.0 nltk==3.10.4 sacrebleu==2.6.0 pycocoevalcap==1.2
cd "$folder"
env/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from nltk.translate.bleu_score import corpus_bleu
from pycocoevalcap.bleu.bleu import Bleu
from sacrebleu.metrics import BLEU
from torchmetrics.functional.text import bleu_score

caption = "a dog runs along the beach on sand"
longer, shorter = "a brown dog runs along the wet sand of the beach", "a dog runs on sand"  # by three words each


def of_each_library(*references):
    """BLEU-2 by each library, of these references in this order."""
    words = [reference.split() for reference in references]
    return {
        "torchmetrics": bleu_score([caption], [list(references)], n_gram=2).item(),
        "nltk": corpus_bleu([words], [caption.split()], weights=(0.5, 0.5)),
        "sacrebleu": BLEU(max_ngram_order=2, tokenize="none").corpus_score([caption], [[text] for text in references]).score / 100,
        "pycocoevalcap": Bleu(2).compute_score({1: list(references)}, {1: [caption]}, verbose=0)[0][1],
    }


first, second = of_each_library(shorter, longer), of_each_library(longer, shorter)
for library in first:
    print(library, version(library), f"shorter reference first {first[library]:.3f}, longer first {second[library]:.3f}")
moved = {library for library in first if abs(first[library] - second[library]) > 1e-3}
if moved != {"torchmetrics"} or max(first.values()) - min(first.values()) > 1e-3:
    sys.exit("This has changed: BLEU does not depend on the order of the references.")
PYTHON
