"""`evaluate support`: are nonces and phrases extracted correctly, and does PAS find errors?

Without a model: coverage of real captions with CLIP's byte pairs, and the phrase rules against the
grammar's own claims. With the embedded models: AUC of changed against unchanged phrases of
fine-grained errors, ranked by decreasing -PAS, and the same for a control that never sees the image
(it gets the mean image vector); the difference between the two is due to the image.
"""

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.english.phrases import KINDS, phrases_of
from backend.engine.phrases.attribution import PhraseScore, attribute_phrases
from backend.engine.phrases.nonce import NoncePools, Nonces, make_pools
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.errors import SettingsError
from backend.features.phrases.normalisation import Normalisation, PoolMoments
from backend.progress import Progress, no_progress
from research import concreteness
from research.evaluation.labelled import DIRECTORIES, LabelledPairs, from_scenes
from research.evaluation.scored import states_of
from research.markdown_tables import cells, mean_of, table
from research.scenes.claimed_phrases import claimed_phrases
from research.scenes.grammar import describe
from research.scenes.world import make_scene

CAPTIONS = Path(concreteness.__file__).with_name("captions.tsv")
#: Coverage reported by CPI, with CLIP's byte pairs on CC3M.
PAPER_COVERAGE = 0.9979
#: Number of pairs on which the cost relative to trajectories is measured.
_TIMED = 100


@dataclass(frozen=True)
class SupportFigures:
    """One scorer and seed. `auc`: changed against unchanged phrases of false captions, scored by
    -PAS; `auc_within`: the same within each caption, averaged; `auc_by_basis`: scored by the
    attribution that support is based on (ITC for BLIP-ITM, whose s saturates); `control`: `auc` of
    a scorer that gets the mean image for every picture; `auc_by_support`, `auc_by_weakest`,
    `auc_by_s_0`: wrong against right captions; `cost`: time of attributions over time of
    trajectories."""

    scorer: str
    seed: int
    pairs: int
    phrases: int
    covered: float
    auc: float
    auc_within: float
    auc_by_basis: float
    control: float | None
    auc_by_support: float
    auc_by_weakest: float
    auc_by_s_0: float
    cost: float


@dataclass(frozen=True)
class SupportEvaluation:
    coverage: float
    phrases: int
    drawn_f1: float
    results: list[SupportFigures] = field(default_factory=list)


def evaluate_support(
    pairs: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    scorers: Sequence[str] = ("clip", "blip-itm"),
    progress: Progress = no_progress,
) -> SupportEvaluation:
    """Evaluate every scorer with every seed.

    Raises SettingsError for a scorer without an embedded model, ModelUnavailable."""
    if missing := set(scorers) - set(DIRECTORIES):
        raise SettingsError(f"There is no embedded {', '.join(sorted(missing))}.")
    total = 2 + seeds * len(scorers)
    progress(0, total, "Coverage of real captions")
    coverage, phrases = real_coverage()
    progress(1, total, "Phrases against the grammar's claims")
    f1 = drawn_f1(2000)
    results: list[SupportFigures] = []
    for seed in range(first_seed, first_seed + seeds):
        sample = from_scenes(pairs, "fine-grained", seed)
        folder = model_folders[min(seed - first_seed, len(model_folders) - 1)]
        for name in scorers:
            progress(2 + len(results), total, f"{name}, seed {seed}")
            scorer = load_scorer(str(folder / DIRECTORIES[name]), name)
            results.append(_figures(scorer, name, seed, sample))
    return SupportEvaluation(coverage, phrases, f1, results)


def real_coverage() -> tuple[float, int]:
    """(share covered, number of phrases) of the concreteness model's captions, with CLIP's BPE."""
    import open_clip

    from backend.engine.scoring.open_clip_model import BytePairReader

    reader = BytePairReader(open_clip.get_tokenizer("ViT-B-32"), 77)
    nonces = Nonces(reader, make_pools(reader, None))
    covered = total = 0
    for line in CAPTIONS.read_text(encoding="utf-8").splitlines():
        caption = Caption.parse(line.split("\t")[1])
        substitutions = nonces.substitutions(
            caption, phrases_of(caption, reader.words_read(caption.text))
        )
        total += len(substitutions)
        covered += sum(substitution.covered for substitution in substitutions)
    return covered / total, total


def drawn_f1(count: int, seed: int = 20_261_122) -> float:
    """F1 of the extracted phrases (span, kind) against the grammar's own claims."""
    rng = random.Random(seed)
    right = total = 0
    for _ in range(count):
        description = describe(make_scene(rng), rng)
        spans = Caption.parse(description.text).spans
        truth = {
            (spans[first][0], spans[end - 1][1], kind)
            for first, end, kind in claimed_phrases(description)
        }
        phrases = {(p.start, p.end, p.kind) for p in phrases_of(description.text)}
        right += len(truth & phrases)
        total += len(truth) + len(phrases)
    return 2 * right / total


def _figures(scorer: Scorer, name: str, seed: int, pairs: LabelledPairs) -> SupportFigures:
    pools = make_pools(scorer.reader, scorer.open_session().embed)
    scores = attributions(scorer, pools, states_of(scorer, pairs))
    changed_phrases = list(_changed_phrases(pairs, scores))
    control = None
    if name != "blip-itm":  # ITM reads patches, so there is no mean image vector
        of_mean = attributions(scorer, pools, _mean_image(scorer, pairs))
        control = _pooled_auc(_changed_phrases(pairs, of_mean))
    scale = normalisation_of(scores)
    support = [supports(scale, phrases) for phrases in scores]
    s_0 = [
        float(scorer.score([(state, [caption.text])])[0][0])
        for state, caption in states_of(scorer, pairs)
    ]
    phrases = [phrase for of_caption in scores for phrase in of_caption]
    return SupportFigures(
        scorer=name,
        seed=seed,
        pairs=len(pairs),
        phrases=len(phrases),
        covered=sum(phrase.covered for phrase in phrases) / len(phrases),
        auc=_pooled_auc(changed_phrases),
        # Unaffected by how far s can fall at all, which differs between captions.
        auc_within=float(
            np.mean([roc_auc_score(*of_caption) for of_caption in changed_phrases
                     if len(set(of_caption[0])) > 1])
        ),
        auc_by_basis=_pooled_auc(_changed_phrases(pairs, scores, by_basis=True)),
        control=control,
        auc_by_support=_auc(pairs.wrong, [mean for mean, _ in support]),
        auc_by_weakest=_auc(pairs.wrong, [least for _, least in support]),
        auc_by_s_0=_auc(pairs.wrong, s_0),
        cost=_cost(scorer, pools, pairs),
    )  # fmt: skip


def attributions(
    scorer: Scorer, pools: NoncePools, pairs: Iterator[tuple[ImageState, Caption]]
) -> list[tuple[PhraseScore, ...]]:
    """The scored phrases of each pair, in order."""
    nonces = Nonces(scorer.reader, pools)
    return [phrases for _, phrases in attribute_phrases(scorer, pairs, nonces)]


def _kinds_and_values(scores: Sequence[PhraseScore]) -> tuple[list[int], list[float]]:
    rows = [
        (KINDS.index(score.phrase.kind), score.basis) for score in scores if score.basis is not None
    ]
    return [kind for kind, _ in rows], [value for _, value in rows]


def normalisation_of(pool: Iterable[Sequence[PhraseScore]]) -> Normalisation:
    """The normalisation of a pool, from the phrases of each of its pairs."""
    moments = PoolMoments()
    for phrases in pool:
        moments.add(*_kinds_and_values(phrases))
    return moments.normalisation()


def supports(scale: Normalisation, scores: Sequence[PhraseScore]) -> tuple[float, float]:
    """(support, weakest) of one pair; NaN if no phrase could be tested."""
    mean, least = scale.support(*_kinds_and_values(scores))
    return (np.nan, np.nan) if mean is None or least is None else (mean, least)


def _pooled_auc(phrases: Iterable[tuple[list[bool], list[float]]]) -> float:
    labels, values = zip(*phrases, strict=True)
    return float(roc_auc_score([*chain(*labels)], [*chain(*values)]))


def _changed_phrases(
    pairs: LabelledPairs, scores: Sequence[Sequence[PhraseScore]], by_basis: bool = False
) -> Iterator[tuple[list[bool], list[float]]]:
    """(is changed, -PAS) of the tested phrases of each caption with a fine-grained error; with
    `by_basis` the attribution that support is based on."""
    for row, phrase_scores in enumerate(scores):
        if not pairs.changed[row]:
            continue
        spans = Caption.parse(pairs.captions[row]).spans
        wrong = [spans[i] for i in pairs.changed[row]]
        labels, values = [], []
        for score in phrase_scores:
            value = score.basis if by_basis else score.pas
            if value is None:
                continue
            phrase = score.phrase
            labels.append(any(a < phrase.end and b > phrase.start for a, b in wrong))
            values.append(-value)
        yield labels, values


def _auc(wrong: NDArray[np.bool_], values: Sequence[float]) -> float:
    mask = ~np.isnan(np.array(values))
    return float(roc_auc_score(wrong[mask], -np.array(values)[mask]))


def _mean_image(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    """Every caption paired with the same vector: the normalised mean of all images."""
    import torch

    states = [state for state, _ in states_of(scorer, pairs)]
    mean = torch.nn.functional.normalize(torch.stack(states).mean(0), dim=-1)
    for text in pairs.captions:
        yield mean, Caption.parse(text)


def _cost(scorer: Scorer, pools: NoncePools, pairs: LabelledPairs) -> float:
    """Time of attributions over time of trajectories, without image encoding. Processor time, which
    other programs hardly affect."""
    requests = list(islice(states_of(scorer, pairs), _TIMED))
    start = time.process_time()
    for _ in run_trajectories(scorer, requests):
        pass
    trajectories = time.process_time() - start
    start = time.process_time()
    attributions(scorer, pools, iter(requests))
    return (time.process_time() - start) / trajectories


def markdown(evaluation: SupportEvaluation) -> str:
    """Tables with means over seeds and standard errors."""
    without_model = [
        (f"nonce coverage, CLIP's byte pairs, {evaluation.phrases:,} phrases of real captions",
         f"{evaluation.coverage:.2%}", f"{PAPER_COVERAGE:.2%} (the paper's, CC3M)"),
        ("phrases against the grammar's claims, 2,000 drawn captions, F1",
         f"{evaluation.drawn_f1:.3f}", "0.98"),
    ]  # fmt: skip
    head = ("drawn world, fine-grained errors", "seeds × pairs", "changed phrases by −PAS, AUC",
            "within a caption", "by the basis of support", "mean image (control)",
            "wrong captions by −support", "by −weakest", "by −s_0",
            "cost relative to trajectories")  # fmt: skip
    rows = []
    for name in dict.fromkeys(result.scorer for result in evaluation.results):
        group = [result for result in evaluation.results if result.scorer == name]
        figures = cells(group, "auc", "auc_within", "auc_by_basis", "control", "auc_by_support",
                        "auc_by_weakest", "auc_by_s_0")  # fmt: skip
        cost = f"{mean_of([result.cost for result in group]).mean:+.0%}"
        rows.append([name, f"{len(group)} × {group[0].pairs}", *figures, cost])
    return "\n\n".join([table(("without a model", "found", "mark"), without_model),
                        table(head, rows)])  # fmt: skip
