"""Keys and values of the images that captions attend to, computed once per image and layer.

`SeparateMemories` keeps each image's own tensors, as suits a CPU. `StackedMemories` keeps those of
all images in one tensor a layer, so that an accelerator attends to any number of consecutive images
in one call without copying them together. `Views` are of one image, each without some patches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

#: An image's patch states, [patches, patch width].
Patches = torch.Tensor
#: Keys and values of images in one layer, each [images, heads, patches, head width].
KeysAndValues = tuple[torch.Tensor, torch.Tensor]
#: Maps patch states [images, patches, patch width] to their keys and values in every layer.
Remember = Callable[[torch.Tensor], list[KeysAndValues]]
#: The most images whose keys and values are computed in one call.
_TOGETHER = 64


class Memories(Protocol):
    """Numbered images that texts attend to."""

    #: Patches of an image.
    patches: int

    def of(self, layer: int, first: int, stop: int) -> KeysAndValues:
        """Of the images `first` … `stop - 1` in a layer. Those that are not in use have any."""
        ...


class ImageMemories(Memories, Protocol):
    """The memories of the images in use. States are recognised by identity and kept alive, so that
    no identity is used twice."""

    def update(self, states: Sequence[Patches]) -> int:
        """Remember these images, and no others. Returns how many are new."""
        ...

    def index(self, state: Patches) -> int:
        """Index of an image in use, by which texts are sorted."""
        ...


class SeparateMemories:
    def __init__(self, remember: Remember) -> None:
        self._remember = remember
        self._memories: dict[int, tuple[Patches, list[KeysAndValues]]] = {}
        self._index: dict[int, int] = {}
        self._in_use: list[list[KeysAndValues]] = []
        self.patches = 0

    def update(self, states: Sequence[Patches]) -> int:
        state_by_id = {id(state): state for state in states}
        new = state_by_id.keys() - self._memories.keys()
        self._memories = {
            key: self._memories[key] if key in self._memories else (state, self._compute(state))
            for key, state in state_by_id.items()
        }
        self._index = {key: index for index, key in enumerate(self._memories)}
        self._in_use = [memory for _, memory in self._memories.values()]
        return len(new)

    def _compute(self, state: Patches) -> list[KeysAndValues]:
        self.patches = len(state)
        # Not inference tensors: autograd must be able to use them.
        with torch.inference_mode(False):
            return self._remember(state.clone()[None])

    def index(self, state: Patches) -> int:
        return self._index[id(state)]

    def of(self, layer: int, first: int, stop: int) -> KeysAndValues:
        assert stop == first + 1, "separate memories are read one by one"
        return self._in_use[first][layer]


class StackedMemories:
    """Images have numbered slots, which are used again when an image leaves. With less than half
    of the slots in use the remaining images move together."""

    def __init__(self, remember: Remember) -> None:
        self._remember = remember
        self._states: list[Patches | None] = []
        self._slot: dict[int, int] = {}
        #: By layer; keys and values each [slots, heads, patches, head width].
        self._layers: list[KeysAndValues] = []
        self.patches = 0

    def update(self, states: Sequence[Patches]) -> int:
        state_by_id = {id(state): state for state in states}
        for key in self._slot.keys() - state_by_id.keys():
            self._states[self._slot.pop(key)] = None
        if len(self._slot) < len(self._states) / 2:
            self._move_together()
        new = [state for key, state in state_by_id.items() if key not in self._slot]
        more = len(self._slot) + len(new) - len(self._states)
        self._states += [None] * max(0, more)
        free = [slot for slot, state in enumerate(self._states) if state is None]
        for first in range(0, len(new), _TOGETHER):
            part = new[first : first + _TOGETHER]
            slots = free[first : first + len(part)]
            self._write(part, slots)
            for state, slot in zip(part, slots, strict=True):
                self._states[slot], self._slot[id(state)] = state, slot
        return len(new)

    def _move_together(self) -> None:
        slots = sorted(self._slot.values())
        self._states = [self._states[slot] for slot in slots]
        self._slot = {id(state): slot for slot, state in enumerate(self._states)}
        with torch.inference_mode(False):
            self._layers = [(keys[slots], values[slots]) for keys, values in self._layers]

    @torch.inference_mode(False)
    def _write(self, states: Sequence[Patches], slots: Sequence[int]) -> None:
        # Not inference tensors: autograd must be able to use them.
        new_layers = self._remember(torch.stack(list(states)))
        self.patches = len(states[0])
        if not self._layers:
            self._layers = [(keys[:0], values[:0]) for keys, values in new_layers]
        missing = len(self._states) - len(self._layers[0][0])
        if missing:
            # Zeros, because what no text attends to must be finite for autograd.
            self._layers = [
                (_longer(keys, missing), _longer(values, missing)) for keys, values in self._layers
            ]
        where = torch.tensor(slots, device=new_layers[0][0].device)
        for (keys, values), (new_keys, new_values) in zip(self._layers, new_layers, strict=True):
            keys[where], values[where] = new_keys, new_values

    def index(self, state: Patches) -> int:
        return self._slot[id(state)]

    def of(self, layer: int, first: int, stop: int) -> KeysAndValues:
        keys, values = self._layers[layer]
        return keys[first:stop], values[first:stop]


@dataclass(frozen=True)
class Views:
    """One image as if some of its patches had never been there. `memory`: the whole image's, by
    layer; `mask` [views, patches]: which of them each view has."""

    memory: list[KeysAndValues]
    mask: torch.Tensor

    @property
    def patches(self) -> int:
        return self.mask.shape[1]


def _longer(tensor: torch.Tensor, by: int) -> torch.Tensor:
    return torch.cat([tensor, tensor.new_zeros(by, *tensor.shape[1:])])
