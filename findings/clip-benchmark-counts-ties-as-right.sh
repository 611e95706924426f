#!/usr/bin/env bash
# SugarCrepe asks of each picture which of two captions is right. One would expect a model for which both are the same to be right by
# chance, or never. clip_benchmark puts the right one first and takes the first of equal scores: such a model is right
# always. So it is with captions that differ behind the 77 tokens which CLIP reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy tqdm pillow==12.3.0 ftfy==6.3.1 regex
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --no-deps clip-benchmark==1.6.2
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -n 20 log >&2; exit 1; }
import importlib.util
import json
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import torch
from clip_benchmark.datasets.sugar_crepe import SugarCrepe
from clip_benchmark.metrics.image_caption_selection import evaluate
from PIL import Image

# open_clip's tokenizer needs nothing else of the package.
(wheel,) = Path().glob("*.whl")
zipfile.ZipFile(wheel).extractall("wheel")
specification = importlib.util.spec_from_file_location("tokenizer", "wheel/open_clip/tokenizer.py")
tokenizer_of_open_clip = importlib.util.module_from_spec(specification)
specification.loader.exec_module(tokenizer_of_open_clip)
tokenizer = tokenizer_of_open_clip.SimpleTokenizer()


class Model(torch.nn.Module):
    """Untrained; reads the tokens that it is given, or with `blind` nothing at all."""

    def __init__(self, blind):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.blind = torch.nn.Embedding(tokenizer.vocab_size, 32), blind

    def encode_image(self, pictures):
        return pictures.flatten(1)[:, :32]

    def encode_text(self, tokens):
        return torch.ones(len(tokens), 32) if self.blind else self.words(tokens).mean(1)


def accuracy(right, wrong, blind=False):
    rows = {str(number): {"filename": f"{number}.png", "caption": right, "negative_caption": wrong} for number in range(40)}
    Path("captions.json").write_text(json.dumps(rows))
    torch.manual_seed(1)
    for number in range(40):
        Image.frombytes("RGB", (8, 8), bytes(torch.randint(256, (192,)).tolist())).save(f"{number}.png")
    dataset = SugarCrepe(".", "captions.json", transform=lambda picture: torch.tensor(list(picture.tobytes())).view(1, 8, 24) / 255 - 0.5)
    pictures, captions = zip(*(dataset[number] for number in range(len(dataset))), strict=True)
    batches = [(torch.stack(pictures), list(captions))]
    with torch.no_grad():
        return evaluate(Model(blind), batches, tokenizer, "cpu", amp=False)["text_acc"]


street = "a street " + "with a row of old houses and shops " * 10
found = {
    "untrained model, short captions": accuracy("a red bus", "a blue bus"),
    "untrained model, captions that differ behind 77 tokens": accuracy(f"{street} and a red bus", f"{street} and a blue bus"),
    "the same with the wrong captions as the right ones": accuracy(f"{street} and a blue bus", f"{street} and a red bus"),
    "model that sees nothing": accuracy("a red bus", "a blue bus", blind=True),
}
print("clip-benchmark", version("clip-benchmark"), "open_clip", wheel.name.split("-")[1])
for name, share in found.items():
    print(f"{name}: {share:.3f}")
short, *ties = found.values()
if not 0.2 < short < 0.8 or ties != [1, 1, 1]:
    sys.exit("This has changed: equal scores are no longer right.")
PYTHON
