#!/usr/bin/env bash
# FiCo-ITR measures how well pictures and captions find each other; which picture a caption belongs to may be stated, and one would expect
# such a mapping to be followed however many captions there are. Where they are as many as the pictures, but in another order,
# the mean average precision by category gives the pictures the labels of the captions, and a perfect model seems to find captions
# for pictures poorly. With two captions a picture, shuffled as well, both directions are 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check fico-itr==1.0.0 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON'
import sys
import warnings
from importlib.metadata import version

import numpy as np
from fico_itr import category_retrieval

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
#: Pictures of three categories, and for each caption the picture that it belongs to.
labels = np.array([0, 1, 2, 0, 1, 2])
orders = {
    "a caption each, in the pictures' order": [0, 1, 2, 3, 4, 5],
    "a caption each, shuffled": [1, 2, 0, 4, 5, 3],
    "two captions each, shuffled": [1, 2, 0, 4, 5, 3, 3, 5, 4, 0, 2, 1],
}
print("fico-itr", version("fico-itr"))
found = []
for name, pictures in orders.items():
    #: A perfect model: 1 where picture and caption are of one category, 0 otherwise.
    match = (labels[:, None] == labels[pictures][None, :]).astype(float)
    to_captions, to_pictures = category_retrieval(match, labels, captions_per_image=dict(enumerate(pictures)))
    found.append((round(float(to_captions), 2), round(float(to_pictures), 2)))
    print(f"{name}: captions of pictures {found[-1][0]:.2f}, pictures of captions {found[-1][1]:.2f}")
print("said meanwhile:", said)
if found[0] != (1, 1) or found[2] != (1, 1) or found[1][1] != 1 or found[1][0] > 0.5 or said:
    sys.exit("This has changed: FiCo-ITR follows the mapping of one caption per picture.")
PYTHON
