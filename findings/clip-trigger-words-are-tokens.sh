#!/usr/bin/env bash
# Trigger words of image generators are picked because they mean nothing, and one would expect the
# tokenizer of CLIP to take them apart. It has several of them as whole tokens, like any frequent word,
# while it takes real breeds of dogs apart: whether a word is one token tells nothing about whether
# it names something. Read from the vocabulary that open_clip ships (byte-pair merges, no torch).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
python3 - "$folder" <<'PYTHON'
import gzip
import sys
import zipfile
from pathlib import Path

(wheel,) = Path(sys.argv[1]).glob("*.whl")
merges = gzip.decompress(zipfile.ZipFile(wheel).read("open_clip/bpe_simple_vocab_16e6.txt.gz")).decode()
rank = {tuple(line.split()): n for n, line in enumerate(merges.split("\n")[1 : 49152 - 256 - 2 + 1])}


def tokens(word):
    parts = [*word[:-1], word[-1] + "</w>"]
    while pairs := [(rank[pair], at) for at, pair in enumerate(zip(parts, parts[1:])) if pair in rank]:
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [part.removesuffix("</w>") for part in parts]


print(wheel.name)
seen = {word: tokens(word) for word in ("ohwx", "sks", "bnha", "zwx", "corgi", "labradoodle", "schnauzer")}
for word, parts in seen.items():
    print(f"{word}: {' + '.join(parts)}")
expected = {"ohwx": 1, "sks": 1, "bnha": 1, "zwx": 2, "corgi": 1, "labradoodle": 2, "schnauzer": 2}
if {word: len(parts) for word, parts in seen.items()} != expected:
    sys.exit("This has changed: other words are single tokens now.")
PYTHON
