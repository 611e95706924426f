"""BLIP image-text retrieval: ITC cosine and ITM match probability (TRACED §3.1).

Four things are needed to reproduce the published model's scores (LAVIS): twelve attention heads, an
epsilon of 1e-6 in the image tower (both in a checkpoint's config.json), [ENC] as the first token of
ITM, and the attention mask.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import normalize

from backend.engine import hub
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.batch_memory import images_that_fit
from backend.engine.scoring.checkpoints import ADVICE, Family, Request, info_of, load_weights
from backend.engine.scoring.cleaning import BLIP_CAPTION
from backend.engine.scoring.cosine import CosineSession, gains_of, with_leaves
from backend.engine.scoring.picture_views import PatchScorer
from backend.engine.scoring.protocol import (
    BoolArray,
    FloatArray,
    ImageState,
    Session,
    Tokens,
    Viewer,
    Work,
)
from backend.engine.scoring.stream_session import InStreams
from backend.engine.scoring.tokens import HubReader
from backend.engine.scoring.towers.blip_text import BlipText
from backend.engine.scoring.towers.image_memories import Memories, Views

#: The published models were trained and are evaluated on captions of at most 35 tokens.
CONTEXT = 35


@dataclass
class BlipScorer(InStreams, PatchScorer):
    """A `BlipForImageTextRetrieval`, scored by ITC or ITM according to `info.kind`.

    An image's state is its patch states [patches + 1, width] for ITM, its unit embedding [d] for
    ITC.
    """

    image_processor: Any
    encoder_token: int  #: [ENC]

    @property
    def matching(self) -> bool:
        return self.info.kind == "blip-itm"

    @cached_property
    def tower(self) -> BlipText:
        return BlipText(self.model.text_encoder, self.dtype, self.pace.pads)

    def open_session(self) -> Session:
        return ItmSession(self) if self.matching else ItcSession(self)

    @torch.inference_mode()
    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        if not self.matching or not states:
            return super().image_embeddings(states)
        first = torch.stack([state[0] for state in states])
        with self.precision():
            projections = self.model.vision_proj(first)
        vectors: FloatArray = normalize(projections.float(), dim=-1).cpu().numpy()
        return vectors

    def viewers(self, images: Sequence[Image.Image]) -> Iterator[Viewer]:
        """ITM's patches are left out of the image's memory: the image tower runs once."""
        if not self.matching:
            return super().viewers(images)
        session = ItmSession(self)

        def viewer(state: ImageState) -> Viewer:
            memory = self.tower.remember(state)

            def score(views: BoolArray, captions: Sequence[str]) -> FloatArray:
                before = np.ones((len(views), self.tokens_before_patches), np.bool_)
                mask = np.concatenate([before, views.reshape(len(views), -1)], 1)
                of_image = Views(memory, torch.from_numpy(mask).to(self.info.device))
                return session.score_views(self.reader.tokenise(captions), of_image)

            return score

        return map(viewer, self.encode_images(images))

    def around(self, matching: bool) -> tuple[int, int]:
        """The special tokens before and after a text; the first is [ENC] for ITM, [CLS] for
        ITC."""
        tokenizer = self.reader.tokenizer  # pyrefly: ignore[missing-attribute]
        first = self.encoder_token if matching else tokenizer.cls_token_id
        return int(first), int(tokenizer.sep_token_id)

    def encode_pixels(self, pixels: torch.Tensor) -> list[ImageState]:
        states = self.model.vision_model(pixel_values=pixels).last_hidden_state
        if self.matching:
            return list(states)
        return list(normalize(self.model.vision_proj(states[:, 0]).float(), dim=-1).cpu())


class ItcSession(CosineSession):
    """ITC's text encoder: sequences are packed, each text is read once."""

    def __init__(self, scorer: BlipScorer) -> None:
        super().__init__(scorer.pace.pairs)
        self._scorer = scorer
        self._tower = scorer.tower
        self._budget = scorer.budget(self._tower.bytes_a_token)
        self._table = self._tower.open_table()

    def _read(self, groups: Sequence[Sequence[Tokens]]) -> dict[Tokens, FloatArray]:
        texts = sorted((text for group in groups for text in group), key=len)
        around = self._scorer.around(matching=False)
        vector_of: dict[Tokens, FloatArray] = {}

        @torch.inference_mode()
        def compute(part: range) -> None:
            batch = texts[part.start : part.stop]
            states = self._tower.read(batch, around, self.work, self._table)
            vectors = normalize(self._scorer.model.text_proj(states.float()), dim=-1)
            vector_of.update(zip(batch, vectors.cpu().numpy(), strict=True))

        self._budget.each([len(text) + 2 for text in texts], compute)
        return vector_of

    def vectors_with_gradients(
        self, texts: Sequence[Tokens]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        sorted_texts, around = [texts[i] for i in order], self._scorer.around(matching=False)
        words, leaves, table = embed_texts(self._tower, sorted_texts, around)
        states = self._tower.read_embedded(words, sorted_texts, around)
        vectors = normalize(self._scorer.model.text_proj(states.float()), dim=-1)
        back = np.argsort(order)
        return vectors[torch.from_numpy(back)], [leaves[i] for i in back], table


class ItmSession:
    """Match probabilities. An image's keys and values are computed once and kept while in use."""

    def __init__(self, scorer: BlipScorer) -> None:
        self.work = Work()
        self._scorer = scorer
        self._tower = scorer.tower
        self._budget = scorer.budget(self._tower.bytes_a_token)
        self._table = self._tower.open_table()
        self._texts = ItcSession(scorer)  # c is computed by ITC's text encoder (TRACED §3.2)
        self._images = self._tower.open_memories()

    @property
    def embedding_work(self) -> Work:
        return self._texts.work

    @property
    def live(self) -> int:
        vision = self._scorer.model.config.vision_config
        patches = (vision.image_size // vision.patch_size) ** 2 + 1
        size = self._tower.bytes_an_image(patches)
        pace = self._scorer.pace
        return images_that_fit(size, self._scorer.info.device, pace.pairs, pace.sessions)

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return self._texts.embed(texts)

    @torch.inference_mode()
    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        """softmax(ITM head)[:, 1]. Equal texts for one image are computed once."""
        image_of = self._remember([state for state, _ in requests])
        texts_of: dict[int, dict[Tokens, int]] = {image: {} for image in sorted(image_of)}
        for image, (_, texts) in zip(image_of, requests, strict=True):
            texts_of[image] |= dict.fromkeys(texts, 0)
        sorted_texts, images = list[Tokens](), list[int]()
        for image, row_of in texts_of.items():
            for text in sorted(row_of, key=lambda text: (len(text), text)):
                row_of[text] = len(sorted_texts)
                sorted_texts.append(text)
            images += [image] * len(row_of)
        logits = self._logits(sorted_texts, self._images, images)
        scores = logits.softmax(-1)[:, 1].numpy()
        return [
            scores[[texts_of[image][text] for text in texts]] if texts else np.zeros(0, np.float32)
            for image, (_, texts) in zip(image_of, requests, strict=True)
        ]

    @torch.inference_mode()
    def score_views(self, texts: Sequence[Tokens], views: Views) -> FloatArray:
        """Log-odds of texts for views of an image, [views, texts]."""
        count = len(views.mask)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        sorted_texts = [texts[i] for i in order for _ in range(count)]
        logits = self._logits(sorted_texts, views, list(range(count)) * len(texts))
        odds = (logits[:, 1] - logits[:, 0]).view(len(texts), count).numpy()
        return np.ascontiguousarray(odds[np.argsort(order)].T)

    def _logits(
        self, texts: Sequence[Tokens], images: Memories | Views, image_of: Sequence[int]
    ) -> torch.Tensor:
        """ITM's two logits of each text, [texts, 2], on the CPU. Texts are sorted as for
        `BlipText.read`."""
        logits = torch.zeros(len(texts), 2)
        around = self._scorer.around(matching=True)

        def compute(part: range) -> None:
            rows = slice(part.start, part.stop)
            states = self._tower.read(
                texts[rows], around, self.work, self._table, images, image_of[rows]
            )
            logits[rows] = self._scorer.model.itm_head(states.float()).float().cpu()

        self._budget.each([len(text) + 2 for text in texts], compute)
        return logits

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        image_of = self._remember([state for state, _ in requests])
        order = sorted(range(len(requests)), key=lambda i: (image_of[i], len(requests[i][1])))
        around = self._scorer.around(matching=True)
        texts = [requests[i][1] for i in order]
        with torch.enable_grad():
            words, leaves, table = embed_texts(self._tower, texts, around)
            states = self._tower.read_embedded(
                words, texts, around, self._images, [image_of[i] for i in order]
            )
            gains = gains_of(self._probabilities(states).sum(), leaves, table)
        return [gains[i] for i in np.argsort(order)]

    def _probabilities(self, states: torch.Tensor) -> torch.Tensor:
        return self._scorer.model.itm_head(states.float()).float().softmax(-1)[:, 1]

    def _remember(self, states: Sequence[ImageState]) -> list[int]:
        """Index of each state's image. Images that are no longer requested are forgotten."""
        self.work.images += self._images.update(states)
        return [self._images.index(state) for state in states]


def embed_texts(
    tower: BlipText, texts: Sequence[Tokens], around: tuple[int, int]
) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    """Embeddings of packed texts with their special tokens, each text's own tokens as autograd
    leaves, and the embedding table."""
    table = tower.embeddings.word_embeddings.weight.detach()
    words, leaves = with_leaves([(around[0], *text, around[1]) for text in texts], table)
    return torch.cat(words), leaves, table


def load_blip(request: Request) -> BlipScorer:
    """A `BlipForImageTextRetrieval`. Raises as `load_scorer` does."""
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    name, kind, device, precision = request
    model = load_weights(name, BlipForImageTextRetrieval)
    processor = hub.load(BlipProcessor, name, advice=ADVICE)
    text = model.config.text_config
    check_tokenizer(name, processor.tokenizer, int(text.vocab_size), ends=_end_token(text))
    check_image_processor(name, processor.image_processor, model.config.vision_config)
    reader = HubReader(
        processor.tokenizer,
        min(CONTEXT, int(text.max_position_embeddings)),
        int(text.vocab_size),
    )
    return BlipScorer(
        info_of(kind or "blip-itm", name, device, precision, model, reader.context),
        model.to(device),
        reader,
        processor.image_processor,
        encoder_token(processor.tokenizer, int(text.vocab_size)),
    )


def _end_token(text: Any) -> int | None:
    """The id by a configuration; None if it is missing or outside the vocabulary, as the class's
    default, made for another one, may be."""
    value = getattr(text, "sep_token_id", None)
    return int(value) if isinstance(value, int) and value < int(text.vocab_size) else None


def encoder_token(tokenizer: Any, vocabulary: int) -> int:
    """The id of [ENC], the first token of ITM.

    Published tokenizers lack it; in their models it is the last row of the vocabulary (30523).
    """
    token = tokenizer.get_vocab().get("[ENC]")
    return int(token) if token is not None else vocabulary - 1


FAMILY = Family(
    ("blip-itm", "blip-itc"),
    load_blip,
    model_types=("blip",),
    embedding="blip-itc",
    cleaning=BLIP_CAPTION,
)
