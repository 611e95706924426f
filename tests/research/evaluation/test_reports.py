"""The reports of an evaluation: the paper's figures next to ours, tables, the page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from app import app
from backend.errors import DatasetFormatError, SettingsError
from backend.features.selection.score_file import ScoreFile
from research.evaluation.evaluate import (
    EvaluationReport,
    Plan,
    contestant_auc,
    evaluate,
    summarise,
)
from research.evaluation.labelled import from_dataset
from research.evaluation.page import page
from research.evaluation.result_figures import ABLATIONS, test_half
from research.evaluation.result_tables import markdown, papers_dataset, published_result
from research.noisy_dataset import add_noise
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.hostile.markup import HOSTILE, Structure, harmless

#: A Plotly chart's script, and Plotly itself.
CHART = re.compile(r"<script.*?</script>", re.DOTALL)
PLAN = Plan(scorers=("clip",), noises=("fine-grained",), seeds=1, pairs=60, device="cpu")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> EvaluationReport:
    cache = tmp_path_factory.mktemp("cache")
    return evaluate(replace(PLAN, pairs=48, cache=cache, compare=True, corrections=2, times=2))


def test_one_run_contains_every_result(report: EvaluationReport) -> None:
    (item,) = report.results
    assert item.ablations.keys() == {*ABLATIONS, "minimised"}
    assert item.ablations["whole trajectory"] == item.auc_by_detector["paper"]
    assert {"logistic", "cart", "xgboost", "xgboost on s_0", "ensemble", "s_0 alone"} <= (
        item.auc_by_detector.keys()
    )
    assert item.corrections
    assert item.localisation is not None
    assert {"suspect words", "single deletion", "gradient", "word prior", "chance"} <= (
        item.localisation.by_score.keys()
    )
    (times,) = report.times
    assert min(times.trajectories, times.single_score) > 0
    assert item.auc_by_detector["s_0 alone"] == pytest.approx(item.auc_single_score)


def test_every_result_is_in_the_tables_and_on_the_page(report: EvaluationReport) -> None:
    text = markdown(report)
    for title in ("Table 1", "Table 2", "Table 6", "Tables 3, 4 and 5", "by detector", "rarer",
                  "changed words", "by what was changed", "Corrections"):  # fmt: skip
        assert (title in text) == (title != "Table 1"), title  # one noise has no mean over noises
    both = [*report.results, replace(report.results[0], noise="random")]
    assert "Table 1" in markdown(replace(report, results=both, summary=summarise(both)))
    shown = page(report, "python app.py evaluate --noise '<script>'")
    assert shown.count('class="plotly-graph-div"') == 4
    assert "&lt;script&gt;" in shown
    assert "cdn.plot" not in shown.split("<body>")[1]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_dataset_name_and_command_stay_text(report: EvaluationReport, text: str) -> None:
    def shape(words: str) -> list[tuple[str, ...]]:
        item = replace(report.results[0], noise=words.replace("|", " "))
        shown = page(replace(report, dataset=words, results=[item]), words)
        return Structure(CHART.sub("", shown)).shape

    assert shape(text) == shape(harmless(text))


def test_the_papers_figures_are_shown_if_the_setting_is_the_same(
    report: EvaluationReport,
) -> None:
    assert published_result(6, "ms-coco", "blip-itm", "elimination", "fine-grained", "auc_percent")
    assert published_result(6, "mm-imdb", "clip", "gcd", "fine-grained", "auc_percent") is None
    assert papers_dataset("/data/coco/dataset_coco.json") == "ms-coco"
    assert "69.9 ± 0.4" not in markdown(report)  # drawn scenes are not COCO
    assert "69.9 ± 0.4" in markdown(replace(report, dataset="/data/dataset_coco.json"))
    assert "43.1 ± 0.57" in markdown(report)  # times do not depend on the dataset


@pytest.fixture
def small_dataset(tmp_path: Path) -> Path:
    def split(i: int, text: str) -> dict[str, object]:
        return {"split": "test" if i < 20 else "train"}

    return drawn_folder(tmp_path / "own", 60, 9, split)


def test_recorded_noise_is_read_from_the_dataset(small_dataset: Path, tmp_path: Path) -> None:
    add_noise(small_dataset, tmp_path / "noisy", kinds=["fine_grained"], rate=0.4)
    result = from_dataset(tmp_path / "noisy", None, 60, "recorded", 0)
    test = test_half(result, 0)
    truth = {name: float(wrong) for name, wrong in zip(result.ids, result.wrong, strict=True)}
    assert contestant_auc(ScoreFile(truth, says_wrong=True), result, test) == 1
    assert contestant_auc(ScoreFile(truth, says_wrong=False), result, test) == 0
    suspects = ScoreFile({n: 1.0 for n, wrong in truth.items() if wrong}, True, is_list=True)
    assert contestant_auc(suspects, result, test) == 1
    with pytest.raises(SettingsError, match="have no score"):
        contestant_auc(ScoreFile({"p0": 1.0}, says_wrong=True), result, test)
    with pytest.raises(SettingsError, match="--noise recorded"):
        Plan(dataset="pairs", contestants=(tmp_path / "scores.csv",))
    assert result.wrong.sum() == 24
    for caption, original, wrong, changed in zip(
        result.captions, result.originals, result.wrong, result.changed, strict=True
    ):
        assert (caption != original) == wrong == bool(changed)
    with pytest.raises(DatasetFormatError, match=r"app\.py noise"):
        from_dataset(small_dataset, None, 60, "recorded", 0)
    with pytest.raises(SettingsError, match="no recorded noise"):
        Plan(noises=("recorded",))


def test_a_datasets_own_test_split_is_evaluated(small_dataset: Path) -> None:
    result = from_dataset(small_dataset, None, 40, "random", 0)
    assert result.test is not None
    assert result.test.sum() == 20
    texts = [text for _, text in drawn_pairs(60, seed=9)][:20]
    assert sorted(np.array(result.originals)[result.test]) == sorted(texts)


def test_images_that_cannot_be_opened_are_skipped(small_dataset: Path) -> None:
    for i in (25, 30):
        (small_dataset / f"{i}.png").write_bytes(b"no image")
    result = from_dataset(small_dataset, None, 60, "random", 0)
    assert len(result) == 58
    assert result.test is not None
    assert result.test.sum() == 20
    for row in range(58):
        result.picture(row)


def test_report_files_are_written_and_a_missing_folder_is_refused(tmp_path: Path) -> None:
    given = [
        "evaluate", "--scorer", "clip", "--noise", "random", "--seeds", "1", "--pairs", "40",
        "--dataset", "unfamiliar-scenes", "--detector", "logistic", "--cache", str(tmp_path),
    ]  # fmt: skip
    wanted = ["--markdown", str(tmp_path / "a.md"), "--page", str(tmp_path / "a.html"), "--json"]
    done = CliRunner().invoke(app, [*given, *wanted])
    assert done.exit_code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["scorer"], result["explorer"], result["noise"]) == (
        "clip", "elimination", "random",
    )  # fmt: skip
    assert {"seed", "auc", "auc_single_score", "average_precision"} <= result.keys()
    assert "s_0 alone" in (tmp_path / "a.md").read_text()
    assert "unfamiliar-scenes" in (tmp_path / "a.html").read_text()
    refused = CliRunner().invoke(app, [*given, "--page", str(tmp_path / "no" / "a.html")])
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    "wrong", [{"noises": ("loud",)}, {"seeds": 0}, {"pairs": 3}, {"scorers": ("siglip",)}]
)
def test_invalid_plans_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Plan(**wrong)
