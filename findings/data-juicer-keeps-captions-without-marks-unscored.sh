#!/usr/bin/env bash
# Data-Juicer's image-text filters are asked to keep pairs whose caption matches the picture. A caption says where its picture belongs
# by the mark <__dj__image>, which captions of other programs do not have. One would expect a row that names one picture to be scored,
# or to be refused. Without the mark it gets no score and is kept, whatever limits are set: of plain rows nothing is ever removed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    py-data-juicer==1.6.1 transformers==5.24.0 torch==2.14.1 torchvision==0.29.1 aiohttp pillow
cd "$folder"
HF_HUB_OFFLINE=1 env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import json
import string
import sys
from importlib.metadata import version

import torch
from data_juicer.core.data import NestedDataset
from data_juicer.ops.filter.image_text_similarity_filter import ImageTextSimilarityFilter
from PIL import Image
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizerFast

# A small CLIP with random weights, in the published format.
letters = string.ascii_lowercase + string.digits + string.punctuation
pieces = [*letters, *(f"{letter}</w>" for letter in letters), "in", "<|startoftext|>", "<|endoftext|>"]
with open("vocab.json", "w") as vocabulary, open("merges.txt", "w") as merges:
    json.dump({piece: number for number, piece in enumerate(pieces)}, vocabulary)
    merges.write("#version: 0.2\ni n\n")
tokenizer = CLIPTokenizerFast(vocab_file="vocab.json", merges_file="merges.txt")
begin, end = tokenizer.convert_tokens_to_ids(["<|startoftext|>", "<|endoftext|>"])
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
torch.manual_seed(1)
model = CLIPModel(CLIPConfig(
    text_config=dict(**sizes, vocab_size=len(pieces), max_position_embeddings=77, bos_token_id=begin, eos_token_id=end, pad_token_id=end),
    vision_config=dict(**sizes, image_size=32, patch_size=8), projection_dim=16,
))
processor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
model.save_pretrained("clip")
CLIPProcessor(image_processor=processor, tokenizer=tokenizer).save_pretrained("clip")

Image.new("RGB", (32, 32), "red").save("red.png")
MARKED, PLAIN = "<__dj__image> a blue square", "a blue square"
rows = [{"text": text, "images": ["red.png"]} for text in (MARKED, PLAIN)]
# Nothing is as similar as this.
strict = ImageTextSimilarityFilter(hf_clip="clip", min_score=0.999, max_score=1.0, num_proc=1)
kept = {row["text"]: row["__dj__stats__"]["image_text_similarity"] for row in NestedDataset.from_list(rows).process([strict])}
print({name: version(name) for name in ("py-data-juicer", "transformers", "torch")})
print(f"of {len(rows)} rows, at a similarity of .999 at least, were kept with these scores: {kept}")
if kept != {PLAIN: []}:
    sys.exit("This has changed: a caption without a mark is scored, or removed.")
PYTHON
