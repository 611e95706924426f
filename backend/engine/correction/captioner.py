"""Captioners: language models that are conditioned on an image and continue a text.

Supported classes, by hub name or directory: `BlipForConditionalGeneration` (the embedded model and
`Salesforce/blip-image-captioning-base`), `VisionEncoderDecoderModel`, an image encoder followed
by a causal language model such as GPT-2 (`nlpconnect/vit-gpt2-image-captioning`), and ClipCap, as
trained by the command `captioner` (`prefix_captioner`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image

from backend.engine import hub
from backend.engine.captioning.clipcap import is_clipcap
from backend.engine.correction.beam_search import BEAMS
from backend.engine.correction.decoding import (
    AskLikelihoods,
    AskNextWords,
    Beginning,
    Decoding,
    NextWord,
)
from backend.engine.correction.packed_decoding import PackedDecoding
from backend.engine.correction.shared_prefixes import SEQUENCES, TokenTrees, trees_of
from backend.engine.correction.tree_decoding import TreeDecoding
from backend.engine.expectation import ALTERNATIVES, TokenReading
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.batch_memory import FIRST_IMAGES, images_that_fit
from backend.engine.scoring.revision import weights_digest
from backend.engine.scoring.towers.blip_decoder import BlipDecoder
from backend.errors import ModelMismatch

#: Marks a token that begins a word in byte-pair vocabularies.
_BEGINS_WORD = "\u0120"
#: Decoders of vision-to-text models that accept position ids and an attention mask per token.
_DECODERS_OF_TREES = {"gpt2"}
#: The most images in one `decoding`.
MOST_TOGETHER = 64
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
    def see(self, image: Image.Image) -> torch.Tensor:
        """The encoded image that the decoder attends to, shape [1, patches + 1, width]; reuse
        it."""
        return self.encode([image])[0]

    @torch.inference_mode()
    def encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """`see` for many images."""
        states: list[torch.Tensor] = []
        for first in range(0, len(images), FIRST_IMAGES):
            part = list(images[first : first + FIRST_IMAGES])
            pixels = self.processor.image_processor(images=part, return_tensors="pt")
            states += self._encoded(pixels["pixel_values"].to(self.device)).split(1)
        return states

    @property
    def together(self) -> int:
        """How many images may be in one `decoding`, limited by the memory that it takes."""
        if self.tower is None:
            return MOST_TOGETHER
        vision = self.model.config.vision_config
        patches = (vision.image_size // vision.patch_size) ** 2 + 1
        return images_that_fit(self.tower.bytes_an_image(patches), self.device, MOST_TOGETHER)

    def decoding(self, memories: Sequence[torch.Tensor]) -> Decoding:
        """Answers about these images as one batch; what they share is computed once."""
        if self.tower is None or not memories:
            return TreeDecoding(self, memories)
        return PackedDecoding(self, self.tower, memories)

    @cached_property
    def tower(self) -> BlipDecoder | None:
        """The text decoder over packed prefixes, None for decoders that it does not support."""
        try:
            return BlipDecoder(self.model.text_decoder)
        except ValueError:
            return None

    @property
    def has_plain_beam_search(self) -> bool:
        """Whether the model's generation_config leaves the result of beam search unchanged."""
        configured = self.model.text_decoder.generation_config.to_dict()
        return not {name for name, value in configured.items() if value is not None} - _HARMLESS

    @property
    def end(self) -> int:
        """The token that ends a caption."""
        return int(self.model.config.text_config.sep_token_id)

    @torch.inference_mode()
    def read(self, memories: Sequence[torch.Tensor], captions: Sequence[str]) -> list[TokenReading]:
        """Log-probability of each token of each caption given its own image, in one pass."""
        together = self.together
        return [
            reading
            for at in range(0, len(captions), together)
            for reading in self._read(memories[at : at + together], captions[at : at + together])
        ]

    def _read(
        self, memories: Sequence[torch.Tensor], captions: Sequence[str]
    ) -> list[TokenReading]:
        read = self.tokens_and_spans(captions)
        distinct = {id(memory): memory for memory in memories}
        number = {key: place for place, key in enumerate(distinct)}
        steps = self.decoding(list(distinct.values())).steps(
            [(number[id(memory)], tokens[: max(1, len(spans))])
             for memory, (tokens, spans) in zip(memories, read, strict=True)]
        )  # fmt: skip
        return [
            self._reading(of_caption[: len(spans)], tokens, spans)
            for of_caption, (tokens, spans) in zip(steps, read, strict=True)
        ]

    def _reading(
        self, steps: torch.Tensor, tokens: Sequence[int], spans: Sequence[tuple[int, int]]
    ) -> TokenReading:
        """`steps`: log-probabilities of the next token at each position, [tokens, vocabulary]."""
        targets = torch.tensor(tokens[1 : len(spans) + 1], device=steps.device)
        log_p_of_words = steps.gather(1, targets[:, None])[:, 0]
        values, indices = steps.topk(min(_LOOKED_AT, steps.shape[-1]))
        words = []
        for row, likeliest in enumerate(indices.tolist()):
            names = self._words(row == 0)
            whole = [
                (names[token], math.exp(value))
                for token, value in zip(likeliest, values[row].tolist(), strict=True)
                if names[token]
            ]
            words.append(tuple(whole[:ALTERNATIVES]))
        best = values[:, 0] if len(values) else log_p_of_words
        return TokenReading(
            spans,
            log_p_of_words.cpu().numpy().astype(np.float32),
            best.cpu().numpy().astype(np.float32),
            words,
        )

    def next_words(
        self, memory: torch.Tensor, prefixes: Sequence[str], count: int
    ) -> list[list[NextWord]]:
        """`Decoding.next_words` for one image."""
        return self.decoding([memory]).next_words([(0, AskNextWords(prefixes, count))])[0]

    def log_likelihoods(self, memory: torch.Tensor, captions: Sequence[str]) -> list[float]:
        """`Decoding.log_likelihoods` for one image."""
        return self.decoding([memory]).log_likelihoods([(0, AskLikelihoods(captions))])[0]

    def describe(self, image: Image.Image, prefix: str = "", max_new_tokens: int = 30) -> str:
        """A caption generated from the image alone (unguided), by beam search."""
        return self.describe_all([self.see(image)], prefix, max_new_tokens)[0]

    def describe_all(
        self, memories: Sequence[torch.Tensor], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        """`describe` for a batch of encoded images."""
        together = self.together
        described: list[str] = []
        for at in range(0, len(memories), together):
            part = memories[at : at + together]
            described += self.decoding(part).describe(range(len(part)), prefix, max_new_tokens)
        return described

    def texts(self, sequences: Sequence[Sequence[int]] | torch.Tensor) -> list[str]:
        """Generated tokens as text, without special tokens."""
        decoded = self.processor.tokenizer.batch_decode(sequences, skip_special_tokens=True)
        return [str(text).strip() for text in decoded]

    def looked_at(self, count: int) -> int:
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
        words, looked_at = self._words(is_first), self.looked_at(count)
        whole = (
            NextWord(words[token], value, prefix.then(token, value))
            for token, value in zip(tokens[:looked_at], log_probabilities, strict=False)
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
        read = self.processor.tokenizer(
            list(texts), truncation=True, max_length=limit,
            return_attention_mask=False, return_token_type_ids=False,
        )  # fmt: skip
        first = int(self.model.config.text_config.bos_token_id)
        return [[first, *tokens[1:]] for tokens in read["input_ids"]]

    def tokens_and_spans(
        self, texts: Sequence[str]
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """For each text: its tokens, and the character spans of all but the first and the last."""
        limit = int(self.model.config.text_config.max_position_embeddings)
        read = self.processor.tokenizer(
            list(texts), truncation=True, max_length=limit, return_offsets_mapping=True
        )
        first = int(self.model.config.text_config.bos_token_id)
        return [
            ([first, *tokens[1:]], [tuple(span) for span in spans[1:-1]])
            for tokens, spans in zip(read["input_ids"], read["offset_mapping"], strict=True)
        ]

    def _word(self, token: str, is_first: bool) -> str:
        """The whole word that a token encodes; "" for subwords, punctuation, special tokens."""
        return token if token.isalnum() else ""

    def _encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.model.vision_model(pixels).last_hidden_state
        return hidden

    def logits(self, memory: torch.Tensor, sequences: Sequence[Sequence[int]]) -> torch.Tensor:
        """Shape [sequences, longest, vocabulary]. `memory`: one encoded image, or one each."""
        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long, device=self.device)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        return self._decoded(ids, mask, memory.expand(len(sequences), -1, -1)).float()

    def trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        """Sequences as token trees, as the decoder accepts them."""
        return trees_of(sequences)

    def through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
        """Log-probabilities of the token after each node, shape [trees, nodes, vocabulary].
        `memory`: the encoded image, common to all sequences."""
        logits: torch.Tensor = self.model.text_decoder(
            input_ids=torch.from_numpy(trees.tokens).to(self.device),
            position_ids=torch.from_numpy(trees.depths).to(self.device),
            attention_mask=trees.mask(memory.dtype, self.device),
            encoder_hidden_states=memory.expand(len(trees.tokens), -1, -1),
            return_dict=True,
        ).logits
        return logits.float().log_softmax(-1)

    def generated(
        self, memory: torch.Tensor, begun: torch.Tensor, max_new_tokens: int
    ) -> torch.Tensor:
        """Tokens of the likeliest continuation of each row, by beam search."""
        config = self.model.config.text_config
        generated: torch.Tensor = self.model.text_decoder.generate(
            input_ids=begun, encoder_hidden_states=memory, attention_mask=torch.ones_like(begun),
            eos_token_id=config.sep_token_id, pad_token_id=config.pad_token_id,
            num_beams=BEAMS, max_new_tokens=max_new_tokens, use_cache=True,
        )  # fmt: skip
        return generated

    def _decoded(self, ids: torch.Tensor, mask: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model.text_decoder(
            input_ids=ids, attention_mask=mask, encoder_hidden_states=memory, return_dict=True
        ).logits
        return logits


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
        read = self.processor.tokenizer(
            list(texts), truncation=True, max_length=int(decoder.max_position_embeddings) - 2,
            add_special_tokens=False, return_offsets_mapping=True,
        )  # fmt: skip
        configured = self.model.generation_config
        first, last = configured.decoder_start_token_id, configured.eos_token_id
        last = last[0] if isinstance(last, list) else last
        return [
            ([int(first), *tokens, int(last)], [tuple(span) for span in spans])
            for tokens, spans in zip(read["input_ids"], read["offset_mapping"], strict=True)
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

    def _encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.model.encoder(pixel_values=pixels).last_hidden_state
        return hidden

    def generated(
        self, memory: torch.Tensor, begun: torch.Tensor, max_new_tokens: int
    ) -> torch.Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        generated: torch.Tensor = self.model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory), decoder_input_ids=begun,
            num_beams=BEAMS, max_new_tokens=max_new_tokens,
        )  # fmt: skip
        return generated

    def _decoded(
        self, ids: torch.Tensor, mask: torch.Tensor, memory: torch.Tensor, **more: torch.Tensor
    ) -> torch.Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        logits: torch.Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.contiguous()),
            decoder_input_ids=ids,
            decoder_attention_mask=mask,
            **more,
        ).logits
        return logits

    def trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        shares = self.model.config.decoder.model_type in _DECODERS_OF_TREES
        return trees_of(sequences, SEQUENCES if shares else 1)

    def through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
        ids = torch.from_numpy(trees.tokens).to(self.device)
        memories = memory.expand(len(ids), -1, -1)
        if self.model.config.decoder.model_type in _DECODERS_OF_TREES:
            mask = trees.mask(memory.dtype, self.device)
            depths = torch.from_numpy(trees.depths).to(self.device)
            logits = self._decoded(ids, mask, memories, decoder_position_ids=depths)
        else:
            logits = self._decoded(ids, trees.lengths_mask(self.device), memories)
        return logits.float().log_softmax(-1)


@dataclass(frozen=True)
class Processor:
    """Tokenizer and image processor together, for models without a processor class."""

    tokenizer: Any
    image_processor: Any


_ADVICE = "Give --captioner a directory or hub name such as Salesforce/blip-image-captioning-base."


def load_captioner(model: str, device: str = "cpu") -> Captioner:
    """Load a BLIP, `VisionEncoderDecoderModel` or ClipCap captioner by hub name or directory.

    Raises ModelUnavailable or ModelMismatch; the message says what to do.
    """
    from transformers import AutoConfig, BlipForConditionalGeneration, BlipProcessor

    advice = _ADVICE
    what = "The captioner"
    if is_clipcap(model):
        from backend.engine.correction.prefix_captioner import load_prefix_captioner

        return load_prefix_captioner(model, device)
    configuration = hub.load(AutoConfig, model, what, advice)
    if configuration.model_type == "vision-encoder-decoder":
        return _load_vision_to_text(model, device)
    if configuration.model_type != "blip":
        raise ModelMismatch(
            f"'{model}' is a {configuration.model_type} model, not a BLIP captioner or another "
            f"vision-to-text model. {advice}"
        )
    loaded, report = hub.load(
        BlipForConditionalGeneration, model, what, advice,
        output_loading_info=True, dtype=torch.float32,
    )  # fmt: skip
    if any(key.startswith("text_decoder") for key in report["missing_keys"]):
        raise ModelMismatch(f"'{model}' has no caption decoder. {advice}")
    processor = hub.load(BlipProcessor, model, what, advice)
    check_tokenizer(model, processor.tokenizer, int(loaded.config.text_config.vocab_size))
    check_image_processor(model, processor.image_processor, loaded.config.vision_config)
    identity = weights_digest(loaded)
    return Captioner(model, loaded.eval().to(device), processor, device, identity)


def _load_vision_to_text(model: str, device: str) -> VisionToText:
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    what = "The captioner"
    loaded = hub.load_weights(VisionEncoderDecoderModel, model, what, _ADVICE, dtype=torch.float32)
    tokenizer = hub.load(AutoTokenizer, model, what, _ADVICE)
    pictures = hub.load(AutoImageProcessor, model, what, _ADVICE)
    check_tokenizer(model, tokenizer, int(loaded.config.decoder.vocab_size))
    check_image_processor(model, pictures, loaded.config.encoder)
    known = loaded.generation_config
    if known.decoder_start_token_id is None or known.eos_token_id is None:
        raise ModelMismatch(
            f"'{model}' does not define the tokens that begin and end a caption "
            f"(decoder_start_token_id, eos_token_id in generation_config.json). {_ADVICE}"
        )
    identity = weights_digest(loaded)
    processor = Processor(tokenizer, pictures)
    return VisionToText(model, loaded.to(device), processor, device, identity)


def perplexity(log_likelihood: float, words: int) -> float:
    """Per-word perplexity of a caption; lower reads more naturally."""
    return math.exp(-log_likelihood / max(1, words))
