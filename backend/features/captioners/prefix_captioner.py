"""ClipCap as a captioner: descriptions, next words, likelihoods, guided infill."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from backend.engine.correction.beam_search import BEAMS
from backend.engine.correction.captioner_loading import CaptionerFamily
from backend.engine.scoring.checkpoints import weights_digest
from backend.engine.scoring.protocol import Scorer
from backend.features.captioners.clipcap import ClipCap, is_clipcap, load_clipcap
from backend.features.captioners.vision_to_text import Processor, VisionToText

#: Marks a token that begins a word in vocabularies of sentencepiece.
_BEGINS_WORD = "\u2581"


@dataclass(frozen=True)
class PrefixCaptioner(VisionToText):
    """A ClipCap. An encoded image is its CLIP vector, shape [1, 1, d].

    Captions have no first token: the last vector of the prefix predicts the first word.
    Sequences nevertheless begin with the end token, as other captioners' begin with their start
    token, and that vector replaces it.
    """

    @property
    def clipcap(self) -> ClipCap:
        return ClipCap(self.model, self.processor.tokenizer, self.processor.image_processor)

    def tokens_and_spans(
        self, texts: Sequence[str]
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        clipcap = self.clipcap
        end = clipcap.end
        encodings = clipcap.tokens_and_spans(texts, self.model.positions - 1)
        return [([end, *tokens, end], spans) for tokens, spans in encodings]

    def _word(self, token: str, is_first: bool) -> str:
        if not self._is_sentencepiece:
            return super()._word(token, is_first)
        word = token.removeprefix(_BEGINS_WORD)
        begins = is_first or token.startswith(_BEGINS_WORD)
        return word if begins and word.isalnum() else ""

    @property
    def _vocabulary_size(self) -> int:
        return int(self.model.language_model.get_input_embeddings().num_embeddings)

    @cached_property
    def _is_sentencepiece(self) -> bool:
        return _BEGINS_WORD + "a" in self.processor.tokenizer.get_vocab()

    def _encode(self, pixels: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.model.see(pixels)
        return vectors[:, None]

    def _decode(self, ids: torch.Tensor, mask: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """`mask` is not needed: padding is on the right of a causal model."""
        logits: torch.Tensor = self.model(memory[:, 0], ids[:, 1:])
        return logits

    def generate(
        self, memory: torch.Tensor, input_ids: torch.Tensor, max_new_tokens: int
    ) -> torch.Tensor:
        inputs = self.model.embed(memory[:, 0], input_ids[:, 1:])
        end = self.clipcap.end
        room = self.model.positions - (input_ids.shape[1] - 1)
        if room < 1:
            return input_ids
        continuation = self.model.language_model.generate(
            inputs_embeds=inputs, attention_mask=inputs.new_ones(inputs.shape[:2]).long(),
            num_beams=BEAMS, do_sample=False, max_new_tokens=min(max_new_tokens, room),
            eos_token_id=end, pad_token_id=end,
        )  # fmt: skip
        return torch.cat([input_ids, continuation], 1)


def load_prefix_captioner(name: str, device: str, scorer: Scorer | None = None) -> PrefixCaptioner:
    """Load a ClipCap as a captioner. Raises as `load_clipcap` does."""
    clipcap = load_clipcap(name, device)
    processor = Processor(clipcap.tokenizer, clipcap.image_processor)
    return PrefixCaptioner(name, clipcap.model, processor, device, weights_digest(clipcap.model))


FAMILY = CaptionerFamily(is_clipcap, load_prefix_captioner)
