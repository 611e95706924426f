"""Work in parts that fit into memory."""

import pytest
import torch

from backend.engine.scoring import batch_memory
from backend.engine.scoring.batch_memory import (
    FIRST_IMAGES,
    ImageBatches,
    TokenBudget,
    free_memory,
    images_that_fit,
    pace_of,
    parts,
)
from backend.errors import ModelUnavailable


def test_parts_hold_every_item_once_within_the_budget() -> None:
    lengths = [3, 90, 5, 5, 200, 1, 7]
    made = list(parts(lengths, 100))
    assert [i for part in made for i in part] == list(range(7))
    assert all(len(part) == 1 or sum(lengths[i] for i in part) <= 100 for part in made)
    assert list(parts([], 10)) == []


@pytest.mark.parametrize(
    "shortage",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        MemoryError(),
    ],
)
def test_a_shortage_halves_the_parts_and_loses_nothing(shortage: Exception) -> None:
    budget = TokenBudget(1, "cpu")
    done: list[int] = []

    def compute(part: range) -> None:
        if len(part) > 3:
            raise shortage
        done.extend(part)

    budget.each([10] * 17, compute)
    assert done == list(range(17))
    assert budget.tokens <= 40


@pytest.mark.parametrize(
    ("problem", "error", "message"),
    [
        (torch.OutOfMemoryError("out of memory"), ModelUnavailable, "not enough memory"),
        (RuntimeError("shapes do not match"), RuntimeError, "shapes"),
    ],
)
def test_what_no_smaller_part_avoids_is_an_error(
    problem: Exception, error: type[Exception], message: str
) -> None:
    def compute(part: range) -> None:
        raise problem

    with pytest.raises(error, match=message):
        TokenBudget(1, "cpu").each([10, 10], compute)


def test_the_number_that_fits_is_between_one_and_the_maximum() -> None:
    assert free_memory("cpu") > 1 << 20
    assert images_that_fit(1 << 60, "cpu", 48) == 1
    assert images_that_fit(1, "cpu", 48) == 48


def test_a_shortage_halves_the_batches_of_images_and_loses_none() -> None:
    batches, done = ImageBatches("cpu"), list[int]()

    def compute(part: range) -> None:
        if len(part) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")
        done.extend(part)

    batches.each(40, compute)
    assert done == list(range(40))
    assert batches.size == 4

    def never(part: range) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(ModelUnavailable, match="a single picture"):
        batches.each(3, never)


def test_batches_of_images_grow_to_what_fits_on_an_accelerator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(batch_memory, "start_measuring", lambda device: 0)
    monkeypatch.setattr(batch_memory, "free_memory", lambda device: 4000)
    monkeypatch.setattr(batch_memory, "taken_since", lambda device, before: 10 * sizes[-1])
    ImageBatches("cuda").each(330, lambda part: sizes.append(len(part)))
    assert sizes == [FIRST_IMAGES, 100, 100, 100, 14], "a quarter of 4,000 bytes, 10 an image"
    sizes.clear()
    ImageBatches("cpu").each(40, lambda part: sizes.append(len(part)))
    assert sizes == [16, 16, 8]
    assert pace_of("cpu").pairs < pace_of("cuda:1").pairs
