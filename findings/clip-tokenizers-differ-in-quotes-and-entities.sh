#!/usr/bin/env bash
# CLIP's text tower has one vocabulary, so one would expect open_clip and transformers to give it the same tokens for a caption.
# open_clip first repairs the text (ftfy, HTML entities), transformers does not: a typographic apostrophe or quotation mark, or
# the "&amp;" of an alternative text, becomes other tokens, and the same weights give the caption another score.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0 ftfy==6.3.1 regex numpy
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
cd "$folder"
env/bin/python - <<'PYTHON'
import gzip
import importlib.util
import sys
import zipfile
from pathlib import Path

import transformers
from transformers import CLIPTokenizer

# open_clip's tokenizer needs nothing else of the package.
(wheel,) = Path().glob("*.whl")
zipfile.ZipFile(wheel).extractall("wheel")
specification = importlib.util.spec_from_file_location("tokenizer", "wheel/open_clip/tokenizer.py")
tokenizer_of_open_clip = importlib.util.module_from_spec(specification)
specification.loader.exec_module(tokenizer_of_open_clip)
of_open_clip = tokenizer_of_open_clip.SimpleTokenizer()
lines = gzip.decompress(Path("wheel/open_clip/bpe_simple_vocab_16e6.txt.gz").read_bytes()).decode().split("\n")
merges = [tuple(line.split()) for line in lines[1 : 49152 - 256 - 2 + 1]]
of_transformers = CLIPTokenizer(vocab=of_open_clip.encoder, merges=merges)

print("open_clip", wheel.name.split("-")[1], "transformers", transformers.__version__)
same = {}
for caption in ("a woman's hat", "a woman\u2019s hat", "a \u201cstop\u201d sign", "Tom &amp; Jerry", "Tom & Jerry"):
    one, other = of_open_clip.encode(caption), of_transformers(caption).input_ids[1:-1]
    same[caption] = one == other
    print(caption, "|", *map(of_open_clip.decoder.get, one), "|", *map(of_open_clip.decoder.get, other))
if list(same.values()) != [True, False, False, False, True]:
    sys.exit("This has changed: both read the same captions alike.")
PYTHON
