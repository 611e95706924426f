"""CLIP: s is the cosine of image and text embedding (TRACED §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.nn.functional import normalize

from backend.engine import hub
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.batch_memory import TokenBudget, images_that_fit
from backend.engine.scoring.checkpoints import ADVICE, Family, Request, info_of, load_weights
from backend.engine.scoring.cleaning import CLIP_TEXT
from backend.engine.scoring.cosine import CosineSession, with_leaves
from backend.engine.scoring.picture_views import PatchScorer
from backend.engine.scoring.protocol import FloatArray, ImageState, Session, Tokens
from backend.engine.scoring.stream_session import InStreams
from backend.engine.scoring.tokens import HubReader
from backend.engine.scoring.towers.causal_text import CausalText, PrefixReader, from_clip

#: Approximate number of prefixes held per pair: two rounds of a long caption's candidates.
_NODES_A_PAIR = 400
#: CLIP's architecture under its names in transformers.
_CLASSES = {"clip": "CLIPModel", "metaclip_2": "MetaClip2Model"}
#: The `eos_token_id` in OpenAI's config.json.
_OLD_END = 2


@dataclass
class ClipScorer(InStreams, PatchScorer):
    """A `CLIPModel`. An image's state is its unit embedding, shape [d]."""

    image_processor: Any
    #: The ids that the tokenizer puts around a caption; None: those of the configuration, which are
    #: wrong in OpenAI's checkpoints.
    around: tuple[int, int] | None = None

    @cached_property
    def tower(self) -> CausalText:
        return from_clip(self.model, self.dtype, self.around)

    def open_session(self) -> Session:
        return open_causal_session(self.tower, self.budget(self.tower.bytes_a_token))

    def encode_pixels(self, pixels: torch.Tensor) -> list[ImageState]:
        output = self.model.vision_model(pixel_values=pixels)
        vectors = self.model.visual_projection(output.pooler_output)
        return list(normalize(vectors.float(), dim=-1).cpu())


class CausalSession(CosineSession):
    """Reads texts with a causal tower, on a CPU sharing their prefixes across two rounds."""

    def __init__(self, tower: CausalText, budget: TokenBudget, live: int) -> None:
        super().__init__(live)
        self.tower = tower
        self._budget = budget
        self._table = tower.open_table()
        self._prefixes = None if budget.pace.pads else PrefixReader(tower, budget, self.work)

    def _read(self, groups: Sequence[Sequence[Tokens]]) -> dict[Tokens, FloatArray]:
        if self._prefixes is not None:
            return self._prefixes.read(groups)
        texts = sorted((text for group in groups for text in group), key=len)
        vector_of: dict[Tokens, FloatArray] = {}

        def compute(part: range) -> None:
            batch = texts[part.start : part.stop]
            vectors = self.tower.read(batch, self._table, self.work).cpu().numpy()
            vector_of.update(zip(batch, vectors, strict=True))

        self._budget.each([len(text) + 2 for text in texts], compute)
        return vector_of

    def vectors_with_gradients(
        self, texts: Sequence[Tokens]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        table = self.tower.token_table
        words, leaves = with_leaves([self.tower.whole(text) for text in texts], table)
        batch = torch.nn.utils.rnn.pad_sequence(words, batch_first=True)
        return self.tower.read_embedded(batch, [len(text) for text in words]), leaves, table


def open_causal_session(tower: CausalText, budget: TokenBudget) -> CausalSession:
    a_pair = _NODES_A_PAIR * tower.bytes_a_token
    pace = budget.pace
    live = images_that_fit(a_pair, str(tower.device), pace.pairs, pace.sessions)
    return CausalSession(tower, budget, live)


def load_clip(request: Request) -> ClipScorer:
    """A `CLIPModel`, or the same architecture under another name. Raises as `load_scorer` does."""
    import transformers

    name, _, device, precision = request
    architecture = str(hub.load(transformers.AutoConfig, name, advice=ADVICE).model_type)
    model_class = getattr(transformers, _CLASSES[architecture])
    model = load_weights(name, model_class, ("logit_scale",))
    tokenizer = hub.load(transformers.AutoTokenizer, name, advice=ADVICE)
    image_processor = hub.load(transformers.AutoImageProcessor, name, advice=ADVICE)
    text = model.config.text_config
    rows = int(text.vocab_size)
    if architecture == "clip" and text.eos_token_id == _OLD_END:
        # Published before transformers 4.31: the ids in such a file are not the tokenizer's, and
        # transformers pools at the highest id, which is CLIP's end token.
        check_tokenizer(name, tokenizer, rows, ends=max(tokenizer.get_vocab().values()))
    else:
        check_tokenizer(name, tokenizer, rows, int(text.eos_token_id), int(text.bos_token_id))
    check_image_processor(name, image_processor, model.config.vision_config)
    reader = HubReader(tokenizer, int(text.max_position_embeddings), rows)
    info = info_of("clip", name, device, precision, model, reader.context)
    around = tokenizer("a")["input_ids"]
    return ClipScorer(info, model.to(device), reader, image_processor, (around[0], around[-1]))


FAMILY = Family(
    ("clip",), load_clip, model_types=tuple(_CLASSES), embedding="clip", cleaning=CLIP_TEXT
)
