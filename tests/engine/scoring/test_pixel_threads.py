"""Pictures are prepared for an accelerator on several threads."""

import threading
from collections.abc import Sequence

import torch
from PIL import Image

from backend.engine.scoring.batch_memory import ACCELERATOR, CPU
from backend.engine.scoring.pixel_threads import pixels_of

IMAGES = [Image.new("L", (8, 8), shade) for shade in (10, 20, 30, 40)]


def darkest(images: Sequence[Image.Image]) -> torch.Tensor:
    return torch.tensor([image.getextrema()[0] for image in images])


def test_pictures_of_an_accelerator_are_prepared_at_once_and_stay_in_order() -> None:
    both = threading.Barrier(2, timeout=30)

    def pixels(images: Sequence[Image.Image]) -> torch.Tensor:
        both.wait()  # nobody goes on alone
        return darkest(images)

    assert pixels_of(IMAGES, pixels, ACCELERATOR).tolist() == [10, 20, 30, 40]


def test_what_is_reduced_already_stays_in_its_place() -> None:
    some = [IMAGES[0], darkest(IMAGES[1:2]), IMAGES[2], darkest(IMAGES[3:])]
    for pace in (CPU, ACCELERATOR):
        assert pixels_of(some, darkest, pace).tolist() == [10, 20, 30, 40]


def test_a_cpu_prepares_them_in_one_call() -> None:
    calls: list[int] = []

    def pixels(images: Sequence[Image.Image]) -> torch.Tensor:
        calls.append(len(images))
        return darkest(images)

    assert pixels_of(IMAGES, pixels, CPU).tolist() == [10, 20, 30, 40]
    assert calls == [4]
