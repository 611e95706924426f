"""Token trees: a decoder reads the common prefix of several texts only once.

Guided infill queries a captioner for hundreds of captions of one picture that differ in a word or
two. In a causal decoder, a token's state depends only on the tokens before it, so captions share
the states of their common prefix, and all of them attend to one copy of the picture:

    A brown dog on grass.          A ─ brown ─ dog ─ on ─┬─ grass ─ .
    A brown dog on sand.     ->    │                     └─ sand ─ .
    A black dog on grass.          └── black ─ dog ─ on ─── grass ─ .

A *tree* is read as one sequence whose attention mask lets a token attend only to its ancestors.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots

#: Sequences per tree. Attention is quadratic in the size of a tree: with more sequences it costs
#: more than sharing saves.
SEQUENCES = 32


@dataclass(frozen=True)
class TokenTrees:
    """Token sequences as trees. Arrays have shape [trees, nodes], padded to the largest tree.

    * `tokens`, `depths`: of each node; 0 for padding.
    * `parents`: the parent of each node; 0 for the root.
    * `paths`: for each sequence, its tree and its nodes from first to last.
    """

    tokens: Slots
    depths: Slots
    parents: Slots
    paths: list[tuple[int, Slots]]

    def mask(self, dtype: torch.dtype, device: str) -> torch.Tensor:
        """Additive attention mask, shape [trees, 1, nodes, nodes]: 0 for a node's ancestors and
        itself, the lowest number of `dtype` for all others."""
        trees, nodes = self.tokens.shape
        is_visible = np.zeros((trees, nodes, nodes), dtype=bool)
        is_visible[:, np.arange(nodes), np.arange(nodes)] = True  # padding attends to itself
        for tree, path in self.paths:
            below, above = np.tril_indices(len(path))
            is_visible[tree, path[below], path[above]] = True
        additive = torch.zeros(trees, 1, nodes, nodes, dtype=dtype, device=device)
        hidden = torch.from_numpy(~is_visible).to(device)[:, None]
        return additive.masked_fill_(hidden, torch.finfo(dtype).min)

    def lengths_mask(self, device: str) -> torch.Tensor:
        """Padding mask for trees of one sequence: 1 for tokens, 0 for padding, shape [trees,
        nodes]."""
        mask = torch.zeros(self.tokens.shape, dtype=torch.long, device=device)
        for tree, path in self.paths:
            mask[tree, : len(path)] = 1
        return mask

    def log_likelihoods(self, steps: torch.Tensor) -> list[float]:
        """Sum of log p over all tokens but the first, for each sequence. `steps`:
        log-probabilities of the token after each node, shape [trees, nodes, vocabulary]."""
        parents = torch.from_numpy(self.parents).to(steps.device)
        tokens = torch.from_numpy(self.tokens).to(steps.device)
        rows = torch.arange(len(parents), device=steps.device)[:, None]
        log_p = steps[rows, parents, tokens].cpu().numpy().astype(np.float64)
        return [float(log_p[tree, path[1:]].sum()) for tree, path in self.paths]


def trees_of(sequences: Sequence[Sequence[int]], size: int = SEQUENCES) -> TokenTrees:
    """Trees of at most `size` sequences each, in order. No sequence may be empty.

    >>> trees = trees_of([(7, 1, 2), (7, 1, 3), (7, 1, 2)])
    >>> trees.tokens.tolist(), trees.parents.tolist(), [path.tolist() for _, path in trees.paths]
    ([[7, 1, 2, 3]], [[0, 0, 1, 1]], [[0, 1, 2], [0, 1, 3], [0, 1, 2]])
    """
    context = max(map(len, sequences))
    built, paths = [], []
    for number, batch in enumerate(_batches(sequences, size)):
        tree = PrefixTree(context)
        for sequence in batch:
            end, _ = tree.insert(sequence)
            paths.append((number, tree.path[end, : len(sequence)].copy()))
        built.append(tree)
    largest = max(map(len, built))
    arrays = [np.zeros((len(built), largest), np.int64) for _ in range(3)]
    for row, tree in enumerate(built):
        for array, values in zip(arrays, (tree.token, tree.depth, tree.parent), strict=True):
            array[row, : len(tree)] = values[: len(tree)]
    tokens, depths, parents = arrays
    return TokenTrees(tokens, depths, np.maximum(parents, 0), paths)


def _batches(
    sequences: Sequence[Sequence[int]], size: int
) -> Iterator[tuple[Sequence[int], ...]]:  # fmt: skip
    rest = iter(sequences)
    while batch := tuple(itertools.islice(rest, size)):
        yield batch
