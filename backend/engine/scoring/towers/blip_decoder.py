"""BLIP's text decoder over trees of prefixes of many images at once.

Equal to `BlipTextLMHeadModel` up to rounding, with less computation:

* each distinct prefix of an image's captions is computed once, however many captions begin with it
  and however many calls request it: its keys and values are cached;
* cross-attention's keys and values are computed once per image and layer;
* the new prefixes of all images go through a layer together, without padding; only attention
  depends on which image they belong to;
* the vocabulary's probabilities are computed only after the requested prefixes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F  # noqa: N812

from backend.engine.scoring.towers.blip_text import BlipLayer, blip_layer
from backend.engine.scoring.towers.image_memories import KeysAndValues
from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots
from backend.engine.scoring.towers.weights import Affine, Norm, affine, norm

#: Images with at most this many new prefixes attend in one padded call: many calls cost more. On
#: an accelerator all images do.
_FEW = 12
#: Approximate number of an image's prefixes that the corrections of a caption request.
_PREFIXES = 300
#: The most log-probabilities of a vocabulary held at a time.
_MOST_LOGITS = 1 << 24


class BlipDecoder:
    """The weights of a `BlipTextLMHeadModel`. `pads`: see `Pace`. Raises ValueError if its
    activation is not gelu."""

    def __init__(self, model: Any, pads: bool = False) -> None:
        self.pads = pads
        self.dtype = torch.float32
        head = model.cls.predictions
        self.embeddings = model.bert.embeddings
        self.layers: list[BlipLayer] = [blip_layer(x, self.dtype) for x in model.bert.encoder.layer]
        self.transform: Affine = affine(head.transform.dense, dtype=self.dtype)
        self.transform_norm: Norm = norm(head.transform.LayerNorm, self.dtype)
        self.vocabulary: Any = head.decoder  # not copied: it may be large
        self.heads = int(model.config.num_attention_heads)
        self.width = int(model.config.hidden_size)
        self.context = int(model.config.max_position_embeddings)
        self.device = model.bert.embeddings.word_embeddings.weight.device
        if model.config.hidden_act != "gelu":
            raise ValueError(f"BLIP's text decoder uses gelu, not {model.config.hidden_act}.")

    @torch.inference_mode()
    def remember(self, patches: torch.Tensor) -> list[KeysAndValues]:
        """Keys and values of images' patch states [images, patches, width] in every layer, each
        [images, heads, patches, head width]."""
        memory = []
        for layer in self.layers:
            key, value = layer.image_key_value(patches).chunk(2, -1)
            memory.append((self.split(key).contiguous(), self.split(value).contiguous()))
        return memory

    def bytes_an_image(self, patches: int) -> int:
        """Keys and values of an image and of the prefixes that are usually requested."""
        return 2 * len(self.layers) * (patches + _PREFIXES) * self.width * self.dtype.itemsize

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """[n, length, width] to [n, heads, length, head width]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def embed(self, tokens: Slots, depths: Slots) -> torch.Tensor:
        ids, positions = (torch.from_numpy(x).to(self.device) for x in (tokens, depths))
        embeddings = self.embeddings.word_embeddings(ids)
        embeddings = embeddings + self.embeddings.position_embeddings(positions)
        states: torch.Tensor = self.embeddings.LayerNorm(embeddings).to(self.dtype)
        return states

    def outcome(self, states: torch.Tensor) -> torch.Tensor:
        """The last layer's states as input of the vocabulary's matrix."""
        return self.transform_norm(F.gelu(self.transform(states)))


@dataclass(frozen=True)
class _Group:
    """Images whose new prefixes attend in one call, padded to the most of any of them.

    * `images`: their indices; `rows`: rows of the new prefixes among all, a slice if it is one
      image, otherwise [images, longest], with any row as padding;
    * `cells`: [2, new prefixes], the image and the place of each in `rows`, in their order;
      `own_rows`: its row among all;
    * `keys`: slots attended to [images, keys]; `mask`: additive [images, 1, rows, keys].
    """

    images: torch.Tensor | slice
    rows: torch.Tensor | slice
    cells: torch.Tensor
    own_rows: torch.Tensor
    keys: torch.Tensor
    mask: torch.Tensor


class DecoderSession:
    """Prefixes of texts about some images, with the keys and values of all computed so far.

    `patches`: the images' patch states, [images, patches, width]."""

    def __init__(self, tower: BlipDecoder, patches: torch.Tensor) -> None:
        self.tower = tower
        self.images = tower.remember(patches)
        self.tree = PrefixTree(tower.context)
        #: Number of prefixes computed: the cost of a session.
        self.computed = 0
        self._image_of = np.zeros(0, np.int64)
        self._log_p = np.zeros(0, np.float64)  #: of the prefix's last token after those before
        self._memory = [torch.zeros(0, 2 * tower.width, dtype=tower.dtype, device=tower.device)
                        for _ in tower.layers]  # fmt: skip
        self._outcomes = torch.zeros(0, tower.width, dtype=tower.dtype, device=tower.device)
        #: log sum exp of the logits after each prefix; NaN where it was not needed yet.
        self._normalisers = torch.zeros(0, device=tower.device)

    @torch.inference_mode()
    def read(self, requests: Sequence[tuple[int, Sequence[int]]]) -> list[Slots]:
        """For each (image, tokens) the slots of its prefixes, from the first token to the whole."""
        ends, new = [], list[int]()
        images = list[int]()
        for image, tokens in requests:
            end, new_nodes = self.tree.insert(tokens, image)
            ends.append(end)
            new += new_nodes
            images += [image] * len(new_nodes)
        if new:
            self._grow()
            order = np.argsort(np.array(images), kind="stable")
            slots = np.array(new)[order]
            self._image_of[slots] = np.array(images)[order]
            self._compute(slots)
        return [
            self.tree.path[end, : len(tokens)]
            for end, (_, tokens) in zip(ends, requests, strict=True)
        ]

    @torch.inference_mode()
    def log_probabilities(self, slots: Slots | Sequence[int]) -> torch.Tensor:
        """Of every token after each of these prefixes, float32 [slots, vocabulary]."""
        where = torch.as_tensor(slots, device=self.tower.device)
        logits = self.tower.vocabulary(self._outcomes[where]).float()
        normalisers = logits.logsumexp(-1)
        self._normalisers[where] = normalisers
        return logits - normalisers[:, None]

    @torch.inference_mode()
    def log_likelihoods(
        self, paths: Sequence[Slots], last: Sequence[int] | None = None
    ) -> list[float]:
        """Sum of log p over all tokens but the first, for each path (`read`); `last`: a further
        token after each of them."""
        if not paths:
            return []
        unique_slots = np.unique(np.concatenate([path[1:] for path in paths]))
        new = unique_slots[np.isnan(self._log_p[unique_slots])]
        slots, tokens = self.tree.parent[new], self.tree.token[new]
        if last is not None:
            slots = np.concatenate([slots, [path[-1] for path in paths]])
            tokens = np.concatenate([tokens, last])
        values = self._log_p_after(slots, tokens)
        self._log_p[new] = values[: len(new)]
        ends = values[len(new) :] if last is not None else np.zeros(len(paths))
        return [float(self._log_p[p[1:]].sum() + end) for p, end in zip(paths, ends, strict=True)]

    def _log_p_after(self, slots: Slots, tokens: Slots) -> NDArray[np.float64]:
        """log p(tokens[i] | prefix slots[i])."""
        where, following = (torch.from_numpy(x).to(self.tower.device) for x in (slots, tokens))
        missing = torch.unique(where[self._normalisers[where].isnan()])
        vocabulary = self.tower.vocabulary
        for part in missing.split(max(1, _MOST_LOGITS // len(vocabulary.weight))):
            self._normalisers[part] = vocabulary(self._outcomes[part]).float().logsumexp(-1)
        rows = vocabulary.weight[following]
        logits = (self._outcomes[where] * rows).sum(-1) + vocabulary.bias[following]
        log_p = (logits - self._normalisers[where]).cpu().numpy()
        return np.asarray(log_p, np.float64)

    def _grow(self) -> None:
        """Grow to as many rows as the tree has slots."""
        more = self.tree.capacity - len(self._image_of)
        if not more:
            return
        self._image_of = np.concatenate([self._image_of, np.zeros(more, np.int64)])
        self._log_p = np.concatenate([self._log_p, np.full(more, np.nan)])
        self._memory = [torch.cat([m, m.new_zeros(more, m.shape[1])]) for m in self._memory]
        self._outcomes = torch.cat(
            [self._outcomes, self._outcomes.new_zeros(more, self.tower.width)]
        )
        self._normalisers = torch.cat(
            [self._normalisers, self._normalisers.new_full((more,), torch.nan)]
        )

    def _compute(self, slots: Slots) -> None:
        """Compute new prefixes, sorted by image."""
        tower, width = self.tower, self.tower.width
        groups = list(self._groups(slots))
        where = torch.from_numpy(slots).to(tower.device)
        states = tower.embed(self.tree.token[slots], self.tree.depth[slots])
        context = torch.empty_like(states)
        for number, layer in enumerate(tower.layers):
            projections = layer.query_key_value(states)
            memory = self._memory[number]
            memory[where] = projections[:, width:]
            for group in groups:
                key, value = memory[group.keys].chunk(2, -1)
                self._attend(projections[:, :width], group, tower.split(key), tower.split(value),
                             group.mask, context)  # fmt: skip
            states = layer.norm(layer.output(context) + states)
            query = layer.image_query(states)
            keys, values = self.images[number]
            for group in groups:
                self._attend(
                    query, group, keys[group.images], values[group.images], None, context
                )  # fmt: skip
            states = layer.image_norm(layer.image_output(context) + states)
            states = layer.last_norm(layer.down(F.gelu(layer.up(states))) + states)
        self._outcomes[where] = tower.outcome(states)
        self._normalisers[where] = torch.nan  # a slot may be used again
        self._log_p[slots] = np.nan
        self.computed += len(slots)

    def _attend(
        self,
        query: torch.Tensor,
        group: _Group,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        context: torch.Tensor,
    ) -> None:
        """Attention of a group's rows of `query` [new prefixes, width], written to `context`."""
        rows = group.rows
        queries = query[rows][None] if isinstance(rows, slice) else query[rows]
        output = F.scaled_dot_product_attention(
            self.tower.split(queries), key, value, attn_mask=mask
        )
        output = output.transpose(1, 2).flatten(2)
        if isinstance(rows, slice):
            context[rows] = output[0]
        else:
            context[group.own_rows] = output[group.cells[0], group.cells[1]]

    def _groups(self, slots: Slots) -> Iterator[_Group]:
        image_of = self._image_of[slots]
        images, starts, counts = np.unique(image_of, return_index=True, return_counts=True)
        if self.tower.pads:
            # With the images between them, of which a slice is no copy.
            every = np.arange(images[0], images[-1] + 1)
            borders = np.searchsorted(image_of, [*every, every[-1] + 1])
            yield self._group(slots, every, borders[:-1], np.diff(borders))
            return
        few = np.flatnonzero(counts <= _FEW)
        if len(few):
            yield self._group(slots, images[few], starts[few], counts[few])
        for many in np.flatnonzero(counts > _FEW):
            only = slice(many, many + 1)
            yield self._group(slots, images[only], starts[only], counts[only])

    def _group(self, slots: Slots, images: Slots, starts: Slots, counts: Slots) -> _Group:
        steps = np.arange(counts.max())
        is_row = steps < counts[:, None]
        rows = np.where(is_row, starts[:, None] + steps, 0)
        memories = []
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            nodes = slots[start : start + count]
            paths = self.tree.path[nodes][:, : int(self.tree.depth[nodes].max(initial=0)) + 1]
            of_row, columns = np.nonzero(paths >= 0)
            keys, places = np.unique(paths[of_row, columns], return_inverse=True)
            memories.append((keys, of_row, places.reshape(-1)))
        most = max(len(keys) for keys, _, _ in memories)
        all_keys = np.zeros((len(images), most), np.int64)
        lowest = torch.finfo(self.tower.dtype).min
        mask = np.full((len(images), len(steps), most), lowest, np.float32)
        for number, (keys, of_row, places) in enumerate(memories):
            all_keys[number, : len(keys)] = keys
            mask[number, of_row, places] = 0.0
        device = self.tower.device
        first, last = int(images[0]), int(images[-1])
        consecutive = last - first + 1 == len(images)  # a slice of keys and values is no copy
        return _Group(
            slice(first, last + 1) if consecutive else torch.from_numpy(images).to(device),
            torch.from_numpy(rows).to(device)
            if len(images) > 1
            else slice(int(starts[0]), int(starts[0] + counts[0])),
            torch.from_numpy(np.stack(np.nonzero(is_row))).to(device),
            torch.from_numpy(rows[is_row]).to(device),
            torch.from_numpy(all_keys).to(device),
            torch.from_numpy(mask).to(device, self.tower.dtype)[:, None],
        )
