"""Load the components of the pipeline that are named on the command line."""

from pathlib import Path

from PIL import Image

from backend.datasets import images
from backend.engine.embeddings import embedded_model
from backend.engine.scoring.loading import load_scorer
from backend.errors import ImageError, SettingsError
from research.concreteness.pipeline import Parts
from research.concreteness.semantic_bottleneck import load_semantic_bottleneck
from research.concreteness.visual_bottleneck import (
    TextToImage,
    gallery_of,
    load_diffusion,
    load_picture_captioner,
)

GALLERY = "gallery:"
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
#: Maximum size of a gallery: more pictures make the bottleneck finer, and loading slower.
MOST_PICTURES = 5000


def load_parts(
    text_to_image: str,
    captioner: str,
    clip: str,
    language_model: str,
    encoder: str | None = None,
    distill_into: str | None = None,
    prefix: int = 1,
    device: str = "cpu",
    seed: int = 0,
    ave_clip: bool = False,
) -> Parts:
    """Load all components; `ave_clip`: also a scorer for this control.

    Raises ModelUnavailable, or SettingsError for a gallery without pictures.
    """
    return Parts(
        _text_to_image(text_to_image, clip, device),
        load_picture_captioner(captioner, device),
        load_semantic_bottleneck(clip, language_model, prefix, device, seed),
        encoder,
        distill_into or embedded_model(),
        load_scorer(clip, "clip", device) if ave_clip else None,
    )


def _text_to_image(name: str, clip: str, device: str) -> TextToImage:
    if not name.startswith(GALLERY):
        return load_diffusion(name, device)
    folder = Path(name.removeprefix(GALLERY)).expanduser()
    pictures: list[Image.Image] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _ENDINGS and len(pictures) < MOST_PICTURES:
            try:
                pictures.append(images.load_image(path))
            except ImageError:
                continue  # skip unreadable pictures
    if not pictures:
        raise SettingsError(f"There are no pictures in {folder}.")
    return gallery_of(load_scorer(clip, "clip", device), pictures)
