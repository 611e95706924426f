"""Pictures reduced to what an image tower reads, on several threads if an accelerator waits."""

from collections.abc import Callable, Sequence

import torch
from PIL import Image

from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine.scoring.batch_memory import Pace
from backend.engine.threads import picture_threads


def pixels_of(
    images: Sequence[Image.Image | torch.Tensor],
    pixels: Callable[[Sequence[Image.Image]], torch.Tensor],
    pace: Pace,
) -> torch.Tensor:
    """`pixels` of images, [images, …]; some may be reduced already (`Reducing`). Pillow and torch
    let other threads run meanwhile; a CPU is busy with the model anyway."""
    whole = [image for image in images if isinstance(image, Image.Image)]
    if not whole:
        return torch.cat([image for image in images if isinstance(image, torch.Tensor)])
    if len(whole) == len(images) and (not pace.pads or len(whole) == 1):
        return pixels(whole)
    with DaemonPool(picture_threads()) as pool:
        reduced = iter(pool.map(lambda image: pixels([image]), whole))
    return torch.cat([next(reduced) if isinstance(i, Image.Image) else i for i in images])
