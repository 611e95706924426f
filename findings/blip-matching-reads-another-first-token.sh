#!/usr/bin/env bash
# BLIP's image-text matching was trained, and is run by LAVIS, with the token [ENC] in the first place, whose
# state the matching head reads. One would expect the same weights in transformers to do so. Its
# BlipForImageTextRetrieval scores whatever stands first, and its processor puts [CLS] there: the head reads
# the state of another token, and the scores are others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0 numpy
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" salesforce-lavis==1.0.2
"$folder/env/bin/python" - "$folder" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

import torch
import transformers
from transformers import BlipConfig, BlipForImageTextRetrieval

(wheel,) = Path(sys.argv[1]).glob("*.whl")
lavis = zipfile.ZipFile(wheel).read("lavis/models/blip_models/blip_image_text_matching.py").decode()
puts_enc = "[:, 0] = self.tokenizer.enc_token_id" in lavis
print(wheel.name, "puts [ENC] first:", puts_enc)

torch.manual_seed(0)
small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
config = BlipConfig(
    text_config={**small, "vocab_size": 50, "encoder_hidden_size": 32},
    vision_config={**small, "image_size": 32, "patch_size": 16},
)
model = BlipForImageTextRetrieval(config).eval()
picture, text = torch.rand(1, 3, 32, 32), torch.tensor([[1, 7, 8, 9, 2]])  # 1 stands for [CLS]
with_enc = text.clone()
with_enc[0, 0] = 49  # and 49 for [ENC]
seen = []
model.text_encoder.embeddings.word_embeddings.register_forward_hook(lambda _, ids, out: seen.append(int(ids[0][0, 0])))
with torch.no_grad():
    cls, enc = (model(pixel_values=picture, input_ids=ids).itm_score.softmax(-1)[0, 1].item() for ids in (text, with_enc))
print("transformers", transformers.__version__, "first token read:", seen, f"match by [CLS] {cls:.4f}, by [ENC] {enc:.4f}")
if not puts_enc or seen != [1, 49] or abs(cls - enc) < 1e-6:
    sys.exit("This has changed: one of the two reads another first token now.")
PYTHON
