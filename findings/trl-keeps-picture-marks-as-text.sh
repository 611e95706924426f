#!/usr/bin/env bash
# Who trains on conversations whose questions hold `<image>`, as LLaVA's and LlamaFactory's do, would expect TRL to put the picture there.
# TRL puts the picture before the text of the first question and leaves the mark: the model is trained to read "<image>".
# Contents written as parts keep the picture's place.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check trl==1.16.0 pillow==12.3.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

from PIL import Image
from trl.data_utils import prepare_multimodal_messages

PICTURE = Image.new("RGB", (8, 8))


def read(content):
    question, answer = prepare_multimodal_messages(
        [{"role": "user", "content": content}, {"role": "assistant", "content": "a red dog"}], images=[PICTURE]
    )
    return [part.get("text", part["type"]) for part in question["content"]]


MARK, TEXT = "<image>", "Describe it."
questions = {
    "mark in the text": read(f"{TEXT}\n{MARK}"),
    "parts": read([{"type": "text", "text": TEXT}, {"type": "image"}]),
    "text alone": read(TEXT),
}
print({name: version(name) for name in ("trl", "transformers")})
for form, parts in questions.items():
    print(f"{form}: {parts}")
if questions != {
    "mark in the text": ["image", f"{TEXT}\n{MARK}"], "parts": [TEXT, "image"], "text alone": ["image", TEXT],
}:
    sys.exit("This has changed: TRL reads marks of pictures in texts, or puts the picture elsewhere.")
PYTHON
