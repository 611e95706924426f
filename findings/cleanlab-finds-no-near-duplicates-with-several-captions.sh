#!/usr/bin/env bash
# Datasets with several captions have a row for each, so that a picture's vector stands there as often. One would expect cleanlab's
# Datalab to find the near duplicates among pictures all the same. What is near is a share of the median distance to the nearest
# row, which is then 0: each row is a duplicate of its own picture's others, and of no other picture.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check "cleanlab[datalab]==2.9.0" numpy==2.4.6 scikit-learn==1.9.1 datasets==5.2.0
cd "$folder"
HF_HOME="$folder" OMP_NUM_THREADS=1 env/bin/python - 2>log <<'PYTHON' || { tail -n 20 log >&2; exit 1; }
import sys
from importlib.metadata import version

import numpy as np
from cleanlab import Datalab

random = np.random.default_rng(0)
pictures = random.standard_normal((200, 32))
near = pictures[:20] + 0.01 * random.standard_normal((20, 32))
pictures = np.vstack([pictures, near])


def found(captions):
    """How many of the 40 pictures that have a near duplicate are said to have one, of these captions for each."""
    rows = np.repeat(pictures, captions, axis=0)
    lab = Datalab({"row": list(range(len(rows)))}, verbosity=0)
    lab.find_issues(features=rows, issue_types={"near_duplicate": {}})
    sets = lab.get_issues("near_duplicate")["near_duplicate_sets"]
    return len({row // captions for row, others in enumerate(sets) if any(other // captions != row // captions for other in others)})


counts = {captions: found(captions) for captions in (1, 2, 5)}
print(*(f"{name} {version(name)}" for name in ("cleanlab", "numpy", "scikit-learn")))
for captions, count in counts.items():
    print(f"rows for each picture: {captions}; found {count} of 40 pictures with a near duplicate")
if counts != {1: 40, 2: 0, 5: 0}:
    sys.exit("This has changed: near duplicates are found however many rows a picture has.")
PYTHON
