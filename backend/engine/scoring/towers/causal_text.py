"""CLIP's causal text tower, equal to `CLIPTextModel` (or open_clip's `TextTransformer`) up to
rounding, with less computation.

On a CPU `PrefixReader` reads texts over a tree of prefixes: each distinct prefix is computed once.
Keys and values of every prefix are cached for the current and the next round; a new token attends
to the slots on its path. An accelerator computes a few more tokens faster than the processor keeps
such a tree: `CausalText.read` packs whole texts. Both compute the last layer for end tokens only
and look up the first layer's projections.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from backend.engine.scoring.batch_memory import TokenBudget
from backend.engine.scoring.protocol import FloatArray, Tokens, Work
from backend.engine.scoring.towers.packed_attention import PaddedAttention
from backend.engine.scoring.towers.packing import Packing, ProjectionTable
from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots
from backend.engine.scoring.towers.weights import Affine, Norm, affine, norm


def quick_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(1.702 * x)


_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "quick_gelu": quick_gelu,
    "gelu": F.gelu,
}


@dataclass(frozen=True)
class CausalLayer:
    first_norm: Norm
    query_key_value: Affine
    output: Affine
    second_norm: Norm
    up: Affine
    down: Affine


@dataclass(frozen=True)
class CausalText:
    """The weights of a causal text tower, which maps tokens to a vector at the end token."""

    token_table: torch.Tensor  #: [vocabulary, width]
    position_table: torch.Tensor  #: [context, width]
    layers: list[CausalLayer]
    last_norm: Norm
    projection: torch.Tensor  #: [width, out]
    heads: int
    activation: Callable[[torch.Tensor], torch.Tensor]
    begin: int
    end: int
    dtype: torch.dtype

    @property
    def width(self) -> int:
        return int(self.token_table.shape[1])

    @property
    def context(self) -> int:
        return len(self.position_table)

    @property
    def device(self) -> torch.device:
        return self.token_table.device

    @property
    def bytes_a_token(self) -> int:
        return (20 + 2 * len(self.layers)) * self.width * self.dtype.itemsize

    def whole(self, text: Tokens) -> tuple[int, ...]:
        """`text` with its special tokens, truncated to the context."""
        return (self.begin, *text[: self.context - 2], self.end)

    def embed(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return (self.token_table[ids] + self.position_table[positions]).to(self.dtype)

    def first_rows(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Embedding and first projections side by side, [tokens, 4 width]."""
        states = self.embed(ids, positions)
        first = self.layers[0]
        return torch.cat([states, first.query_key_value(first.first_norm(states))], 1)

    def vectors(self, ends: torch.Tensor) -> torch.Tensor:
        """Unit vectors from the end tokens' final states."""
        return F.normalize((self.last_norm(ends).float() @ self.projection).float(), dim=-1)

    def feed(self, layer: CausalLayer, states: torch.Tensor) -> torch.Tensor:
        return states + layer.down(self.activation(layer.up(layer.second_norm(states))))

    def open_table(self) -> ProjectionTable:
        return ProjectionTable(len(self.token_table), self.context)

    @torch.inference_mode()
    def read(self, texts: Sequence[Tokens], table: ProjectionTable, work: Work) -> torch.Tensor:
        """Unit vectors of texts, [texts, out]."""
        width = self.width
        cut_texts = [text[: self.context - 2] for text in texts]
        packing = Packing.of(cut_texts, (self.begin, self.end))
        attention = PaddedAttention(packing, self.heads, self.device, is_causal=True)
        ends = torch.from_numpy(packing.offsets[1:] - 1).to(self.device)
        rows = table.rows(packing.ids, packing.positions, self.first_rows, work)
        states, projections = rows[:, :width], rows[:, width:]
        for number, layer in enumerate(self.layers):
            is_last = number == len(self.layers) - 1
            inputs = layer.first_norm(states) if number or is_last else states
            if is_last:
                keys_and_values = layer.query_key_value.rows(width, 3 * width)(inputs)
                queries = layer.query_key_value.rows(0, width)(inputs[ends])
                context, states = attention.of_one_token(queries, keys_and_values), states[ends]
            else:
                projections = layer.query_key_value(inputs) if number else projections
                context = attention.within_texts(projections)
            states = self.feed(layer, states + layer.output(context))
        lengths = packing.lengths
        work.sequences += len(lengths)
        work.tokens += len(packing.ids)
        work.attended += int((lengths * (lengths + 1) // 2).sum())
        work.attended_last += len(packing.ids)
        return self.vectors(states)

    def read_embedded(self, words: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Unit vectors from padded token embeddings [texts, longest, width]; differentiable.

        The end token does not attend to what follows it, so padding needs no mask.
        """
        texts, longest, _ = words.shape
        states = (words + self.position_table[:longest]).to(self.dtype)
        for layer in self.layers:
            projections = layer.query_key_value(layer.first_norm(states))
            heads = projections.view(texts, longest, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            output = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
            states = states + layer.output(output.transpose(1, 2).reshape(texts, longest, -1))
            states = self.feed(layer, states)
        return self.vectors(states[torch.arange(texts), torch.tensor(lengths) - 1])


@torch.inference_mode(False)
def from_clip(model: Any, dtype: torch.dtype, around: tuple[int, int] | None = None) -> CausalText:
    """The text tower of a `CLIPModel`. `around`: the ids before and after a caption."""
    text, config = model.text_model, model.config.text_config
    begin, end = around or (int(config.bos_token_id), int(config.eos_token_id))
    return CausalText(
        token_table=text.embeddings.token_embedding.weight.detach(),
        position_table=text.embeddings.position_embedding.weight.detach(),
        layers=[
            CausalLayer(
                norm(layer.layer_norm1, dtype),
                affine(
                    layer.self_attn.q_proj,
                    layer.self_attn.k_proj,
                    layer.self_attn.v_proj,
                    dtype=dtype,
                ),
                affine(layer.self_attn.out_proj, dtype=dtype),
                norm(layer.layer_norm2, dtype),
                affine(layer.mlp.fc1, dtype=dtype),
                affine(layer.mlp.fc2, dtype=dtype),
            )
            for layer in text.encoder.layers
        ],
        last_norm=norm(text.final_layer_norm, dtype),
        projection=model.text_projection.weight.detach().T.float().contiguous(),
        heads=int(config.num_attention_heads),
        activation=_ACTIVATIONS[config.hidden_act],
        begin=begin,
        end=end,
        dtype=dtype,
    )


#: New prefixes per attention mask. With more of them, more of the mask is wasted.
_ATTEND_TOGETHER = 96


@dataclass(frozen=True)
class _Segment:
    """New prefixes of one group of texts, and the prefixes that they attend to."""

    start: int  #: rows start … stop - 1 of the batch
    stop: int
    keys: torch.Tensor  #: slots
    mask: torch.Tensor  #: [1, 1, rows, keys], 0 or -inf
    ends: torch.Tensor  #: rows of the segment that are end tokens


class PrefixReader:
    """Reads texts in rounds, and caches the prefixes that the next round may share."""

    def __init__(self, tower: CausalText, budget: TokenBudget, work: Work) -> None:
        self.tower = tower
        self.budget = budget
        self.work = work
        self.tree = PrefixTree(tower.context)
        self.table = tower.open_table()
        self._memory: list[torch.Tensor] = []
        self._grow()

    def _grow(self) -> None:
        tower = self.tower
        old = self._memory
        shape = (self.tree.capacity, 2 * tower.width)
        self._memory = [
            torch.empty(shape, dtype=tower.dtype, device=tower.device) for _ in tower.layers
        ]
        for before, now in zip(old, self._memory, strict=False):
            now[: len(before)] = before

    @torch.inference_mode()
    def read(self, groups: Sequence[Sequence[Tokens]]) -> dict[Tokens, FloatArray]:
        """One round: each text's unit vector, [out].

        Texts of a group share attention calls, so group texts with common prefixes, such as one
        pair's candidates.
        """
        end_of: dict[Tokens, int] = {}
        slots: list[int] = []
        group_of: list[int] = []
        pending: set[int] = set()
        for number, texts in enumerate(groups):
            for text in texts:
                end, new = self.tree.insert(self.tower.whole(text))
                end_of[text] = end
                if end not in pending and end not in new:
                    new.append(end)  # node known from an earlier round, but not its vector
                pending.update(new)
                slots += new
                group_of += [number] * len(new)
        if self._memory[0].shape[0] < self.tree.capacity:
            self._grow()
        end_slots = set(end_of.values())
        groups_of = np.array(group_of, np.int64)
        vectors: dict[int, FloatArray] = {}

        def compute(part: range) -> None:
            where = np.array(slots[part.start : part.stop], np.int64)
            self._compute(where, groups_of[part.start : part.stop], end_slots, vectors)

        try:
            self.budget.each([1] * len(slots), compute)
        except BaseException:
            self.tree.drop(slots)
            raise
        self.tree.next_round()
        return {text: vectors[end] for text, end in end_of.items()}

    def _compute(
        self, slots: Slots, group_of: Slots, end_slots: set[int], vectors: dict[int, FloatArray]
    ) -> None:
        tower, tree, work = self.tower, self.tree, self.work
        is_end = np.array([slot in end_slots for slot in slots.tolist()])
        segments = self._segments(slots, group_of, is_end)
        end_rows = torch.from_numpy(np.flatnonzero(is_end)).to(tower.device)
        where = torch.from_numpy(slots).to(tower.device)
        rows = self.table.rows(tree.token[slots], tree.depth[slots], tower.first_rows, work)
        states, projections = rows[:, : tower.width], rows[:, tower.width :]
        for number, layer in enumerate(tower.layers):
            last = number == len(tower.layers) - 1
            memory = self._memory[number]
            if last:
                inputs = layer.first_norm(states)
                memory[where] = layer.query_key_value.rows(tower.width, 3 * tower.width)(inputs)
                query = layer.query_key_value.rows(0, tower.width)(inputs[end_rows])
                states = states[end_rows]
            else:
                if number:
                    projections = layer.query_key_value(layer.first_norm(states))
                memory[where] = projections[:, tower.width :]
                query = projections[:, : tower.width]
            states = states + layer.output(self._attend(query, memory, segments, last))
            states = tower.feed(layer, states)
        new_vectors = tower.vectors(states).cpu().numpy()
        vectors.update(zip(slots[is_end].tolist(), new_vectors, strict=True))
        depths = tree.depth[slots] + 1
        work.tokens += len(slots)
        work.sequences += int(is_end.sum())
        work.attended += int(depths.sum())
        work.attended_last += int(depths[is_end].sum())

    def _segments(self, slots: Slots, group_of: Slots, is_end: Any) -> list[_Segment]:
        borders = [0, *(np.flatnonzero(np.diff(group_of)) + 1).tolist(), len(slots)]
        starts = [s for a, b in itertools.pairwise(borders) for s in range(a, b, _ATTEND_TOGETHER)]
        edges = [*starts, len(slots)]
        segments = []
        for start, stop in itertools.pairwise(edges):
            if start == stop:
                continue
            own_slots = slots[start:stop]
            paths = self.tree.path[own_slots][:, : int(self.tree.depth[own_slots].max()) + 1]
            rows, columns = np.nonzero(paths >= 0)
            keys, places = np.unique(paths[rows, columns], return_inverse=True)
            mask = np.full((stop - start, len(keys)), -np.inf, np.float32)
            mask[rows, places.reshape(-1)] = 0
            segments.append(
                _Segment(
                    start,
                    stop,
                    torch.from_numpy(keys).to(self.tower.device),
                    torch.from_numpy(mask).to(self.tower.device, self.tower.dtype)[None, None],
                    torch.from_numpy(np.flatnonzero(is_end[start:stop])).to(self.tower.device),
                )
            )
        return segments

    def _attend(
        self, query: torch.Tensor, memory: torch.Tensor, segments: Sequence[_Segment], last: bool
    ) -> torch.Tensor:
        tower = self.tower
        pieces, offset = [], 0
        for segment in segments:
            if last:
                mask = segment.mask[:, :, segment.ends]
                own_query = query[offset : offset + len(segment.ends)]
                offset += len(segment.ends)
            else:
                mask, own_query = segment.mask, query[segment.start : segment.stop]
            if not len(own_query):
                continue
            keys_and_values = memory[segment.keys].view(1, len(segment.keys), 2, tower.heads, -1)
            output = F.scaled_dot_product_attention(
                own_query.view(1, len(own_query), tower.heads, -1).transpose(1, 2),
                keys_and_values[:, :, 0].transpose(1, 2),
                keys_and_values[:, :, 1].transpose(1, 2),
                attn_mask=mask,
            )
            pieces.append(output.transpose(1, 2).reshape(len(own_query), tower.width))
        return torch.cat(pieces) if pieces else query
