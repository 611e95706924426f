"""A language model's keys and values of one picture, its question, and the texts read after it.

A causal model's states depend on what precedes them, so the picture and the question before the
caption are computed once, and every distinct prefix of the texts once. New prefixes go through
the model as one sequence without padding: its attention mask lets each see the picture, the
question and its own prefixes only, its positions are those it has in its text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import backend.engine.hub  # noqa: F401  (before anything imports transformers)
from backend.engine.scoring.protocol import Work
from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots


class PictureMemory:
    """`inputs`: the model's inputs up to the texts, on its device, batch size 1."""

    def __init__(
        self, model: Any, inputs: Mapping[str, torch.Tensor], context: int, work: Work
    ) -> None:
        from transformers import DynamicCache

        self._model, self._work = model, work
        self._length = int(inputs["input_ids"].shape[1])
        self._cache = DynamicCache()
        self._context = context
        self.tree = PrefixTree(context, capacity=64)
        #: Where in the cache a slot of the tree is, after picture and question.
        self._column = np.zeros(0, np.int64)
        self._columns = 0
        #: Logits after picture and question, [1, vocabulary].
        self.begin = model(**inputs, cache=self._cache, use_cache=True, logits_to_keep=1).logits[0]
        # A picture takes fewer positions than tokens in models that count it in rows and columns.
        shift = getattr(model.model, "rope_deltas", None)
        self._position = self._length + (int(shift.flatten()[0]) if shift is not None else 0)
        work.images += 1
        work.tokens += self._length
        work.attended += self._length * (self._length + 1) // 2

    def read(self, slots: Slots, wanted: Sequence[int]) -> torch.Tensor:
        """Compute new slots, parents before children, and return the logits after some of them:
        [wanted, vocabulary]. `wanted`: indices into `slots`."""
        if len(self._column) < self.tree.capacity:
            more = self.tree.capacity - len(self._column)
            self._column = np.concatenate([self._column, np.zeros(more, np.int64)])
        self._column[slots] = np.arange(self._columns, self._columns + len(slots))
        device = self._model.device
        tokens, depths = self.tree.token[slots], self.tree.depth[slots]
        rows = torch.tensor(wanted, device=device)
        logits: torch.Tensor = self._model(
            input_ids=torch.from_numpy(tokens[None]).to(device),
            attention_mask=self._mask(slots).to(device),
            position_ids=torch.from_numpy(depths[None] + self._position).to(device),
            cache=self._cache,
            use_cache=True,
            logits_to_keep=rows,
        ).logits[0]
        self._columns += len(slots)
        self._work.sequences += len(wanted)
        self._work.tokens += len(slots)
        self._work.attended += int((depths + 1).sum()) + len(slots) * self._length
        return logits

    def _mask(self, slots: Slots) -> torch.Tensor:
        """Additive, [1, 1, slots, keys]: 0 for what a slot attends to."""
        paths = self.tree.path[slots]
        row, depth = np.nonzero(paths >= 0)
        hidden = np.ones((len(slots), self._length + self._columns + len(slots)), np.bool_)
        hidden[:, : self._length] = False
        hidden[row, self._length + self._column[paths[row, depth]]] = False
        dtype = self._model.dtype
        mask = torch.zeros(hidden.shape, dtype=dtype)
        return mask.masked_fill_(torch.from_numpy(hidden), torch.finfo(dtype).min)[None, None]

    def forget(self) -> Slots:
        """End a round: drop prefixes used neither in it nor in the one before (`PrefixTree`).
        Returns the slots that are left."""
        self.tree.next_round()
        left = self.tree.slots()
        if 2 * len(left) < self._columns:
            self._keep(left)
        return left

    def forget_all(self) -> None:
        """Drop all prefixes."""
        self.tree = PrefixTree(self._context, capacity=64)
        self._keep(self.tree.slots())

    def _keep(self, slots: Slots) -> None:
        from transformers import DynamicCache

        columns = np.concatenate([np.arange(self._length), self._length + self._column[slots]])
        kept_columns = torch.from_numpy(columns).to(self._model.device)
        self._cache = DynamicCache(
            [
                (keys[:, :, kept_columns], values[:, :, kept_columns])
                for keys, values, *_ in self._cache
            ]
        )
        self._column[slots] = np.arange(len(slots))
        self._columns = len(slots)
