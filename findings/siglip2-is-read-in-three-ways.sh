#!/usr/bin/env bash
# One would expect each library that has SigLIP 2 to give the same weights the same tokens of a caption. transformers' tokenizer for it
# makes the letters small, as in training; Gemma's, which the published files of the models with a fixed resolution name, keeps capitals;
# open_clip takes the punctuation out as well, as for the first SigLIP, so that "3.5 cm" and "35 cm" are one caption, and "no, dogs" and
# "no dogs". What a pair scores depends on the library, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0 ftfy==6.3.1 regex numpy
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" open_clip_torch==3.3.0
cd "$folder"
TRANSFORMERS_VERBOSITY=error env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import importlib.util
import json
import string
import sys
import zipfile
from pathlib import Path

import transformers
from transformers import GemmaTokenizer, Siglip2Tokenizer

# open_clip's tokenizer needs nothing else of the package.
(wheel,) = Path().glob("*.whl")
zipfile.ZipFile(wheel).extractall("wheel")
specification = importlib.util.spec_from_file_location("tokenizer", "wheel/open_clip/tokenizer.py")
open_clip = importlib.util.module_from_spec(specification)
specification.loader.exec_module(open_clip)
settings = {
    path.stem: json.loads(path.read_text())["text_cfg"]["tokenizer_kwargs"]
    for path in Path("wheel/open_clip/model_configs").glob("*SigLIP2*.json")
}
# A vocabulary that has every character: what is lost is not lost for want of a token.
pieces = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "\u2581", *string.ascii_letters, *string.digits, *string.punctuation]
vocabulary = {piece: number for number, piece in enumerate(pieces)}
Siglip2Tokenizer(vocab=vocabulary, merges=[]).save_pretrained("siglip2")
GemmaTokenizer(vocab=vocabulary, merges=[]).save_pretrained("gemma")
readers = {
    "transformers, Siglip2Tokenizer": Siglip2Tokenizer.from_pretrained("siglip2"),
    "transformers, GemmaTokenizer": GemmaTokenizer.from_pretrained("gemma"),
}
of_open_clip = open_clip.HFTokenizer("siglip2", context_length=64, **settings["ViT-B-16-SigLIP2"])
special = {"<pad>", "<eos>", "<bos>"}


def read(caption):
    found = {name: reader(caption).input_ids for name, reader in readers.items()}
    found["open_clip"] = of_open_clip([caption])[0].tolist()
    return {name: "".join(pieces[token] for token in tokens if pieces[token] not in special) for name, tokens in found.items()}


print("open_clip", wheel.name.split("-")[1], "transformers", transformers.__version__)
print(f"open_clip's settings of {len(settings)} SigLIP 2 models:", {json.dumps(setting) for setting in settings.values()})
seen = {caption: read(caption) for caption in ("a dog", "A dog", "3.5 cm", "35 cm", "no, dogs")}
for caption, found in seen.items():
    print(caption, found)
same = {name: (seen["A dog"][name] == seen["a dog"][name], seen["3.5 cm"][name] == seen["35 cm"][name]) for name in seen["a dog"]}
print("one caption (capitals, points):", same)
if list(same.values()) != [(True, False), (False, False), (True, True)] or len({*seen["a dog"].values()}) != 1:
    sys.exit("This has changed: SigLIP 2 reads a caption alike in both libraries.")
PYTHON
