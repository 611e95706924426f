"""A new ClipCap from a CLIP and a causal language model; only its prefix network is untrained."""

from typing import Any

import torch

from backend.engine import hub
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.errors import ModelMismatch
from backend.features.captioners.clipcap import CLIPS, PREFIX, ClipCap, ClipCapModel, vision_of

_CLIP_ADVICE = "Give --clip a directory or hub name such as openai/clip-vit-base-patch32."
_LM_ADVICE = "Give --language-model a directory or hub name such as gpt2."


def make_clipcap(
    clip: str, language_model: str, prefix_length: int = PREFIX, seed: int = 0
) -> ClipCap:
    """A ClipCap from a CLIP and a causal language model, by hub name or directory. Only its prefix
    network is untrained: its weights are random.

    Raises ModelUnavailable, or ModelMismatch for models of another kind, or a language model that
    is not causal, has no end token or too few positions.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    vision, image_processor = load_vision(clip)
    what = "The language model"
    model = hub.load_weights(
        AutoModelForCausalLM, language_model, what, _LM_ADVICE, dtype=torch.float32
    )
    tokenizer = hub.load(AutoTokenizer, language_model, what, _LM_ADVICE)
    return assemble(vision, image_processor, model, tokenizer, prefix_length, seed, clip,
                    language_model)  # fmt: skip


def assemble(
    vision: Any,
    image_processor: Any,
    language_model: Any,
    tokenizer: Any,
    prefix_length: int = PREFIX,
    seed: int = 0,
    clip: str = "",
    name: str = "",
) -> ClipCap:
    """`make_clipcap` of loaded models; `clip` and `name` are their names. Raises ModelMismatch."""
    embeddings = language_model.get_input_embeddings()
    check_tokenizer(name, tokenizer, int(embeddings.num_embeddings))
    if tokenizer.eos_token_id is None:
        raise ModelMismatch(
            f"The language model '{name}' has no token that ends a text (eos_token in "
            f"tokenizer_config.json), so its captions would never end. {_LM_ADVICE}"
        )
    if not tokenizer.is_fast:
        raise ModelMismatch(
            f"The tokenizer of '{name}' does not report where its tokens are in a text: it has no "
            f"tokenizer.json. {_LM_ADVICE}"
        )
    if _reads_ahead(language_model):
        raise ModelMismatch(
            f"'{name}' is not a causal language model: it reads words that come later. {_LM_ADVICE}"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = ClipCapModel(vision, language_model, prefix_length)
    if model.positions < 2:
        raise ModelMismatch(
            f"'{name}' has too few positions for {prefix_length} vectors and a caption. "
            f"{_LM_ADVICE}"
        )
    return ClipCap(model.eval(), tokenizer, image_processor, clip, name)


def load_vision(clip: str) -> tuple[Any, Any]:
    """A CLIP's image tower with its projection, and the image processor. Raises ModelUnavailable or
    ModelMismatch."""
    import transformers

    what = "The CLIP"
    kind = str(hub.load(transformers.AutoConfig, clip, what, _CLIP_ADVICE).model_type)
    if kind not in CLIPS:
        raise ModelMismatch(f"'{clip}' is a {kind} model, not a CLIP. {_CLIP_ADVICE}")
    architecture = getattr(transformers, CLIPS[kind][0])
    whole = hub.load_weights(
        architecture, clip, what, _CLIP_ADVICE, ("logit_scale",), dtype=torch.float32
    )
    processor = hub.load(transformers.AutoImageProcessor, clip, what, _CLIP_ADVICE)
    check_image_processor(clip, processor, whole.config.vision_config)
    configuration = whole.config.vision_config
    configuration.projection_dim = whole.visual_projection.out_features
    vision = vision_of(configuration)
    vision.vision_model.load_state_dict(whole.vision_model.state_dict())
    vision.visual_projection.load_state_dict(whole.visual_projection.state_dict())
    return vision.eval(), processor


@torch.inference_mode()
def _reads_ahead(language_model: Any) -> bool:
    """Whether the logits of a position depend on a later one."""
    table = language_model.get_input_embeddings().weight
    inputs = table[torch.arange(4, device=table.device) % len(table)][None].clone()
    before = language_model.eval()(inputs_embeds=inputs).logits[0, :3].float()
    inputs[0, 3] = -2 * inputs[0, 3] + 1
    after = language_model(inputs_embeds=inputs).logits[0, :3].float()
    return not torch.allclose(before, after, atol=1e-3)
