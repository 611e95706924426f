"""`VisionEncoderDecoderModel` as a captioner: an image encoder followed by a causal language model
such as GPT-2 (`nlpconnect/vit-gpt2-image-captioning`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from backend.engine import hub
from backend.engine.correction.beam_search import BEAMS
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import CaptionerFamily
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.checkpoints import weights_digest
from backend.engine.scoring.protocol import Scorer
from backend.errors import ModelMismatch

_ADVICE = "Name a directory or hub name such as nlpconnect/vit-gpt2-image-captioning."
#: Marks a token that begins a word in byte-pair vocabularies.
_BEGINS_WORD = "\u0120"


@dataclass(frozen=True)
class VisionToText(Captioner):
    """A `VisionEncoderDecoderModel`: an image encoder followed by a causal language model."""

    @property
    def tower(self) -> None:
        """None: the decoders of transformers differ in architecture."""
        return None

    @property
    def _vocabulary_size(self) -> int:
        return int(self.model.config.decoder.vocab_size)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [tokens for tokens, _ in self.tokens_and_spans(texts)] if texts else []

    def tokens_and_spans(
        self, texts: Sequence[str]
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        decoder = self.model.config.decoder
        encoding = self.processor.tokenizer(
            list(texts), truncation=True, max_length=int(decoder.max_position_embeddings) - 2,
            add_special_tokens=False, return_offsets_mapping=True,
        )  # fmt: skip
        generation = self.model.generation_config
        first, last = generation.decoder_start_token_id, generation.eos_token_id
        last = last[0] if isinstance(last, list) else last
        return [
            ([int(first), *tokens, int(last)], [tuple(span) for span in spans])
            for tokens, spans in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True)
        ]

    def _word(self, token: str, is_first: bool) -> str:
        if token.startswith("##") or not token.removeprefix(_BEGINS_WORD).isalnum():
            return ""
        if self._is_byte_pair and not is_first and not token.startswith(_BEGINS_WORD):
            return ""  # continues a word
        word = token.removeprefix(_BEGINS_WORD)
        return word if word.isalnum() else ""

    @cached_property
    def _is_byte_pair(self) -> bool:
        return _BEGINS_WORD + "a" in self.processor.tokenizer.get_vocab()

    def _encode(self, pixels: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model.encoder(pixel_values=pixels).last_hidden_state
        return states

    def generate(
        self, memory: torch.Tensor, input_ids: torch.Tensor, max_new_tokens: int
    ) -> torch.Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        token_ids: torch.Tensor = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory), decoder_input_ids=input_ids,
            num_beams=BEAMS, max_new_tokens=max_new_tokens,
        )  # fmt: skip
        return token_ids

    def _decode(self, ids: torch.Tensor, mask: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        logits: torch.Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.contiguous()),
            decoder_input_ids=ids,
            decoder_attention_mask=mask,
        ).logits
        return logits


@dataclass(frozen=True)
class Processor:
    """Tokenizer and image processor together, for models without a processor class."""

    tokenizer: Any
    image_processor: Any


def load_vision_to_text(model: str, device: str, scorer: Scorer | None = None) -> VisionToText:
    """Load one by hub name or directory. Raises ModelUnavailable or ModelMismatch."""
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    what = "The captioner"
    network = hub.load_weights(VisionEncoderDecoderModel, model, what, _ADVICE, dtype=torch.float32)
    tokenizer = hub.load(AutoTokenizer, model, what, _ADVICE)
    pictures = hub.load(AutoImageProcessor, model, what, _ADVICE)
    check_tokenizer(model, tokenizer, int(network.config.decoder.vocab_size))
    check_image_processor(model, pictures, network.config.encoder)
    generation = network.generation_config
    if generation.decoder_start_token_id is None or generation.eos_token_id is None:
        raise ModelMismatch(
            f"'{model}' does not define the tokens that begin and end a caption "
            f"(decoder_start_token_id, eos_token_id in generation_config.json). {_ADVICE}"
        )
    identity = weights_digest(network)
    processor = Processor(tokenizer, pictures)
    return VisionToText(model, network.to(device), processor, device, identity)


FAMILY = CaptionerFamily(lambda model: False, load_vision_to_text, ("vision-encoder-decoder",))
