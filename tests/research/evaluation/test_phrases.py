"""The evaluations of phrases and selection, at a small size: they measure what they claim to."""

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from app import app
from backend.engine.scoring.loading import load_scorer
from backend.errors import DatasetFormatError
from backend.settings import MODELS
from research.evaluation.composition import (
    drawn_comparisons,
    evaluate_composition,
    sugarcrepe,
)
from research.evaluation.selection import SHARES, evaluate_selection, make_mixture, markdown
from research.evaluation.support import evaluate_support
from research.scenes.caption_reading import claims_of
from research.scenes.truth import facts


def test_the_mixture_has_the_stated_shares_and_truth() -> None:
    mixture = make_mixture(400, 3)
    counts = {sort: mixture.sorts.count(sort) / 400 for sort in SHARES}
    assert counts == pytest.approx(SHARES, abs=0.02)
    for scene, caption, sort in zip(mixture.scenes, mixture.captions, mixture.sorts, strict=True):
        claims = claims_of(caption)
        if sort in ("right", "generic"):
            assert claims is not None
            assert claims <= facts(scene)
        elif sort == "fine":
            assert claims is None or not claims <= facts(scene)
    assert make_mixture(400, 3).captions == mixture.captions


def test_selection_keeps_half_of_the_pairs_and_few_errors() -> None:
    result = evaluate_selection(200, 1, 30, [MODELS])
    kept = {result.rule: result for result in result.results}
    assert {result.count for result in result.results} == {100}
    assert kept["alignment 50"].pool == 140
    assert kept["random 50"].pool == 200
    assert kept["alignment 50"].wrong < kept["random 50"].wrong - 0.08
    few = kept["support, 2 phrases at least"].kept["generic"]
    assert few <= kept["alignment 50"].kept["generic"]
    assert "| worst phrase (ours) |" in markdown(result)


def test_support_finds_changed_phrases() -> None:
    result = evaluate_support(60, 1, 30, [MODELS], ["clip"])
    (figures,) = result.results
    assert result.coverage >= 0.9979
    assert result.drawn_f1 >= 0.98
    assert figures.auc > 0.65
    assert figures.control is not None
    assert figures.auc > figures.control
    assert figures.covered == 1.0
    assert figures.auc_by_basis == figures.auc  # CLIP has no auxiliary score
    assert figures.auc_within > figures.control


def test_drawn_comparisons_are_scored_by_kind() -> None:
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")
    report = evaluate_composition(scorer, drawn_comparisons(80, 30))
    *kinds, every = report.rows
    assert every.kind == "all"
    assert every.pairs == sum(kind.pairs for kind in kinds) >= 30
    assert every.low < every.accuracy < every.high
    assert every.accuracy > 0.6


def test_sugarcrepe_files_are_read_and_checked(tmp_path: Path) -> None:
    images = tmp_path / "val2017"
    images.mkdir()
    Image.new("RGB", (20, 20), "red").save(images / "1.jpg")
    entry = {"filename": "1.jpg", "caption": "a dog", "negative_caption": "a cat"}
    files = tmp_path / "sugarcrepe"
    files.mkdir()
    with pytest.raises(DatasetFormatError, match="There is no JSON file"):
        sugarcrepe(files, images)
    (files / "swap_obj.json").write_text(json.dumps({"0": entry, "1": entry}), encoding="utf-8")
    (files / "add_att.json").write_text(json.dumps([entry]), encoding="utf-8")
    arguments = ["evaluate", "composition", "--sugarcrepe", str(files), "--image-root", str(images),
                 "--scorer", "clip", "--json"]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [(row["kind"], row["pairs"]) for row in rows] == [
        ("add_att", 1), ("swap_obj", 2), ("all", 3),
    ]  # fmt: skip
    (files / "add_att.json").write_text('[{"caption": "a dog"}]', encoding="utf-8")
    with pytest.raises(DatasetFormatError, match=r"add_att.json is not a file of SugarCrepe"):
        sugarcrepe(files, images)
    (files / "add_att.json").write_text(json.dumps([{**entry, "filename": "2.jpg"}]))
    with pytest.raises(DatasetFormatError, match="entry 0: there is no image"):
        sugarcrepe(files, images)
