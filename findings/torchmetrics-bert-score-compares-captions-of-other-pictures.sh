#!/usr/bin/env bash
# BERTScore compares each caption with the references of its own picture. One would expect torchmetrics to score a list as it scores
# the pairs one by one. It orders captions and references by their lengths, each on its own, and then applies the same order once more
# instead of undoing it: from three pairs on, captions are compared with the references of other pictures. No error, plausible numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torchmetrics==1.9.0 torch==2.13.0 tqdm numpy
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version
from types import SimpleNamespace

import torch
from torchmetrics.functional.text.bert import bert_score
from torchmetrics.text.bert import BERTScore

CAPTIONS = ["a dog", "two cats asleep on one sofa", "the old town hall", "snow on every roof in town today"]
REFERENCES = ["a dog on wet sand near its ball", "two cats asleep", "the old town hall at night", "snow on roof"]
WORDS = sorted({word for text in CAPTIONS + REFERENCES for word in text.split()})


def tokenizer(texts, max_length=16, **options):
    """0 is padding, 1 and 2 are the beginning and the end, as in BERT."""
    rows = [[1, *(WORDS.index(word) + 3 for word in text.split()), 2] for text in texts]
    ids = torch.tensor([row + [0] * (16 - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


class Words(torch.nn.Module):
    """A vector for each word, equal for equal words alone: BERTScore counts the words that both texts have."""

    config = SimpleNamespace(num_hidden_layers=1)

    def forward(self, batch):
        return torch.nn.functional.one_hot(batch["input_ids"], len(WORDS) + 3).float()


OPTIONS = {"model": Words(), "user_tokenizer": tokenizer, "user_forward_fn": lambda model, batch: model(batch), "device": "cpu"}


def scores(captions, references):
    return [round(float(score), 3) for score in bert_score(captions, references, **OPTIONS, max_length=16)["f1"].reshape(-1)]


alone = [scores([caption], [reference])[0] for caption, reference in zip(CAPTIONS, REFERENCES, strict=True)]
together = scores(CAPTIONS, REFERENCES)
metric = BERTScore(**OPTIONS, max_length=16)
metric.update(CAPTIONS, REFERENCES)
by_class = [round(float(score), 3) for score in metric.compute()["f1"].reshape(-1)]
print("torchmetrics", version("torchmetrics"), "torch", version("torch"))
print("each pair alone:    ", alone)
print("all pairs at once:  ", together)
print("the class BERTScore:", by_class)
if together == alone or by_class == alone:
    sys.exit("This has changed: pairs have the same scores alone and together.")
PYTHON
