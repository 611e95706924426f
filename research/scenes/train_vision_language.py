"""The drawn world's vision-language model: trained to answer whether a caption is true of a scene,
and to describe scenes, so that one model is scorer (`--model vqa:FOLDER`) and captioner.

    python -m research.scenes.train_vision_language data/scenes-vlm --steps 20000

Every step draws new scenes, each with several true captions (answer: Yes), a false one for each
(No), and the true ones as descriptions. A scene's texts are read as one sequence in which each text
sees the picture and its own words only, so that the picture is read once. A step is a function of
its number and the seed; if interrupted, the same command resumes. The model is
`vision_language.make_vision_language_model`'s: the embedded CLIP's image tower and a small Llama of
random weights.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional as F  # noqa: N812

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.features.vision_language.chat_captioner import load_chat_captioner
from backend.features.vision_language.vqa_checkpoints import VqaScorer
from research.captioning import checkpointing
from research.scenes.grammar import describe
from research.scenes.noise import BalancedNoise
from research.scenes.renderer import PICTURE_SIZE, pictures_of
from research.scenes.truth import is_true
from research.scenes.vision_language import make_vision_language_model
from research.scenes.world import make_scene

#: Does not overlap with the seeds of other trainings, the demo and the evaluations.
SEED = 9_000_000_000
#: Share of the false captions that describe another scene; the others change one claim.
_FOREIGN = 0.15
#: The image tower is trained already, so it learns more slowly.
_TOWER_RATE = 0.2


@dataclass(frozen=True)
class QuestionRecipe:
    """`batch`: scenes per step, each with `captions` true captions, as many false ones, and the
    true ones as descriptions."""

    steps: int = 20_000
    batch: int = 16
    captions: int = 4
    learning_rate: float = 1.5e-3
    warm_up: int = 100
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
        tower = list(self.model.model.vision_tower.parameters())
        inside = {id(weight) for weight in tower}
        others = [weight for weight in self.model.parameters() if id(weight) not in inside]
        self._optimiser = torch.optim.AdamW(
            [{"params": others, "share": 1.0}, {"params": tower, "share": _TOWER_RATE}],
            recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.02,
        )  # fmt: skip

    def steps(self, until: int | None = None) -> Iterator[Losses]:
        self.model.train()
        until = self.recipe.steps if until is None else until
        while self.done < until:
            answer, partial, description = self._losses(*self._batch(self.done))
            for group in self._optimiser.param_groups:
                group["lr"] = self.recipe.learning_rate * self._rate() * group["share"]
            self._optimiser.zero_grad()
            (answer + partial + description).backward()
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

    def _batch(self, step: int) -> tuple[torch.Tensor, list["_Texts"]]:
        """Pixels [scenes, 3, height, width], and each scene's texts."""
        recipe = self.recipe
        rng = random.Random(SEED + 100_000_000 * recipe.seed + step)
        noise = BalancedNoise()
        scenes = [make_scene(rng) for _ in range(recipe.batch)]
        pages = []
        for number, scene in enumerate(scenes):
            true = [describe(scene, rng) for _ in range(recipe.captions)]
            claims = [_Claim(description.text, True, len(description.text)) for description in true]
            for description in true:
                if (noisy := noise(description, scene, rng)) is not None:
                    text = noisy.description.text
                    spans = Caption.parse(text).spans
                    begin = max((spans[word][1] for word in noisy.changed), default=None)
                    claims.append(_Claim(text, False, begin))
            foreign = describe(scenes[number - 1], rng)
            if rng.random() < _FOREIGN * recipe.captions and not is_true(foreign, scene):
                claims[-1] = _Claim(foreign.text, False, None)
            pages.append(self._page(claims))
        inputs = self.scorer.processor.image_processor(
            images=list(pictures_of(scenes)), return_tensors="pt"
        )
        return inputs["pixel_values"].to(self.model.device), pages

    def _page(self, claims: Sequence["_Claim"]) -> "_Texts":
        scorer, captioner, texts = self.scorer, self.captioner, _Texts()
        yes, no = scorer.answers.yes[0], scorer.answers.no[0]
        pairs = takewhile(lambda pair: pair[0] == pair[1],
                          zip(self._question, self._request, strict=False))  # fmt: skip
        picture = [token for token, _ in pairs]
        start = texts.add(picture, None)
        question = texts.add(self._question[len(picture) :], start)
        for claim in claims:
            (tokens,), spans = scorer.reader.tokenise([claim.text]), scorer.reader.spans(claim.text)
            first = len(texts.ids)
            texts.answers[texts.add([*tokens, *scorer.after], question)] = (
                yes if claim.is_true else no
            )
            if claim.begin is not None:
                for at, (_, stop) in enumerate(spans, first):
                    is_false = not claim.is_true and stop >= claim.begin
                    texts.partial[at] = no if is_false else yes
        # Read once for each caption, whose first token the request's last one predicts.
        *request, last = self._request[len(picture) :]
        request_end = texts.add(request, start)
        for _, *caption in captioner.tokens([claim.text for claim in claims if claim.is_true]):
            end = texts.add([last, *caption[:-1]], request_end)
            first = end + 1 - len(caption)
            texts.words |= dict(zip(range(first, end + 1), caption, strict=True))
        return texts

    def _losses(
        self, pixels: torch.Tensor, pages: Sequence["_Texts"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        longest, device = max(len(page.ids) for page in pages), self.model.device
        ids = torch.zeros(len(pages), longest, dtype=torch.long)
        positions = torch.zeros_like(ids)
        hidden = torch.ones(len(pages), 1, longest, longest, dtype=torch.bool)
        hidden[:, :, :, 0] = False  # padding sees something: no softmax over nothing
        for row, page in enumerate(pages):
            length = len(page.ids)
            ids[row, :length] = torch.tensor(page.ids)
            positions[row, :length] = torch.tensor(page.positions)
            hidden[row, 0, :length, :length] = torch.from_numpy(~page.visible())
        mask = torch.zeros(hidden.shape).masked_fill_(hidden, torch.finfo(torch.float32).min)
        states = self.model.model(
            input_ids=ids.to(device), attention_mask=mask.to(device), pixel_values=pixels,
            position_ids=positions.to(device),
        ).last_hidden_state  # fmt: skip

        def loss(targets: Sequence[Mapping[int, int]]) -> torch.Tensor:
            places = [(row, at) for row, page in enumerate(targets) for at in page]
            rows, columns = torch.tensor(places, device=device).T
            labels = [token for page in targets for token in page.values()]
            logits = self.model.lm_head(states[rows, columns])
            return F.cross_entropy(logits, torch.tensor(labels, device=device))

        return (
            loss([page.answers for page in pages]),
            loss([page.partial for page in pages]),
            loss([page.words for page in pages]),
        )


@dataclass(frozen=True)
class _Claim:
    """A caption of a scene. `begin`: the character from which on it is false, None: unknown."""

    text: str
    is_true: bool
    begin: int | None


@dataclass
class _Texts:
    """Texts about one picture as one sequence. `previous`: the token that each follows, -1: none.
    `answers`, `partial` and `words`: the token to predict by the index that predicts it. `partial`
    is the answer if the caption ended there, which says which word makes it false."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)
    answers: dict[int, int] = field(default_factory=dict)
    partial: dict[int, int] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)

    def add(self, tokens: Sequence[int], after: int | None) -> int:
        """Tokens that follow the one at index `after`; returns the last one's index."""
        previous = -1 if after is None else after
        for token in tokens:
            self.positions.append(0 if previous < 0 else self.positions[previous] + 1)
            self.previous.append(previous)
            self.ids.append(token)
            previous = len(self.ids) - 1
        return previous

    def visible(self) -> NDArray[np.bool_]:
        """Which token sees which: itself and those that it follows; [tokens, tokens]."""
        visible = np.eye(len(self.ids), dtype=np.bool_)
        for row, previous in enumerate(self.previous):
            if previous >= 0:
                visible[row] |= visible[previous]
        return visible


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=QuestionRecipe.steps)
    parser.add_argument("--batch", type=int, default=QuestionRecipe.batch)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--clip", type=Path, help="folder of the CLIP with the image tower")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(arguments)
    base_model = args.folder / "untrained"
    if not (base_model / "model.safetensors").exists():
        make_vision_language_model(base_model, args.width, args.layers, args.seed, args.clip)
    recipe = QuestionRecipe(args.steps, args.batch, seed=args.seed)
    training = QuestionTraining(base_model, recipe, args.device)

    def report(losses: Losses) -> None:
        if losses.step % 50 == 0 or losses.step == recipe.steps:
            print(
                f"{losses.step:6} answer {losses.answer:.4f} description {losses.description:.4f}",
                flush=True,
            )

    identity = f"{recipe} {args.width} {args.layers}"
    checkpointing.run(training, args.folder / "checkpoint.pt", identity, report)
    training.model.save_pretrained(args.folder / "model")
    training.scorer.processor.save_pretrained(args.folder / "model")
    print(args.folder / "model")


if __name__ == "__main__":
    main()
