"""SigLIP through Hugging Face: s is the cosine of image and text embedding.

SigLIP's own probability, sigmoid(scale · cosine + bias), is monotonic in the cosine, so captions
rank the same. Captions are padded to the model's length and the padding is attended to, as in
training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.nn.functional import normalize

from backend.engine import hub
from backend.engine.model_fit import PROBES, check_ids, check_image_processor, check_tokenizer
from backend.engine.scoring.checkpoints import ADVICE, Family, Request, info_of, load_weights
from backend.engine.scoring.picture_views import PatchScorer
from backend.engine.scoring.protocol import ImageState, Session, Tokens
from backend.engine.scoring.tokens import HubReader
from backend.engine.scoring.towers.padded import PaddedSession, PaddedText, padded_to
from backend.errors import ModelMismatch


@dataclass
class SiglipScorer(PatchScorer):
    """A `SiglipModel`. An image's state is its unit embedding, shape [d]."""

    image_processor: Any

    @cached_property
    def tower(self) -> PaddedText:
        text = self.model.config.text_config
        tokenizer = self.reader.tokenizer  # pyrefly: ignore[missing-attribute]
        length = int(text.max_position_embeddings)
        end, filler = int(tokenizer.eos_token_id), int(tokenizer.pad_token_id or 0)

        def whole(tokens: Tokens) -> Sequence[int]:
            return padded_to([*tokens[: length - 1], end], length, filler)

        return PaddedText(
            encode=lambda ids: self.model.text_model(input_ids=ids).pooler_output,
            whole=whole,
            embedding=self.model.text_model.embeddings.token_embedding,
            own_token=0,
            length=length,
            width=int(text.hidden_size),
        )

    def open_session(self) -> Session:
        tower = self.tower
        return PaddedSession(tower, self.budget(20 * tower.width * 4), self.precision)

    def encode_pixels(self, pixels: torch.Tensor) -> list[ImageState]:
        output = self.model.vision_model(pixel_values=pixels).pooler_output
        return list(normalize(output.float(), dim=-1).cpu())


def load_siglip(request: Request) -> SiglipScorer:
    """A `SiglipModel`, of SigLIP or SigLIP 2. Raises as `load_scorer` does."""
    from transformers import AutoImageProcessor, SiglipModel

    name, _, device, precision = request
    model = load_weights(name, SiglipModel, ("logit_scale", "logit_bias"))
    image_processor = hub.load(AutoImageProcessor, name, advice=ADVICE)
    tokenizer = _tokenizer_of(name)
    text = model.config.text_config
    length = int(text.max_position_embeddings)
    check_tokenizer(name, tokenizer, int(text.vocab_size))
    check_image_processor(name, image_processor, model.config.vision_config)
    reader = HubReader(tokenizer, length, int(text.vocab_size), special=1)
    info = info_of("siglip", name, device, precision, model, length)
    scorer = SiglipScorer(info, model.to(device), reader, image_processor)
    theirs = tokenizer(list(PROBES), padding="max_length", truncation=True, max_length=length)
    check_ids(name, [scorer.tower.whole(t) for t in reader.tokenise(PROBES)], theirs["input_ids"])
    return scorer


def _tokenizer_of(model: str) -> Any:
    """The checkpoint's tokenizer; for SigLIP 2 with the lower case of its training, which the
    class named in its published files, Gemma's, lacks."""
    from transformers import AutoTokenizer, GemmaTokenizer, Siglip2Tokenizer, SiglipTokenizer

    tokenizer = hub.load(AutoTokenizer, model, advice=ADVICE)
    if isinstance(tokenizer, GemmaTokenizer):
        return hub.load(Siglip2Tokenizer, model, advice=ADVICE)
    if not tokenizer.is_fast and not isinstance(tokenizer, SiglipTokenizer):
        raise ModelMismatch(
            f"The tokenizer of '{model}', {type(tokenizer).__name__}, does not say which "
            "characters its tokens cover. Use SigLIP 2, google/siglip2-base-patch16-224."
        )
    return tokenizer


#: Fixed-resolution SigLIP 2 has model type "siglip" as well. NaFlex models, with patch grids of any
#: shape, have another and are not supported.
FAMILY = Family(("siglip",), load_siglip, model_types=("siglip",), embedding="siglip")
