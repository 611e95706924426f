"""Pictures reduced to what an image tower reads, on several threads if an accelerator waits."""

from collections.abc import Callable, Sequence

import torch
from PIL import Image

from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine.scoring.batch_memory import Pace
from backend.engine.threads import picture_threads


def pixels_of(
    images: Sequence[Image.Image],
    pixels: Callable[[Sequence[Image.Image]], torch.Tensor],
    pace: Pace,
) -> torch.Tensor:
    """`pixels` of images, [images, …]. Pillow and torch let other threads run meanwhile; a CPU is
    busy with the model anyway."""
    if not pace.pads or len(images) == 1:
        return pixels(images)
    with DaemonPool(picture_threads()) as pool:
        return torch.cat(pool.map(lambda image: pixels([image]), images))
