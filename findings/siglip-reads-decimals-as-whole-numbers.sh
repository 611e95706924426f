#!/usr/bin/env bash
# One would expect an image-text model to read "3.5 cm" and "35 cm", or "10:30" and "1030", as different captions. The
# tokenizer of SigLIP's first version takes out every punctuation mark before it divides a text into tokens, within words
# and numbers as well: a point, colon or hyphen joins what it stood between, and both captions have the same tokens, so
# no score can tell them apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0 sentencepiece==0.2.3 protobuf==7.36.2
cd "$folder"
env/bin/python - <<'PYTHON'
import sys

import sentencepiece
import transformers
from transformers import SiglipTokenizer

# A vocabulary that has every mark: what is lost is not lost for want of a piece.
with open("corpus.txt", "w", encoding="utf-8") as corpus:
    corpus.write("a dog and a cat . 3.5 cm , 35 cm : 10:30 - two-three men's 50% off\n" * 200)
sentencepiece.SentencePieceTrainer.train(
    input="corpus.txt", model_prefix="pieces", vocab_size=80, hard_vocab_limit=False, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2
)
pieces = sentencepiece.SentencePieceProcessor(model_file="pieces.model")
tokenizer = SiglipTokenizer("pieces.model")
print("transformers", transformers.__version__, "sentencepiece", sentencepiece.__version__)
is_changed = False
for one, other in (("3.5 cm", "35 cm"), ("a clock at 10:30", "a clock at 1030"), ("50% off", "50 off"), ("two-three dogs", "twothree dogs"), ("no, dogs", "no dogs")):
    same, apart = tokenizer(one).input_ids == tokenizer(other).input_ids, pieces.encode(one) != pieces.encode(other)
    print(f"{one!r} and {other!r}: the same tokens {same}, though the vocabulary tells them apart {apart}")
    is_changed |= not (same and apart)
if is_changed:
    sys.exit("This has changed: SigLIP's tokenizer keeps punctuation within numbers now.")
PYTHON
