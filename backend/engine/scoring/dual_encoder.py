"""Base class of scorers with an image tower and a text tower."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image

from backend.engine.scoring.batch_memory import ImageBatches, Pace, TokenBudget, pace_of
from backend.engine.scoring.pixel_threads import pixels_of
from backend.engine.scoring.protocol import (
    FloatArray,
    ImageState,
    Independent,
    Scorer,
    ScorerInfo,
    TokenReader,
)


@dataclass
class DualEncoder(Independent, ABC):
    """A model that encodes images in batches and scores texts against them in sessions."""

    info: ScorerInfo
    model: Any
    reader: TokenReader

    @abstractmethod
    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """Input of the image tower, float32 [images, 3, height, width]."""

    @abstractmethod
    def encode_pixels(self, pixels: torch.Tensor) -> list[ImageState]:
        """States of a batch of images."""

    def reduced(self, image: Image.Image) -> torch.Tensor:
        return self.pixels([image])

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image | torch.Tensor]) -> list[ImageState]:
        states: list[ImageState] = []

        def see(part: range) -> None:
            batch = pixels_of(images[part.start : part.stop], self.pixels, self.pace)
            with self.precision():
                states.extend(self.encode_pixels(batch.to(self.info.device)))

        self.image_batches.each(len(images), see)
        return states

    @cached_property
    def pace(self) -> Pace:
        """The batches that suit the device."""
        return pace_of(self.info.device)

    @cached_property
    def image_batches(self) -> ImageBatches:
        """The sizes of the image tower's batches, learned from one call to the next."""
        return ImageBatches(self.info.device, self.pace)

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        """The states themselves, which are unit vectors unless a subclass overrides this."""
        if not states:
            return None
        vectors: FloatArray = torch.stack(list(states)).float().cpu().numpy()
        return vectors

    def precision(self) -> torch.autocast:
        """Autocast to bfloat16 if requested, otherwise disabled."""
        device = self.info.device.split(":")[0]
        low = self.info.precision == "bfloat16"
        return torch.autocast(device, torch.bfloat16, enabled=low)

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.info.precision == "bfloat16" else torch.float32

    def budget(self, bytes_a_token: int) -> TokenBudget:
        return TokenBudget(bytes_a_token, self.info.device, self.pace)


class HubImages:
    """`pixels` through a Hugging Face image processor."""

    image_processor: Any

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        inputs = self.image_processor(images=list(images), return_tensors="pt")
        pixels: torch.Tensor = inputs["pixel_values"]
        return pixels


@dataclass(frozen=True)
class EmbeddingScore:
    """A `kind` of score that is computed from the embeddings of any family that has them. `build`
    raises ModelMismatch for one whose embeddings do not suffice."""

    kind: str
    build: Callable[[DualEncoder], Scorer]
