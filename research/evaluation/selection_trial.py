"""Does training on a selection help? `python -m research.evaluation.selection_trial`

A drawn mixture (half right, the rest wrong, generic or abstract) is scored by an embedded CLIP.
Text towers are then trained from scratch against that model's frozen image vectors, on the whole
mixture and on halves of it, with the same number of samples. They are evaluated on clean held-out
scenes: AUC of true captions against fine-grained errors by kind, and recall@1 among 600.

The image tower was trained with clean captions (a leak shared by all rules), so only the text side
is compared. Results are reported whatever they are: the effect in the paper is one point with two
seeds.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch.nn import functional as F  # noqa: N812

from backend.engine.phrases.selection import select
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.settings import MODELS
from research.evaluation.evaluate import mean_of
from research.evaluation.selection import KEEP, Mixture, make_mixture, measure_states, rules
from research.scenes.architecture import make_clip
from research.scenes.labelled_scenes import PICTURE_SIZE, labelled_scenes
from research.scenes.renderer import render
from research.scenes.tokenizer import CONTEXT, make_tokenizer
from research.scenes.training import Schedule, make_optimiser, rate_at, stack, wrap
from research.scenes.world import Scene

BATCH = 96
#: Selection rules compared with training on the whole mixture.
TRIED = ("random 50", "alignment 50", "support (the paper's mean)", "worst phrase (ours)")
_RECALL_OF = 600
_ENCODED_TOGETHER = 96


@dataclass(frozen=True)
class TrialFigures:
    """Results of one training. `auc`, `by_kind`: true captions against their corrupted versions;
    `recall`: recall@1; `pairs`: number of training pairs."""

    rule: str
    seed: int
    pairs: int
    auc: float
    by_kind: dict[str, float]
    recall: float


@dataclass(frozen=True)
class HeldOut:
    """Clean scenes: image vectors [n, d], true captions, and false ones for every second scene."""

    images: torch.Tensor
    captions: list[str]
    false: list[tuple[int, str, str]]  #: (row, caption, kind)


def run_trial(
    scenes: int, samples: int, held_out: int, seeds: Sequence[int], models: Path = MODELS
) -> list[TrialFigures]:
    """Train with every rule and seed on the same mixture; `samples`: seen per training."""
    scorer = load_scorer(str(models / "scenes-clip"), "clip", "cpu")
    mixture = make_mixture(scenes, seeds[0])
    images = image_vectors(scorer, mixture.scenes)
    measured = measure_states(scorer, list(images), mixture.captions)
    test = held_out_of(scorer, held_out, seeds[0] + 1)
    everything = np.ones(scenes, np.bool_)
    figures = []
    for seed in seeds:
        chosen = {"full": everything}
        for rule, (align, values) in rules(measured, seed).items():
            if rule in TRIED:
                chosen[rule] = select(measured.s_0, values, everything, align, KEEP).kept
        for rule, kept in chosen.items():
            tower = train(images, mixture, np.flatnonzero(kept), samples, seed)
            figures.append(judge(tower, test, rule, seed, int(kept.sum())))
            print(
                rule,
                seed,
                f"AUC {figures[-1].auc:.3f}",
                f"R@1 {figures[-1].recall:.3f}",
                flush=True,
            )
    return figures


def image_vectors(scorer: Scorer, scenes: Sequence[Scene]) -> torch.Tensor:
    """Unit vectors [scenes, d]."""
    states: list[Any] = []
    for first in range(0, len(scenes), _ENCODED_TOGETHER):
        part = scenes[first : first + _ENCODED_TOGETHER]
        states += scorer.encode_images([render(scene, PICTURE_SIZE) for scene in part])
    return torch.stack(states)


def held_out_of(scorer: Scorer, count: int, seed: int) -> HeldOut:
    made = labelled_scenes(count, "fine-grained", seed)
    false = [
        (row, made.captions[row], made.kinds[row]) for row in range(count) if made.changed[row]
    ]
    return HeldOut(image_vectors(scorer, made.scenes), made.originals, false)


class TextTower(torch.nn.Module):
    """CLIP's text tower, randomly initialised: maps captions to unit vectors [n, d]."""

    def __init__(self) -> None:
        super().__init__()
        model = make_clip()
        self.text, self.projection = model.text_model, model.text_projection
        self.log_scale = torch.nn.Parameter(torch.tensor(np.log(1 / 0.07), dtype=torch.float32))
        self._tokenizer = make_tokenizer()

    def forward(self, captions: Sequence[str]) -> torch.Tensor:
        read = self._tokenizer(list(captions), add_special_tokens=False)["input_ids"]
        ids, mask = stack([wrap(tokens[: CONTEXT - 2]) for tokens in read])
        pooled = self.text(input_ids=ids, attention_mask=mask).pooler_output
        return F.normalize(self.projection(pooled).float(), dim=-1)


def train(
    images: torch.Tensor, mixture: Mixture, rows: NDArray[np.intp], samples: int, seed: int
) -> TextTower:
    """Train with the symmetric contrastive loss of captions and frozen image vectors.

    `rows`: the pairs to train on; `samples`: number of pairs seen in total."""
    torch.manual_seed(seed)
    rng = np.random.default_rng((seed, 25))
    tower = TextTower()
    schedule = Schedule((samples,), learning_rate=8e-4)
    optimiser = make_optimiser(tower, schedule.learning_rate)
    for step in range(max(1, samples // BATCH)):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(schedule, schedule.progress(step * BATCH), step)
        batch = rng.choice(rows, min(BATCH, len(rows)), replace=False)
        vectors = tower([mixture.captions[row] for row in batch])
        similarity = images[batch] @ vectors.T * tower.log_scale.exp().clamp(max=100)
        target = torch.arange(len(batch))
        loss = (F.cross_entropy(similarity, target) + F.cross_entropy(similarity.T, target)) / 2
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
        optimiser.step()
    return tower.eval()


@torch.inference_mode()
def judge(tower: TextTower, test: HeldOut, rule: str, seed: int, pairs: int) -> TrialFigures:
    """Evaluate on clean held-out scenes."""
    true = tower(test.captions)
    rows = [row for row, _, _ in test.false]
    false = tower([caption for _, caption, _ in test.false])
    good = (test.images[rows] * true[rows]).sum(1).numpy()
    bad = (test.images[rows] * false).sum(1).numpy()
    kinds = np.array([kind for _, _, kind in test.false])
    by_kind = {
        kind: _auc(good[kinds == kind], bad[kinds == kind])
        for kind in sorted(set(kinds.tolist()))
        if (kinds == kind).sum() >= 8
    }
    count = min(_RECALL_OF, len(test.captions))
    first = (test.images[:count] @ true[:count].T).argmax(1) == torch.arange(count)
    return TrialFigures(rule, seed, pairs, _auc(good, bad), by_kind, float(first.float().mean()))


def _auc(good: NDArray[Any], bad: NDArray[Any]) -> float:
    labels = np.r_[np.ones(len(good)), np.zeros(len(bad))]
    return float(roc_auc_score(labels, np.r_[good, bad]))


def markdown(figures: Sequence[TrialFigures]) -> str:
    """A table of means over seeds with standard errors."""
    kinds = sorted({kind for trial in figures for kind in trial.by_kind})
    lines = [
        f"| trained on | pairs | AUC | {' | '.join(kinds)} | recall@1 |",
        f"|---|---|---|{'---|' * len(kinds)}---|",
    ]
    for rule in dict.fromkeys(trial.rule for trial in figures):
        listed = [trial for trial in figures if trial.rule == rule]
        values = [[trial.auc for trial in listed]]
        values += [
            [trial.by_kind[kind] for trial in listed if kind in trial.by_kind] for kind in kinds
        ]
        values.append([trial.recall for trial in listed])
        cells = [_mean_cell(column) for column in values]
        lines.append(f"| {rule} | {listed[0].pairs:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_cell(values: Sequence[float]) -> str:
    mean = mean_of(values)
    error = "" if mean.standard_error is None else f" ± {mean.standard_error:.3f}"
    return f"{mean.mean:.3f}{error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=60_000, help="seen by each training")
    parser.add_argument("--held-out", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=10)
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    figures = run_trial(args.scenes, args.samples, args.held_out, list(seeds))
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(trial) for trial in figures], indent=1))
    print(markdown(figures))


if __name__ == "__main__":
    main()
