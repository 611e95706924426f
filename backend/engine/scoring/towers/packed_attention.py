"""Attention of packed tokens (`packing`), which must not cross the borders of texts and images.

Two ways with equal results up to rounding: `SeparateAttention`, a call for each image and length,
without padding, for a CPU; `PaddedAttention`, one call for all, for an accelerator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from backend.engine.scoring.towers.image_memories import Memories, Views
from backend.engine.scoring.towers.packing import IntArray, Packing, Run, on_device


class PackedAttention(Protocol):
    """Tokens are sorted by image, then by text. Results have the shape of the queries."""

    @property
    def first_tokens(self) -> torch.Tensor:
        """The row of each text's first token, [texts]."""
        ...

    def within_texts(self, projections: torch.Tensor) -> torch.Tensor:
        """Self-attention. `projections`: queries, keys and values, [tokens, 3 width]; the result
        [tokens, width]."""
        ...

    def of_one_token(self, queries: torch.Tensor, projections: torch.Tensor) -> torch.Tensor:
        """Self-attention of one token of each text to all of it. `queries`: theirs, [texts, width];
        `projections`: keys and values of all tokens, [tokens, 2 width]."""
        ...

    def to_images(self, queries: torch.Tensor, layer: int, of_first: bool) -> torch.Tensor:
        """Cross-attention of all tokens, or of each text's first, to the images of their texts."""
        ...


class SeparateAttention:
    """`image_of`: index of each text's image; without images, any equal number."""

    def __init__(
        self, packing: Packing, heads: int, image_of: Sequence[int], images: Memories | None
    ) -> None:
        self._heads = heads
        self._images = images
        self._image_of = image_of
        self.first_tokens = packing.first_tokens
        self._runs = packing.runs(image_of)
        self._stretches = packing.stretches(image_of) if images is not None else []

    def within_texts(self, projections: torch.Tensor) -> torch.Tensor:
        context = projections.new_empty(len(projections), projections.shape[1] // 3)
        for run in self._runs:
            part = slice(run.start, run.stop)
            query, key, value = self._split(projections[part], 3, run)
            output = scaled_dot_product_attention(query, key, value)
            self._split(context[part], 1, run)[0].copy_(output)
        return context

    def of_one_token(self, queries: torch.Tensor, projections: torch.Tensor) -> torch.Tensor:
        context = torch.empty_like(queries)
        for run in self._runs:
            texts = slice(run.first, run.last)
            key, value = self._split(projections[run.start : run.stop], 2, run)
            query = _by_head(queries[texts], 1, run.last - run.first, 1, self._heads)[0]
            output = scaled_dot_product_attention(query, key, value)
            _by_head(context[texts], 1, run.last - run.first, 1, self._heads)[0].copy_(output)
        return context

    def to_images(self, queries: torch.Tensor, layer: int, of_first: bool) -> torch.Tensor:
        assert self._images is not None
        context = torch.empty_like(queries)
        for run in self._stretches:
            rows = slice(run.first, run.last) if of_first else slice(run.start, run.stop)
            image = self._image_of[run.first]
            key, value = self._images.of(layer, image, image + 1)
            tokens = rows.stop - rows.start
            query = _by_head(queries[rows], 1, 1, tokens, self._heads)[0]
            output = scaled_dot_product_attention(query, key, value)
            _by_head(context[rows], 1, 1, tokens, self._heads)[0].copy_(output)
        return context

    def _split(self, packed: torch.Tensor, parts: int, run: Run) -> torch.Tensor:
        return _by_head(packed, parts, run.last - run.first, run.length, self._heads)


class ViewsAttention:
    """Texts attend to views of one image in one call, each token with the mask of its view.
    `within`: for self-attention; `view_of`: the view of each text, in any order."""

    def __init__(
        self,
        within: PackedAttention,
        packing: Packing,
        heads: int,
        view_of: Sequence[int],
        views: Views,
    ) -> None:
        self._heads = heads
        self._memory = views.memory
        self.within_texts, self.of_one_token = within.within_texts, within.of_one_token
        self.first_tokens = within.first_tokens
        view_of_token = np.repeat(np.asarray(view_of, np.int64), packing.lengths)
        self._mask = views.mask[torch.from_numpy(view_of_token).to(views.mask.device)]

    def to_images(self, queries: torch.Tensor, layer: int, of_first: bool) -> torch.Tensor:
        key, value = self._memory[layer]
        query = _by_head(queries, 1, 1, len(queries), self._heads)[0]
        mask = self._mask[self.first_tokens] if of_first else self._mask
        output = scaled_dot_product_attention(query, key, value, mask)
        return output[0].transpose(0, 1).flatten(1)


def _by_head(packed: torch.Tensor, parts: int, texts: int, length: int, heads: int) -> torch.Tensor:
    """[texts * length, parts * width] as [parts, texts, heads, length, head width]."""
    view = packed.view(texts, length, parts, heads, packed.shape[1] // parts // heads)
    return view.permute(2, 0, 3, 1, 4)


@dataclass(frozen=True)
class Grid:
    """Consecutive rows, `counts[i]` of them in line i, as a grid of equally long lines.

    * `counts`: [lines];
    * `rows`: the row in each cell, [lines, longest]; 0 in a cell without one;
    * `lines`, `columns`: the cell of each row, [rows].
    """

    counts: torch.Tensor
    rows: torch.Tensor
    lines: torch.Tensor
    columns: torch.Tensor

    @classmethod
    def of(cls, counts_of_grids: Sequence[IntArray], device: torch.device) -> "list[Grid]":
        """Grids of these counts, in one transfer to the device."""
        arrays = [array for counts in counts_of_grids for array in cls.arrays(counts)]
        tensors = iter(on_device(arrays, device))
        return [cls(*four) for four in zip(tensors, tensors, tensors, tensors, strict=True)]

    @staticmethod
    def arrays(counts: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The fields.

        >>> [array.tolist() for array in Grid.arrays(np.array([2, 0, 1]))]
        [[2, 0, 1], [[0, 1], [0, 0], [2, 0]], [0, 0, 2], [0, 1, 0]]
        """
        starts = np.cumsum(counts) - counts
        columns = np.arange(counts.max())
        rows = np.where(columns < counts[:, None], starts[:, None] + columns, 0)
        lines = np.repeat(np.arange(len(counts)), counts)
        return counts, rows, lines, np.arange(len(lines)) - starts[lines]

    def pad(self, packed: torch.Tensor, parts: int, heads: int) -> torch.Tensor:
        """[rows, parts * width] as [parts, lines, heads, longest, head width]."""
        cells = packed.index_select(0, self.rows.reshape(-1))
        lines, longest = self.rows.shape
        return _by_head(cells, parts, lines, longest, heads)

    def pack(self, context: torch.Tensor) -> torch.Tensor:
        """[lines, heads, longest, head width] as [rows, width]."""
        return context.transpose(1, 2)[self.lines, self.columns].flatten(1)


class PaddedAttention:
    """`image_of`: index of each text's image, ascending; none without images. `is_causal`: whether
    no token attends to later ones."""

    def __init__(
        self,
        packing: Packing,
        heads: int,
        device: torch.device,
        image_of: Sequence[int] = (),
        images: Memories | None = None,
        is_causal: bool = False,
    ) -> None:
        self._heads = heads
        self._images = images
        counts = [packing.lengths]
        if images is not None:
            self._first_image, self._stop_image = image_of[0], image_of[-1] + 1
            lines = np.asarray(image_of, np.int64) - self._first_image
            tokens = np.bincount(lines, packing.lengths).astype(np.int64)
            counts += [tokens, np.bincount(lines)]
        self._texts, *self._by_image = Grid.of(counts, device)
        columns = torch.arange(self._texts.rows.shape[1], device=device)
        is_token = columns < self._texts.counts[:, None]
        self._is_token = is_token[:, None, None]
        self._mask = self._is_token
        if is_causal:
            self._mask = self._is_token & (columns <= columns[:, None])

    @property
    def first_tokens(self) -> torch.Tensor:
        """The row of each text's first token, [texts]."""
        return self._texts.rows[:, 0]

    def within_texts(self, projections: torch.Tensor) -> torch.Tensor:
        query, key, value = self._texts.pad(projections, 3, self._heads)
        return self._texts.pack(scaled_dot_product_attention(query, key, value, self._mask))

    def of_one_token(self, queries: torch.Tensor, projections: torch.Tensor) -> torch.Tensor:
        key, value = self._texts.pad(projections, 2, self._heads)
        query = _by_head(queries, 1, len(queries), 1, self._heads)[0]
        return scaled_dot_product_attention(query, key, value, self._is_token).flatten(1)

    def to_images(self, queries: torch.Tensor, layer: int, of_first: bool) -> torch.Tensor:
        """Padded queries are discarded, so no mask is needed."""
        assert self._images is not None
        grid = self._by_image[of_first]
        key, value = self._images.of(layer, self._first_image, self._stop_image)
        query = grid.pad(queries, 1, self._heads)[0]
        return grid.pack(scaled_dot_product_attention(query, key, value))
