"""Captioners: language models that are conditioned on an image and continue a text.

`Captioner` is BLIP's; other families override how it reads and decodes,
`captioner_loading` chooses among them.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from backend.engine.correction.beam_search import BEAMS
from backend.engine.correction.decoding import (
    AskLikelihoods,
    AskNextWords,
    Beginning,
    Decoding,
    NextWord,
)
from backend.engine.correction.packed_decoding import PackedDecoding
from backend.engine.correction.plain_decoding import PlainDecoding
from backend.engine.expectation import ALTERNATIVES, TokenReading
from backend.engine.scoring.batch_memory import ImageBatches, Pace, images_that_fit, pace_of
from backend.engine.scoring.pixel_threads import pixels_of
from backend.engine.scoring.towers.blip_decoder import BlipDecoder

#: A text's tokens, and the character spans of its own among them.
TokensAndSpans = tuple[list[int], list[tuple[int, int]]]
#: An image as encoded by a captioner, opaque to all others.
Encoded = Any
#: The most images in one `decoding` on a CPU.
MAX_BATCH = 64
#: Number of likeliest tokens that are searched for whole words.
_LOOKED_AT = 12
#: Settings of a generation_config that do not change the result of beam search.
_HARMLESS = {
    "_from_model_config", "bos_token_id", "eos_token_id", "output_attentions",
    "output_hidden_states", "pad_token_id", "transformers_version", "use_cache",
}  # fmt: skip


@dataclass(frozen=True)
class Captioner:
    """A loaded BLIP captioner. Use from one thread at a time.

    `identity`: digest of the weights. Other architectures override how tokens are read, see
    `VisionToText`.
    """

    name: str
    model: Any
    processor: Any
    device: str
    identity: str = ""

    @torch.inference_mode()
    def see(self, image: Image.Image) -> Encoded:
        """The encoded image that the decoder attends to, shape [1, patches + 1, width]; reuse
        it."""
        return self.encode([image])[0]

    @torch.inference_mode()
    def encode(self, images: Sequence[Image.Image]) -> list[Encoded]:
        """`see` for many images."""
        states: list[Encoded] = []

        def see(part: range) -> None:
            pixels = pixels_of(images[part.start : part.stop], self._pixels, self.pace)
            states.extend(self._encode(pixels.to(self.device)).split(1))

        self.image_batches.each(len(images), see)
        return states

    def _pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        inputs = self.processor.image_processor(images=list(images), return_tensors="pt")
        pixels: torch.Tensor = inputs["pixel_values"]
        return pixels

    @cached_property
    def image_batches(self) -> ImageBatches:
        """The sizes of the image tower's batches, learned from one call to the next."""
        return ImageBatches(self.device, self.pace)

    @property
    def pace(self) -> Pace:
        """The batches that suit the device."""
        return pace_of(self.device)

    @property
    def max_batch(self) -> int:
        """How many images may be in one `decoding`, limited by the memory that it takes."""
        if self.tower is None:
            return MAX_BATCH
        vision = self.model.config.vision_config
        patches = (vision.image_size // vision.patch_size) ** 2 + 1
        most = max(MAX_BATCH, self.pace.pairs)
        return images_that_fit(self.tower.bytes_an_image(patches), self.device, most)

    def decoding(self, memories: Sequence[Encoded]) -> Decoding:
        """Answers about these images as one batch; what they share is computed once."""
        if self.tower is None or not memories:
            return PlainDecoding(self, memories)
        return PackedDecoding(self, self.tower, memories)

    @cached_property
    def tower(self) -> BlipDecoder | None:
        """The text decoder over packed prefixes, None for decoders that it does not support."""
        try:
            return BlipDecoder(self.model.text_decoder, pads=self.pace.pads)
        except ValueError:
            return None

    @property
    def has_plain_beam_search(self) -> bool:
        """Whether the model's generation_config leaves the result of beam search unchanged."""
        settings = self.model.text_decoder.generation_config.to_dict()
        return not {name for name, value in settings.items() if value is not None} - _HARMLESS

    @property
    def end(self) -> int:
        """The token that ends a caption."""
        return int(self.model.config.text_config.sep_token_id)

    @torch.inference_mode()
    def read(self, memories: Sequence[Encoded], captions: Sequence[str]) -> list[TokenReading]:
        """Log-probability of each token of each caption given its own image, in one pass."""
        max_batch = self.max_batch
        return [
            reading
            for at in range(0, len(captions), max_batch)
            for reading in self._read(memories[at : at + max_batch], captions[at : at + max_batch])
        ]

    def _read(self, memories: Sequence[Encoded], captions: Sequence[str]) -> list[TokenReading]:
        if not captions:
            return []
        encodings = self.tokens_and_spans(captions)
        distinct = {id(memory): memory for memory in memories}
        number = {key: index for index, key in enumerate(distinct)}
        steps = self.decoding(list(distinct.values())).steps(
            [(number[id(memory)], tokens[: max(1, len(spans))])
             for memory, (tokens, spans) in zip(memories, encodings, strict=True)]
        )  # fmt: skip
        readings = list[TokenReading]()
        log_p, best, likeliest = self._targets(steps, encodings)
        end = 0
        for _, spans in encodings:
            of_caption = slice(end, end := end + len(spans))
            words = [
                self._whole_words(row, index == 0)
                for index, row in enumerate(likeliest[of_caption])
            ]
            readings.append(TokenReading(spans, log_p[of_caption], best[of_caption], words))
        return readings

    def _targets(
        self,
        steps: Sequence[torch.Tensor],
        encodings: Sequence[TokensAndSpans],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], list[list[tuple[int, float]]]]:
        """For all tokens of all captions together: their log-probability, the highest one in their
        place, and the likeliest tokens there.

        `steps`: log-probabilities of the next token at each position of a caption, [tokens,
        vocabulary]."""
        rows = torch.cat([
            of_caption[: len(spans)]
            for of_caption, (_, spans) in zip(steps, encodings, strict=True)
        ])  # fmt: skip
        targets = [token for tokens, spans in encodings for token in tokens[1 : len(spans) + 1]]
        log_p = rows.gather(1, torch.tensor(targets, device=rows.device)[:, None])[:, 0]
        top = rows.topk(min(_LOOKED_AT, rows.shape[-1]))
        values, indices = top.values.cpu().numpy(), top.indices.tolist()
        likeliest = [
            list(zip(tokens, of_row, strict=True))
            for tokens, of_row in zip(indices, values.tolist(), strict=True)
        ]
        return log_p.cpu().numpy().astype(np.float32), values[:, 0].astype(np.float32), likeliest

    def _whole_words(
        self, likeliest: Sequence[tuple[int, float]], is_first: bool
    ) -> tuple[tuple[str, float], ...]:
        """The whole words among these tokens, with their probabilities."""
        names = self._words(is_first)
        words = [(names[token], math.exp(value)) for token, value in likeliest if names[token]]
        return tuple(words[:ALTERNATIVES])

    def next_words(
        self, memory: Encoded, prefixes: Sequence[str], count: int
    ) -> list[list[NextWord]]:
        """`Decoding.next_words` for one image."""
        return self.decoding([memory]).next_words([(0, AskNextWords(prefixes, count))])[0]

    def log_likelihoods(self, memory: Encoded, captions: Sequence[str]) -> list[float]:
        """`Decoding.log_likelihoods` for one image."""
        return self.decoding([memory]).log_likelihoods([(0, AskLikelihoods(captions))])[0]

    def describe(self, image: Image.Image, prefix: str = "", max_new_tokens: int = 30) -> str:
        """A caption generated from the image alone (unguided), by beam search."""
        return self.describe_all([self.see(image)], prefix, max_new_tokens)[0]

    def describe_all(
        self, memories: Sequence[Encoded], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        """`describe` for a batch of encoded images."""
        max_batch = self.max_batch
        descriptions: list[str] = []
        for at in range(0, len(memories), max_batch):
            part = memories[at : at + max_batch]
            descriptions += self.decoding(part).describe(range(len(part)), prefix, max_new_tokens)
        return descriptions

    def texts(self, sequences: Sequence[Sequence[int]] | torch.Tensor) -> list[str]:
        """Generated tokens as text, without special tokens."""
        texts = self.processor.tokenizer.batch_decode(sequences, skip_special_tokens=True)
        return [str(text).strip() for text in texts]

    def search_width(self, count: int) -> int:
        """How many of the likeliest tokens are searched for `count` whole words."""
        return 4 * count + 20

    def whole_words(
        self,
        prefix: Beginning,
        log_probabilities: Sequence[float],
        tokens: Sequence[int],
        is_first: bool,
        count: int,
    ) -> list[NextWord]:
        """The first `count` of `tokens` that are whole words; `is_first`: whether nothing precedes
        them."""
        words, search_width = self._words(is_first), self.search_width(count)
        whole = (
            NextWord(words[token], value, prefix.then(token, value))
            for token, value in zip(tokens[:search_width], log_probabilities, strict=False)
            if words[token]
        )
        return list(itertools.islice(whole, count))

    def _words(self, is_first: bool) -> list[str]:
        """The whole word that each token encodes, by id."""
        return self._first_words if is_first else self._later_words

    @cached_property
    def _first_words(self) -> list[str]:
        return [self._word(name, True) for name in self._token_names]

    @cached_property
    def _later_words(self) -> list[str]:
        return [self._word(name, False) for name in self._token_names]

    @property
    def _vocabulary_size(self) -> int:
        return int(self.model.config.text_config.vocab_size)

    @cached_property
    def _token_names(self) -> list[str]:
        """The token of each id in the model's vocabulary; "" for ids that the tokenizer lacks."""
        tokenizer = self.processor.tokenizer
        names = tokenizer.convert_ids_to_tokens(range(self._vocabulary_size))
        return [name or "" for name in names]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """[DEC] words … [SEP]: the decoder's start token replaces [CLS], as in generate()."""
        if not texts:
            return []
        limit = int(self.model.config.text_config.max_position_embeddings)
        encoding = self.processor.tokenizer(
            list(texts), truncation=True, max_length=limit,
            return_attention_mask=False, return_token_type_ids=False,
        )  # fmt: skip
        first = int(self.model.config.text_config.bos_token_id)
        return [[first, *tokens[1:]] for tokens in encoding["input_ids"]]

    def tokens_and_spans(self, texts: Sequence[str]) -> list[TokensAndSpans]:
        """For each text: its tokens, and the character spans of all but the first and the last."""
        limit = int(self.model.config.text_config.max_position_embeddings)
        encoding = self.processor.tokenizer(
            list(texts), truncation=True, max_length=limit, return_offsets_mapping=True
        )
        first = int(self.model.config.text_config.bos_token_id)
        return [
            ([first, *tokens[1:]], [tuple(span) for span in spans[1:-1]])
            for tokens, spans in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True)
        ]

    def _word(self, token: str, is_first: bool) -> str:
        """The whole word that a token encodes; "" for subwords, punctuation, special tokens."""
        return token if token.isalnum() else ""

    def _encode(self, pixels: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model.vision_model(pixels).last_hidden_state
        return states

    def logits(self, memory: torch.Tensor, sequences: Sequence[Sequence[int]]) -> torch.Tensor:
        """Shape [sequences, longest, vocabulary]. `memory`: one encoded image, or one each."""
        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long, device=self.device)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        return self._decode(ids, mask, memory.expand(len(sequences), -1, -1)).float()

    def generate(
        self, memory: torch.Tensor, input_ids: torch.Tensor, max_new_tokens: int
    ) -> torch.Tensor:
        """Tokens of the likeliest continuation of each row, by beam search."""
        config = self.model.config.text_config
        sequences: torch.Tensor = self.model.text_decoder.generate(
            input_ids=input_ids, encoder_hidden_states=memory,
            attention_mask=torch.ones_like(input_ids),
            eos_token_id=config.sep_token_id, pad_token_id=config.pad_token_id,
            num_beams=BEAMS, max_new_tokens=max_new_tokens, use_cache=True,
        )  # fmt: skip
        return sequences

    def _decode(self, ids: torch.Tensor, mask: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model.text_decoder(
            input_ids=ids, attention_mask=mask, encoder_hidden_states=memory, return_dict=True
        ).logits
        return logits
