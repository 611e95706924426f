"""Are the demo's injected errors found?  `python -m research.evaluation.demo_report`

Scores the demo dataset in a temporary database, exactly as `make run` does, and compares the
ranking by the trained detector with the ranking by s_0 alone. The detector never sees the ground
truth: its cold start trains on injected noise. It also measures whether abstract and generic are
different properties: Spearman's correlation of ICC with specificity.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from backend.jobs import export_scores
from backend.settings import DEMO, load_settings
from backend.workspace import Workspace
from research.concreteness.correlations import agreement

#: Numbers of top-ranked pairs for which the errors found are counted.
FIRST = (50, 100, 200, 300)


@dataclass(frozen=True)
class Truth:
    """Ground truth of one demo pair. `changed`: character spans of the wrong words."""

    is_error: bool
    noise: str | None
    changed: tuple[tuple[int, int], ...]
    is_abstract: bool
    original: str


def read_truth(path: Path = DEMO / "truth.jsonl") -> dict[str, Truth]:
    """Ground truth by pair id."""
    truth = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth[row["id"]] = Truth(
            bool(row["is_error"]),
            row["noise"],
            tuple((int(a), int(b)) for a, b in row["changed"]),
            bool(row["is_abstract"]),
            row["original"],
        )
    return truth


def compare(rows: Sequence[dict[str, Any]], truth: dict[str, Truth]) -> dict[str, Any]:
    """Metrics of the ranking by p_error and of the ranking by s_0 (lowest first).

    `rows`: dictionaries with id, s_0, p_error, icc, specificity and suspects, as written by
    `score --out`.
    """
    pairs = [row for row in rows if row["id"] in truth]
    wrong = np.array([truth[row["id"]].is_error for row in pairs])
    rankings = {
        "detector": np.array([row["p_error"] for row in pairs]),
        "s_0": -np.array([row["s_0"] for row in pairs]),
    }
    figures: dict[str, Any] = {"pairs": len(pairs), "errors": int(wrong.sum())}
    for name, scores in rankings.items():
        order = np.argsort(-scores, kind="stable")
        for first in FIRST:
            figures[f"errors_in_first_{first}_by_{name}"] = int(wrong[order[:first]].sum())
        figures[f"auc_{name}"] = roc_auc_score(wrong, scores)
        figures[f"average_precision_{name}"] = average_precision_score(wrong, scores)
        for noise in sorted({t.noise for t in truth.values() if t.noise}):
            mask = np.array(
                [not truth[r["id"]].is_error or truth[r["id"]].noise == noise for r in pairs]
            )
            figures[f"auc_{name}_{noise}"] = roc_auc_score(wrong[mask], scores[mask])
    abstract = np.array([truth[row["id"]].is_abstract for row in pairs])
    if abstract.any():
        icc = np.array([row["icc"] for row in pairs])
        figures["auc_icc_abstract"] = roc_auc_score(abstract, -icc)
    figures |= _concreteness_and_specificity(pairs, truth) | _localisation(pairs, truth)
    return {
        name: value if isinstance(value, int) else round(float(value), 4)
        for name, value in figures.items()
    }


def _concreteness_and_specificity(
    rows: Sequence[dict[str, Any]], truth: dict[str, Truth]
) -> dict[str, Any]:
    """Spearman's correlation of ICC with specificity: of all captions in which both are measured,
    of the right ones, because specificity measures how generic a caption is only if it is right,
    and of the right ones that are not abstract."""
    pairs = [row for row in rows if None not in (row.get("icc"), row.get("specificity"))]
    right = [row for row in pairs if not truth[row["id"]].is_error]
    concrete = [row for row in right if not truth[row["id"]].is_abstract]
    figures: dict[str, Any] = {}
    for name, subset in (("", pairs), ("_of_right", right), ("_of_right_concrete", concrete)):
        if len(subset) > 2:
            icc, specificity = ([row[key] for row in subset] for key in ("icc", "specificity"))
            figures[f"spearman_icc_specificity{name}"] = agreement(icc, specificity).spearman
    return figures


def _localisation(rows: Sequence[dict[str, Any]], truth: dict[str, Truth]) -> dict[str, Any]:
    hits, chance = [], []
    for row in rows:
        spans = truth[row["id"]].changed
        if truth[row["id"]].noise != "fine-grained" or not spans or not row["suspects"]:
            continue
        overlaps = [
            any(a < end and start < b for a, b in spans) for start, end, _ in row["suspects"]
        ]
        top = max(range(len(overlaps)), key=lambda i: row["suspects"][i][2])
        hits.append(overlaps[top])
        chance.append(np.mean(overlaps))
    if not hits:
        return {}
    return {
        "localisation_pairs": len(hits),
        "localisation_top1": np.mean(hits),
        "localisation_chance": np.mean(chance),
    }


def main() -> None:
    """Score the demo from scratch and print the metrics as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"data_directory": folder, "database": f"sqlite:///{folder}/x.db"})
        workspace = Workspace(settings)
        dataset = workspace.jobs.import_dataset(DEMO, name="demo").dataset_id
        report = workspace.jobs.score(
            dataset,
            lambda done, total, message: print(message, done, total, file=sys.stderr),
            suggestions=False,
            anyway=True,  # of the pictures that the model knows, one in a hundred is not recognised
        )
        workspace.jobs.run("specificity", dataset)
        out = Path(folder) / "scores.jsonl"
        export_scores.write(workspace.store, dataset, out)
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    figures = compare(rows, read_truth())
    figures["seconds_to_score"] = round(report.seconds, 1)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
