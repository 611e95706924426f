#!/usr/bin/env bash
# Cosines of CLIP are passed to torchmetrics batch by batch, and one would expect the AUROC of all pairs to be the same for each size of
# batch. A batch in which a cosine is below 0 is taken for logits and put through a sigmoid, the other batches stay as they are: wrong
# pairs of the former (about .5) then stand before all right pairs of the latter (about .3). Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torchmetrics==1.9.0 torch==2.13.0 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

import torch
from torchmetrics.classification import BinaryAUROC, BinaryAveragePrecision

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
#: Each right pair is above each wrong one: both measures are 1.
right = torch.tensor([0.31, 0.28, 0.33, 0.27, 0.30, 0.29, 0.26, 0.32])
wrong = torch.tensor([0.12, 0.05, 0.15, -0.02, 0.08, 0.10, -0.03, 0.11])
cosines, labels = torch.stack([right, wrong], 1).flatten(), torch.tensor([1, 0] * 8)


def measure(metric, size, scale=lambda cosines: cosines):
    for first in range(0, len(cosines), size):
        metric.update(scale(cosines[first : first + size]), labels[first : first + size])
    return round(metric.compute().item(), 2)


print({name: version(name) for name in ("torchmetrics", "torch")})
seen = {}
for size in (16, 8, 4, 2, 1):
    seen[size] = measure(BinaryAUROC(), size), measure(BinaryAveragePrecision(), size)
    print(f"batches of {size:2}: AUROC {seen[size][0]:.2f}, average precision {seen[size][1]:.2f}")
scaled = measure(BinaryAUROC(), 4, lambda cosines: (cosines + 1) / 2)
print(f"batches of  4, scaled to 0 to 1 before: AUROC {scaled:.2f}; said meanwhile: {said}")
if seen[16] != (1, 1) or seen[8] != (1, 1) or max(seen[4] + seen[2] + seen[1]) > 0.9 or scaled != 1 or said:
    sys.exit("This has changed: torchmetrics' AUROC is the same for each size of batch.")
PYTHON
