"""A tree of token sequences that share their prefixes.

In a causal tower a token attends only to what precedes it, so its states depend on its *prefix*
alone and are the same for every sequence with that prefix. The tree has one node per distinct
prefix; a sequence is a path from the root. Nodes used neither in the current round nor in the one
before are evicted: a candidate shares its prefix with the candidates of the previous step up to the
later of the two deletions, and nothing more with those of earlier steps.

>>> tree = PrefixTree(8)
>>> end, new = tree.insert((5, 6, 7)); len(new)
3
>>> end, new = tree.insert((5, 6, 8)); len(new)
1
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROOT = -1
Slots = NDArray[np.int64]


class PrefixTree:
    """Nodes occupy numbered slots, which are reused when their node is evicted."""

    def __init__(self, context: int, capacity: int = 512) -> None:
        self.context = context
        self.round = 0
        self._child: dict[tuple[int, int], int] = {}
        self._free: list[int] = []
        self.token = np.zeros(0, np.int64)
        self.parent = np.zeros(0, np.int64)
        self.depth = np.zeros(0, np.int64)
        self._used = np.zeros(0, np.int64)
        #: Slots from the first token to the node itself, then -1.
        self.path = np.zeros((0, context), np.int64)
        self._resize(capacity)

    def _resize(self, capacity: int) -> None:
        old = self.capacity
        grown = capacity - old
        none = np.zeros(grown, np.int64)
        self.token = np.concatenate([self.token, none])
        self.parent = np.concatenate([self.parent, none])
        self.depth = np.concatenate([self.depth, none])
        self._used = np.concatenate([self._used, none])
        self.path = np.concatenate([self.path, np.full((grown, self.context), -1, np.int64)])
        self._free = [*range(capacity - 1, old - 1, -1), *self._free]

    @property
    def capacity(self) -> int:
        return len(self.token)

    def __len__(self) -> int:
        return len(self._child)

    def slots(self) -> Slots:
        """The occupied slots."""
        return np.array(sorted(self._child.values()), np.int64)

    def insert(self, tokens: Sequence[int], root: int = 0) -> tuple[int, list[int]]:
        """The slot of the last token, and the slots of newly added prefixes, in order. `root`:
        sequences of different roots (of different images) share nothing."""
        node, new = _ROOT - root, []
        for depth, token in enumerate(tokens):
            child = self._child.get((node, token))
            if child is None:
                child = self._add(node, token, depth)
                new.append(child)
            self._used[child] = self.round
            node = child
        return node, new

    def _add(self, parent: int, token: int, depth: int) -> int:
        if not self._free:
            self._resize(2 * self.capacity)
        slot = self._free.pop()
        self._child[parent, token] = slot
        self.token[slot], self.parent[slot], self.depth[slot] = token, parent, depth
        self.path[slot] = -1
        if depth:
            self.path[slot, :depth] = self.path[parent, :depth]
        self.path[slot, depth] = slot
        return slot

    def next_round(self) -> None:
        """Evict nodes used neither in this round nor in the one before."""
        oldest = self.round - 1
        new_keys = {}
        for (parent, token), slot in self._child.items():
            if self._used[slot] >= oldest:
                new_keys[parent, token] = slot
            else:
                self._free.append(slot)
        self._child = new_keys
        self.round += 1

    def drop(self, slots: Sequence[int]) -> None:
        """Remove nodes that were inserted but could not be computed."""
        dropped_slots = set(slots)
        self._child = {key: slot for key, slot in self._child.items() if slot not in dropped_slots}
        self._free.extend(dropped_slots)
