#!/usr/bin/env bash
# Grounding DINO finds boxes for phrases, such as those of a caption, and its `predict_with_classes` takes a list of classes and gives each
# box the number of one. One would expect the class that equals the phrase. It takes the first class whose letters occur in the
# phrase: with "man" before "woman" in the list every woman is a man, a bus stop is a bus, cattle are a cat and a carpet is a car; in
# another order of the same classes they are not. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    rf-groundingdino==0.3.0 torch==2.14.1 torchvision==0.29.1 transformers==5.24.0 supervision==0.31.2 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

from groundingdino.util.inference import Model

messages = []
warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
ORDERS = (
    ["man", "woman", "bus", "bus stop", "cat", "cattle", "car", "carpet"],
    ["woman", "man", "bus stop", "bus", "cattle", "cat", "carpet", "car"],
)


def classes_of(phrases, classes):
    return {phrase: classes[number] for phrase, number in zip(phrases, Model.phrases2classes(phrases, classes))}


print({name: version(name) for name in ("rf-groundingdino", "torch", "supervision")})
short_first, long_first = (classes_of(ORDERS[0], classes) for classes in ORDERS)
print("shorter classes first:", {phrase: name for phrase, name in short_first.items() if name != phrase})
print("longer classes first:", {phrase: name for phrase, name in long_first.items() if name != phrase})
print("said meanwhile:", messages)
others = {"woman": "man", "bus stop": "bus", "cattle": "cat", "carpet": "car"}
expected = {phrase: others.get(phrase, phrase) for phrase in ORDERS[0]}
if short_first != expected or long_first != {phrase: phrase for phrase in ORDERS[0]} or messages:
    sys.exit("This has changed: Grounding DINO gives a phrase the class that equals it.")
PYTHON
