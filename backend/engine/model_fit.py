"""Check that tokenizer and image processor match the model that they are stored with.

If tokenizer files are missing, transformers builds a tokenizer of two tokens, and it accepts any
mismatched one; scores are then silently meaningless. The check covers the actual model inputs: the
token ids of a plain sentence, and the pixels of a picture.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from backend.engine.languages.language import ENGLISH, LANGUAGES
from backend.errors import ModelMismatch

#: In the vocabulary of every caption tokenizer of the language.
_SENTENCE = ENGLISH.sentence
_SENTENCES = (_SENTENCE, *(each.sentence for each in LANGUAGES.values() if each.sentence))
#: Capitals, punctuation, another script, an emoji, nothing at all, and more words than fit.
PROBES = (_SENTENCE, "A_Dog's photo, été &amp; 犬 🐕!", "", "Red boats. " * 150)
#: Embedding tables are padded, by a few rows (CLIP, BERT) to a few percent (chat models).
_LEAST_KNOWN = 0.9
#: Maximum share of unknown tokens; a model with a small vocabulary need not know every word.
_MOST_UNKNOWN = 0.7
#: Normalised pixels are within a few standard deviations; without rescaling they are near 1,000.
_LARGEST_PIXEL = 30.0


def check_tokenizer(
    name: str,
    tokenizer: Any,
    rows: int,
    ends: int | None = None,
    begins: int | None = None,
) -> None:
    """Raises ModelMismatch if the tokenizer does not belong to the model.

    `rows`: the size of the model's embedding table. `ends`, `begins`: the ids that the model
    expects around a text; None: not checked."""
    fault = _tokenizer_fault(tokenizer, rows, ends, begins)
    if fault:
        raise ModelMismatch(
            f"The tokenizer of '{name}' does not belong to its model: {fault}. Put the original "
            "tokenizer files (tokenizer.json, tokenizer_config.json) into the directory."
        )


def check_ids(
    name: str, reading: Sequence[Sequence[int]], library: Sequence[Sequence[int]]
) -> None:
    """Raises ModelMismatch if we would read `PROBES` differently from the model's library.

    `reading`, `library`: the ids of each text, padding included."""
    for text, ours, theirs in zip(PROBES, reading, library, strict=True):
        if list(ours) != list(theirs):
            raise ModelMismatch(
                f"The text preparation of '{name}' is not supported: its library reads "
                f"'{text[:40]}' as other tokens than this program. Choose another model."
            )


def _tokenizer_fault(tokenizer: Any, rows: int, ends: int | None, begins: int | None) -> str:
    vocabulary_size = len(tokenizer)
    if vocabulary_size < _LEAST_KNOWN * rows:
        return f"it has {vocabulary_size:,} tokens, the model {rows:,}"
    texts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in _SENTENCES]
    ids = next((ids for ids in texts if _knows(tokenizer, ids)), texts[0])
    highest = max([*tokenizer.get_vocab().values(), *ids], default=0)
    if highest >= rows:
        return f"it gives ids up to {highest:,}, the model has those below {rows:,}"
    if not _knows(tokenizer, ids):
        return f"the words of '{_SENTENCE}' are unknown to it"
    whole = tokenizer(_SENTENCE)["input_ids"]
    if ends is not None and whole[-1] != ends:
        return f"it ends a text with the id {whole[-1]}, the model expects {ends}"
    if begins is not None and whole[0] != begins:
        return f"it begins a text with the id {whole[0]}, the model expects {begins}"
    return ""


def _knows(tokenizer: Any, ids: Sequence[int]) -> bool:
    unknown = sum(token == tokenizer.unk_token_id for token in ids)
    return len(set(ids)) >= 3 and unknown <= _MOST_UNKNOWN * len(ids)


def check_image_processor(name: str, processor: Any, vision: Any) -> None:
    """Raises ModelMismatch if the image processor does not belong to the model.

    `processor`: a Hugging Face image processor; `vision`: the image tower's configuration."""
    size, channels = int(vision.image_size), int(getattr(vision, "num_channels", 3))
    for key in ("image_mean", "image_std"):
        values = getattr(processor, key, None)
        if isinstance(values, (list, tuple)) and len(values) != channels:
            raise _preparation(
                name, f"{key} has {len(values)} numbers, pictures have {channels} channels"
            )
    try:
        pixels = processor(images=[probe()], return_tensors="np")["pixel_values"]
    except Exception as problem:  # any exception of numpy or torchvision
        raise _preparation(name, str(problem).splitlines()[0][:200]) from problem
    check_pixels(name, np.asarray(pixels), size, channels)


def check_pixels(name: str, pixels: np.ndarray, size: int, channels: int = 3) -> None:
    """Raises ModelMismatch if the shape or range of a preprocessed picture is wrong.

    `pixels`: the picture, [1, channels, height, width]; `size`: the expected height and width."""
    shape = (1, channels, size, size)
    if pixels.shape != shape:
        height, width = pixels.shape[-2:]
        raise _preparation(
            name,
            f"it produces {height} x {width} pixels in {pixels.shape[1]} channels, the model takes "
            f"{size} x {size} pixels in {channels}",
        )
    if not np.isfinite(pixels).all() or float(np.abs(pixels).max()) > _LARGEST_PIXEL:
        raise _preparation(
            name, "its pixels are far out of range (do_rescale, image_mean and image_std)"
        )


def probe() -> Image.Image:
    """A non-square test picture, a gradient from black to white."""
    ramp = np.linspace(0, 255, 80 * 60, dtype=np.uint8).reshape(60, 80)
    return Image.fromarray(np.stack([ramp, ramp, ramp], axis=-1))


def _preparation(name: str, fault: str) -> ModelMismatch:
    return ModelMismatch(
        f"The image processor of '{name}' does not belong to its model: {fault}. Put the original "
        "preprocessor_config.json (or processor_config.json) into the directory."
    )
