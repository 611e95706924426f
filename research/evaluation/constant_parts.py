"""What parts that stand in every caption do to the ranking and to the suspect words, with the
parts left out and without: the demo's first pairs with the same parts in each caption.

    python -m research.evaluation.constant_parts [--pairs 120] [--model DIRECTORY]
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from backend.bundled import DEMO
from backend.jobs import export_scores
from backend.settings import load_settings
from backend.workspace import Workspace
from research.evaluation.demo_report import Truth, read_truth
from research.evaluation.metrics import auc

#: What stands before and behind each caption.
FORMS = {
    "as it is": ("", ""),
    "trigger": ("ohwx style, ", ""),
    "opening": ("The image shows ", ""),
    "long opening": ("This image depicts a scene in which we can see ", ""),
    "quality": ("", ", 8k, highly detailed, masterpiece"),
}


def figures_of(
    folder: Path, form: str, pairs: int, constants: bool, model: str | None
) -> dict[str, Any]:
    """The figures of the demo's first `pairs` in this form; `constants`: left out or judged."""
    before, behind = FORMS[form]
    source = folder / "source"
    source.mkdir()
    shutil.copytree(DEMO / "images", source / "images")
    lines = (DEMO / "metadata.jsonl").read_text(encoding="utf-8").splitlines()[:pairs]
    rows = [json.loads(line) for line in lines]
    captions = {row["id"]: row["caption"] for row in rows}
    text = "".join(
        json.dumps(row | {"caption": before + row["caption"] + behind}) + "\n" for row in rows
    )
    (source / "metadata.jsonl").write_text(text, encoding="utf-8")
    options = {"data_directory": str(folder / "state")} | ({"model": model} if model else {})
    workspace = Workspace(load_settings(options))
    dataset = workspace.jobs.import_dataset(source, name="form").dataset_id
    workspace.jobs.score(dataset, suggestions=False, anyway=True, constants=constants)
    out = folder / "scores.jsonl"
    export_scores.write(workspace.store, dataset, out)
    scored = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    workspace.store.close()
    return _figures(scored, read_truth(), captions, len(before))


def _figures(
    scored: list[dict[str, Any]], truth: dict[str, Truth], captions: dict[str, str], before: int
) -> dict[str, Any]:
    wrong = np.array([truth[row["id"]].is_error for row in scored])
    inside, right = [], []
    for row in scored:
        if not row["suspects"]:
            continue
        start, end, _ = max(row["suspects"], key=lambda suspect: suspect[2])
        inside.append(start < before or start >= before + len(captions[row["id"]]))
        if truth[row["id"]].noise == "fine-grained":
            spans = truth[row["id"]].changed
            right.append(any(a + before < end and start < b + before for a, b in spans))
    return {
        "auc_p_error": round(auc(wrong, np.array([row["p_error"] for row in scored])), 3),
        "auc_s_0": round(auc(wrong, -np.array([row["s_0"] for row in scored])), 3),
        "top_suspect_in_the_part": sum(inside),
        "right_word": f"{sum(right)} of {len(right)}",
    }


def main() -> None:
    """Print the figures of each form as lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--model")
    options = parser.parse_args()
    for form in FORMS:
        for constants in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                figures = figures_of(Path(folder), form, options.pairs, constants, options.model)
            print(json.dumps({"form": form, "left_out": constants, **figures}), flush=True)
            print(file=sys.stderr)


if __name__ == "__main__":
    main()
