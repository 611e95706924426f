#!/usr/bin/env bash
# A trigger word that was added to CLIP's tokenizer as a token of its own, as textual inversion does, would be expected to be
# one more word. The configuration of OpenAI's checkpoints names 2 as the end token, and for it transformers takes the vector
# of the highest id instead: that is the added token now. The tower reads from left to right, so all captions that begin
# with the trigger have one vector, whatever they say.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0 numpy
"$folder/env/bin/python" - <<'PYTHON'
import sys

import torch
import transformers
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

BEGIN, END, ADDED = 49406, 49407, 49408
DOG, CAT, WORD = 1929, 2368, 1000


def difference(end_of_configuration, first):
    """Of the vectors of two captions that begin with the token `first`, and then say dog and cat."""
    torch.manual_seed(0)
    tower = CLIPTextModelWithProjection(CLIPTextConfig(
        vocab_size=ADDED + 1, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        projection_dim=32, bos_token_id=BEGIN, eos_token_id=end_of_configuration,
    )).eval()
    with torch.no_grad():
        one, other = (tower(torch.tensor([[BEGIN, first, word, END]])).text_embeds for word in (DOG, CAT))
    return (one - other).abs().max().item()


print("transformers", transformers.__version__, "torch", torch.__version__)
seen = {(end, first): difference(end, first) for end in (2, END) for first in (WORD, ADDED)}
for (end, first), value in seen.items():
    print(f"end token {end} in the configuration, caption begins with {'the added token' if first == ADDED else 'a word'}: dog and cat differ by {value:.3f}")
if seen.pop((2, ADDED)) != 0 or min(seen.values()) < 0.01:
    sys.exit("This has changed: the vector of a caption with an added token depends on what it says.")
PYTHON
