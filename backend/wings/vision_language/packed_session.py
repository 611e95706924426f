"""Scores by a vision-language model: `PlainSession`, the reference, runs the whole model for every
caption; `PackedSession` computes nothing twice (`picture_memory`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from backend.engine.embeddings import embed
from backend.engine.scoring.batch_memory import TokenBudget, images_that_fit, pace_of
from backend.engine.scoring.protocol import FloatArray, Tokens, Work
from backend.wings.vision_language.asked_model import AskedImage, AskedModel
from backend.wings.vision_language.picture_memory import PictureMemory


@dataclass
class PlainSession:
    """For models that `is_exact` refuses, and for tests."""

    scorer: AskedModel
    live: int = 1
    work: Work = field(default_factory=Work)
    embedding_work: Work = field(default_factory=Work)

    def score(self, requests: Sequence[tuple[AskedImage, Sequence[Tokens]]]) -> list[FloatArray]:
        return [
            np.array([self._score(state, text) for text in texts], np.float32)
            for state, texts in requests
        ]

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        """By the sentence model: a chat model has no vector for a caption."""
        return embed([self.scorer.reader.decode(text) for text in texts])

    def replacement_gains(self, requests: Sequence[tuple[AskedImage, Tokens]]) -> list[FloatArray]:
        return [self._gains(state, text) for state, text in requests]

    def _gains(self, state: AskedImage, text: Tokens) -> FloatArray:
        """A hook makes the embeddings of all tokens an autograd leaf; the whole sequence is read
        once, and once backwards."""
        table = self.scorer.model.get_input_embeddings()
        leaves: list[torch.Tensor] = []

        def exchange(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            leaves.append(output.detach().requires_grad_())
            return leaves[-1].clone()

        handle = table.register_forward_hook(exchange)
        try:
            with torch.enable_grad():
                logits = self.logits(state, (*text, *self.scorer.after))
                score = self.scorer.probabilities(logits[None])[0]
                (gradient,) = torch.autograd.grad(score, leaves[:1])
        finally:
            handle.remove()
        first = state.ids.shape[1]
        with torch.no_grad():
            ids = torch.arange(self.scorer.reader.vocabulary, device=gradient.device)
            gains = [
                gradient[0, first : first + len(text)] @ table(part).T
                for part in ids.split(1 << 14)
            ]
        whole: FloatArray = torch.cat(gains, 1).float().cpu().numpy()
        return whole

    @torch.inference_mode()
    def _score(self, state: AskedImage, text: Tokens) -> float:
        logits = self.logits(state, (*text, *self.scorer.after))
        return float(self.scorer.probabilities(logits[None])[0])

    def logits(self, state: AskedImage, text: Tokens) -> torch.Tensor:
        """Of the token after the text, shape [vocabulary]."""
        inputs = self.scorer.on_device(state.followed_by(text))
        logits: torch.Tensor = self.scorer.model(**inputs, use_cache=False).logits[0, -1]
        length = inputs["input_ids"].shape[1]
        self.work.images += 1
        self.work.sequences += 1
        self.work.tokens += length
        self.work.attended += length * (length + 1) // 2
        return logits


#: New prefixes in one call; more cost attention to each other's hidden keys, and gain nothing.
_MOST_TOKENS = 1024
#: Tokens held for a pair: picture and question, and two rounds of its candidates.
_TOKENS_A_PAIR = 2000
#: The largest relative difference between packed and plain logits, by precision.
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.05, "8bit": 0.1, "4bit": 0.1}
_PROOFS = ("a red dog on a boat", "a red dog", "a dog on a boat")


def memory_of(model: AskedModel, state: AskedImage, work: Work) -> PictureMemory:
    context = model.reader.context + len(model.after)
    return PictureMemory(model.model, model.on_device(state.inputs), context, work)


@dataclass
class _Picture:
    """`state` is kept alive so that its id is not used again. `scores`: by the slot of a text's
    end."""

    state: AskedImage
    memory: PictureMemory
    scores: dict[int, float] = field(default_factory=dict)


class PackedSession(PlainSession):
    """Keeps the memories of the pictures that are in use."""

    def __init__(self, scorer: AskedModel) -> None:
        super().__init__(scorer)
        device = scorer.info.device
        a_pair = scorer.bytes_a_token * _TOKENS_A_PAIR
        self.live = images_that_fit(a_pair, device, pace_of(device).pairs)
        # Activations, and the logits of the texts' ends, of which about one token in four is one.
        width = int(scorer.model.config.get_text_config().hidden_size)
        a_token = 20 * width * scorer.model.dtype.itemsize + scorer.reader.vocabulary
        self._budget = TokenBudget(a_token, device)
        self._budget.tokens = min(self._budget.tokens, _MOST_TOKENS)
        self._pictures: dict[int, _Picture] = {}

    def score(self, requests: Sequence[tuple[AskedImage, Sequence[Tokens]]]) -> list[FloatArray]:
        """Equal texts for one picture are computed once. Pictures that are no longer requested are
        forgotten."""
        requested = {id(state) for state, _ in requests}
        self._pictures = {key: p for key, p in self._pictures.items() if key in requested}
        try:
            return [self._scores(state, texts) for state, texts in requests]
        except BaseException:
            self._pictures.clear()  # prefixes that were not computed
            raise

    @torch.inference_mode()
    def _scores(self, state: AskedImage, texts: Sequence[Tokens]) -> FloatArray:
        picture = self._pictures.get(id(state))
        if picture is None:
            picture = self._pictures[id(state)] = _Picture(
                state, memory_of(self.scorer, state, self.work)
            )
        memory, scores = picture.memory, picture.scores
        ends, new = [], dict[int, None]()
        for text in texts:
            end, new_nodes = memory.tree.insert((*text, *self.scorer.after))
            ends.append(end)
            for slot in new_nodes:
                scores.pop(slot, None)
            new |= dict.fromkeys(new_nodes)
            if end not in scores:
                new[end] = None
        slots, requested = np.array(list(new), np.int64), set(ends)

        def compute(part: range) -> None:
            part_slots = slots[part.start : part.stop]
            wanted = [row for row, slot in enumerate(part_slots.tolist()) if slot in requested]
            logits = memory.read(part_slots, wanted)
            if wanted:
                values = self.scorer.probabilities(logits).tolist()
                scores.update(zip(part_slots[wanted].tolist(), values, strict=True))

        self._budget.each([1] * len(slots), compute)
        values = np.array([scores[end] for end in ends], np.float32)
        left = set(memory.forget().tolist())
        picture.scores = {slot: score for slot, score in scores.items() if slot in left}
        return values


@torch.inference_mode()
def is_exact(scorer: AskedModel, state: AskedImage) -> bool:
    """Whether packed reading gives the model's own logits. It does not for models whose states
    depend on more than attention to earlier tokens, or that ignore masks and positions."""
    plain = PlainSession(scorer)
    texts = [(*text, *scorer.after) for text in scorer.reader.tokenise(_PROOFS)]
    expected = torch.stack([plain.logits(state, text) for text in texts]).float()
    try:
        memory = memory_of(scorer, state, Work())
        slots, ends = list[int](), list[int]()
        for text in texts:
            end, new_nodes = memory.tree.insert(text)
            slots += new_nodes
            ends.append(end)
        logits = memory.read(np.array(slots), [slots.index(end) for end in ends]).float()
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    if logits.shape != expected.shape:
        return False
    difference = float((logits - expected).norm() / expected.norm())
    return difference < _TOLERANCE[scorer.info.precision]
