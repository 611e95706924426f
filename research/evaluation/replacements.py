"""`python -m research.evaluation.replacements`: do replacement gains point at the wrong word?

Measured on wrong captions whose changed words are known: how often the word of the highest gain
(`replacement_gains`) is a changed one, alone and added to today's signs
(`engine/detection/localisation.py`), what it costs, and from which probability of error it pays.

The rules also make cold start's errors and resemble the test errors, so the other two sources are
reported without them as well.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.correction.captioner import Captioner
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.localisation import DEFAULT, is_function_word, word_scores, word_signs
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.settings import MODELS
from research.evaluation.evaluate import Plan, captioner_of, labelled, load
from research.evaluation.labelled import LabelledPairs
from research.evaluation.replacement_gains import CAPTIONER, GCD, RULES, SOURCES, TOP, gains_of
from research.evaluation.result_figures import judge, test_half
from research.evaluation.scored import prepare, trajectories_of, with_captioner
from research.evaluation.trajectory_cache import cached_words

#: The combinations of sources; the second-to-last is independent of the form of the test errors.
SETS = ((RULES,), (GCD,), (CAPTIONER,), (GCD, CAPTIONER), SOURCES)
#: Weight of the relative gain alongside today's signs, whose weights sum to 4. Fixed in advance.
WEIGHT = 0.6
#: Probabilities of error between which the gain in top-1 is reported.
BANDS = ((0.0, 0.5), (0.5, 0.8), (0.8, 1.0))
_NOISE = "fine-grained"
_Gains = list[NDArray[np.float64]]


@dataclass(frozen=True)
class Hits:
    """Top-1 over `pairs` wrong captions. `alone`: of the gain; `added`: of today's signs and the
    gain; `questions`: edits scored for each caption."""

    seed: int
    sources: tuple[str, ...]
    pairs: int
    today: float
    alone: float
    added: float
    questions: float
    today_questions: float


@dataclass(frozen=True)
class Band:
    """The same for captions whose probability of error lies in a band; all sources."""

    seed: int
    low: float
    high: float
    pairs: int
    today: float
    added: float


def relative(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gains relative to the largest of the caption; 0 for those that do not rise.

    >>> relative(np.array([-np.inf, -1.0, 1.0, 2.0])).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    rising = np.maximum(gains, 0.0)
    return rising / max(float(rising.max(initial=0.0)), 1e-9)


def added(trajectory: Trajectory, gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Today's scores of the words with the relative gain as a further sign, shape [words read]."""
    today = word_scores(trajectory)
    factor = np.where(is_function_word(trajectory), DEFAULT.function_words, 1.0)
    total = float((DEFAULT.of_signs() * word_signs(trajectory)[1]).sum())
    mixed: NDArray[np.float64] = today * total + WEIGHT * factor * relative(gains)[: len(today)]
    return mixed


def measure(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    rows: Sequence[int],
    gains: dict[str, _Gains],
    p_error: NDArray[np.float64],
    seed: int,
) -> tuple[list[Hits], list[Band]]:
    """`rows`: the wrong captions whose changed words are known; `gains`: by source, of `rows`;
    `p_error`: of all pairs."""
    chosen = [trajectories[row] for row in rows]

    def hits_of(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        first = [int(words.argmax()) for words in scores]
        return np.array(
            [w in pairs.changed[row] for w, row in zip(first, rows, strict=True)], float
        )

    today = hits_of([word_scores(trajectory) for trajectory in chosen])
    words = np.array([len(trajectory.first_step_scores) for trajectory in chosen])
    today_questions = float((words * (words + 1) / 2).mean())
    hits = []
    for sources in SETS:
        parts = zip(*(gains[source] for source in sources), strict=True)
        stacked = [np.stack(part) for part in parts]
        best = [part[:, 1 : 1 + n].max(0) for part, n in zip(stacked, words, strict=True)]
        both = hits_of([added(t, gain) for t, gain in zip(chosen, best, strict=True)])
        questions = float(np.mean([part[:, 0].sum() for part in stacked]))
        alone, top1 = float(hits_of(best).mean()), float(today.mean())
        figures = (len(rows), top1, alone, float(both.mean()), questions, today_questions)
        hits.append(Hits(seed, sources, *figures))
    bands = []
    p_wrong = p_error[list(rows)]
    for low, high in BANDS:
        inside = (p_wrong >= low) & ((p_wrong < high) | (high == 1.0))
        if inside.any():
            top1s = float(today[inside].mean()), float(both[inside].mean())
            bands.append(Band(seed, low, high, int(inside.sum()), *top1s))
    return hits, bands


def run(plan: Plan) -> tuple[list[Hits], list[Band]]:
    """Fine-grained errors in the drawn scenes, seed by seed; gains are kept in the plan's cache."""
    hits: list[Hits] = []
    bands: list[Band] = []
    for seed in plan.seed_numbers():
        captioner = captioner_of(plan, seed)
        if captioner is None:
            raise SettingsError("Replacement gains need a captioner; name one.")
        scorer = load(plan, "blip-itm", plan.folder_of(seed))
        pairs = labelled(plan, _NOISE, seed)
        test = test_half(pairs, seed)
        prepare(scorer, pairs, test)
        what = {"dataset": plan.dataset, "noise": _NOISE, "seed": seed, "scorer": "blip-itm"}
        made = trajectories_of(plan.cache, what, scorer, Exploring(), pairs)
        trajectories = with_captioner(plan.cache, what, captioner, made, pairs)
        rows = [
            row
            for row, trajectory in enumerate(trajectories)
            if 0 < len(pairs.changed[row]) < len(trajectory.first_step_scores)
        ]
        gains = _all_gains(plan.cache, what, scorer, captioner, pairs, made, rows)
        p_error = _cross_fitted(pairs, trajectories, test, seed)
        measured = measure(pairs, trajectories, rows, gains, p_error, seed)
        hits += measured[0]
        bands += measured[1]
    return hits, bands


def _all_gains(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    captioner: Captioner,
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    rows: Sequence[int],
) -> dict[str, _Gains]:
    spread = (
        float(np.std([t.scores[0] for t in trajectories])),
        float(np.std([t.auxiliary.scores[0] for t in trajectories if t.auxiliary])),
    )
    captions = [pairs.captions[row] for row in rows]
    models = {"revision": scorer.info.revision, "captioner": captioner.identity, "top": TOP}
    made = {}
    for source in SOURCES:
        gains = partial(gains_of, scorer, captioner, pairs, rows, source, spread)
        key = {**what, **models, "of": "replacement gains", "source": source}
        made[source] = cached_words(cache, key, captions, partial(_listed, gains))
    return made


def _listed(gains: Callable[[], Iterable[NDArray[np.float64]]]) -> _Gains:
    return list(gains())


def _cross_fitted(
    pairs: LabelledPairs, trajectories: Sequence[Trajectory], test: NDArray[np.bool_], seed: int
) -> NDArray[np.float64]:
    """Each pair's probability of error by a detector that was trained on the other half."""
    features = feature_matrix(trajectories)
    p_error = np.zeros(len(pairs))
    for half in (test, ~test):
        of = judge(features, pairs.captions, pairs.wrong, pairs.groups, half, seed)
        p_error[half] = of.p_error
    return p_error


def markdown(hits: Sequence[Hits], bands: Sequence[Band]) -> str:
    """Two tables: by sources, and by probability of error."""
    head = "seed | edits by | pairs | today | gain alone | added | difference | edits (trajectory)"
    lines = [f"| {head} |", "|" + "---|" * 8]
    lines += [
        f"| {h.seed} | {', '.join(h.sources)} | {h.pairs} | {h.today:.3f} | {h.alone:.3f} | "
        f"{h.added:.3f} | {h.added - h.today:+.3f} | {h.questions:.0f} ({h.today_questions:.0f}) |"
        for h in hits
    ]
    lines += ["", "| seed | p of error | pairs | today | added | difference |", "|" + "---|" * 6]
    lines += [
        f"| {b.seed} | {b.low:.1f}–{b.high:.1f} | {b.pairs} | {b.today:.3f} | {b.added:.3f} | "
        f"{b.added - b.today:+.3f} |"
        for b in bands
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=40)
    parser.add_argument(
        "--embedded", type=Path, action="append", help="models of the first, second, … seed"
    )
    parser.add_argument("--cache", type=Path, default=Path("data/evaluation"))
    args = parser.parse_args()
    trained = args.embedded or [MODELS, MODELS / "seed-1", MODELS / "seed-2"]
    plan = Plan(
        embedded=trained, noises=("fine-grained",), seeds=args.seeds,
        first_seed=args.first_seed, pairs=args.pairs, cache=args.cache,
    )  # fmt: skip
    print(markdown(*run(plan)))


if __name__ == "__main__":
    main()
