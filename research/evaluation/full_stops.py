"""What a full stop costs a model that never read one, and what its removal costs a model that did.

    python -m research.evaluation.full_stops [--scenes 12000] [--steps 700] [--training 0]

A text tower is trained from scratch against the image vectors of an embedded training, once on
captions without full stops and once on captions with one each, on the same batches. It then ranks
held-out captions, true ones and ones with a wrong detail, by their cosine: without full stops, with
one each, and with one in every second, as in the captions of several writers.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine.scoring.blip import BlipScorer
from backend.engine.scoring.loading import load_scorer
from backend.settings import MODELS
from research.evaluation.metrics import auc
from research.evaluation.row_alignment import TRAININGS
from research.scenes.architecture import normalise
from research.scenes.examples import Examples, open_examples
from research.scenes.train import HELD_OUT_SEED, SEEDS_APART
from research.scenes.training import (
    CLS,
    SEP,
    STOP,
    RetrievalLearner,
    Schedule,
    Tokens,
    contrast_loss,
    draw_batch,
    make_optimiser,
    precision,
    rate_at,
)

#: Does not overlap with the training seeds of the embedded models.
_FIRST_SEED = 300 * SEEDS_APART
_HELD_OUT = 1200
_BATCH = 96
#: How the captions of a test end: whether the caption of this number has a full stop.
ENDINGS = {
    "without": lambda number: False,
    "with": lambda number: True,
    "every second": lambda number: number % 2 == 0,
}


def with_ending(text: Tokens, has_stop: bool) -> Tokens:
    """The caption's tokens with a full stop before [SEP], or without.

    >>> with_ending([2, 30, STOP, SEP], has_stop=False) == [2, 30, SEP]
    True
    """
    words = [token for token in text if token not in (STOP, SEP)]
    return [*words, STOP, SEP] if has_stop else [*words, SEP]


def picture_vectors(examples: Examples, training: str) -> torch.Tensor:
    """The image vectors of an embedded BLIP, [scenes, d]."""
    scorer = load_scorer(str(MODELS / training / "scenes-blip-itm"), "blip-itc", "cpu")
    assert isinstance(scorer, BlipScorer)
    vectors: list[torch.Tensor] = []
    with torch.inference_mode():
        for start in range(0, len(examples), 200):
            pixels = torch.from_numpy(np.array(examples.pixels[start : start + 200]))
            vectors += scorer.encode_pixels(normalise(pixels))
    return torch.stack(vectors).clone()


def train(
    examples: Examples, pictures: torch.Tensor, has_stop: bool, steps: int, seed: int
) -> RetrievalLearner:
    """A text tower that has read captions with full stops, or none, for `steps` batches."""
    torch.manual_seed(seed)
    learner = RetrievalLearner()
    learner.model.vision_model.requires_grad_(False)
    schedule = Schedule((steps * _BATCH,), batch=_BATCH)
    optimiser = make_optimiser(learner, schedule.learning_rate)
    for step in range(steps):
        batch = draw_batch(examples, _BATCH, step, seed)
        texts = [with_ending(text, has_stop) for text in [*batch.texts, *batch.own_false]]
        for group in optimiser.param_groups:
            group["lr"] = rate_at(schedule, step / steps, step)
        with precision():
            vectors = learner.text_vectors(texts)
        scale = learner.log_scale.exp().clamp(max=100)
        loss, _ = contrast_loss(pictures[batch.scenes], vectors.float(), scale, batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return learner.eval()


@torch.inference_mode()
def measure(
    learner: RetrievalLearner, held_out: Examples, pictures: torch.Tensor
) -> dict[str, float]:
    """The AUC of the cosine for wrong against true captions, by how the captions end."""
    rows = np.flatnonzero(held_out.false_words[:, 0].any(1))
    figures = {}
    for name, has_stop in ENDINGS.items():
        scores = [
            _cosines(learner, words[rows, 0], pictures[rows], [has_stop(n + shift) for n in rows])
            for shift, words in ((0, held_out.words), (1, held_out.false_words))
        ]
        wrong = np.repeat([False, True], len(rows))
        figures[name] = round(auc(wrong, -np.concatenate(scores).astype(np.float64)), 3)
    return figures


def _cosines(
    learner: RetrievalLearner,
    captions: NDArray[np.int16],
    pictures: torch.Tensor,
    stops: list[bool],
) -> NDArray[np.float32]:
    texts = [
        with_ending([CLS, *(int(word) for word in row if word)], stop)
        for row, stop in zip(captions, stops, strict=True)
    ]
    vectors = torch.cat(
        [learner.text_vectors(texts[k : k + 200]).float() for k in range(0, len(texts), 200)]
    )
    cosines: NDArray[np.float32] = (pictures * vectors).sum(1).numpy()
    return cosines


def main() -> None:
    """Print the figures of each training as lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=12_000)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--training", type=int, action="append", help="default: all three")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        examples = open_examples(Path(folder) / "scenes", options.scenes, _FIRST_SEED)
        held_out = open_examples(Path(folder) / "held-out", _HELD_OUT, HELD_OUT_SEED)
        for number in options.training or range(len(TRAININGS)):
            training = TRAININGS[number]
            pictures, others = (picture_vectors(each, training) for each in (examples, held_out))
            for has_stop in (False, True):
                seed = options.seed + number
                learner = train(examples, pictures, has_stop, options.steps, seed)
                figures = measure(learner, held_out, others)
                print(json.dumps({"seed": seed, "trained_with": has_stop, **figures}), flush=True)


if __name__ == "__main__":
    main()
