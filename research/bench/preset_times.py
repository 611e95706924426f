"""Cost of each preset on one core: `python -m research.bench.preset_times [PRESET …]`

Nothing is downloaded: models of the published sizes with random weights do the same work. The
result is the value of `Preset.core_seconds`: processor time of one thread, which other programs
disturb little.
"""

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

import backend.engine.hub  # noqa: F401  (before transformers' models)
from backend.engine.captions import Caption
from backend.engine.presets import BY_NAME, PRESETS, Preset
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.protocol import ScorerInfo
from backend.engine.scoring.siglip import SiglipScorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError
from research.bench.caption_lengths import HashReader, make_captions
from research.bench.random_models import random_pixels, random_scorer, spread

#: Captions per preset, and their lengths in words.
PAIRS, WORDS = 8, (8, 20)
_BASE = {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12,
}  # fmt: skip
_SO400M = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
    "num_attention_heads": 16,
}  # fmt: skip
#: Image size in pixels and the size of both towers, by preset.
_SIGLIP = {"balanced": (224, _BASE), "multilingual": (224, _BASE), "large": (256, _SO400M)}
_SIGLIP_TOKENS, _SIGLIP_VOCABULARY = 64, 256_000


def core_seconds(preset: Preset, pairs: int = PAIRS) -> float:
    """Processor seconds that one core takes for a thousand pairs: images, trajectories, captioner.
    Raises SettingsError for the embedded preset, which `models probe` measures."""
    scorer = _scorer(preset)
    pixels = random_pixels(scorer, pairs)
    captions = [Caption.parse(text) for text in make_captions(pairs, WORDS)]
    _score(scorer, pixels[:1], captions[:1])  # warm-up is not counted
    taken = _on_one_core(lambda: _score(scorer, pixels, captions))
    extra = captioner_seconds(pairs) if preset.captioner is not None else 0.0
    return 1000 * taken / pairs + extra


def captioner_seconds(pairs: int = PAIRS) -> float:
    """Processor seconds that one core takes for what a captioner expects in a thousand pairs."""
    reader = spread(captioner())
    pixels = torch.randn(pairs, 3, 384, 384)
    captions = [Caption.parse(text) for text in make_captions(pairs, WORDS)]
    return 1000 * _on_one_core(lambda: _read(reader, pixels, captions)) / pairs


def _on_one_core(work: Callable[[], None]) -> float:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        torch.set_num_threads(threads)


def _scorer(preset: Preset) -> DualEncoder:
    if preset.name == "fast":
        return random_scorer("clip")
    if preset.name == "thorough":
        return random_scorer("blip-itm")
    if preset.name not in _SIGLIP:
        raise SettingsError(f"'{preset.name}' is measured by: python app.py models probe.")
    special = SimpleNamespace(eos_token_id=1, pad_token_id=1)
    info = ScorerInfo("siglip", "random weights", "0", "cpu", "")
    reader = HashReader(_SIGLIP_VOCABULARY, _SIGLIP_TOKENS, special)
    return SiglipScorer(info, spread(siglip(preset)), reader, None)


def siglip(preset: Preset) -> Any:
    """A `SiglipModel` of the preset's size."""
    from transformers import SiglipConfig, SiglipModel

    image_size, size = _SIGLIP[preset.name]
    text = {
        **size, "vocab_size": _SIGLIP_VOCABULARY, "max_position_embeddings": _SIGLIP_TOKENS,
        "projection_size": size["hidden_size"],
    }  # fmt: skip
    vision = {**size, "image_size": image_size, "patch_size": 16}
    return SiglipModel(SiglipConfig(text_config=text, vision_config=vision))


def captioner() -> Any:
    """BLIP's captioner, base size."""
    from transformers import BlipConfig, BlipForConditionalGeneration

    text = {**_BASE, "vocab_size": 30_524, "encoder_hidden_size": 768, "is_decoder": True}
    vision = {**_BASE, "image_size": 384, "patch_size": 16}
    return BlipForConditionalGeneration(BlipConfig(text_config=text, vision_config=vision))


def _score(scorer: DualEncoder, pixels: torch.Tensor, captions: list[Caption]) -> None:
    with torch.inference_mode():
        states = scorer.encode_pixels(pixels)
    dict(run_trajectories(scorer, list(zip(states, captions, strict=True)), Exploring()))


@torch.inference_mode()
def _read(model: Any, pixels: torch.Tensor, captions: list[Caption]) -> None:
    """One pass for each caption, as for a captioner's expectations of its words."""
    for image, caption in zip(pixels, captions, strict=True):
        ids = torch.arange(2 + len(caption.words))[None]
        model(pixel_values=image[None], input_ids=ids)


def main() -> None:
    names = sys.argv[1:] or [preset.name for preset in PRESETS if preset.core_seconds]
    print(f"{'captioner':14} {captioner_seconds():8.0f} s", flush=True)
    for name in names:
        pairs = PAIRS if name != "large" else 2
        print(f"{name:14} {core_seconds(BY_NAME[name], pairs):8.0f} s", flush=True)


if __name__ == "__main__":
    main()
