"""Scores by a vision-language model: `PlainSession`, the reference, runs the whole model for every
caption; `PackedSession` computes nothing twice (`picture_memory`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import torch

from backend.engine.embeddings import embed
from backend.engine.scoring.batch_memory import TokenBudget, images_that_fit
from backend.engine.scoring.protocol import FloatArray, Tokens, Work
from backend.features.vision_language.asked_model import AskedImage, AskedModel
from backend.features.vision_language.picture_memory import PictureMemories


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


#: New prefixes in one call on a CPU; more gain nothing.
_MOST_TOKENS = 1024
#: The most places of a call that may be padding: computing so many costs an accelerator about as
#: much as the launches of another call.
_MOST_PADDING = 2048
#: Tokens held for a pair: picture and question, and two rounds of its candidates.
_TOKENS_A_PAIR = 2000
#: The largest relative difference between packed and plain logits, by precision.
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.05, "8bit": 0.1, "4bit": 0.1}
_PROOFS = ("a red dog on a boat", "a red dog", "a dog on a boat")


@dataclass
class _Picture:
    """`state` is kept alive so that its id is not used again. `scores`: by the slot of a text's
    end; `ends`: those requested in this round; `new`: slots to compute in it."""

    state: AskedImage
    row: int
    scores: dict[int, float] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)
    new: dict[int, None] = field(default_factory=dict)


class PackedSession(PlainSession):
    """Keeps the memories of the pictures that are in use. On a CPU a call reads the texts of one
    picture, on an accelerator those of all pictures in flight."""

    def __init__(self, scorer: AskedModel) -> None:
        super().__init__(scorer)
        device, pace = scorer.info.device, scorer.pace
        a_pair = scorer.bytes_a_token * _TOKENS_A_PAIR
        self.live = images_that_fit(a_pair, device, pace.pairs)
        # Activations, a row of the mask, and the logits of the texts' ends, of which about one
        # token in four is one.
        width = int(scorer.model.config.get_text_config().hidden_size) + _TOKENS_A_PAIR // 20
        a_token = 20 * width * scorer.model.dtype.itemsize + scorer.reader.vocabulary
        self._budget = TokenBudget(a_token, device, pace)
        if not pace.pads:
            self._budget.tokens = min(self._budget.tokens, _MOST_TOKENS)
        self._forget()

    def _forget(self) -> None:
        self._memories = PictureMemories(self.scorer, self.work)
        self._pictures: dict[int, _Picture] = {}

    def score(self, requests: Sequence[tuple[AskedImage, Sequence[Tokens]]]) -> list[FloatArray]:
        """Equal texts for one picture are computed once. Pictures that are no longer requested are
        forgotten."""
        try:
            self._remember([state for state, _ in requests])
            ends = [self._insert(state, texts) for state, texts in requests]
            self._compute()
        except BaseException:
            self._forget()  # prefixes that were not computed
            raise
        scores = [
            np.array([self._pictures[id(state)].scores[end] for end in ends_of_texts], np.float32)
            for (state, _), ends_of_texts in zip(requests, ends, strict=True)
        ]
        for picture in self._pictures.values():
            tree = self._memories.tree(picture.row)
            tree.next_round()
            slots = set(tree.slots().tolist())
            picture.scores = {slot: s for slot, s in picture.scores.items() if slot in slots}
        return scores

    @torch.inference_mode()
    def _remember(self, states: Sequence[AskedImage]) -> None:
        """Remember these pictures, and no others."""
        state_by_id = {id(state): state for state in states}
        for key in self._pictures.keys() - state_by_id.keys():
            self._memories.remove(self._pictures.pop(key).row)
        new = [state for key, state in state_by_id.items() if key not in self._pictures]
        for _, alike in groupby(sorted(new, key=_shapes), key=_shapes):
            self._add(list(alike))

    def _add(self, states: Sequence[AskedImage]) -> None:
        def see(part: range) -> None:
            batch = states[part.start : part.stop]
            calls = [batch] if self.scorer.pace.pads else [[state] for state in batch]
            for call in calls:
                rows, _ = self._memories.add(call)
                for state, row in zip(call, rows, strict=True):
                    self._pictures[id(state)] = _Picture(state, row)

        self.scorer.image_batches.each(len(states), see)

    def _insert(self, state: AskedImage, texts: Sequence[Tokens]) -> list[int]:
        """The slots of the texts' ends."""
        picture = self._pictures[id(state)]
        tree, ends = self._memories.tree(picture.row), []
        for text in texts:
            end, new_nodes = tree.insert((*text, *self.scorer.after))
            ends.append(end)
            for slot in new_nodes:
                picture.scores.pop(slot, None)
            picture.new |= dict.fromkeys(new_nodes)
            if end not in picture.scores:
                picture.new[end] = None
        picture.ends.update(ends)
        return ends

    @torch.inference_mode()
    def _compute(self) -> None:
        """Scores of all new ends; they leave the device together."""
        pictures = sorted(self._pictures.values(), key=lambda picture: -len(picture.new))
        owners = [picture for picture in pictures for _ in picture.new]
        slots = np.array([slot for picture in pictures for slot in picture.new], np.int64)
        keys, probabilities = list[tuple[_Picture, int]](), list[torch.Tensor]()

        def compute(part: range) -> None:
            edges = [i for i in part if i == part.start or owners[i] is not owners[i - 1]]
            runs = [range(a, b) for a, b in pairwise([*edges, part.stop])]
            for call in self._calls(runs):
                requests = []
                for run in call:
                    picture, of_picture = owners[run.start], slots[run.start : run.stop]
                    indices = [i for i, s in enumerate(of_picture.tolist()) if s in picture.ends]
                    requests.append((picture.row, of_picture, indices))
                    keys.extend((picture, int(of_picture[i])) for i in indices)
                probabilities.append(self.scorer.probabilities(self._memories.read(requests)))

        self._budget.each([1] * len(slots), compute)
        for (picture, slot), score in zip(
            keys, torch.cat(probabilities).tolist() if probabilities else [], strict=True
        ):
            picture.scores[slot] = score
        for picture in pictures:
            picture.ends, picture.new = set(), {}

    def _calls(self, runs: Sequence[range]) -> Iterator[list[range]]:
        """Slots of one picture each, in groups that are read in one call with little padding."""
        call: list[range] = []
        for run in runs:
            together = [*call, run]
            lengths = [len(each) for each in together]
            padding = len(lengths) * max(lengths) - sum(lengths)
            if call and (not self.scorer.pace.pads or padding > _MOST_PADDING):
                yield call
                together = [run]
            call = together
        if call:
            yield call


def _shapes(state: AskedImage) -> str:
    return str(state.shapes())


@torch.inference_mode()
def is_exact(scorer: AskedModel, states: Sequence[AskedImage]) -> bool:
    """Whether packed reading of these pictures in one call gives the model's own logits. It does
    not for models whose states depend on more than attention to earlier tokens, or that ignore
    masks and positions."""
    plain = PlainSession(scorer)
    texts = [(*text, *scorer.after) for text in scorer.reader.tokenise(_PROOFS)]
    # Other texts for each picture, so that some rows are padded.
    texts_of = [texts[number:] for number in range(len(states))]
    expected = torch.stack(
        [plain.logits(s, text) for s, these in zip(states, texts_of, strict=True) for text in these]
    ).float()
    try:
        memories = PictureMemories(scorer, Work())
        rows, _ = memories.add(states)
        requests = []
        for row, these in zip(rows, texts_of, strict=True):
            ends, slots = list[int](), list[int]()
            for text in these:
                end, new_nodes = memories.tree(row).insert(text)
                slots += new_nodes
                ends.append(end)
            requests.append((row, np.array(slots), [slots.index(end) for end in ends]))
        logits = memories.read(requests).float()
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    if logits.shape != expected.shape:
        return False
    difference = float((logits - expected).norm() / expected.norm())
    return difference < _TOLERANCE[scorer.info.precision]
