"""`evaluate long-captions`: are wrong claims found in captions of several, and wrong captions?

Drawn scenes with long captions (`scenes.long_captions`) are imported and scored as a user's
dataset is, in a temporary store, and the stored chances are compared with the truth: of captions,
of claims, by a claim's position and by a caption's number of claims. Then the truth of some
captions, drawn at random, becomes verdicts, and the calibration is measured on the others.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.claims.division import Division
from backend.errors import SettingsError
from backend.jobs import retrain
from backend.progress import Progress, no_progress
from backend.workspace import Workspace
from db.decisions import AT_RANDOM
from db.queries import claim_queries, pair_queries
from db.queries.claim_queries import ClaimRow
from db.queries.pair_queries import PairRow
from research.evaluation import metrics
from research.evaluation.labelled import DIRECTORIES
from research.markdown_tables import cell, cells, table
from research.scenes.long_captions import LongCaption, paragraphs, tag_lists
from research.scenes.renderer import PICTURE_SIZE, render
from research.user_datasets import import_pairs

#: What is drawn: (number, seed) to captions.
Draw = Callable[[int, int], Iterator[LongCaption]]
WORLDS: dict[str, Draw] = {
    "six sentences": partial(paragraphs, sentences=(6,), errors=(0, 1), pronouns=0.0, vague=0.0),
    "paragraphs": paragraphs,
    "tags": tag_lists,
}
#: By their claims; one world also as one claim each, for comparison.
DIVISIONS: tuple[Division, ...] = ("auto", "whole")
ALSO_WHOLE = "six sentences"
#: First and last position of a claim in its caption, and numbers of claims, of a row of the report.
POSITIONS = {"1st, 2nd": (0, 1), "3rd, 4th": (2, 3), "5th and later": (4, 999)}
NUMBERS = {"up to 5": (1, 5), "6 to 9": (6, 9), "10 and more": (10, 999)}
VERDICTS = 200
#: Fewest captions of a world.
LEAST = 40


@dataclass(frozen=True)
class ClaimFigures:
    """Of the claims that say something and that the program found as they were drawn.

    `auc`: by the chance of each; `first`: share of the wrong captions whose most suspicious claim
    is wrong; `by_position`: `auc` by position; None where all are right or all are wrong.
    """

    auc: float | None
    first: float | None
    by_position: dict[str, float | None]


@dataclass(frozen=True)
class LongCaptionFigures:
    """Results on one world with one set of embedded models.

    * `division`: whether captions were divided into claims ("auto") or not ("whole");
    * `auc`, `average_precision`: of captions by their chance; `auc_of_s_0`: by the lowest s_0;
    * `by_number`: `auc` by number of claims, None where all are right or all are wrong;
    * `level`, `calibration`: |mean p - share of errors| and expected calibration error of captions
      before any verdict, and with `verdicts` of them, measured on the other captions;
    * `seconds`: of the processor, for scoring.
    """

    world: str
    division: Division
    seed: int
    captions: int
    claims: int
    auc: float
    auc_of_s_0: float
    average_precision: float
    of_claims: ClaimFigures
    by_number: dict[str, float | None]
    level: float
    calibration: float
    verdicts: int
    level_learnt: float
    calibration_learnt: float
    seconds: float


@dataclass(frozen=True)
class LongCaptionReport:
    results: list[LongCaptionFigures] = field(default_factory=list)


def evaluate_long_captions(
    captions: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    kind: str = "blip-itm",
    worlds: Sequence[str] = tuple(WORLDS),
    device: str | None = None,
    progress: Progress = no_progress,
) -> LongCaptionReport:
    """Evaluate each world with each seed. `captions`: per world and seed; `model_folders`:
    of embedded models, taken in turn. Raises SettingsError for too few captions."""
    if captions < LEAST or seeds < 1:
        raise SettingsError(
            f"An evaluation of long captions needs at least 1 seed and {LEAST} captions."
        )
    results: list[LongCaptionFigures] = []
    for world in worlds:
        for k in range(seeds):
            sample = list(WORLDS[world](captions, first_seed + k))
            models = model_folders[k % len(model_folders)]
            divisions = DIVISIONS if world == ALSO_WHOLE else DIVISIONS[:1]
            for division in divisions:
                run = _Run(world, division, first_seed + k, sample)
                results.append(run.figures(models, kind, device, progress))
    return LongCaptionReport(results)


@dataclass(frozen=True)
class _Run:
    """One scoring of a world."""

    world: str
    division: Division
    seed: int
    drawn: Sequence[LongCaption]

    def figures(
        self, models: Path, kind: str, device: str | None, progress: Progress
    ) -> LongCaptionFigures:
        settings = {
            "kind": kind, "device": device, "model": str(models / DIRECTORIES[kind]),
            "claims": self.division, "captioner": str(models / "scenes-blip-captioner"),
        }  # fmt: skip
        captions = [(number, caption.text) for number, caption in enumerate(self.drawn)]
        with import_pairs(captions, self._picture, settings, progress) as (workspace, dataset):
            start = time.process_time()
            workspace.jobs.score(dataset, progress, anyway=True, suggestions=False)
            seconds = time.process_time() - start
            pairs, claims = _read_stored(workspace, dataset)
            wrong = np.array([any(c.is_wrong for c in caption.claims) for caption in self.drawn])
            p_error = np.array([pair.p_error for pair in pairs], np.float64)
            is_judged, p_learnt = self._with_verdicts(workspace, dataset, pairs, wrong)
        rest = ~is_judged
        return LongCaptionFigures(
            self.world,
            self.division,
            self.seed,
            len(pairs),
            sum(len(claims.get(pair.id, ())) or 1 for pair in pairs),
            metrics.auc(wrong, p_error),
            metrics.auc(wrong, -np.array([pair.s_0 for pair in pairs])),
            metrics.average_precision(wrong, p_error),
            self._of_claims([claims.get(pair.id, []) for pair in pairs]),
            by_number={
                name: _auc(wrong[rows], p_error[rows])
                for name, rows in _groups([len(c.claims) for c in self.drawn], NUMBERS)
            },
            level=abs(float(p_error[rest].mean() - wrong[rest].mean())),
            calibration=metrics.expected_calibration_error(wrong[rest], p_error[rest]),
            verdicts=int(is_judged.sum()),
            level_learnt=abs(float(p_learnt[rest].mean() - wrong[rest].mean())),
            calibration_learnt=metrics.expected_calibration_error(wrong[rest], p_learnt[rest]),
            seconds=seconds,
        )

    def _picture(self, number: int) -> Image.Image:
        return render(self.drawn[number].scene, PICTURE_SIZE)

    def _of_claims(self, claims: Sequence[Sequence[ClaimRow]]) -> ClaimFigures:
        """`claims`: those of each caption; none of one that was scored as a whole."""
        wrong, chances, positions, hits = [], [], [], []
        for caption, rows in zip(self.drawn, claims, strict=True):
            chance = {row.start: row.p_error for row in rows if row.p_error is not None}
            truth = [(k.is_wrong, chance[k.start], at) for at, k in enumerate(caption.claims)
                     if k.start in chance and not k.is_vague]  # fmt: skip
            for is_wrong, p, at in truth:
                wrong.append(is_wrong)
                chances.append(p)
                positions.append(at)
            if any(is_wrong for is_wrong, _, _ in truth):
                hits.append(max(truth, key=lambda claim: claim[1])[0])
        is_wrong, p_error = np.array(wrong, np.bool_), np.array(chances)
        return ClaimFigures(
            _auc(is_wrong, p_error),
            float(np.mean(hits)) if hits else None,
            {
                name: _auc(is_wrong[rows], p_error[rows])
                for name, rows in _groups(positions, POSITIONS)
            },
        )

    def _with_verdicts(
        self, workspace: Workspace, dataset: int, pairs: Sequence[PairRow], wrong: metrics.Wrong
    ) -> tuple[NDArray[np.bool_], metrics.Scores]:
        """The captions that were judged, and the chances of all that were learnt from that."""
        is_judged = np.zeros(len(pairs), np.bool_)
        order = np.random.default_rng((self.seed, 7)).permutation(len(pairs))
        is_judged[order[: min(VERDICTS, len(pairs) // 2)]] = True
        for row in np.flatnonzero(is_judged).tolist():
            decision = "wrong" if wrong[row] else "correct"
            pair = pairs[row]
            workspace.review.decide(pair.id, 0, decision, sampling=AT_RANDOM)
        report = retrain.train_candidate(workspace.store, workspace.engine, dataset)
        workspace.jobs.adopt(report.classifier_id)
        after, _ = _read_stored(workspace, dataset)
        return is_judged, np.array([pair.p_error for pair in after], np.float64)


def _read_stored(
    workspace: Workspace, dataset: int
) -> tuple[list[PairRow], dict[int, list[ClaimRow]]]:
    """The pairs in the order in which they were drawn, and the claims of each."""
    with workspace.store.reading() as session:
        pairs = sorted(
            pair_queries.iterate_pairs(session, dataset), key=lambda pair: int(pair.external_id)
        )
        return pairs, claim_queries.claims_of(session, [pair.id for pair in pairs])


def _groups(
    values: Sequence[int], groups: dict[str, tuple[int, int]]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    of = np.array(values, np.int64)
    for name, (first, last) in groups.items():
        yield name, (of >= first) & (of <= last)


def _auc(wrong: metrics.Wrong, scores: metrics.Scores) -> float | None:
    return metrics.auc(wrong, scores) if wrong.any() and not wrong.all() else None


def markdown(report: LongCaptionReport) -> str:
    """All tables as Markdown: means over seeds with standard errors."""
    groups: dict[tuple[str, str], list[LongCaptionFigures]] = {}
    for figures in report.results:
        groups.setdefault((figures.world, figures.division), []).append(figures)

    def name(world: str, division: str) -> str:
        return world if division == "auto" else f"{world}, scored as one claim"

    head = ("captions", "seeds", "captions, claims each", "AUC", "by s_0", "average precision",
            "AUC of claims", "wrong claim first", "seconds a caption")  # fmt: skip
    ranking_rows = [
        (
            name(*key),
            len(of),
            f"{of[0].captions}, {sum(f.claims for f in of) / sum(f.captions for f in of):.1f}",
            *cells(of, "auc", "auc_of_s_0", "average_precision"),
            *cells([f.of_claims for f in of], "auc", "first"),
            cell([f.seconds / f.captions for f in of], 2),
        )
        for key, of in groups.items()
    ]
    level = ("captions", "verdicts", "|mean p - share|", "calibration error", "with verdicts",
             "calibration error")  # fmt: skip
    level_rows = [
        (
            name(*key),
            of[0].verdicts,
            *cells(of, "level", "calibration", "level_learnt", "calibration_learnt"),
        )
        for key, of in groups.items()
    ]
    position_rows = [
        (name(*key), *(cell([f.of_claims.by_position[name] for f in of]) for name in POSITIONS))
        for key, of in groups.items()
        if any(f.of_claims.auc is not None for f in of)
    ]
    number_rows = [
        (name(*key), *(cell([f.by_number[name] for f in of]) for name in NUMBERS))
        for key, of in groups.items()
    ]
    return "\n\n".join(
        (
            "*drawn scenes with long captions*",
            table(head, ranking_rows),
            table(level, level_rows),
            table(("AUC of claims by position", *POSITIONS), position_rows),
            table(("AUC of captions by number of claims", *NUMBERS), number_rows),
        )
    )
