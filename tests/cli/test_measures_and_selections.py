"""`score --support --specificity`, `bags`, `select` and thinned exports as scripts use them."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from backend.engine.detection.features import NAMES
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import classifier_queries, pair_queries, suggestion_queries
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import image_folder
from tests.fixtures.features import needs
from tests.jobs.copied_pictures import PAIRS
from tests.jobs.test_two_stage_selection import COUNT
from tests.jobs.test_two_stage_selection import score as save_scores

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
    assert f"0 pairs scored, {CAPTIONS} already had scores" in printed
    assert f"Support of {CAPTIONS} pairs measured now" in printed
    assert f"Specificity of {CAPTIONS} captions by" in printed
    assert f"{CAPTIONS} rows written to {out}" in printed
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


@pytest.fixture
def sample(tmp_path: Path) -> dict[str, str]:
    """Variables for the dataset *pairs* with simple scores: s decreases with the number of a pair,
    support increases. Pair 3 has a suggested enrichment."""
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "made")}, {}))
    rows = [
        {"id": str(i), "file_name": "a.png", "caption": f"a dog beside word{i:03d}"}
        for i in range(COUNT)
    ]
    image_folder(tmp_path / "pairs", rows, ("a.png",))
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    save_scores(workspace)
    with workspace.store.writing() as session:
        pair = list(pair_queries.iterate_pairs(session, dataset))[3]
        richer = suggestion_queries.NewSuggestion(
            pair.id, "boost", "a brown dog beside word003", 0.5, 0.6, kind="boost",
            provenance={"boost": "blend"},
        )  # fmt: skip
        suggestion_queries.save_suggestions(session, [richer])
    workspace.store.close()
    return {"TRACED_DATA_DIRECTORY": str(tmp_path / "made"), "COLUMNS": "200"}


def exported(environment: dict[str, str], out: Path, *options: str) -> list[dict[str, Any]]:
    report = as_json(environment, "export", "pairs", str(out), "--format", "jsonl", *options)
    lines = (out / "data.jsonl").read_text().splitlines()
    assert report["written"] == report["counts"]["kept"] == len(lines)
    return [json.loads(line) for line in lines]


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row["id"]) for row in rows)


@needs("phrases")
def test_a_selection_is_a_view_that_can_be_exported(sample: dict[str, str], tmp_path: Path) -> None:
    status, printed, err = invoked(sample, "select", "pairs", "--dry-run")
    assert status == 0, err
    assert f"{COUNT} undecided pairs: 70 by match, 50 of them by support; 0 decided" in printed
    assert "Thresholds: s ≥ 0.31, support ≥ 2." in printed
    assert "Saved" not in printed
    status, _, err = invoked(sample, "export", "pairs", str(tmp_path / "x"), "--view", "selected")
    assert status != 0, "a dry run has saved no view"
    status, printed, err = invoked(sample, "--quiet", "select", "pairs")
    assert (status, err) == (0, "")
    assert "Saved as the view 'selected'." in printed
    assert numbers(exported(sample, tmp_path / "1", "--view", "selected")) == list(range(20, 70))
    options = ("--align", "0.5", "--keep", "0.2", "--by", "alignment", "--name", "best")
    report = as_json(sample, "select", "pairs", *options)
    assert (report["pool"], report["kept"], report["view"]) == (50, 20, "best")
    assert numbers(exported(sample, tmp_path / "2", "--view", "best")) == list(range(20))
    for wrong in (("--by", "luck"), ("--align", "2"), ("--split", "nothing")):
        status, printed, err = invoked(sample, "select", "pairs", *wrong)
        assert (status, printed) == (2, "")
        assert wrong[1] in err or wrong[0] in err


@needs("phrases")
def test_an_export_is_thinned_in_two_stages(sample: dict[str, str], tmp_path: Path) -> None:
    assert numbers(exported(sample, tmp_path / "1", "--align", "0.7")) == list(range(20, 70))
    by_match = ("--align", "0.5", "--keep", "0.3", "--by", "alignment")
    assert numbers(exported(sample, tmp_path / "2", *by_match)) == list(range(30))
    tagged = exported(sample, tmp_path / "3", *by_match, "--select", "tag")
    assert numbers(tagged) == list(range(COUNT))
    assert numbers([row for row in tagged if "selected" in row["tags"]]) == list(range(30))
    assert numbers([row for row in tagged if "left" in row["tags"]]) == list(range(30, COUNT))
    status, printed, err = invoked(sample, "export", "pairs", str(tmp_path / "4"), *by_match)
    assert status == 0, err
    assert "30 kept, 70 left out" in printed
    assert re.search(r"70 left out \(20 match [^;]*; 50 match in the lowest 50%\)\.", printed)
    assert "the 50% with the highest match, then 30% by alignment" in " ".join(
        (tmp_path / "4" / "README.md").read_text().split()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "worst"), "go with --align or --keep"),
        (("--select", "tag"), "go with --align or --keep"),
        (("--align", "0.7", "--select", "burn"), "'leave out' or 'tag'"),
        (("--align", "0.7", "--by", "luck"), "luck"),
        (("--captions", "longer"), "decided"),
    ],
)
def test_an_impossible_export_is_refused_with_the_reason(
    sample: dict[str, str], tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, printed, err = invoked(sample, "export", "pairs", str(tmp_path / "out"), *options)
    assert (status, printed) == (2, "")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_enriched_captions_are_exported_on_request(sample: dict[str, str], tmp_path: Path) -> None:
    plain = exported(sample, tmp_path / "1")
    enriched = exported(sample, tmp_path / "2", "--captions", "enriched")
    assert {row["caption_kind"] for row in plain} == {"human"}
    changed = [
        (row["id"], row["caption"], row["caption_kind"]) for row in enriched if row not in plain
    ]
    assert changed == [("3", "a brown dog beside word003", "blend")]
    status, printed, err = invoked(
        sample, "export", "pairs", str(tmp_path / "3"), "--captions", "enriched", "--dry-run"
    )
    assert status == 0, err
    assert "(1 enriched)" in printed
    assert not (tmp_path / "3").exists()
