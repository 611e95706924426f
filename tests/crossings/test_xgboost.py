"""Models stored with this xgboost give the same under another release, and the other way round."""

from pathlib import Path

import numpy as np
import pytest
import xgboost

from tests.crossings.conftest import Run

#: Later releases than 3.2.0 need Python 3.12.
OTHER = ("xgboost==3.0.5",)
SCRIPT = """
import json
import sys

import numpy as np
import xgboost

model, rows, out = sys.argv[1:]
values = np.load(rows)
if out:
    data = xgboost.DMatrix(values, values[:, 0])
    booster = xgboost.train({"seed": 1, "max_depth": 3}, data, 5)
    booster.save_model(out)
else:
    booster = xgboost.Booster(model_file=model)
print(json.dumps([float(p) for p in booster.predict(xgboost.DMatrix(values))]))
"""


@pytest.mark.parametrize("ending", ["ubj", "json"])
def test_a_stored_model_gives_the_same_under_both(
    tmp_path: Path, run_with: Run, ending: str
) -> None:
    values = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    np.save(tmp_path / "rows.npy", values)
    ours = xgboost.train({"seed": 1, "max_depth": 3}, xgboost.DMatrix(values, values[:, 0]), 5)
    ours.save_model(tmp_path / f"ours.{ending}")
    there = run_with(OTHER, SCRIPT, tmp_path / f"ours.{ending}", tmp_path / "rows.npy", "")
    assert there == pytest.approx(ours.predict(xgboost.DMatrix(values)).tolist(), abs=1e-7)
    theirs = run_with(OTHER, SCRIPT, "", tmp_path / "rows.npy", tmp_path / f"theirs.{ending}")
    loaded = xgboost.Booster(model_file=tmp_path / f"theirs.{ending}")
    assert loaded.predict(xgboost.DMatrix(values)).tolist() == pytest.approx(theirs, abs=1e-7)
