"""Pictures as the libraries that trained CLIP and BLIP reduce them: open_clip and LAVIS, by
torchvision on Pillow pictures.

The image processors of transformers reduce tensors, which rounds otherwise, and cut the centre out
one row or column off where the rest is odd: 640 x 427, the commonest size of COCO, is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image


@dataclass(frozen=True)
class PublishedPictures:
    """An image processor of transformers, with its sizes and numbers, on Pillow pictures."""

    processor: Any

    @property
    def do_center_crop(self) -> bool:
        return bool(getattr(self.processor, "do_center_crop", False))

    @property
    def size(self) -> dict[str, int]:
        return dict(self.processor.size)

    @property
    def crop_size(self) -> dict[str, int]:
        return dict(self.processor.crop_size)

    def __call__(
        self, images: Sequence[Image.Image], return_tensors: str = "pt"
    ) -> dict[str, torch.Tensor]:
        """`pixel_values` of RGB pictures, float32 [images, 3, height, width]."""
        pixels = np.stack([np.asarray(self.reduce(image)) for image in images])
        values = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous().float().div(255)
        mean, std = (
            torch.tensor(numbers).view(1, 3, 1, 1)
            for numbers in (self.processor.image_mean, self.processor.image_std)
        )
        return {"pixel_values": values.sub(mean).div(std)}

    def reduce(self, image: Image.Image) -> Image.Image:
        """The picture in the size that the model takes."""
        resample = Image.Resampling(self.processor.resample)
        image = image.resize(_resized(image.size, self.size), resample)
        if not self.do_center_crop:
            return image
        wide, high = self.crop_size["width"], self.crop_size["height"]
        # torchvision rounds halves to the even number.
        left, top = round((image.width - wide) / 2), round((image.height - high) / 2)
        return image.crop((left, top, left + wide, top + high))


def _resized(size: tuple[int, int], target: dict[str, int]) -> tuple[int, int]:
    """The width and height after resizing.

    >>> _resized((640, 427), {"shortest_edge": 224}), _resized((9, 9), {"height": 4, "width": 5})
    ((335, 224), (5, 4))
    """
    shortest = target.get("shortest_edge")
    if not shortest:
        return target["width"], target["height"]
    width, height = size
    longest = int(shortest * max(size) / min(size))
    return (shortest, longest) if width <= height else (longest, shortest)


def as_published(processor: Any) -> Any:
    """The processor on Pillow pictures; one that does anything else stays as it is."""
    edges = dict(getattr(processor, "size", None) or {})
    crop = dict(getattr(processor, "crop_size", None) or {})
    has_size = bool(edges.get("shortest_edge")) or {"height", "width"} <= edges.keys()
    least = edges.get("shortest_edge") or min(edges.get("height") or 0, edges.get("width") or 0)
    crops = getattr(processor, "do_center_crop", False)
    is_plain = (
        all(getattr(processor, f"do_{step}", False) for step in ("resize", "rescale", "normalize"))
        and not getattr(processor, "do_pad", False)
        and abs(processor.rescale_factor * 255 - 1) < 1e-6
        and len(processor.image_mean) == len(processor.image_std) == 3
        and (not crops or max(crop.get("height", 0), crop.get("width", 0)) <= least)
    )
    return PublishedPictures(processor) if is_plain and has_size else processor
