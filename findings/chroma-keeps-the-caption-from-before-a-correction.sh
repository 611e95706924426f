#!/usr/bin/env bash
# Who adds a corrected caption to a collection of Chroma under the id of its pair would expect the new caption there, or an error. Chroma
# keeps the old caption and its vector without a word, though twice the same id within one call is an error; `update` of
# an id that is not there is nothing either. `upsert` writes both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check chromadb==1.5.9
cd "$folder"
ANONYMIZED_TELEMETRY=False env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import logging
import sys
import warnings
from importlib.metadata import version

import chromadb
from chromadb.errors import DuplicateIDError

said = []
logging.getLogger().addHandler(type("Listener", (logging.Handler,), {"emit": lambda self, record: said.append(record.getMessage())})())
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
captions = chromadb.EphemeralClient().create_collection("captions", embedding_function=None)


def held():
    rows = captions.get(include=["documents", "embeddings"])
    return {key: (text, vector.tolist()) for key, text, vector in zip(rows["ids"], rows["documents"], rows["embeddings"], strict=True)}


captions.add(ids=["1", "2"], documents=["a red dog", "a blue car"], embeddings=[[1, 0], [0, 1]])
first = held()
said.clear()
captions.add(ids=["1", "3"], documents=["a brown dog", "a tree"], embeddings=[[0.5, 0.5], [0, 2]])
captions.update(ids=["4"], documents=["a boat"], embeddings=[[2, 0]])
second, messages = held(), list(said)
try:
    captions.add(ids=["5", "5"], documents=["a cat", "a cow"], embeddings=[[3, 0], [0, 3]])
    twice = "taken"
except DuplicateIDError as error:
    twice = type(error).__name__
captions.upsert(ids=["1"], documents=["a brown dog"], embeddings=[[0.5, 0.5]])
third = held()
print("chromadb", version("chromadb"))
print("added:", first)
print("after add of 1 and 3 and update of 4:", second)
print("said meanwhile:", messages)
print("twice the same id in one call:", twice)
print("after upsert of 1:", third)
if second != {**first, "3": ("a tree", [0, 2])} or messages or twice != "DuplicateIDError" or third["1"][0] != "a brown dog":
    sys.exit("This has changed: a caption added under an id that is there is written, or refused.")
PYTHON
