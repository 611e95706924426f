"""Is the chance beside a suggestion so? Drawn scenes know whether a suggestion is true.

`python -m research.evaluation.suggestion_chances --seed 22` measures the constants of
`backend.engine.correction.suggestion_chance` on datasets like the demo, one for each training and
seed; with `--fit 11 --fit 12 --fit 21` it fits constants to those seeds first and prints them.
About three minutes for each dataset of 400 pairs on a free core. `--keep FOLDER` stores what was
computed, so that a later call reads it. With `--moved .33` this share of the pairs have each
other's true captions, mixed up (random noise of which the right captions are in the dataset): the
chance of captions of other rows is measured and fitted, and how many come back.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.correction.suggestion import words_changed
from backend.engine.correction.suggestion_chance import (
    ALIKE,
    FITS,
    chance_of_error,
    log_odds,
)
from backend.jobs.scoring import suggest
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db.queries import run_queries, suggestion_queries
from research.markdown_tables import table
from research.scenes import demo
from research.scenes.caption_reading import claims_of
from research.scenes.truth import facts

TRAININGS = (MODELS, MODELS / "seed-1", MODELS / "seed-2")
#: Beside those of the demo, training and the other evaluations.
_FIRST_SEED = 2_100_000_000
_PICTURE_SIZE = 224
#: The proposer of captions of other rows.
ANOTHER_ROW = "another row"
_PARTS = 5


@dataclass(frozen=True)
class JudgedSuggestion:
    """A suggestion for a pair of drawn scenes. `p_before`, `p_after`: by the detector; `is_true`:
    all that it claims is so. `is_moved`: the pair has the caption of another one; `is_own`: the
    suggestion is its own; `is_first`: it stands first."""

    caption: str
    text: str
    proposer: str
    p_before: float
    p_after: float
    is_true: bool
    is_moved: bool = False
    is_own: bool = False
    is_first: bool = False

    @property
    def chance(self) -> float:
        before = Caption.parse(self.caption)
        return chance_of_error(self.proposer, self.p_after, before, self.text)


def mix_up(source: Path, share: float, seed: int) -> dict[str, str]:
    """Deal the true captions of this share of the pairs to each other, in a ring; returns them by
    id."""
    rows = [json.loads(line) for line in (source / "metadata.jsonl").open(encoding="utf-8")]
    truths = [json.loads(line) for line in (source / "truth.jsonl").open(encoding="utf-8")]
    size = round(share * len(rows))
    ring = np.random.default_rng(seed).permutation(len(rows))[:size].tolist()
    for place, other in zip(ring, [*ring[1:], *ring[:1]], strict=True):
        rows[place]["caption"] = truths[other]["original"]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (source / "metadata.jsonl").write_text(lines, encoding="utf-8")
    return {rows[place]["id"]: truths[place]["original"] for place in ring}


def draw(training: Path, seed: int, pairs: int, moved: float = 0.0) -> list[JudgedSuggestion]:
    """All suggestions for a dataset like the demo, scored with the models of this training."""
    suggest.judged_ahead = lambda engine: pairs  # all of a pair's, as when it is opened
    first = _FIRST_SEED + seed * 1_000_000
    abstract = round(0.075 * pairs)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pairs"
        demo.write(source, pairs, abstract, _PICTURE_SIZE, first)
        scenes, _ = demo.make_pairs(pairs, abstract, first)
        own_captions = mix_up(source, moved, seed)
        overrides = {
            "data_directory": str(Path(folder) / "state"),
            "model": str(training / "scenes-blip-itm"),
            "captioner": str(training / "scenes-blip-captioner"),
        }
        workspace = Workspace(load_settings(overrides, {}))
        dataset_id = workspace.find_or_import(str(source))
        workspace.jobs.score(dataset_id, anyway=True)
        queue = workspace.review.filter_of(dataset_id, {"review": "all"})
        judged = []
        for row in workspace.review.queue_page(queue, limit=pairs).rows:
            scene = facts(scenes[int(row.external_id.removeprefix("scene-"))])
            run = workspace.store.read(run_queries.latest_run, dataset_id, "score")
            rows = workspace.store.read(
                suggestion_queries.list_suggestions, row.pair_id, run.id if run else None
            )
            own = own_captions.get(row.external_id)
            shown = workspace.review.suggestions(row.pair_id)
            for each in rows:
                if each.p_before is None or each.p_after is None:
                    continue
                claims = claims_of(each.caption)
                is_true = claims is not None and claims <= scene
                judged.append(
                    JudgedSuggestion(
                        row.caption, each.caption, each.proposer, each.p_before, each.p_after,
                        is_true, own is not None, each.caption == own,
                        each.id == shown[0].id,
                    )
                )  # fmt: skip
        workspace.store.close()
    return judged


def signs(suggestions: Sequence[JudgedSuggestion], proposers: Sequence[str]) -> NDArray[np.float64]:
    """Shape [suggestions, proposers + 3]: the proposer, the detector's log-odds, and the logarithms
    of the words and of the replaced words."""
    rows = []
    for each in suggestions:
        words = max(1, len(Caption.parse(each.text).words))
        changed_words = max(1, words_changed(Caption.parse(each.caption), each.text))
        replaced_words = changed_words if FITS[each.proposer].replaced else 1
        kinds = [float(each.proposer == name) for name in proposers]
        rows.append([*kinds, log_odds(each.p_after), log(words), log(replaced_words)])
    return np.array(rows)


def fit(suggestions: Sequence[JudgedSuggestion], proposers: Sequence[str]) -> NDArray[np.float64]:
    """The constants of these proposers, who share all but the first, in the order of `signs`."""
    sample = [each for each in suggestions if each.proposer in proposers]
    model = LogisticRegression(C=10, fit_intercept=False, max_iter=3000)
    model.fit(signs(sample, proposers), [not each.is_true for each in sample])
    return np.asarray(model.coef_[0])


def print_returned(suggestions: Sequence[JudgedSuggestion], moved_pairs: int) -> None:
    """How many of the pairs with another one's caption are offered their own."""
    own = [each for each in suggestions if each.is_own]
    firsts = sum(each.is_first for each in own)
    print(f"\nof {moved_pairs} moved captions {len(own)} are suggested, {firsts} of them first")


def reliability(
    chances: NDArray[np.float64], is_wrong: NDArray[np.bool_]
) -> list[tuple[str, str, str]]:
    """By fifths of the chance: what is said, what is so with its standard error, and how many."""
    rows = []
    for part in np.array_split(np.argsort(chances), _PARTS):
        chance, share = float(chances[part].mean()), float(is_wrong[part].mean())
        error = float(np.sqrt(share * (1 - share) / len(part)))
        rows.append((f"{chance:.2f}", f"{share:.2f} ± {error:.2f}", f"{len(part)}"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--fit", type=int, action="append", default=[])
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--moved", type=float, default=0.0)
    args = parser.parse_args()

    def suggestions_of(seeds: Sequence[int]) -> list[JudgedSuggestion]:
        every = []
        for seed in seeds:
            for training in TRAININGS:
                moved = f"-moved{args.moved}" if args.moved else ""
                name = f"{training.name}-{seed}-{args.pairs}{moved}.json"
                file = args.keep and args.keep / name
                if file and file.exists():
                    every += [JudgedSuggestion(**row) for row in json.loads(file.read_text())]
                    continue
                suggestions = draw(training, seed, args.pairs, args.moved)
                if file:
                    file.write_text(json.dumps([asdict(each) for each in suggestions]))
                every += suggestions
        return every

    if args.fit:
        writers = [name for name in FITS if name != ANOTHER_ROW]
        proposers = [ANOTHER_ROW] if args.moved else writers
        names = [*proposers, "slope", "words", "replaced"]
        # Of a pair alone nobody can tell whether its caption was moved: as if none was.
        sample = [each for each in suggestions_of(args.fit) if not each.is_moved]
        constants = fit(sample, proposers)
        print(*(f"{name} {value:.2f}" for name, value in zip(names, constants, strict=True)))
    if args.seed:
        sample = suggestions_of(args.seed)
        if args.moved:
            print_returned(sample, len(args.seed) * len(TRAININGS) * round(args.moved * args.pairs))
            sample = [each for each in sample if each.proposer == ANOTHER_ROW]
        is_wrong = np.array([not each.is_true for each in sample])
        chances = np.array([each.chance for each in sample])
        raw = np.array([each.p_after for each in sample])
        before = np.array([each.p_before for each in sample])
        offered = (chances <= 0.5) & (before - chances >= ALIKE)
        for name, values, of in (
            ("by the detector", raw, np.ones(len(sample), np.bool_)),
            ("as said", chances, np.ones(len(sample), np.bool_)),
            ("as said, offered", chances, offered),
        ):
            auc = roc_auc_score(is_wrong[of], values[of])
            print(f"\n{name}: {int(of.sum())} suggestions, AUC {auc:.3f}")
            print(table(("said", "wrong", "suggestions"), reliability(values[of], is_wrong[of])))


if __name__ == "__main__":
    main()
