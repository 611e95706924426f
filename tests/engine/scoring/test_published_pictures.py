"""The same weights see the same picture by two ways: to the pixel what open_clip and LAVIS's
transforms make of it."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before anything imports torchvision)
from backend.datasets.safe_files.images import to_rgb
from backend.engine.scoring.published_pictures import PublishedPictures, as_published

SIZES = [(640, 427), (427, 640), (500, 375), (333, 500), (224, 224), (225, 224), (1000, 63)]


def picture(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    rng = np.random.default_rng(sum(size))
    channels = {"RGB": 3, "RGBA": 4}[mode]
    coarse = rng.integers(0, 256, (size[1] // 8 + 1, size[0] // 8 + 1, channels), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def shown_by_open_clip(image: Image.Image, side: int = 224) -> torch.Tensor:
    import open_clip

    pixels: torch.Tensor = open_clip.image_transform(side, is_train=False)(image)
    return pixels


def clip_processor(side: int = 224) -> transformers.CLIPImageProcessor:
    return transformers.CLIPImageProcessor(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", [224, 336])
def test_clip_sees_what_open_clip_shows(size: tuple[int, int], side: int) -> None:
    image = picture(size)
    pixels = as_published(clip_processor(side))(images=[image])["pixel_values"][0]
    assert torch.equal(pixels, shown_by_open_clip(image, side))


@pytest.mark.parametrize("size", SIZES)
def test_blip_sees_what_lavis_shows(size: tuple[int, int]) -> None:
    """BlipImageEvalProcessor of LAVIS 1.0.2."""
    from torchvision import transforms

    processor = transformers.BlipImageProcessor(size={"height": 384, "width": 384})
    bicubic = transforms.InterpolationMode.BICUBIC
    show = transforms.Compose([
        transforms.Resize((384, 384), interpolation=bicubic), transforms.ToTensor(),
        transforms.Normalize(processor.image_mean, processor.image_std),
    ])  # fmt: skip
    image = picture(size)
    assert torch.equal(as_published(processor)(images=[image])["pixel_values"][0], show(image))


def test_transparency_is_white_for_every_model() -> None:
    """open_clip shows the colour below, which nobody sees; the program flattens it before."""
    image = to_rgb(picture((224, 224), "RGBA"))
    pixels = as_published(clip_processor())(images=[image])["pixel_values"][0]
    assert torch.equal(pixels, shown_by_open_clip(image))


@pytest.mark.parametrize(
    "other", [{"do_rescale": False}, {"do_normalize": False}, {"rescale_factor": 1 / 127.5},
              {"crop_size": {"height": 256, "width": 256}}]
)  # fmt: skip
def test_a_processor_of_other_steps_stays(other: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        "size": {"shortest_edge": 224},
        "crop_size": {"height": 224, "width": 224},
    }
    processor = transformers.CLIPImageProcessor(**{**settings, **other})
    assert as_published(processor) is processor
    assert isinstance(as_published(clip_processor()), PublishedPictures)
