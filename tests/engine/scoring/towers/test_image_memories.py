"""Memories of images: those in use, and no others."""

import pytest
import torch

from backend.engine.scoring.towers.image_memories import (
    ImageMemories,
    KeysAndValues,
    SeparateMemories,
    StackedMemories,
)


def _remember(patches: torch.Tensor) -> list[KeysAndValues]:
    keys = patches[:, None]
    return [(keys, 2 * keys), (3 * keys, 4 * keys)]


@pytest.fixture(params=[SeparateMemories, StackedMemories])
def memories(request: pytest.FixtureRequest) -> ImageMemories:
    return request.param(_remember)


def _check(memories: ImageMemories, states: list[torch.Tensor]) -> None:
    assert len({memories.index(state) for state in states}) == len(states)
    for state in states:
        index = memories.index(state)
        for layer, factors in enumerate([(1, 2), (3, 4)]):
            of_image = memories.of(layer, index, index + 1)
            for tensor, factor in zip(of_image, factors, strict=True):
                assert torch.equal(tensor, factor * state[None, None])


def test_images_come_and_go(memories: ImageMemories) -> None:
    states = [torch.full((3, 2), float(number)) for number in range(12)]
    assert memories.update(states[:4]) == 4
    _check(memories, states[:4])
    assert memories.update([states[2], states[0], *states[5:7]]) == 2, "two take others' places"
    _check(memories, [states[0], states[2], *states[5:7]])
    assert memories.update([*states[5:], states[5]]) == 5, "more than before"
    _check(memories, states[5:])
    assert memories.update(states[10:]) == 0, "few are left"
    _check(memories, states[10:])
    assert memories.update([states[10], states[0]]) == 1, "one that was there long ago"
    _check(memories, [states[10], states[0]])
    assert memories.patches == 3


def test_an_image_that_cannot_be_computed_is_not_remembered() -> None:
    def fail(patches: torch.Tensor) -> list[KeysAndValues]:
        raise RuntimeError("out of memory")

    memories = StackedMemories(fail)
    state = torch.zeros(3, 2)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            memories.update([state])
    with pytest.raises(KeyError):
        memories.index(state)
