"""The demo's figures, on rows with a known ranking."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from backend.settings import DEMO, MODELS
from research.evaluation.demo_report import Truth, compare, read_truth

ROOT = Path(__file__).resolve().parents[3]


def test_figures_of_a_known_ranking() -> None:
    truth = {
        f"{i}": Truth(
            i < 60, "fine-grained" if i < 60 else None, ((2, 5),) if i < 60 else (), i > 110, ""
        )
        for i in range(120)
    }
    rows = [
        {
            "id": f"{i}", "p_error": 1 - i / 120, "s_0": i % 60 / 60, "icc": 0.9 - 0.8 * (i > 110),
            "suspects": [[0, 1, 0.1], [2, 5, 0.9], [6, 9, 0.3]],
        }
        for i in range(120)
    ]  # fmt: skip
    figures = compare(rows, truth)
    assert figures["errors"] == 60
    assert figures["errors_in_first_50_by_detector"] == 50
    assert figures["errors_in_first_50_by_s_0"] == 25
    assert figures["auc_detector"] == 1.0
    assert figures["auc_s_0"] == 0.5
    assert figures["auc_icc_abstract"] == 1.0
    assert figures["localisation_top1"] == 1.0
    assert figures["localisation_chance"] == round(1 / 3, 4)


def test_abstract_and_generic_are_compared_by_rank() -> None:
    truth = {
        f"{i}": Truth(i < 40, "random" if i < 40 else None, (), i >= 90, "") for i in range(100)
    }

    def figures(specificity: Callable[[int], float | None]) -> dict[str, Any]:
        rows: list[dict[str, Any]] = [
            {"id": f"{i}", "p_error": 1 - i / 100, "s_0": i / 100, "icc": i / 100, "suspects": [],
             "specificity": specificity(i)}
            for i in range(100)
        ]  # fmt: skip
        compared = compare(rows, truth)
        prefix = "spearman_icc_specificity"
        return {
            name.removeprefix(prefix): value
            for name, value in compared.items()
            if name.startswith(prefix)
        }

    of_each = ("", "_of_right", "_of_right_concrete")
    assert figures(lambda i: float(i) ** 3 - 50) == dict.fromkeys(of_each, 1.0)
    # For wrong and for abstract captions the order is reversed; rows without a value do not count.
    mixed = figures(lambda i: -float(i) if i < 40 or i >= 90 else None if i % 2 else float(i))
    assert mixed["_of_right_concrete"] == 1.0
    assert max(mixed[""], mixed["_of_right"]) < 0.9
    assert figures(lambda i: None) == {}


def test_the_demos_truth_matches_its_captions() -> None:
    import json

    truth = read_truth()
    rows = [json.loads(line) for line in (DEMO / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"] for row in rows} == set(truth)
    assert 550 <= len(rows) <= 650
    assert sum(t.is_error for t in truth.values()) == len(rows) // 2
    assert sum(t.is_abstract for t in truth.values()) >= 40
    for row in rows:
        known = truth[row["id"]]
        assert (DEMO / row["file_name"]).is_file()
        assert (row["caption"] == known.original) == (not known.is_error and not known.is_abstract)
        assert all(row["caption"][a:b].strip() for a, b in known.changed)


def test_only_evaluation_reads_the_truth() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for folder in ("backend", "research", "traced_ui", "db")
        for path in (ROOT / folder).rglob("*.py")
        if "truth.jsonl" in path.read_text(encoding="utf-8")
    }
    # The generators of drawn datasets write it; evaluation reads it.
    assert readers == {
        "research/scenes/demo.py",
        "research/commands/draw.py",
        "research/evaluation/drawn_dataset.py",
        "research/evaluation/demo_report.py",
        "research/evaluation/suggestion_chances.py",
        "research/evaluation/__init__.py",
    }  # fmt: skip
    assert MODELS.is_dir()
