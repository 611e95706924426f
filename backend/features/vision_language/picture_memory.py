"""A language model's keys and values of pictures, their questions, and the texts read after them.

A causal model's states depend on what precedes them, so a picture and the question before the
caption are computed once, and every distinct prefix of the texts once. New prefixes of a picture
go through the model as one sequence: its attention mask lets each see the picture, the question
and its own prefixes only, its positions are those it has in its text. Any number of pictures are
read in one call, one row each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

import backend.engine.hub  # noqa: F401  (before anything imports transformers)
from backend.engine.scoring.protocol import Work
from backend.engine.scoring.towers.packing import on_device
from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots
from backend.features.vision_language.asked_model import AskedImage, AskedModel, side_by_side

from transformers.cache_utils import Cache, DynamicCache, DynamicLayer  # isort: skip


class _Layer(DynamicLayer):
    """Keys and values of all pictures in a layer, [rows, heads, columns, head width]. What a call
    computes is written into `columns` [rows of the call, tokens] of its `rows`."""

    keys: torch.Tensor
    values: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor
    read: tuple[torch.Tensor | slice, slice, slice]  #: which rows and columns a call attends to

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.is_initialized = True
        self.keys, self.values = (t.new_zeros(0, t.shape[1], 0, t.shape[3]) for t in (keys, values))

    def enlarge(self, rows: int, columns: int) -> None:
        more = (0, 0, 0, columns - self.keys.shape[2], 0, 0, 0, rows - self.keys.shape[0])
        self.keys, self.values = F.pad(self.keys, more), F.pad(self.values, more)

    def write(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.keys[self.rows[:, None], :, self.columns] = key_states.transpose(1, 2)
        self.values[self.rows[:, None], :, self.columns] = value_states.transpose(1, 2)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **more: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.write(key_states, value_states)
        return self.keys[self.read], self.values[self.read]


@dataclass
class _Row:
    """`length`: tokens of picture and question; `position`: that of the first token after them."""

    tree: PrefixTree
    length: int
    position: int


class PictureMemories:
    """Pictures have numbered rows, which are used again when a picture leaves; so have the slots of
    a row's tree, each with a column of its own. Column 0 is that of the tokens that pad a row."""

    def __init__(self, chat: AskedModel, work: Work) -> None:
        self._chat, self._model, self._work = chat, chat.model, work
        self._device = torch.device(chat.info.device)
        self._rows: list[_Row] = []
        self._free: list[int] = []
        self._layers: list[_Layer] = []
        #: The columns of picture and question, and those of slots; the same in every row.
        self._question, self._slot = np.zeros(0, np.int64), np.zeros(0, np.int64)
        #: Which columns picture and question of a row take, [rows, columns].
        self._begin = torch.zeros(0, 1, dtype=torch.bool, device=self._device)

    def tree(self, row: int) -> PrefixTree:
        return self._rows[row].tree

    def add(self, states: Sequence[AskedImage]) -> tuple[list[int], torch.Tensor]:
        """Read pictures in one call. Returns their rows, and the logits after the longest of their
        questions, [pictures, vocabulary]. Raises RuntimeError for pictures of different shapes."""
        cache = DynamicCache()
        inputs, lengths = side_by_side(states)
        logits: torch.Tensor = self._model(
            **self._chat.on_device(inputs), cache=cache, use_cache=True, logits_to_keep=1
        ).logits[:, -1]
        # A picture takes fewer positions than tokens in models that count it in rows and columns.
        deltas = getattr(self._model.model, "rope_deltas", None)
        shifts = [0] * len(states) if deltas is None else deltas.flatten().tolist()
        rows = []
        for length, shift in zip(lengths, shifts, strict=True):
            row = _Row(self._new_tree(), length, length + int(shift))
            rows.append(self._free.pop() if self._free else len(self._rows))
            self._rows[rows[-1] : rows[-1] + 1] = [row]
            self._work.images += 1
            self._work.tokens += length
            self._work.attended += length * (length + 1) // 2
        key_values = [(keys, values) for keys, values, *_ in cache]
        self._layers = self._layers or [_Layer(keys, values) for keys, values in key_values]
        longest = max(lengths)
        self._reserve(longest, 0)
        is_own = np.arange(len(self._question)) < np.array(lengths)[:, None]
        columns = np.broadcast_to(self._question[:longest], (len(rows), longest))
        begin = np.zeros((len(rows), self._columns), np.int64)
        begin[:, self._question] = is_own
        where, at, begins = on_device([np.array(rows), columns, begin], self._device)
        self._begin[where] = begins.bool()
        for layer, (keys, values) in zip(self._layers, key_values, strict=True):
            layer.rows, layer.columns = where, at
            layer.write(keys, values)
        return rows, logits

    def remove(self, row: int) -> None:
        self._free.append(row)

    def forget_texts(self, row: int) -> None:
        self._rows[row].tree = self._new_tree()

    def read(self, requests: Sequence[tuple[int, Slots, Sequence[int]]]) -> torch.Tensor:
        """Compute new slots of some rows in one call and return the logits after some of the slots,
        [wanted, vocabulary].

        `requests`: (row, slots, indices of the wanted ones). A slot's parent is computed in the
        same call or before.
        """
        trees = [self._rows[row].tree for row, _, _ in requests]
        self._reserve(0, max(tree.capacity for tree in trees))
        longest = max(len(slots) for _, slots, _ in requests)
        depths = [tree.depth[slots] for tree, (_, slots, _) in zip(trees, requests, strict=True)]
        deepest = 1 + max(int(of_row.max()) for of_row in depths)
        ends = max(1, max(len(indices) for _, _, indices in requests))
        tokens, positions, columns = np.zeros((3, len(requests), longest), np.int64)
        visible_columns = np.zeros((len(requests), longest, deepest), np.int64)
        last: list[int] = []
        for number, (tree, (row, slots, indices)) in enumerate(zip(trees, requests, strict=True)):
            # The wanted ones last, so that the model computes no other logits.
            others = np.delete(slots, list(indices))
            order = np.concatenate([others, slots[list(indices)]])
            place = slice(longest - len(slots), longest)
            tokens[number, place] = tree.token[order]
            positions[number, place] = tree.depth[order] + self._rows[row].position
            columns[number, place] = column = self._slot[order]
            path = tree.path[order, :deepest]
            visible_columns[number, place] = np.where(path >= 0, self._slot[path], column[:, None])
            last += range((number + 1) * ends - len(indices), (number + 1) * ends)
            self._count(depths[number], len(indices), self._rows[row].length)
        rows = np.array([row for row, _, _ in requests])
        arrays = [rows, tokens, positions, columns, visible_columns, np.array(last, np.int64)]
        where, ids, at, to, visible, rows_of_logits = on_device(arrays, self._device)
        question = self._question[max(self._rows[row].length for row in rows.tolist()) - 1]
        stop = 1 + max(int(question), int(visible_columns.max()))
        # A slice of a single row copies nothing.
        of_rows = slice(requests[0][0], requests[0][0] + 1) if len(requests) == 1 else where
        for layer in self._layers:
            layer.rows, layer.columns = where, to
            layer.read = (of_rows, slice(None), slice(stop))
        logits: torch.Tensor = self._model(
            input_ids=ids,
            attention_mask=self._mask(where, visible, stop),
            position_ids=at,
            cache=Cache(layers=list(self._layers)),
            use_cache=True,
            logits_to_keep=ends,
        ).logits
        return logits.flatten(0, 1)[rows_of_logits]

    def _mask(self, rows: torch.Tensor, columns: torch.Tensor, stop: int) -> torch.Tensor:
        """Additive, [rows, 1, tokens, stop]: 0 for picture and question and for `columns` [rows,
        tokens, depth]."""
        begin = self._begin[rows, :stop][:, None].repeat(1, columns.shape[1], 1)
        dtype = self._model.dtype
        mask = torch.full(begin.shape, torch.finfo(dtype).min, dtype=dtype, device=self._device)
        return mask.masked_fill_(begin.scatter_(2, columns, True), 0)[:, None]

    def _new_tree(self) -> PrefixTree:
        return PrefixTree(self._chat.reader.context + len(self._chat.after), capacity=64)

    @property
    def _columns(self) -> int:
        return 1 + len(self._question) + len(self._slot)

    def _reserve(self, question: int, slots: int) -> None:
        """Make room for the rows, and for so many columns of picture and question and of slots."""
        lacking = [max(0, question - len(self._question)), max(0, slots - len(self._slot))]
        if not any(lacking) and len(self._begin) == len(self._rows):
            return
        new = np.arange(self._columns, self._columns + sum(lacking))
        self._question = np.concatenate([self._question, new[: lacking[0]]])
        self._slot = np.concatenate([self._slot, new[lacking[0] :]])
        for layer in self._layers:
            layer.enlarge(len(self._rows), self._columns)
        more_rows = len(self._rows) - len(self._begin)
        self._begin = F.pad(self._begin, (0, len(new), 0, more_rows))

    def _count(self, depths: Slots, sequences: int, length: int) -> None:
        self._work.sequences += sequences
        self._work.tokens += len(depths)
        self._work.attended += int((depths + 1).sum()) + len(depths) * length
