"""Texts that begin alike are read once up to where they differ.

Guided infill asks a captioner about hundreds of captions of one picture that differ in a word or
two. A causal decoder's state of a token rests on the tokens before it alone, so captions that begin
alike share the states of their beginning, and all of them look at one copy of the picture:

    A brown dog on grass.          A ─ brown ─ dog ─ on ─┬─ grass ─ .
    A brown dog on sand.     ->    │                     └─ sand ─ .
    A black dog on grass.          └── black ─ dog ─ on ─── grass ─ .

A *tree* is read as one sequence whose attention mask lets a token see its ancestors alone.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from backend.engine.scoring.towers.prefix_tree import PrefixTree, Slots

#: Sequences in a tree. All tokens of a tree are compared with all others, so a tree with more of
#: them costs more in attention than what it shares saves.
SEQUENCES = 32


@dataclass(frozen=True)
class TokenTrees:
    """Sequences of tokens as trees, padded to the largest one: [trees, nodes] each.

    * `tokens`, `depths`: of each node; 0 behind a tree's last node.
    * `parents`: the node before each; 0 for the first of all.
    * `paths`: for each sequence its tree and its nodes, first to last.
    """

    tokens: Slots
    depths: Slots
    parents: Slots
    paths: list[tuple[int, Slots]]

    def mask(self, dtype: torch.dtype, device: str) -> torch.Tensor:
        """What is added to attention scores, shape [trees, 1, nodes, nodes]: 0 for a node's
        ancestors and itself, the lowest number for all others."""
        trees, nodes = self.tokens.shape
        seen = np.zeros((trees, nodes, nodes), dtype=bool)
        seen[:, np.arange(nodes), np.arange(nodes)] = True  # padding sees itself
        for tree, path in self.paths:
            below, above = np.tril_indices(len(path))
            seen[tree, path[below], path[above]] = True
        added = torch.zeros(trees, 1, nodes, nodes, dtype=dtype, device=device)
        hidden = torch.from_numpy(~seen).to(device)[:, None]
        return added.masked_fill_(hidden, torch.finfo(dtype).min)

    def lengths_mask(self, device: str) -> torch.Tensor:
        """Where one sequence is a tree: 1 for its tokens, 0 behind them, shape [trees, nodes]."""
        mask = torch.zeros(self.tokens.shape, dtype=torch.long, device=device)
        for tree, path in self.paths:
            mask[tree, : len(path)] = 1
        return mask

    def log_likelihoods(self, steps: torch.Tensor) -> list[float]:
        """Sum of log p of all tokens but the first, of each sequence. `steps`: log-probabilities
        of what follows each node, shape [trees, nodes, vocabulary]."""
        parents = torch.from_numpy(self.parents).to(steps.device)
        tokens = torch.from_numpy(self.tokens).to(steps.device)
        rows = torch.arange(len(parents), device=steps.device)[:, None]
        log_p = steps[rows, parents, tokens].cpu().numpy().astype(np.float64)
        return [float(log_p[tree, path[1:]].sum()) for tree, path in self.paths]


def trees_of(sequences: Sequence[Sequence[int]], size: int = SEQUENCES) -> TokenTrees:
    """`sequences` in their order, `size` of them in each tree. None of them may be empty.

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
