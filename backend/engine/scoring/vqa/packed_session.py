"""Scores by a vision-language model without computing anything twice (`picture_memory`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from backend.engine.scoring.batch_memory import TokenBudget, images_that_fit, pairs_at_once
from backend.engine.scoring.protocol import FloatArray, Tokens
from backend.engine.scoring.vqa.asked_model import AskedImage, AskedModel
from backend.engine.scoring.vqa.picture_memory import PictureMemory
from backend.engine.scoring.vqa.plain_session import PlainSession
from backend.engine.scoring.work import Work

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
        self.live = images_that_fit(a_pair, device, pairs_at_once(device))
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
            end, added = memory.tree.insert((*text, *self.scorer.after))
            ends.append(end)
            for slot in added:
                scores.pop(slot, None)
            new |= dict.fromkeys(added)
            if end not in scores:
                new[end] = None
        slots, requested = np.array(list(new), np.int64), set(ends)

        def compute(part: range) -> None:
            chosen = slots[part.start : part.stop]
            wanted = [row for row, slot in enumerate(chosen.tolist()) if slot in requested]
            logits = memory.read(chosen, wanted)
            if wanted:
                values = self.scorer.probabilities(logits).tolist()
                scores.update(zip(chosen[wanted].tolist(), values, strict=True))

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
            end, added = memory.tree.insert(text)
            slots += added
            ends.append(end)
        logits = memory.read(np.array(slots), [slots.index(end) for end in ends]).float()
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    if logits.shape != expected.shape:
        return False
    difference = float((logits - expected).norm() / expected.norm())
    return difference < _TOLERANCE[scorer.info.precision]
