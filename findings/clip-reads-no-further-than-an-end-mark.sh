#!/usr/bin/env bash
# Captions of language models end with marks such as <|endoftext|> that nobody took off, and one would expect
# CLIP's tokenizer to read the letters of such a mark, or the model to read on behind it. The tokenizer of
# transformers makes it CLIP's own end token, and the text tower answers for the first one: whatever
# stands behind it changes no vector, however wrong it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0 numpy
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
"$folder/env/bin/python" - "$folder" <<'PYTHON'
import gzip
import sys
import zipfile
from pathlib import Path

import torch
import transformers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

(wheel,) = Path(sys.argv[1]).glob("*.whl")
lines = gzip.decompress(zipfile.ZipFile(wheel).read("open_clip/bpe_simple_vocab_16e6.txt.gz")).decode().split("\n")
merges = [tuple(line.split()) for line in lines[1 : 49152 - 256 - 2 + 1]]
plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
bytes_ = [chr(b) for b in plain] + [chr(256 + n) for n in range(256 - len(plain))]
words = [*bytes_, *(b + "</w>" for b in bytes_), *map("".join, merges), "<|startoftext|>", "<|endoftext|>"]
tokenizer = CLIPTokenizer(vocab={word: n for n, word in enumerate(words)}, merges=merges)
torch.manual_seed(0)
tower = CLIPTextModel(CLIPTextConfig(
    vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
    bos_token_id=len(words) - 2, eos_token_id=len(words) - 1,
)).eval()


def vector(text):
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        return tower(ids).pooler_output[0], ids[0].tolist()


short, _ = vector("a dog")
marked, ids = vector("a dog<|endoftext|> on the moon")
other, _ = vector("a dog on the moon")
end = len(words) - 1
print("transformers", transformers.__version__, "end tokens in the marked caption:", ids.count(end))
print("differs from 'a dog' by", (marked - short).abs().max().item(), "and from the caption without the mark by", (marked - other).abs().max().item())
if ids.count(end) != 2 or (marked - short).abs().max() > 1e-5 or (marked - other).abs().max() < 1e-3:
    sys.exit("This has changed: what stands behind an end mark is read now.")
PYTHON
