"""Classifiers travel between systems: another release of xgboost reads the trees and predicts the
same, and the other way round."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import xgboost

from backend.engine.detection.families import THEORY, BoostedTrees
from tests.crossings.conftest import Run
from tests.engine.detection.test_classifier import table

SCRIPT = """
import json
import sys
from pathlib import Path

import numpy
import xgboost

trees, table, own = map(Path, sys.argv[1:])
values = numpy.load(table)
rows = xgboost.DMatrix(values["features"], label=values["labels"])
booster = xgboost.Booster()
booster.load_model(bytearray(json.dumps(json.loads(trees.read_text())["booster"]).encode()))
trained = xgboost.train({"objective": "binary:logistic", "max_depth": 2, "seed": 0}, rows, 20)
own.write_bytes(bytes(trained.save_raw("json")))
print(json.dumps([xgboost.__version__, booster.predict(rows, output_margin=True).tolist(),
                  trained.predict(rows, output_margin=True).tolist()]))
"""
NEEDS_3_12 = pytest.mark.skipif(sys.version_info < (3, 12), reason="xgboost 3.4 needs Python 3.12")


@pytest.mark.parametrize("release", ["3.1.3", pytest.param("3.4.1", marks=NEEDS_3_12)])
def test_another_release_predicts_the_same(tmp_path: Path, run_with: Run, release: str) -> None:
    features, labels = table()
    model = BoostedTrees(3, 0.1, 50, THEORY).fit(features, labels, np.ones(len(labels)))
    (tmp_path / "trees.json").write_text(json.dumps(model.to_json()))
    own = features[:, list(model.columns)]
    np.savez(tmp_path / "table.npz", features=own, labels=labels)
    version, ours_there, theirs_there = run_with(
        (f"xgboost=={release}",), SCRIPT,
        tmp_path / "trees.json", tmp_path / "table.npz", tmp_path / "theirs.json",
    )  # fmt: skip
    assert version == release
    rows = xgboost.DMatrix(own)
    assert model.booster.predict(rows, output_margin=True) == pytest.approx(ours_there, abs=1e-6)
    theirs = xgboost.Booster(model_file=str(tmp_path / "theirs.json"))
    assert theirs.predict(rows, output_margin=True) == pytest.approx(theirs_there, abs=1e-6)
