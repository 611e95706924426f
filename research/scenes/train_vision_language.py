"""The drawn world's vision-language model: trained to answer whether a caption is true of a scene,
and to describe scenes, so that one model is scorer (`--model vqa:FOLDER`) and captioner.

    python -m research.scenes.train_vision_language data/scenes-vlm --steps 20000

Every step draws new scenes: each with a true caption (answer: Yes), a false one (No), and the true
one as a description. A step is a function of its number and the seed; if interrupted, the same
command resumes. The model is `vision_language.make_vision_language_model`'s: the embedded CLIP's
image tower and a small Llama of random weights.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch.nn import functional as F  # noqa: N812

from backend.engine.correction.chat_captioner import load_chat_captioner
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.vqa.vqa_scorer import VqaScorer
from research.captioning import checkpointing
from research.scenes.grammar import describe
from research.scenes.labelled_scenes import PICTURE_SIZE
from research.scenes.noise import BalancedNoise
from research.scenes.renderer import render
from research.scenes.vision_language import make_vision_language_model
from research.scenes.world import make_scene

#: Does not overlap with the seeds of other trainings, the demo and the evaluations.
SEED = 9_000_000_000
IGNORED = -100


@dataclass(frozen=True)
class QuestionRecipe:
    """`batch`: scenes per step, each with two questions and a description."""

    steps: int = 20_000
    batch: int = 32
    learning_rate: float = 5e-4
    warm_up: int = 500
    seed: int = 0


@dataclass(frozen=True)
class Losses:
    """Cross-entropy of a step's answers and of its descriptions, per token."""

    step: int
    answer: float
    description: float


class QuestionTraining:
    """A `checkpointing.Training` of the model in `folder`."""

    def __init__(self, folder: Path, recipe: QuestionRecipe, device: str = "cpu") -> None:
        name = f"vqa:{folder}"
        scorer = load_scorer(name, None, device)
        assert isinstance(scorer, VqaScorer)
        self.scorer, self.captioner = scorer, load_chat_captioner(name, device, scorer)
        self.model: Any = scorer.model
        self.recipe, self.done = recipe, 0
        # Pictures of one size take the same tokens.
        blank = [Image.new("RGB", (PICTURE_SIZE, PICTURE_SIZE))]
        self._question = scorer.encode_images(blank)[0].ids[0].tolist()
        self._request = self.captioner.encode(blank)[0].ids[0].tolist()
        self._optimiser = torch.optim.AdamW(self.model.parameters(), recipe.learning_rate)

    def steps(self, until: int | None = None) -> Iterator[Losses]:
        self.model.train()
        until = self.recipe.steps if until is None else until
        while self.done < until:
            pixels, questions, descriptions = self._batch(self.done)
            answer = self._loss(pixels.repeat_interleave(2, 0), questions)
            description = self._loss(pixels, descriptions)
            for group in self._optimiser.param_groups:
                group["lr"] = self.recipe.learning_rate * self._rate()
            self._optimiser.zero_grad()
            (answer + description).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self._optimiser.step()
            self.done += 1
            yield Losses(self.done, float(answer.detach()), float(description.detach()))
        self.model.eval()

    def state(self) -> dict[str, Any]:
        return {"done": self.done, "model": self.model.state_dict(),
                "optimiser": self._optimiser.state_dict()}  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        self.done = int(state["done"])
        self.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])

    def _rate(self) -> float:
        """Linear warm-up, then linear decay to a twentieth."""
        recipe = self.recipe
        return min((self.done + 1) / recipe.warm_up, max(0.05, 1 - self.done / recipe.steps))

    def _batch(self, step: int) -> tuple[torch.Tensor, list["_Text"], list["_Text"]]:
        """Pixels [scenes, 3, height, width]; two questions and one description a scene."""
        recipe, answers = self.recipe, self.scorer.answers
        first = SEED + 100_000_000 * recipe.seed + step * recipe.batch
        pictures, questions, descriptions = [], list[_Text](), list[_Text]()
        noise = BalancedNoise()
        number = first
        while len(pictures) < recipe.batch:
            rng = random.Random(number)
            number += 1
            scene = make_scene(rng)
            true = describe(scene, rng)
            false = noise(true, scene, rng)
            if false is None:
                continue
            pictures.append(render(scene, PICTURE_SIZE))
            texts = [true.text, false.description.text]
            for ids, answer in zip(self.scorer.reader.tokenise(texts),
                                   (answers.yes[0], answers.no[0]), strict=True):  # fmt: skip
                begin = [*self._question, *ids, *self.scorer.after]
                questions.append(_Text([*begin, answer], len(begin)))
            _, *caption = self.captioner.tokens(texts[:1])[0]
            descriptions.append(_Text([*self._request, *caption], len(self._request)))
        inputs = self.scorer.processor.image_processor(images=pictures, return_tensors="pt")
        return inputs["pixel_values"].to(self.model.device), questions, descriptions

    def _loss(self, pixels: torch.Tensor, texts: Sequence["_Text"]) -> torch.Tensor:
        longest = max(len(text.ids) for text in texts)
        ids = torch.zeros(len(texts), longest, dtype=torch.long)
        mask, labels = torch.zeros_like(ids), torch.full_like(ids, IGNORED)
        for row, text in enumerate(texts):
            end = len(text.ids)
            ids[row, :end] = torch.tensor(text.ids)
            mask[row, :end] = 1
            labels[row, text.learnt_from : end] = ids[row, text.learnt_from : end]
        device = self.model.device
        logits = self.model(
            input_ids=ids.to(device), attention_mask=mask.to(device), pixel_values=pixels
        ).logits
        return F.cross_entropy(
            logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten().to(device), ignore_index=IGNORED
        )


@dataclass(frozen=True)
class _Text:
    """Token ids, of which those from `learnt_from` on are learnt."""

    ids: list[int]
    learnt_from: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=QuestionRecipe.steps)
    parser.add_argument("--batch", type=int, default=QuestionRecipe.batch)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args(arguments)
    untrained = given.folder / "untrained"
    if not (untrained / "model.safetensors").exists():
        make_vision_language_model(untrained, given.width, given.layers, given.seed)
    recipe = QuestionRecipe(given.steps, given.batch, seed=given.seed)
    training = QuestionTraining(untrained, recipe, given.device)

    def report(losses: Losses) -> None:
        if losses.step % 50 == 0 or losses.step == recipe.steps:
            print(
                f"{losses.step:6} answer {losses.answer:.4f} description {losses.description:.4f}",
                flush=True,
            )

    identity = f"{recipe} {given.width} {given.layers}"
    checkpointing.run(training, given.folder / "checkpoint.pt", identity, report)
    training.model.save_pretrained(given.folder / "model")
    training.scorer.processor.save_pretrained(given.folder / "model")
    print(given.folder / "model")


if __name__ == "__main__":
    main()
