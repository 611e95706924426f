"""Fit the embedded ICC: `python -m research.concreteness.fit_embedded [--measure CSV]`

Takes seconds. The regularisation strengths of both regressions are chosen by cross-validation on
their training data. `--measure` prints the Pearson correlation on a CSV file (caption, rating) that
is never used for training.
"""

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from scipy.stats import pearsonr
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict

from backend.engine.concreteness import embedded
from backend.engine.concreteness.embedded import (
    GAMMA,
    WEIGHTS,
    Kernel,
    Linear,
    Regressions,
    Spread,
    Vector,
    inputs,
)
from backend.engine.concreteness.scoring import score_captions
from backend.engine.embeddings import embed

FOLDER = Path(__file__).parent
HIGHEST_RATING = 3.0
STRENGTHS = (0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def read_captions() -> tuple[list[str], Vector]:
    """Captions and ratings in [0, 1]."""
    rows = _rows(FOLDER / "captions.tsv")
    return [text for _, text in rows], np.array([rating for rating, _ in rows]) / HIGHEST_RATING


def read_words() -> tuple[list[str], Vector]:
    """Words and ratings in [0, 1]."""
    ratings = {
        word: rating for rating, line in _rows(FOLDER / "words.tsv") for word in line.split()
    }
    return list(ratings), (np.array(list(ratings.values())) - 1) / 4


def _rows(path: Path) -> list[tuple[float, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(float(rating), text) for rating, text in (line.split("\t", 1) for line in lines)]


def held_out(
    make: Callable[[float], Any], features: Vector, ratings: Vector
) -> tuple[float, Vector]:
    """The best regularisation strength, and its out-of-fold predictions (ten folds)."""
    folds = KFold(10, shuffle=True, random_state=0)
    predictions = {s: cross_val_predict(make(s), features, ratings, cv=folds) for s in STRENGTHS}
    best = min(STRENGTHS, key=lambda s: float(np.mean((predictions[s] - ratings) ** 2)))
    return best, predictions[best]


def fit_words() -> tuple[Linear, float]:
    """The regression over words and its cross-validated Pearson correlation."""
    words, ratings = read_words()
    features = embed(words).astype(np.float64)
    strength, predictions = held_out(Ridge, features, ratings)
    regression = Ridge(strength).fit(features, ratings)
    correlation = float(pearsonr(predictions, ratings)[0])
    return Linear(regression.coef_, float(regression.intercept_)), correlation


def fit_captions(words: Linear) -> tuple[Regressions, Vector, Vector]:
    """The whole model, its out-of-fold predictions for the captions, and the ratings."""
    captions, ratings = read_captions()
    descriptions = embedded.describe(captions)
    usual = Spread(descriptions.mean(0), np.maximum(descriptions.std(0), 1e-6))
    features, mean = inputs(captions, words, usual), float(ratings.mean())
    strength, predictions = held_out(
        lambda s: KernelRidge(alpha=s, kernel="rbf", gamma=GAMMA), features, ratings - mean
    )
    regression = KernelRidge(alpha=strength, kernel="rbf", gamma=GAMMA).fit(
        features, ratings - mean
    )
    kernel = Kernel(features, regression.dual_coef_, mean)
    return Regressions(words, kernel, usual), predictions + mean, ratings


def save(model: Regressions, path: Path = WEIGHTS) -> None:
    """Save the weights; the points are stored in half precision, which suffices for embeddings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    words, captions = model.words, model.captions
    save_file(
        {
            "words.weights": words.weights.astype(np.float32),
            "words.bias": np.array([words.bias], np.float32),
            "captions.points": captions.points.astype(np.float16),
            "captions.weights": captions.weights.astype(np.float32),
            "captions.mean": np.array([captions.mean], np.float32),
            "form.mean": model.form.mean.astype(np.float32),
            "form.deviation": model.form.deviation.astype(np.float32),
        },
        path,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path, help="CSV whose first columns: caption, rating")
    args = parser.parse_args()
    words, correlation = fit_words()
    print(f"words: cross-validated Pearson {correlation:.3f}")
    model, predictions, ratings = fit_captions(words)
    print(
        f"{len(ratings)} captions: cross-validated Pearson {pearsonr(predictions, ratings)[0]:.3f}"
    )
    for rating in sorted(set(ratings.tolist())):
        rows = predictions[ratings == rating]
        low, high = np.quantile(rows, (0.1, 0.9))
        print(f"  rated {rating * HIGHEST_RATING:.0f}: 10 % {low:.2f}, mean {rows.mean():.2f}, "
              f"90 % {high:.2f}")  # fmt: skip
    save(model)
    if args.measure:
        with args.measure.open(encoding="utf-8", newline="") as file:
            records = list(csv.reader(file))[1:]
        scores = score_captions([row[0] for row in records])
        human = [float(row[1]) for row in records]
        print(f"{args.measure.name}: Pearson {pearsonr(scores, human)[0]:.3f}, n {len(human)}")


if __name__ == "__main__":
    main()
