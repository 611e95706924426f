"""`evaluate cleaning`: does reviewing pay for the models that are trained on the captions?

Scenes of a world that the embedded models never saw are drawn, a share of their captions gets one
wrong detail, and a curator who knows the truth gives the same number of verdicts in each way; a
wrong caption that they see is corrected. On what each way leaves, the small CLIP and the captioner
are fine-tuned with one recipe and measured on fresh scenes of the same world.

    raw                 no verdicts
    re-captioned        no verdicts: every caption is replaced by the captioner's
    at random           verdicts on pairs drawn at random
    ours                verdicts down the queue, as the program ranks it before any verdict
    ours, rest left out … and captions without a verdict that are more likely wrong than right go
    ours, with pairs    as *ours*; what was wrong is CLIP's hard negative of what it became
                        (NegCLIP, Yuksekgonul et al. 2023), and the captioner learns afterwards
                        that people prefer the correction (DPO, Rafailov et al. 2023, Equation 7)
    all true            a verdict on every pair: the most that can be reached
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional as F  # noqa: N812

from backend.engine import hub
from backend.engine.correction.captioner_loading import load_captioner
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from db.queries import pair_queries
from research.captioning.blip_policy import BlipPolicy
from research.captioning.likelihood import Likelihood, LikelihoodRecipe
from research.captioning.policy import Images, Samples, log_probabilities
from research.evaluation import metrics
from research.evaluation.labelled import DIRECTORIES, LabelledPairs, from_scenes
from research.markdown_tables import cell, cells, table
from research.scenes.caption_reading import claims_of
from research.scenes.truth import facts
from research.user_datasets import import_pairs

Floats = NDArray[np.float64]
#: Share of the captions that is wrong, share that gets a verdict, and fewest pairs.
WRONG, JUDGED, LEAST = 0.3, 0.15, 80
EPOCHS, BATCH = 8, 48
CLIP_RATE, CAPTIONER_RATE, PREFERENCE_RATE = 1e-4, 4e-4, 2e-5
#: How far the captioner may move from where DPO begins (Rafailov et al., Section 6).
BETA = 0.1
_FRESH, _TOGETHER = 400, 64


@dataclass(frozen=True)
class Way:
    """What a curator leaves: a caption for each pair, None where the pair goes. `corrected`: pairs
    whose caption was wrong and seen to be; `learns_from_pairs`: whether the models are told."""

    name: str
    captions: list[str | None]
    corrected: list[int] = field(default_factory=list)
    learns_from_pairs: bool = False


@dataclass(frozen=True)
class CleaningFigures:
    """Results of one way with one set of embedded models.

    * `wrong`: share of the captions that are left wrong, as far as they can be read; `pairs`: left;
    * `auc`: of CLIP's score on fresh pairs, half of which have one wrong detail; `preferred`: share
      of these whose true caption scores higher than the wrong one;
    * `true_claims`: of all claims in greedy captions of fresh pictures; `all_true`: share of the
      captions that claim nothing wrong, those that cannot be read counted as wrong; `claims`: of
      a caption.
    """

    way: str
    seed: int
    pairs: int
    corrected: int
    wrong: float
    auc: float
    preferred: float
    true_claims: float
    all_true: float
    claims: float


@dataclass(frozen=True)
class CleaningReport:
    verdicts: int
    results: list[CleaningFigures] = field(default_factory=list)


def evaluate_cleaning(
    pairs: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    progress: Progress = no_progress,
) -> CleaningReport:
    """Train and measure each way with each seed. `pairs`: drawn to train on; `model_folders`:
    of embedded models, taken in turn. Raises SettingsError for too few pairs."""
    if pairs < LEAST or seeds < 1:
        raise SettingsError(
            f"An evaluation of cleaning needs at least 1 seed and {LEAST} pairs, as it trains."
        )
    verdicts = round(JUDGED * pairs)
    results: list[CleaningFigures] = []
    for k in range(seeds):
        seed, models = first_seed + k, model_folders[k % len(model_folders)]
        sample = from_scenes(pairs, "fine-grained", seed, unfamiliar=True)
        fresh = from_scenes(_FRESH, "fine-grained", seed + 500, unfamiliar=True)
        learner = _Learner(models, sample, fresh, seed)
        ways = _ways(learner, sample, verdicts, seed, progress)
        for number, way in enumerate(ways):
            progress(k * len(ways) + number, seeds * len(ways), f"Training on '{way.name}'")
            results.append(learner.figures(way))
    return CleaningReport(verdicts, results)


def _ways(
    learner: "_Learner", sample: LabelledPairs, verdicts: int, seed: int, progress: Progress
) -> list[Way]:
    captions = _with_errors(sample, seed)
    p_error = _rank(captions, sample, learner.models, progress)
    queue = np.argsort(-p_error, kind="stable")[:verdicts].tolist()
    at_random = np.random.default_rng((seed, 8)).permutation(len(sample))[:verdicts].tolist()

    def judge(name: str, rows: Sequence[int], learns_from_pairs: bool = False) -> Way:
        corrections = [row for row in rows if captions[row] != sample.originals[row]]
        after = [
            sample.originals[row] if row in set(corrections) else caption
            for row, caption in enumerate(captions)
        ]
        return Way(name, list(after), corrections, learns_from_pairs)

    ours = judge("ours", queue)
    is_kept = (p_error <= 0.5) | np.isin(np.arange(len(sample)), queue)
    kept_captions = [c if keep else None for c, keep in zip(ours.captions, is_kept, strict=True)]
    return [
        Way("raw", list(captions)),
        Way("re-captioned", list(learner.captions_of(learner.captioner, learner.seen))),
        judge("at random", at_random),
        ours,
        Way("ours, rest left out", kept_captions, ours.corrected),
        judge("ours, with pairs", queue, learns_from_pairs=True),
        Way("all true", list(sample.originals)),
    ]


def _with_errors(sample: LabelledPairs, seed: int) -> list[str]:
    """The captions, of which the share WRONG is wrong."""
    candidates = np.random.default_rng((seed, 9)).permutation(np.flatnonzero(sample.wrong))
    wrong = set(candidates[: round(WRONG * len(sample))].tolist())
    return [sample.captions[i] if i in wrong else sample.originals[i] for i in range(len(sample))]


def _rank(
    captions: Sequence[str], sample: LabelledPairs, models: Path, progress: Progress
) -> Floats:
    """The probability of error of each pair, scored as a user's dataset is: without a label."""
    settings = {
        "kind": "blip-itm", "device": "cpu", "model": str(models / DIRECTORIES["blip-itm"]),
        "captioner": str(models / "scenes-blip-captioner"),
    }  # fmt: skip
    with import_pairs(enumerate(captions), sample.picture, settings, progress) as (
        workspace,
        dataset,
    ):
        workspace.jobs.score(dataset, progress, anyway=True, suggestions=False)
        with workspace.store.reading() as session:
            by_row = {int(p.external_id): p.p_error
                      for p in pair_queries.iterate_pairs(session, dataset)}  # fmt: skip
    return np.array([by_row[row] for row in range(len(captions))], np.float64)


class _Learner:
    """The embedded CLIP and captioner, and the pictures of a seed as they read them."""

    def __init__(
        self, models: Path, sample: LabelledPairs, fresh: LabelledPairs, seed: int
    ) -> None:
        self.models, self.drawn, self.fresh, self.seed = models, sample, fresh, seed
        from transformers import CLIPModel, CLIPProcessor

        folder = models / DIRECTORIES["clip"]
        self._clip: Any = hub.load_weights(CLIPModel, folder, dtype=torch.float32)
        self._processor: Any = hub.load(CLIPProcessor, folder)
        self._loaded: Any = load_captioner(str(models / "scenes-blip-captioner"))
        self.captioner = self._policy()
        seen, unseen = ([of.picture(i) for i in range(len(of))] for of in (sample, fresh))
        self._pixels, self._fresh_pixels = self._pixels_of(seen), self._pixels_of(unseen)
        self.seen, self._unseen = map(self.captioner.images_of, (seen, unseen))

    def _policy(self) -> BlipPolicy:
        """A captioner to train, as it was published."""
        return BlipPolicy(deepcopy(self._loaded.model), self._loaded.processor)

    def _pixels_of(self, pictures: Sequence[Image.Image]) -> torch.Tensor:
        images = self._processor.image_processor(images=list(pictures), return_tensors="pt")
        return torch.as_tensor(images["pixel_values"])

    def figures(self, way: Way) -> CleaningFigures:
        rows = [row for row, caption in enumerate(way.captions) if caption is not None]
        is_true = self.drawn.is_true
        assert is_true is not None  # drawn scenes have a truth
        auc, preference = self._clip_figures(self._trained_clip(way, rows))
        true_claims, all_true, claims = self._caption_figures(self._trained_captioner(way, rows))
        return CleaningFigures(
            way.name,
            self.seed,
            len(rows),
            len(way.corrected),
            float(np.mean([not is_true(row, way.captions[row] or "") for row in rows])),
            auc,
            preference,
            true_claims,
            all_true,
            claims,
        )

    def _trained_clip(self, way: Way, rows: Sequence[int]) -> Any:
        """Fine-tuned by the contrastive loss; a hard negative is one more text of its batch."""
        model = deepcopy(self._clip).train()
        optimiser = torch.optim.AdamW(model.parameters(), lr=CLIP_RATE, weight_decay=0.01)
        negatives = self._negatives(way)
        for batch in _batches(rows, self.seed):
            texts = [way.captions[row] or "" for row in batch]
            texts += [negatives[row] for row in batch if row in negatives]
            images, vectors = self._embed(model, self._pixels[batch], texts)
            logits = model.logit_scale.exp() * images @ vectors.T
            diagonal = torch.arange(len(batch))
            loss = F.cross_entropy(logits, diagonal)
            loss = loss + F.cross_entropy(logits.T[: len(batch)], diagonal)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return model.eval()

    def _negatives(self, way: Way) -> dict[int, str]:
        """The wrong caption that a correction replaced, by pair."""
        if not way.learns_from_pairs:
            return {}
        return {row: self.drawn.captions[row] for row in way.corrected}

    def _embed(
        self, model: Any, pixels: torch.Tensor, texts: Sequence[str]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = self._processor.tokenizer(list(texts), padding=True, return_tensors="pt")
        output = model(
            pixel_values=pixels, input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
        )  # fmt: skip
        return output.image_embeds, output.text_embeds

    @torch.inference_mode()
    def _clip_figures(self, model: Any) -> tuple[float, float]:
        """AUC, and the share of wrong captions that score lower than the true one."""

        def scores(captions: Sequence[str]) -> Floats:
            values = []
            for first in range(0, len(captions), _TOGETHER):
                part = slice(first, first + _TOGETHER)
                images, texts = self._embed(model, self._fresh_pixels[part], captions[part])
                values.append((images * texts).sum(1).double().numpy())
            return np.concatenate(values)

        wrong = self.fresh.wrong
        score, true = scores(self.fresh.captions), scores(self.fresh.originals)
        return metrics.auc(wrong, -score), float((true > score)[wrong].mean())

    def _trained_captioner(self, way: Way, rows: Sequence[int]) -> BlipPolicy:
        policy = self._policy()
        steps = len(_batches(rows, self.seed))
        recipe = LikelihoodRecipe(steps, BATCH, CAPTIONER_RATE, warm_up=steps // 10, seed=self.seed)
        pairs = [(row, way.captions[row] or "") for row in rows]
        for _ in Likelihood(policy, self._seen_of, pairs, recipe).steps():
            pass
        if way.learns_from_pairs and way.corrected:
            chosen = [self.drawn.originals[row] for row in way.corrected]
            rejected = [self.drawn.captions[row] for row in way.corrected]
            prefer(policy, self.seen[way.corrected], chosen, rejected, self.seed)
        return policy

    def _seen_of(self, rows: Sequence[int]) -> Images:
        return self.seen[list(rows)]

    def captions_of(self, policy: BlipPolicy, images: Images) -> list[str]:
        """Greedy captions, as sentences."""
        texts: list[str] = []
        for first in range(0, len(images), _TOGETHER):
            part = images[first : first + _TOGETHER]
            texts += policy.text(policy.sample(part, 0.0, torch.Generator()))
        return [f"{text[:1].upper()}{text[1:].rstrip(' .')}." for text in texts]

    def _caption_figures(self, policy: BlipPolicy) -> tuple[float, float, float]:
        claim_count = true = all_true = 0
        captions = self.captions_of(policy, self._unseen)
        for caption, scene in zip(captions, self.fresh.scenes, strict=True):
            claims = claims_of(caption)
            if claims is not None:
                true_claims = claims & facts(scene)
                claim_count, true = claim_count + len(claims), true + len(true_claims)
                all_true += true_claims == claims
        return true / max(1, claim_count), all_true / len(captions), claim_count / len(captions)


def _batches(rows: Sequence[int], seed: int) -> list[list[int]]:
    """EPOCHS times all rows, in new orders."""
    order = np.random.default_rng((seed, 10))
    batches: list[list[int]] = []
    for _ in range(EPOCHS):
        permutation = order.permutation(rows).tolist()
        batches += [permutation[first : first + BATCH] for first in range(0, len(rows), BATCH)]
    return batches


def prefer(
    policy: BlipPolicy,
    images: Images,
    chosen: Sequence[str],
    rejected: Sequence[str],
    seed: int,
    rate: float = PREFERENCE_RATE,
) -> list[float]:
    """Direct preference optimisation, in place; the loss of each step.

        loss = -log σ(β [(log π(chosen) - log π₀(chosen)) - (log π(rejected) - log π₀(rejected))])

    `images`: of each pair, as the policy reads them; π₀ is the policy as it comes in.
    """
    texts = [policy.samples_of(captions) for captions in (chosen, rejected)]
    with torch.no_grad():
        before = [_log_p(policy, images, samples) for samples in texts]
    optimiser = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=0.0)
    losses = []
    for batch in _batches(range(len(chosen)), seed):
        better, worse = (
            _log_p(policy, images[batch], Samples(samples.tokens[batch], samples.lengths[batch]))
            - reference[batch]
            for samples, reference in zip(texts, before, strict=True)
        )
        loss = -F.logsigmoid(BETA * (better - worse)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def _log_p(policy: BlipPolicy, images: Images, samples: Samples) -> torch.Tensor:
    """log π(caption | image), [n]."""
    return log_probabilities(policy.logits(images, samples), samples, 1.0).sum(1)


def markdown(report: CleaningReport) -> str:
    """The table in Markdown: means over seeds with standard errors, and each way's difference to
    the same number of verdicts at random, seed by seed."""
    ways: dict[str, list[CleaningFigures]] = {}
    for figures in report.results:
        ways.setdefault(figures.way, []).append(figures)
    fields = ("auc", "preferred", "true_claims", "all_true")
    head = ("captions", "pairs", "wrong ones corrected", "left wrong", "AUC of CLIP",
            "true above wrong", "true claims of the captioner", "all true", "claims")  # fmt: skip
    rows = [
        (name, cell([f.pairs for f in of], 0), cell([f.corrected for f in of], 0),
         *cells(of, "wrong", *fields), *cells(of, "claims", digits=1))
        for name, of in ways.items()
    ]  # fmt: skip

    def gains(of: Sequence[CleaningFigures], name: str) -> list[float]:
        return [
            getattr(a, name) - getattr(b, name) for a, b in zip(of, ways["at random"], strict=True)
        ]

    differences = [
        (name, *(cell(gains(of, each)) for each in fields))
        for name, of in ways.items()
        if name != "at random"
    ]
    return "\n\n".join(
        (
            f"*unfamiliar drawn scenes, {WRONG:.0%} of the captions wrong, {report.verdicts} "
            "verdicts*",
            table(head, rows),
            table(("less *at random*, seed by seed", *head[4:8]), differences),
        )
    )
