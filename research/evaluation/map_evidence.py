"""Do the maps of words (`features/regions`) tell wrong words from right ones beyond today's signs?

`python -m research.evaluation.map_evidence --pairs 400 --first-seed 200 --embedded assets/models
--embedded assets/models/seed-1 --embedded assets/models/seed-2`: drawn scenes, of which every
second caption has a fine-grained error. For each training everything is fitted on one set of
scenes and measured on another. Today's signs of a word are those of the suspect words, its kind,
and the detector's log-odds of its caption. Words are those that can be somewhere in a picture.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.detection.classifier import FOLDS, fold_of
from backend.engine.detection.cold_start import balance_classes
from backend.engine.detection.families import Linear, Weights, fit_model
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.detection.localisation import is_function_word, word_scores, word_signs
from backend.engine.english.word_kinds import WORD_KINDS, kind_of
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.regions.part_maps import part_maps
from backend.features.regions.region import LEAST, SHARE, can_be_somewhere
from backend.settings import MODELS
from research.evaluation import metrics
from research.evaluation.labelled import DIRECTORIES, LabelledPairs, from_scenes
from research.evaluation.labelled_detectors import choose_labelled
from research.evaluation.scored import Arrays, load_or_make, trajectories_of, with_captioner
from research.markdown_tables import mean_cell, mean_of, table

_NOISE = "fine-grained"
#: The scenes to fit on have seeds that much higher.
_APART = 500
#: Of a word's map.
MAP_SIGNS = ("support", "nothing speaks for it", "peak", "best part", "concentration")
#: Of a caption's words: the lowest support, peak and best part, and how many nothing speaks for.
CAPTION_SIGNS = ("most wrong by its map", "support", "peak", "best part", "nothing speaks for it")


@dataclass(frozen=True)
class Words:
    """The words of several captions. `pair`: the row of each one's caption, [words]; `score`: how
    suspect the program finds it within its caption; `signs`: [words, signs], with the log-odds of
    the caption last; `of_map`: [words, MAP_SIGNS]."""

    pair: NDArray[np.int64]
    is_wrong: NDArray[np.bool_]
    score: Weights
    signs: Matrix
    of_map: Matrix

    def folds(self, seed: int) -> NDArray[np.int64]:
        return fold_of(self.pair.tolist(), seed)


@dataclass(frozen=True)
class ScoredSample:
    """Pairs of one seed with what is known of them without their detector."""

    pairs: LabelledPairs
    trajectories: Sequence[Trajectory]
    features: Matrix
    maps: Arrays


def score_scenes(scorer: Scorer, folder: Path, count: int, seed: int, cache: Path) -> ScoredSample:
    pairs = from_scenes(count, _NOISE, seed)
    what: dict[str, Any] = {
        "dataset": "scenes",
        "noise": _NOISE,
        "seed": seed,
        "scorer": "blip-itm",
    }
    captioner = load_captioner(str(folder / "scenes-blip-captioner"))
    plain = trajectories_of(cache, what, scorer, Exploring(), pairs)
    trajectories = with_captioner(cache, what, captioner, plain, pairs)
    key = {**what, "of": "maps", "revision": scorer.info.revision}
    maps = load_or_make(cache, key, pairs.captions, lambda: _maps(scorer, pairs, trajectories))
    return ScoredSample(pairs, trajectories, feature_matrix(trajectories), maps)


def _maps(scorer: Scorer, pairs: LabelledPairs, trajectories: Sequence[Trajectory]) -> Arrays:
    """Of each caption the places of its words, their supports, and their maps [words, parts]."""
    arrays: Arrays = {"word": [], "support": [], "weights": []}
    for row, trajectory in enumerate(trajectories):
        caption = Caption.parse(pairs.captions[row])
        readable = range(len(trajectory.first_step_scores))
        words = [i for i in readable if can_be_somewhere(caption.words[i])]
        maps = part_maps(scorer, pairs.picture(row), caption, [[word] for word in words])
        arrays["word"].append(np.array(words, np.int64))
        arrays["support"].append(np.array([m.support for m in maps], np.float64))
        weights = [m.weights.ravel() for m in maps if m.weights is not None]
        arrays["weights"].append(np.array(weights, np.float64).reshape(len(words), -1))
    return arrays


def map_signs(support: Weights, weights: Matrix) -> Matrix:
    """Of maps [words, parts]: MAP_SIGNS, [words, 5]."""
    peak = weights.max(1)
    rising = weights.clip(min=0.0)
    part = np.where(rising >= SHARE * peak[:, None], rising, 0.0).sum(1)
    concentration = peak.clip(min=0.0) / np.maximum(rising.sum(1), 1e-9)
    is_absent = (support < LEAST) | (peak <= 0)
    return np.stack([support, is_absent, peak, part, concentration], 1)


def words_of(of: ScoredSample, odds: Weights) -> Words:
    """All words of these pairs that have a map; `odds`: of each caption by the detector."""
    pair, wrong, score, signs, of_map = [], [], [], [], []
    for row, trajectory in enumerate(of.trajectories):
        places = of.maps["word"][row]
        if not len(places):
            continue
        kinds = [kind_of(trajectory.caption.words[i]) for i in places]
        features = np.c_[
            word_signs(trajectory)[0][places],
            word_scores(trajectory)[places],
            is_function_word(trajectory)[places],
            trajectory.deletion_gains[places],
            [[kind == name for name in WORD_KINDS] for kind in kinds],
            np.full(len(places), odds[row]),
        ]
        pair.append(np.full(len(places), row))
        wrong.append([int(i) in of.pairs.changed[row] for i in places])
        score.append(word_scores(trajectory)[places])
        signs.append(features)
        of_map.append(map_signs(of.maps["support"][row], of.maps["weights"][row]))
    return Words(
        np.concatenate(pair),
        np.concatenate(wrong).astype(np.bool_),
        np.concatenate(score),
        np.concatenate(signs),
        np.concatenate(of_map),
    )


def within_captions(words: Words, odds: Weights) -> float:
    """Mean AUC of wrong against other words, over the captions that have both."""
    areas = []
    for row in np.unique(words.pair):
        of = words.pair == row
        if words.is_wrong[of].any() and not words.is_wrong[of].all():
            areas.append(metrics.auc(words.is_wrong[of], odds[of]))
    return float(np.mean(areas))


def first_hits(words: Words, odds: Weights) -> float:
    """Share of the captions with a wrong word in which the most suspect word is one."""
    rows = np.unique(words.pair[words.is_wrong])
    of_row = [np.flatnonzero(words.pair == row) for row in rows]
    return float(np.mean([words.is_wrong[of[odds[of].argmax()]] for of in of_row]))


def _learnt(fit: Matrix, labels: NDArray[np.bool_], test: Matrix) -> Weights:
    """Log-odds of the rows of `test` by a logistic regression on all columns."""
    truth = labels.astype(np.int64)
    model = Linear("logistic", tuple(range(fit.shape[1])), 1.0)
    return model.fit(fit, truth, balance_classes(truth)).log_odds(test)


def figures(scorer: Scorer, folder: Path, count: int, seed: int, cache: Path) -> dict[str, float]:
    """AUCs on the scenes of `seed`, everything fitted on others."""
    fit = score_scenes(scorer, folder, count, seed + _APART, cache)
    test = score_scenes(scorer, folder, count, seed, cache)
    labels = fit.pairs.wrong.astype(np.int64)
    weights, folds = balance_classes(labels), fold_of(range(len(labels)), seed)
    choice = choose_labelled(fit.features, labels, weights, folds)
    detector = fit_model(choice.model, fit.features, labels, weights)
    odds = detector.log_odds(test.features)
    before, after = words_of(fit, choice.out_of_fold), words_of(test, odds)
    # The program scales the scores of a caption's words by its chance of error.
    trust = 1 / (1 + np.exp(-odds[after.pair]))
    by = {
        "the score of today": after.score * trust,
        "today's signs": _learnt(before.signs, before.is_wrong, after.signs),
        "maps alone": _learnt(before.of_map, before.is_wrong, after.of_map),
        "today's signs and maps": _learnt(
            np.c_[before.signs, before.of_map], before.is_wrong, np.c_[after.signs, after.of_map]
        ),
    }
    for name, columns in (("support", [0]), ("maps", list(range(len(MAP_SIGNS))))):
        by[f"the score of today and {name}"] = _learnt(
            np.c_[before.score, before.signs[:, -1], before.of_map[:, columns]],
            before.is_wrong,
            np.c_[after.score, after.signs[:, -1], after.of_map[:, columns]],
        )
    for column, name in enumerate(MAP_SIGNS):
        values = after.of_map[:, column]
        by[f"{name} alone"] = values if name == "nothing speaks for it" else -values
    measures = {}
    for name, values in by.items():
        measures[f"{name}: within"] = within_captions(after, values)
        measures[f"{name}: first"] = first_hits(after, values)
        measures[f"{name}: all"] = metrics.auc(after.is_wrong, values)
    by_map = _out_of_fold(before, seed)
    extremes = _caption_signs(before, by_map, len(fit.pairs))
    new_extremes = _caption_signs(after, by["maps alone"], len(test.pairs))
    wrong = test.pairs.wrong
    measures["caption: detector"] = metrics.auc(wrong, odds)
    for name, columns in (("largest", [0]), ("all", list(range(len(CAPTION_SIGNS))))):
        scores = _learnt(
            np.c_[choice.out_of_fold, extremes[:, columns]],
            fit.pairs.wrong,
            np.c_[odds, new_extremes[:, columns]],
        )
        measures[f"caption: detector and {name} of the maps"] = metrics.auc(wrong, scores)
    measures["caption: maps alone"] = metrics.auc(
        wrong, _learnt(extremes, fit.pairs.wrong, new_extremes)
    )
    return measures


def _out_of_fold(words: Words, seed: int) -> Weights:
    """Log-odds of each word by its map, fitted to the captions of the other folds."""
    odds, folds = np.zeros(len(words.pair)), words.folds(seed)
    for fold in range(FOLDS):
        rows = folds == fold
        odds[rows] = _learnt(words.of_map[~rows], words.is_wrong[~rows], words.of_map[rows])
    return odds


def _caption_signs(words: Words, by_map: Weights, captions: int) -> Matrix:
    """CAPTION_SIGNS, [captions, 5]; the mean of all captions for one without maps."""
    values = np.full((captions, len(CAPTION_SIGNS)), np.nan)
    for row in np.unique(words.pair):
        of = words.pair == row
        support, is_absent, peak, part, _ = words.of_map[of].T
        values[row] = by_map[of].max(), support.min(), peak.min(), part.min(), is_absent.sum()
    return np.where(np.isnan(values), np.nanmean(values, 0), values)


def markdown(results: Sequence[dict[str, float]]) -> str:
    """Means ± standard errors over the trainings, and the paired gains of the maps."""

    def cell(name: str) -> str:
        return mean_cell(mean_of([of[name] for of in results]), 4)

    def gain(name: str, before: str) -> list[str]:
        gains = [of[name] - of[before] for of in results]
        return [mean_cell(mean_of(gains), 4), ", ".join(f"{value:+.4f}" for value in gains)]

    names = list(dict.fromkeys(name.rpartition(": ")[0] for name in results[0]))
    ways = ("within", "first", "all")
    rows = [
        [name, *(cell(f"{name}: {way}") for way in ways)] for name in names if name != "caption"
    ]
    both, today = "today's signs and maps", "today's signs"
    gains = [[way, *gain(f"{both}: {way}", f"{today}: {way}")] for way in ways]
    of_captions = [name for name in results[0] if name.startswith("caption: ")]
    captions = [
        [name.partition(": ")[2], cell(name), *gain(name, of_captions[0])] for name in of_captions
    ]
    return "\n\n".join((
        table(["word by", "AUC within its caption", "wrong word first", "AUC of all words"], rows),
        table(["gain of the maps", "mean", "by training"], gains),
        table(["caption by", "AUC", "gain", "by training"], captions),
    ))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--embedded", type=Path, action="append")
    parser.add_argument("--cache", type=Path, default=Path("data/evaluation"))
    options = parser.parse_args()
    results = []
    for number, folder in enumerate(options.embedded or [MODELS]):
        scorer = load_scorer(str(folder / DIRECTORIES["blip-itm"]), "blip-itm")
        results.append(
            figures(scorer, folder, options.pairs, options.first_seed + number, options.cache)
        )
        print(results[-1], flush=True)
    print(markdown(results))


if __name__ == "__main__":
    main()
