"""Pictures without some of their patches, for Hugging Face image towers (`protocol.SeesParts`).

A patch is left out before the tower's first layer: nothing is painted over it, which would itself
be something to see.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from PIL import Image

from backend.engine.scoring.dual_encoder import DualEncoder, HubImages
from backend.engine.scoring.protocol import (
    BoolArray,
    Box,
    FloatArray,
    Session,
    Tokens,
    Viewer,
    logit_scale_of,
)

#: tau of CLIP's and BLIP's training at its beginning, for a checkpoint without its own.
_FIRST_SCALE = 1 / 0.07


class PatchScorer(HubImages, DualEncoder):
    """A model of `transformers` with `vision_model.embeddings`, which turns pixels into patches."""

    @property
    def grid(self) -> tuple[int, int]:
        vision = self.model.config.vision_config
        side = int(vision.image_size) // int(vision.patch_size)
        return side, side

    def field_of_view(self, size: tuple[int, int]) -> Box:
        return field_of_view(self.image_processor, size)

    def viewers(self, images: Sequence[Image.Image]) -> Iterator[Viewer]:
        """Cosines times the model's logit scale: log-odds against other captions."""
        session, scale = self.open_session(), np.float32(logit_scale_of(self, _FIRST_SCALE))

        def viewer(image: Image.Image) -> Viewer:
            pixels = self.pixels([image]).to(self.info.device)

            def score(views: BoolArray, captions: Sequence[str]) -> FloatArray:
                return scale * self._cosines(pixels, session, self.reader.tokenise(captions), views)

            return score

        return map(viewer, images)

    @torch.inference_mode()
    def _cosines(
        self, pixels: torch.Tensor, session: Session, texts: Sequence[Tokens], views: BoolArray
    ) -> FloatArray:
        """Of the texts with each view of the one image in `pixels`, [views, texts]."""
        scores = np.zeros((len(views), len(texts)), np.float32)
        for rows, patches in patches_of(views, self.tokens_before_patches):

            def see(part: range, rows: Any = rows, patches: torch.Tensor = patches) -> None:
                indices = patches[part.start : part.stop].to(pixels.device)
                batch = pixels.expand(len(indices), *pixels.shape[1:])
                embeddings = self.model.vision_model.embeddings
                with self.precision(), _only(indices, embeddings):
                    states = self.encode_pixels(batch)
                scores[rows[part.start : part.stop]] = session.score(
                    [(state, texts) for state in states]
                )

            self.image_batches.each(len(rows), see)
        return scores

    @property
    def tokens_before_patches(self) -> int:
        """1 where the tower's first state is a class token's, otherwise 0."""
        return int(hasattr(self.model.vision_model.embeddings, "class_embedding"))


@contextmanager
def _only(patches: torch.Tensor, embeddings: torch.nn.Module) -> Iterator[None]:
    """The image tower goes on with these patches [images, patches] of each image alone."""

    def choose(module: Any, inputs: Any, states: torch.Tensor) -> torch.Tensor:
        return states.gather(1, patches[..., None].expand(-1, -1, states.shape[-1]))

    hook = embeddings.register_forward_hook(choose)
    try:
        yield
    finally:
        hook.remove()


def patches_of(views: BoolArray, first: int) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
    """Views with equally many patches: their rows in `views` [views, rows, columns], and the
    indices of their states, [of these views, states], with the `first` ones before the patches.

    >>> rows, patches = next(patches_of(np.array([[[True, False, True]]]), 1))
    >>> rows.tolist(), patches.tolist()
    ([0], [[0, 1, 3]])
    """
    flat = views.reshape(len(views), -1)
    counts = flat.sum(1)
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        patches = np.nonzero(flat[rows])[1].reshape(len(rows), count) + first
        before = np.tile(np.arange(first), (len(rows), 1))
        yield rows, torch.from_numpy(np.concatenate([before, patches], 1))


def field_of_view(processor: Any, size: tuple[int, int]) -> Box:
    """The part of a picture of `size` (width, height) that reaches the model, in its pixels: an
    image processor may crop the centre of what it resizes. Beyond the picture's edges where it
    pads.

    >>> from types import SimpleNamespace as Processor
    >>> crop = {"height": 224, "width": 224}
    >>> field_of_view(Processor(do_center_crop=True, size={"shortest_edge": 224}, crop_size=crop),
    ...               (400, 300))
    (50.0, 0.0, 350.0, 300.0)
    """
    width, height = size
    if not getattr(processor, "do_center_crop", False):
        return 0.0, 0.0, float(width), float(height)
    across, down = 1.0, 1.0  # pixels of the original for one of the resized picture
    if getattr(processor, "do_resize", True):
        edges = dict(processor.size)
        if edges.get("shortest_edge"):
            across = down = min(width, height) / edges["shortest_edge"]
        else:
            across, down = width / edges["width"], height / edges["height"]
    crop = dict(processor.crop_size)
    wide, high = crop["width"] * across, crop["height"] * down
    left, top = (width - wide) / 2, (height - high) / 2
    return left, top, left + wide, top + high
