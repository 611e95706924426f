#!/usr/bin/env bash
# Alternative texts of the web are often a file's name ("beach.png"). One would expect a CLIP of sentence-transformers to embed
# a text as a text. It looks whether such a file exists in the folder where the program runs, and embeds the picture instead: in
# the folder of the pictures, a caption that says nothing but the file's name has a cosine of 1 with its picture and is the best
# caption of all. Where the file is not there, the same caption is a text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --extra-index-url https://download.pytorch.org/whl/cpu \
    sentence-transformers==6.2.0 transformers==5.24.0 torch==2.13.0 pillow==12.3.0 numpy
cd "$folder"
HF_HUB_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=error "$folder/env/bin/python" - <<'PYTHON'
import os
import string
import sys
from importlib.metadata import version

import numpy as np
import torch
from PIL import Image
from sentence_transformers import SentenceTransformer
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

# A small CLIP with random weights, in the published format.
marks = string.ascii_lowercase + string.digits + string.punctuation
pieces = [*marks, *(f"{mark}</w>" for mark in marks), "<|startoftext|>", "<|endoftext|>"]
tokenizer = CLIPTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[])
begin, end = tokenizer.convert_tokens_to_ids(["<|startoftext|>", "<|endoftext|>"])
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
torch.manual_seed(0)
model = CLIPModel(CLIPConfig(
    text_config=dict(**sizes, vocab_size=len(pieces), max_position_embeddings=77, bos_token_id=begin, eos_token_id=end, pad_token_id=end),
    vision_config=dict(**sizes, image_size=32, patch_size=8), projection_dim=16,
))
model.save_pretrained("clip")
processor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
CLIPProcessor(image_processor=processor, tokenizer=tokenizer).save_pretrained("clip")

pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
os.mkdir("pictures")
Image.fromarray(pixels).save("pictures/beach.png")
clip = SentenceTransformer(os.path.abspath("clip"), device="cpu")
[picture] = clip.encode([Image.open("pictures/beach.png")], normalize_embeddings=True)


def match(caption):
    [vector] = clip.encode([caption], normalize_embeddings=True)
    return float(vector @ picture)


elsewhere = match("beach.png")
os.chdir("pictures")
beside, text = match("beach.png"), match("a beach")
print(*(f"{name} {version(name)}" for name in ("sentence-transformers", "transformers", "torch")), sep=", ")
print(f'cosine of the picture with the caption "beach.png": {beside:.4f} in its folder, {elsewhere:.4f} in another')
print(f'and with the caption "a beach": {text:.4f}')
if beside < 0.9999 or abs(elsewhere) > 0.9:
    sys.exit("This has changed: a caption is embedded as a text, whatever files there are.")
PYTHON
