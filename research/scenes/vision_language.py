"""A very small vision-language model, built from a configuration: LLaVA over the embedded CLIP.

It has the real class, processor and chat template, so that correction and training code for
published models also runs with it. Its image tower is that of the embedded CLIP; its language model
is randomly initialised, to be trained by `distill` or a test.

    python -m research.scenes.vision_language data/small-vlm
"""

import argparse
import random
from pathlib import Path
from typing import Any

import torch

from backend.engine import hub
from backend.engine.language_models import asking
from backend.features.corrections import prompting
from backend.features.specificity import boosting
from backend.features.vision_language import caption_question
from backend.settings import MODELS
from research.scenes.architecture import byte_pair_tokenizer
from research.scenes.grammar import describe
from research.scenes.world import make_scene

#: Like the templates of published models: turns of text and images, then the answer.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ["<pad>", "<image>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
_VOCABULARY = 1200


def make_vision_language_model(
    folder: Path, width: int = 192, layers: int = 4, seed: int = 0, clip: Path | None = None
) -> Path:
    """Write model and processor to `folder` in the Hub's format; return the folder.

    `clip`: folder of the CLIP model that provides the image tower; None: the embedded one."""
    from transformers import (
        CLIPImageProcessor,
        CLIPModel,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(seed)
    source = clip or MODELS / "scenes-clip"
    tower = hub.load(CLIPModel, source, dtype=torch.float32).vision_model
    tokenizer = make_tokenizer(image_token="<image>")
    marks = {name: tokenizer.convert_tokens_to_ids(name) for name in _SPECIAL}
    configuration = LlavaConfig(
        vision_config=tower.config,
        text_config=LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=width, intermediate_size=3 * width,
            num_hidden_layers=layers, num_attention_heads=max(1, width // 32),
            num_key_value_heads=max(1, width // 32), max_position_embeddings=2048,
            bos_token_id=None, eos_token_id=marks["<|end|>"], pad_token_id=marks["<pad>"],
        ),
        image_token_index=marks["<image>"],
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
    )  # fmt: skip
    model = LlavaForConditionalGeneration(configuration)
    vision_tower = model.model.vision_tower
    getattr(vision_tower, "vision_model", vision_tower).load_state_dict(tower.state_dict())
    model.generation_config.eos_token_id = marks["<|end|>"]
    model.generation_config.pad_token_id = marks["<pad>"]
    processor = LlavaProcessor(
        image_processor=hub.load(CLIPImageProcessor, source),
        tokenizer=tokenizer,
        patch_size=tower.config.patch_size,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT_TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_tokenizer(**extra_tokens: str) -> Any:
    """A byte-level BPE tokenizer trained on the prompts and on captions of drawn scenes; it can
    encode any text. `extra_tokens`: additional special tokens by their attribute names."""
    rng = random.Random(0)
    captions = [describe(make_scene(rng), rng).text for _ in range(2000)]
    folders = (prompting.FOLDER, asking.FOLDER, boosting.PROMPTS)
    paths = [path for folder in folders for path in folder.glob("*.md")]
    texts = [path.read_text("utf-8") for path in sorted(paths, key=lambda path: path.name)]
    texts += [f"{caption_question.SHIPPED.read_text('utf-8')} Yes yes No no\nYes\nNo"] * 4
    return byte_pair_tokenizer(
        [*texts * 5, *captions], _VOCABULARY, _SPECIAL, "<|end|>", **extra_tokens
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(make_vision_language_model(args.folder, args.width, args.layers, args.seed))


if __name__ == "__main__":
    main()
