"""BLIP's text encoder over packed sequences, with an image's keys and values computed once.

Equal to `BlipTextModel` up to rounding, with less computation:

* sequences are packed, not padded (`packing`), but for attention on an accelerator
  (`packed_attention`);
* cross-attention's keys and values depend on the image only, so they are computed once per image
  and layer, however many captions attend to it (`image_memories`);
* all captions of one image attend to it in one attention call, on an accelerator those of all
  images in flight;
* the first layer's projections are looked up by token and position;
* the last layer is computed only for the first token of each sequence, the one that is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from backend.engine.scoring.protocol import Work
from backend.engine.scoring.towers.image_memories import (
    ImageMemories,
    KeysAndValues,
    Memories,
    Patches,
    SeparateMemories,
    StackedMemories,
    Views,
)
from backend.engine.scoring.towers.packed_attention import (
    PackedAttention,
    PaddedAttention,
    SeparateAttention,
    ViewsAttention,
)
from backend.engine.scoring.towers.packing import Packing, ProjectionTable
from backend.engine.scoring.towers.weights import Affine, Norm, affine, norm


@dataclass(frozen=True)
class BlipLayer:
    query_key_value: Affine
    output: Affine
    norm: Norm
    image_query: Affine
    image_key_value: Affine
    image_output: Affine
    image_norm: Norm
    up: Affine
    down: Affine
    last_norm: Norm


def blip_layer(layer: Any, dtype: torch.dtype) -> BlipLayer:
    attention, image = layer.attention, layer.crossattention
    return BlipLayer(
        affine(attention.self.query, attention.self.key, attention.self.value, dtype=dtype),
        affine(attention.output.dense, dtype=dtype),
        norm(attention.output.LayerNorm, dtype),
        affine(image.self.query, dtype=dtype),
        affine(image.self.key, image.self.value, dtype=dtype),
        affine(image.output.dense, dtype=dtype),
        norm(image.output.LayerNorm, dtype),
        affine(layer.intermediate.dense, dtype=dtype),
        affine(layer.output.dense, dtype=dtype),
        norm(layer.output.LayerNorm, dtype),
    )


class BlipText:
    """The text encoder, from the weights of a `BlipTextModel`. `pads`: see `Pace`.

    Raises ValueError if its activation is not gelu."""

    def __init__(self, model: Any, dtype: torch.dtype, pads: bool = False) -> None:
        self.embeddings = model.embeddings
        self.layers = [blip_layer(layer, dtype) for layer in model.encoder.layer]
        self.heads = int(model.config.num_attention_heads)
        self.width = int(model.config.hidden_size)
        self.dtype = dtype
        self.device = model.embeddings.word_embeddings.weight.device
        self.pads = pads
        activation = model.config.hidden_act
        if activation != "gelu":
            raise ValueError(f"BLIP's text encoder uses gelu, not {activation}.")

    def open_memories(self) -> ImageMemories:
        return StackedMemories(self._remember) if self.pads else SeparateMemories(self._remember)

    def remember(self, state: Patches) -> list[KeysAndValues]:
        """An image's keys and values by layer, for `Views`."""
        return self._remember(state[None])

    def open_table(self) -> ProjectionTable:
        positions = len(self.embeddings.position_embeddings.weight)
        return ProjectionTable(len(self.embeddings.word_embeddings.weight), positions)

    @torch.no_grad()
    def _remember(self, patches: torch.Tensor) -> list[KeysAndValues]:
        """Keys and values of images' patch states [images, patches, patch width] in every layer."""
        shape = (*patches.shape[:2], 2, self.heads, self.width // self.heads)
        memory = []
        for layer in self.layers:
            both = layer.image_key_value(patches).view(shape).permute(2, 0, 3, 1, 4).contiguous()
            memory.append((both[0], both[1]))
        return memory

    def bytes_an_image(self, patches: int) -> int:
        return 2 * len(self.layers) * patches * self.width * self.dtype.itemsize

    @property
    def bytes_a_token(self) -> int:
        return 20 * self.width * self.dtype.itemsize

    def read(
        self,
        texts: Sequence[Sequence[int]],
        around: tuple[int, int],
        work: Work,
        table: ProjectionTable,
        images: Memories | Views | None = None,
        image_of: Sequence[int] = (),
    ) -> torch.Tensor:
        """States of the first tokens, shape [texts, width].

        `around`: the special tokens before and after each text. Texts are sorted by image
        (`image_of`), then by length; without images, or with views of one, by length.
        """
        packing = Packing.of(texts, around)
        rows = table.rows(packing.ids, packing.positions, self._first_rows, work)
        states, projections = rows[:, : self.width], rows[:, self.width :]
        return self._through(states, projections, packing, work, images, image_of)

    def read_embedded(
        self,
        words: torch.Tensor,
        texts: Sequence[Sequence[int]],
        around: tuple[int, int],
        images: Memories | None = None,
        image_of: Sequence[int] = (),
    ) -> torch.Tensor:
        """`read` from the tokens' embeddings [tokens, width]; differentiable."""
        packing = Packing.of(texts, around)
        positions = torch.from_numpy(packing.positions).to(self.device)
        states = words + self.embeddings.position_embeddings(positions)
        states = self.embeddings.LayerNorm(states).to(self.dtype)
        projections = self.layers[0].query_key_value(states)
        return self._through(states, projections, packing, Work(), images, image_of)

    def _first_rows(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Embedding and first projections side by side, [tokens, 4 width]."""
        words = self.embeddings.word_embeddings(ids.to(self.device))
        places = self.embeddings.position_embeddings(positions.to(self.device))
        states = self.embeddings.LayerNorm(words + places).to(self.dtype)
        return torch.cat([states, self.layers[0].query_key_value(states)], 1)

    def _through(
        self,
        states: torch.Tensor,
        projections: torch.Tensor,
        packing: Packing,
        work: Work,
        images: Memories | Views | None,
        image_of: Sequence[int],
    ) -> torch.Tensor:
        """Run all layers on the first layer's input states and projections (q, k and v)."""
        width = self.width
        attention = self._attention(packing, images, image_of)
        for number, layer in enumerate(self.layers):
            last = number == len(self.layers) - 1
            if last:
                keys_and_values = layer.query_key_value.rows(width, 3 * width)(states)
                states = states[attention.first_tokens]
                queries = layer.query_key_value.rows(0, width)(states)
                context = attention.of_one_token(queries, keys_and_values)
            else:
                projections = layer.query_key_value(states) if number else projections
                context = attention.within_texts(projections)
            states = layer.norm(layer.output(context) + states)
            if images is not None:
                image_context = attention.to_images(
                    layer.image_query(states), number, of_first=last
                )
                states = layer.image_norm(layer.image_output(image_context) + states)
            states = layer.last_norm(layer.down(F.gelu(layer.up(states))) + states)
        self._count(work, packing, images.patches if images is not None else 0)
        return states

    def _attention(
        self, packing: Packing, images: Memories | Views | None, image_of: Sequence[int]
    ) -> PackedAttention:
        if isinstance(images, Views):
            within = self._attention(packing, None, ())
            return ViewsAttention(within, packing, self.heads, image_of, images)
        if self.pads:
            return PaddedAttention(packing, self.heads, self.device, image_of, images)
        image_of = image_of if images is not None else [0] * len(packing.lengths)
        return SeparateAttention(packing, self.heads, image_of, images)

    def _count(self, work: Work, packing: Packing, patches: int) -> None:
        lengths = packing.lengths
        work.sequences += len(lengths)
        work.tokens += int(lengths.sum())
        work.attended += int((lengths**2).sum())
        work.attended_last += int(lengths.sum())
        work.seen += int(lengths.sum()) * patches
        work.seen_last += len(lengths) * patches
