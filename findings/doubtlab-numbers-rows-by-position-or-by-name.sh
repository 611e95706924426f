#!/usr/bin/env bash
# doubtlab returns the numbers of the rows whose label is in doubt, to be looked at in the data that it was given, and one would expect
# these to mean the same whatever the reason for doubt is. Where the labels are a column of pandas' whose rows were shuffled or filtered,
# a wrong prediction gives the row's own number, each reason that is reckoned from probabilities its position: the same
# wrong label has two numbers, and a row that is right stands at one of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    doubtlab==0.2.4 cleanlab==2.9.0 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
import warnings
from importlib.metadata import version

import pandas as pd
from doubtlab.ensemble import DoubtEnsemble
from doubtlab.reason import LongConfidenceReason, ShortConfidenceReason, WrongPredictionReason
from sklearn.linear_model import LogisticRegression

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
#: A score of the match by which pairs are good or not; the label of row 7 is wrong.
scores = [0.1 * number for number in range(10)] + [3 + 0.1 * number for number in range(10)]
pairs = pd.DataFrame({"score": scores, "good": [number >= 10 for number in range(20)]})
pairs.loc[7, "good"] = True
model = LogisticRegression(C=10).fit(pairs[["score"]].to_numpy(), pairs["good"])
shuffled = pairs.sample(frac=1, random_state=1)
position = shuffled.index.get_loc(7)
values = shuffled[["score"]].to_numpy()
reasons = {"wrong": WrongPredictionReason(model), "short": ShortConfidenceReason(model, 0.4), "long": LongConfidenceReason(model, 0.6)}
print({name: version(name) for name in ("doubtlab", "pandas", "scikit-learn")})
print(f"The wrong label is that of row 7, which stands at position {position}.")
found = {}
for name, reason in reasons.items():
    ensemble = DoubtEnsemble(**{name: reason})
    found[name] = tuple(ensemble.get_indices(values, labels).tolist() for labels in (shuffled["good"], shuffled["good"].to_numpy()))
    print(f"{name}: with the labels as a column {found[name][0]}, as an array {found[name][1]}")
together = DoubtEnsemble(**reasons).get_indices(values, shuffled["good"]).tolist()
print("all three, with the labels as a column:", together, "said meanwhile:", said)
print(f"At position 7 stands row {shuffled.index[7]}, label {bool(shuffled['good'].iloc[7])}, score {shuffled['score'].iloc[7]:.1f}")
here = [position], [position]
if found != {"wrong": ([7], [position]), "short": here, "long": here} or together != [7] or said or position == 7:
    sys.exit("This has changed: doubtlab numbers rows alike, whatever the reason.")
PYTHON
