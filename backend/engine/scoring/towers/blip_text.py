"""BLIP's text encoder over packed sequences, with an image's keys and values computed once.

Equal to `BlipTextModel` up to rounding, with less computation:

* sequences are packed, not padded (`packing`);
* cross-attention's keys and values depend on the image only, so they are computed once per image
  and layer, however many captions attend to it;
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
from backend.engine.scoring.towers.packing import Packing, ProjectionTable
from backend.engine.scoring.towers.weights import Affine, Norm, affine, norm

#: Keys and values of one image in every layer, each [1, heads, patches, head width].
ImageMemory = list[tuple[torch.Tensor, torch.Tensor]]


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
    """The text encoder, from the weights of a `BlipTextModel`.

    Raises ValueError if its activation is not gelu."""

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self.embeddings = model.embeddings
        self.layers = [blip_layer(layer, dtype) for layer in model.encoder.layer]
        self.heads = int(model.config.num_attention_heads)
        self.width = int(model.config.hidden_size)
        self.dtype = dtype
        self.device = model.embeddings.word_embeddings.weight.device
        #: Whether all images are attended to in one padded call, which an accelerator prefers to
        #: many small ones; on a CPU padding only costs time.
        self.looks_together = self.device.type != "cpu"
        activation = model.config.hidden_act
        if activation != "gelu":
            raise ValueError(f"BLIP's text encoder uses gelu, not {activation}.")

    @torch.no_grad()
    def remember(self, patches: torch.Tensor) -> ImageMemory:
        """Keys and values of an image's patch states [patches, width] in every layer."""
        remembered = []
        for layer in self.layers:
            both = self._split(layer.image_key_value(patches), 1, len(patches)).contiguous()
            remembered.append((both[0], both[1]))
        return remembered

    def bytes_an_image(self, patches: int) -> int:
        return 2 * len(self.layers) * patches * self.width * self.dtype.itemsize

    @property
    def bytes_a_token(self) -> int:
        return 20 * self.width * self.dtype.itemsize

    def read(
        self,
        sequences: Sequence[Sequence[int]],
        work: Work,
        table: ProjectionTable,
        images: Sequence[ImageMemory] = (),
        image_of: Sequence[int] = (),
    ) -> torch.Tensor:
        """States of the first tokens, shape [sequences, width].

        Sequences include their special tokens and are sorted by image (`image_of`), then by length;
        without images, by length.
        """
        packing = Packing.of(sequences)
        rows = table.rows(packing.ids, packing.positions, self._first_rows, work)
        states, projected = rows[:, : self.width], rows[:, self.width :]
        return self._through(states, projected, packing, work, images, image_of)

    def read_embedded(
        self,
        words: torch.Tensor,
        sequences: Sequence[Sequence[int]],
        images: Sequence[ImageMemory] = (),
        image_of: Sequence[int] = (),
    ) -> torch.Tensor:
        """`read` from the tokens' embeddings [tokens, width]; differentiable."""
        packing = Packing.of(sequences)
        positions = torch.from_numpy(packing.positions).to(self.device)
        states = words + self.embeddings.position_embeddings(positions)
        states = self.embeddings.LayerNorm(states).to(self.dtype)
        projected = self.layers[0].query_key_value(states)
        return self._through(states, projected, packing, Work(), images, image_of)

    def _first_rows(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Embedding and first projections side by side, [tokens, 4 width]."""
        words = self.embeddings.word_embeddings(ids.to(self.device))
        places = self.embeddings.position_embeddings(positions.to(self.device))
        states = self.embeddings.LayerNorm(words + places).to(self.dtype)
        return torch.cat([states, self.layers[0].query_key_value(states)], 1)

    def _through(
        self,
        states: torch.Tensor,
        projected: torch.Tensor,
        packing: Packing,
        work: Work,
        images: Sequence[ImageMemory],
        image_of: Sequence[int],
    ) -> torch.Tensor:
        """Run all layers on the first layer's input states and projections (q, k and v)."""
        keys = image_of if images else [0] * len(packing.lengths)
        runs, stretches = packing.runs(keys), packing.stretches(keys)
        first = packing.first_tokens.to(self.device)
        for number, layer in enumerate(self.layers):
            last = number == len(self.layers) - 1
            if number:
                projected = layer.query_key_value(states) if not last else states
            if not last:
                context = self._attend(projected, runs)
            else:
                context, states = self._attend_last(states, layer, runs, first)
            states = layer.norm(layer.output(context) + states)
            if images:
                query = layer.image_query(states)
                ends = [(r.first, r.last) if last else (r.start, r.stop) for r in stretches]
                memories = [images[keys[run.first]][number] for run in stretches]
                if self.looks_together and len(ends) > 1:
                    attended = self._look_together(query, memories, ends)
                else:
                    attended = torch.empty_like(query)
                    for (start, stop), (key, value) in zip(ends, memories, strict=True):
                        self._look(query[start:stop], key, value, attended[start:stop])
                states = layer.image_norm(layer.image_output(attended) + states)
            states = layer.last_norm(layer.down(F.gelu(layer.up(states))) + states)
        self._count(work, packing, [image[0][0].shape[2] for image in images], keys)
        return states

    def _split(self, packed: torch.Tensor, texts: int, length: int) -> torch.Tensor:
        """[tokens, n * width] to [n, texts, heads, length, head width]."""
        parts = packed.shape[-1] // self.width
        shaped = packed.view(texts, length, parts, self.heads, self.width // self.heads)
        return shaped.permute(2, 0, 3, 1, 4)

    def _attend(self, projected: torch.Tensor, runs: Sequence[Any]) -> torch.Tensor:
        context = projected.new_empty(len(projected), self.width)
        for run in runs:
            part = slice(run.start, run.stop)
            query, key, value = self._split(projected[part], run.last - run.first, run.length)
            attended = F.scaled_dot_product_attention(query, key, value)
            self._split(context[part], run.last - run.first, run.length)[0].copy_(attended)
        return context

    def _attend_last(
        self, states: torch.Tensor, layer: BlipLayer, runs: Sequence[Any], first: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The last layer's self-attention for first tokens only, and their input states."""
        width = self.width
        last = states[first]
        queries = layer.query_key_value.rows(0, width)(last)
        projected = layer.query_key_value.rows(width, 3 * width)(states)
        context = torch.empty_like(queries)
        for run in runs:
            texts = run.last - run.first
            key, value = self._split(projected[run.start : run.stop], texts, run.length)
            (query,) = self._split(queries[run.first : run.last], texts, 1)
            attended = F.scaled_dot_product_attention(query, key, value)
            self._split(context[run.first : run.last], texts, 1)[0].copy_(attended)
        return context, last

    def _look(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Cross-attention of all tokens [n, width] of one image, in one call; written to `mask`."""
        (shaped,) = self._split(query, 1, len(query))
        attended = F.scaled_dot_product_attention(shaped, key, value)
        self._split(mask, 1, len(query))[0].copy_(attended)

    def _look_together(
        self,
        query: torch.Tensor,
        memories: Sequence[tuple[torch.Tensor, torch.Tensor]],
        ends: Sequence[tuple[int, int]],
    ) -> torch.Tensor:
        """Cross-attention of all tokens [tokens, width] to their images. `memories`: keys and
        values by image; `ends`: where each image's tokens start and stop, consecutive.

        Queries are padded to the longest; padded ones are discarded, so no mask is needed. Images
        of a batch have equally many patches.
        """
        lengths = torch.tensor([stop - start for start, stop in ends], device=query.device)
        starts = torch.tensor([start for start, _ in ends], device=query.device)
        steps = torch.arange(int(max(stop - start for start, stop in ends)), device=query.device)
        is_token = steps < lengths[:, None]
        places = torch.where(is_token, starts[:, None] + steps, 0)
        padded = query[places].view(*places.shape, self.heads, -1).transpose(1, 2)
        keys, values = (torch.cat(both) for both in zip(*memories, strict=True))
        attended = F.scaled_dot_product_attention(padded, keys, values)
        return attended.transpose(1, 2).flatten(2)[is_token]

    def _count(
        self, work: Work, packing: Packing, patches: Sequence[int], keys: Sequence[int]
    ) -> None:
        lengths = packing.lengths
        work.sequences += len(lengths)
        work.tokens += int(lengths.sum())
        work.attended += int((lengths**2).sum())
        work.attended_last += int(lengths.sum())
        if patches:
            work.seen += sum(int(n) * patches[key] for n, key in zip(lengths, keys, strict=True))
            work.seen_last += sum(patches[key] for key in keys)
