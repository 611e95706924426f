#!/usr/bin/env bash
# Florence-2 gives boxes for phrases of a caption, and captions of regions. One would expect the phrases as they stand in the caption.
# transformers takes every letter outside ASCII out of them: "a café" comes back as "a caf", and a phrase in Cyrillic or Chinese as an
# empty text with its box, so that it is found in its caption no more. Texts that it reads off a picture keep their letters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    transformers==5.24.0 torch==2.14.1 torchvision==0.29.1 pillow==12.3.0 numpy
cd "$folder"
TRANSFORMERS_VERBOSITY=error env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version
from types import SimpleNamespace

from transformers.models.florence2.processing_florence2 import Florence2PostProcessor

PHRASES = ["a dog", "a café", "Käse", "собака", "狗"]
#: As many numbers as the model writes behind a phrase: of a box, and of four corners.
BOX = "".join(f"<loc_{number}>" for number in (100, 100, 800, 900))
CORNERS = "".join(f"<loc_{number}>" for number in (100, 100, 800, 100, 800, 900, 100, 900))
TASKS = ("phrase_grounding", "description_with_bboxes", "ocr")
# It is given a text, so that it asks its tokenizer for nothing else.
processor = Florence2PostProcessor(dict.fromkeys(TASKS, {}), SimpleNamespace(all_special_tokens=[]))


def read(task, numbers, field):
    text = "".join(phrase + numbers for phrase in PHRASES)
    return [found[field] for found in processor(text=text, image_size=(640, 480), parse_tasks=[task])[task]]


print("transformers", version("transformers"), "phrases:", PHRASES)
found = {
    "phrases of a caption": read("phrase_grounding", BOX, "cat_name"),
    "captions of regions": read("description_with_bboxes", BOX, "cat_name"),
    "texts in the picture": read("ocr", CORNERS, "text"),
}
for task, texts in found.items():
    print(f"{task}: {texts}")
*of_captions, of_texts = found.values()
if of_captions != [["a dog", "a caf", "Kse", "", ""]] * 2 or of_texts != PHRASES:
    sys.exit("This has changed: phrases keep their letters.")
PYTHON
