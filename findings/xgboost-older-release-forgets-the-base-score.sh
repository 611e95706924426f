#!/usr/bin/env bash
# A model that xgboost has saved in JSON is meant for other releases, and one would expect an older one that
# cannot read it to say so. Since 3.1 the base score is written as a list; 3.0.5 reads such a model without a
# word, takes its own default of 0.5 for the base score, and every prediction is off by the difference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for release in 3.2.0 3.0.5; do
    python3 -m venv "$folder/$release"
    "$folder/$release/bin/pip" install --quiet --disable-pip-version-check "xgboost-cpu==$release" numpy==2.2.6
done
cat > "$folder/predict.py" <<'PYTHON'
import json
import sys

import numpy as np
import xgboost

path, is_writer = sys.argv[1], sys.argv[2] == "write"
values = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
if is_writer:
    xgboost.train({"seed": 1, "max_depth": 3}, xgboost.DMatrix(values, values[:, 0] + 3), 5).save_model(path)
model = xgboost.Booster(model_file=path)
base = json.loads(model.save_raw("json"))["learner"]["learner_model_param"]["base_score"]
print(xgboost.__version__, base, float(model.predict(xgboost.DMatrix(values)).mean()))
PYTHON
"$folder/3.2.0/bin/python" "$folder/predict.py" "$folder/model.json" write | tee "$folder/newer"
"$folder/3.0.5/bin/python" "$folder/predict.py" "$folder/model.json" read | tee "$folder/older"
python3 - "$folder/newer" "$folder/older" <<'PYTHON'
import sys

newer, older = (open(path).read().split()[-1] for path in sys.argv[1:])
if abs(float(newer) - float(older)) < 1:
    sys.exit("This has changed: both releases predict the same.")
PYTHON
