#!/usr/bin/env bash
# CLIPScore is defined for each pair, as a cosine that counts at least 0, and torchmetrics documents it so. One would expect the
# score of several pairs to be the mean of theirs. It takes the mean first and the maximum with 0 afterwards: the negative cosine of a
# wrong caption is subtracted from what right ones have, and a set's score is not the mean of the scores of its pairs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --extra-index-url https://download.pytorch.org/whl/cpu \
    torchmetrics==1.9.0 transformers==4.57.6 torch==2.13.0 pillow==12.3.0 numpy
cd "$folder"
HF_HUB_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=error "$folder/env/bin/python" - <<'PYTHON'
import json
import string
import sys
from importlib.metadata import version

import torch
from torchmetrics.functional.multimodal import clip_score
from torchmetrics.multimodal import CLIPScore
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizerFast

# A small CLIP with random weights, in the published format: among its pairs are negative cosines.
marks = string.ascii_lowercase + string.digits + string.punctuation
pieces = [*marks, *(f"{mark}</w>" for mark in marks), "in", "<|startoftext|>", "<|endoftext|>"]
with open("vocab.json", "w") as vocabulary, open("merges.txt", "w") as merges:
    json.dump({piece: number for number, piece in enumerate(pieces)}, vocabulary)
    merges.write("#version: 0.2\ni n\n")
tokenizer = CLIPTokenizerFast(vocab_file="vocab.json", merges_file="merges.txt")
begin, end = tokenizer.convert_tokens_to_ids(["<|startoftext|>", "<|endoftext|>"])
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, initializer_factor=5.0)
torch.manual_seed(1)
model = CLIPModel(CLIPConfig(
    text_config=dict(**sizes, vocab_size=len(pieces), max_position_embeddings=77, bos_token_id=begin, eos_token_id=end, pad_token_id=end),
    vision_config=dict(**sizes, image_size=32, patch_size=8), projection_dim=16,
)).eval()
processor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
clip = (model, CLIPProcessor(image_processor=processor, tokenizer=tokenizer))

pictures = list(torch.randint(0, 256, (8, 3, 32, 32), dtype=torch.uint8))
captions = ["a dog", "two cats", "the sea", "a red car", "an old man", "snow", "a bowl of fruit", "a train"]
with torch.no_grad():
    each = [float(clip_score(picture, caption, lambda: clip)) for picture, caption in zip(pictures, captions)]
    together = float(clip_score(pictures, captions, lambda: clip))
    metric = CLIPScore(lambda: clip)
    metric.update(pictures, captions)
    of_class = float(metric.compute())
print(*(f"{name} {version(name)}" for name in ("torchmetrics", "transformers", "torch")), sep=", ")
print("CLIPScore of each pair:", *(f"{score:.1f}" for score in each))
print(f"their mean: {sum(each) / len(each):.2f}; of all pairs in one call: {together:.2f}; by the class: {of_class:.2f}")
if min(each) != 0 or sum(each) / len(each) - together < 1:
    sys.exit("This has changed: the score of several pairs is the mean of theirs.")
PYTHON
