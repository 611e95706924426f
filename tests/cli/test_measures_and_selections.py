"""`score --support --specificity` and `bags` as scripts use them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from backend.engine.detection.features import NAMES
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import classifier_queries
from tests.cli.invoking import as_json, invoked
from tests.fixtures.features import needs
from tests.jobs.copied_pictures import PAIRS

#: Drawn pictures and their copies with a caption each, and one second caption.
CAPTIONS = PAIRS + 4


@needs("phrases")
@needs("specificity")
def test_additional_measures_are_part_of_the_result(
    scored_copies: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "scores.jsonl"
    plain = ("score", "pairs", "--no-suggestions")
    arguments = (*plain, "--support", "--specificity", "--out", str(out))
    status, printed, err = invoked(scored_copies, "--quiet", *arguments)
    assert (status, err) == (0, "")
    assert str(out) in printed
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == CAPTIONS
    assert all(row["specificity"] is not None for row in rows)
    report = as_json(scored_copies, *arguments)
    assert (report["scored"], report["skipped"]) == (0, CAPTIONS)
    assert (report["support"]["pairs"], report["support"]["computed"]) == (CAPTIONS, 0)
    assert report["support"]["notes"]
    assert report["specificity"]["measured"] == CAPTIONS
    assert 0 < report["specificity"]["retrieved"] <= CAPTIONS
    assert report["rows_written"] == CAPTIONS
    report = as_json(scored_copies, *plain)
    assert report["skipped"] == CAPTIONS
    assert [report[name] for name in ("support", "specificity", "rows_written")] == [None] * 3


@needs("regions")
def test_boxes_of_words_are_written_for_tools_that_show_them(
    scored_copies: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "boxes.json"
    plain = ("score", "pairs", "--no-suggestions", "--out", str(out))
    status, printed, _ = invoked(scored_copies, *plain, "--json")
    assert (status, json.loads(printed)["exit_status"]) == (3, 3), "no word was looked for"
    assert not out.exists()
    report = as_json(scored_copies, *plain, "--regions")
    written, document = report["boxes_written"], json.loads(out.read_text())
    assert report["rows_written"] is None
    assert written["boxes"] == len(document["annotations"]) > 0
    assert written["boxes"] + written["absent"] == report["regions"]["words"]
    assert written["pictures"] == len(document["images"])
    again = as_json(scored_copies, *plain)
    assert (again["regions"], again["boxes_written"]) == (None, written)
    assert invoked(scored_copies, "score", "pairs", "--features", str(out))[0] == 6


def test_tables_have_every_column_and_a_row_for_each_pair(
    scored_copies: dict[str, str], tmp_path: Path
) -> None:
    plain = ("score", "pairs", "--no-suggestions")
    for name in ("a.csv", "a.parquet"):
        out, features = tmp_path / name, tmp_path / f"features-{name}"
        as_json(scored_copies, *plain, "--out", str(out), "--features", str(features))
    tables = [pd.read_csv(tmp_path / "a.csv"), pd.read_parquet(tmp_path / "a.parquet")]
    assert list(tables[0].columns) == list(tables[1].columns)
    assert [len(json.loads(words)) for words in tables[0].suspects] == [
        len(words) for words in tables[1].suspects
    ]
    features = [
        pd.read_csv(tmp_path / "features-a.csv"),
        pd.read_parquet(tmp_path / "features-a.parquet"),
    ]
    of_claims = ["id", "start", "end", "p_error", "verdict"]
    assert list(features[0].columns) == [*of_claims, *NAMES]
    assert len(features[0]) == CAPTIONS + 1, "one caption has two claims"
    pd.testing.assert_frame_equal(features[0], features[1], check_dtype=False)
    lowest = features[0].groupby("id", sort=False).s_0.min()
    np.testing.assert_allclose(lowest, tables[0].s_0, rtol=1e-6)


def test_another_detector_ranks_scored_pairs_anew(
    scored_copies: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "scores.csv"
    plain = ("score", "pairs", "--no-suggestions", "--out", str(out))

    def ranking(*options: str) -> tuple[str, list[float]]:
        report = as_json(scored_copies, *plain, *options)
        assert report["scored"] == 0
        return report["detector"].get("requested", "best"), list(pd.read_csv(out).p_error)

    name, best = ranking()
    assert name == "best"
    name, alone = ranking("--detector", "eight signs")
    assert (name, alone == best) == ("eight signs", False)
    assert ranking() == ("eight signs", alone), "nobody wants another one"
    name, again = ranking("--detector", "best")
    assert (name, again == alone) == ("best", False)
    workspace = Workspace(load_settings({}, scored_copies))
    with workspace.store.writing() as session:
        dataset_id = workspace.find("pairs")
        learnt = classifier_queries.add_classifier(
            session, dataset_id, name="Learnt", kind="s_0 alone", basis="verdicts",
            payload=b"{}", report={"requested": "best"},
        )  # fmt: skip
        classifier_queries.activate(session, learnt.id)
    workspace.store.close()
    status, _, err = invoked(scored_copies, *plain, "--detector", "cart")
    assert status != 0
    assert "train 'pairs' --detector" in " ".join(err.split())
