#!/usr/bin/env bash
# Of several people's captions of a picture, crowd-kit's text aggregations choose one: that which is nearest to all of them. One would
# expect the same choice whether the people's tables were joined with or without numbering the rows anew, as for its majority votes.
# With pandas' own numbers, which begin at 0 in each table, every caption is chosen: the choice is looked up by the row's number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check crowd-kit==1.4.2 pandas==2.3.3 numpy==2.4.6
cd "$folder"
env/bin/python - 2>errors <<'PYTHON' || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
from crowdkit.aggregation import ROVER, MajorityVote, TextHRRASA, TextRASA

VECTORS = {
    "a red dog": (1.0, 0.0, 0.0),
    "a dog, red": (1.0, 0.1, 0.0),
    "no picture": (0.0, 0.0, 1.0),
    "a blue car": (0.0, 1.0, 0.0),
    "one blue car": (0.1, 1.0, 0.0),
    "nothing": (0.0, 0.1, 1.0),
}


def encode(caption):
    return np.array(VECTORS[caption])


def person(name, *captions):
    return pd.DataFrame({"task": ["1.jpg", "2.jpg"], "worker": name, "text": captions})


tables = [person("A", "a red dog", "a blue car"), person("B", "a dog, red", "one blue car"), person("C", "no picture", "nothing")]
numbered, joined = pd.concat(tables, ignore_index=True), pd.concat(tables)
ways = {
    "TextRASA": lambda rows: TextRASA(encoder=encode).fit_predict(rows, None),
    "TextHRRASA": lambda rows: TextHRRASA(encoder=encode).fit_predict(rows, None),
    "ROVER": lambda rows: ROVER(str.split, " ".join).fit_predict(rows),
    "MajorityVote": lambda rows: MajorityVote().fit_predict(rows.rename(columns={"text": "label"})),
}
print({name: version(name) for name in ("crowd-kit", "pandas")})
same, chosen = {}, {}
for name, way in ways.items():
    first, second = (way(rows).groupby(level=0).agg(list).to_dict() for rows in (numbered, joined))
    same[name], chosen[name] = first == second, [len(captions) for captions in second.values()]
    print(f"{name}: rows numbered anew {first}, as joined {second}")
every = {"TextRASA": [3, 3], "TextHRRASA": [3, 3], "ROVER": [1, 1], "MajorityVote": [1, 1]}
if same != {name: name in ("ROVER", "MajorityVote") for name in ways} or chosen != every:
    sys.exit("This has changed: crowd-kit chooses one caption a picture, however the rows are numbered.")
PYTHON
