"""Captioners: language models that are conditioned on an image and continue a text.

Supported classes, by hub name or directory: `BlipForConditionalGeneration` (the embedded model and
`Salesforce/blip-image-captioning-base`), `VisionEncoderDecoderModel`, an image encoder followed
by a causal language model such as GPT-2 (`nlpconnect/vit-gpt2-image-captioning`), and ClipCap, as
trained by the command `captioner` (`prefix_captioner`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from backend.engine import hub
from backend.engine.captioning.clipcap import is_clipcap
from backend.engine.correction.shared_prefixes import SEQUENCES, TokenTrees, trees_of
from backend.engine.expectation import ALTERNATIVES, TokenReading
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.revision import weights_digest
from backend.errors import ModelMismatch

#: Marks a token that begins a word in byte-pair vocabularies.
_BEGINS_WORD = "\u0120"
#: Decoders of vision-to-text models that accept position ids and an attention mask per token.
_DECODERS_OF_TREES = {"gpt2"}
#: Number of beams when describing an image.
BEAMS = 3
#: Number of likeliest tokens that are searched for whole words.
_LOOKED_AT = 12


@dataclass(frozen=True)
class Beginning:
    """A token prefix, including the initial special token, and its log-probability, summed over
    all tokens but the first."""

    tokens: tuple[int, ...]
    log_p: float

    def then(self, token: int, log_p: float) -> "Beginning":
        return Beginning((*self.tokens, token), self.log_p + log_p)

    def begins(self, tokens: Sequence[int]) -> bool:
        return tuple(tokens[: len(self.tokens)]) == self.tokens


@dataclass(frozen=True)
class NextWord:
    """A candidate next word, its log-probability, and the token prefix that ends with it."""

    word: str
    log_p: float
    beginning: Beginning


@dataclass(frozen=True)
class Captioner:
    """A loaded BLIP captioner. Use from one thread at a time.

    `identity`: digest of the weights. Other architectures override the private methods, see
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
        """`see` for a batch of images."""
        if not images:
            return []
        pixels = self.processor.image_processor(images=list(images), return_tensors="pt")
        hidden = self._encoded(pixels["pixel_values"].to(self.device))
        return list(hidden.split(1))

    @torch.inference_mode()
    def read(self, memories: Sequence[torch.Tensor], captions: Sequence[str]) -> list[TokenReading]:
        """Log-probability of each token of each caption given its own image, in one pass."""
        if not captions:
            return []
        read = self._tokens_and_spans(captions)
        logits = self._logits(torch.cat(list(memories)), [tokens for tokens, _ in read])
        return [
            self._reading(logits[row, : len(spans)].log_softmax(-1), tokens, spans)
            for row, (tokens, spans) in enumerate(read)
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
            names = self.processor.tokenizer.convert_ids_to_tokens(likeliest)
            whole = [
                (word, math.exp(value))
                for name, value in zip(names, values[row].tolist(), strict=True)
                if (word := self._word(name, row == 0))
            ]
            words.append(tuple(whole[:ALTERNATIVES]))
        best = values[:, 0] if len(values) else log_p_of_words
        return TokenReading(
            spans,
            log_p_of_words.cpu().numpy().astype(np.float32),
            best.cpu().numpy().astype(np.float32),
            words,
        )

    @torch.inference_mode()
    def next_words(
        self, memory: torch.Tensor, prefixes: Sequence[str], count: int
    ) -> list[list[NextWord]]:
        """For each prefix, the `count` likeliest next whole words.

        Only tokens that start a word and consist of letters or digits, because curators read
        words: special tokens, subwords ("##ing") and punctuation are skipped.
        """
        if not prefixes:
            return []
        # Without [SEP], because the text continues.
        sequences = [tokens[:-1] for tokens in self._tokens(prefixes)]
        trees = self._trees(sequences)
        steps = self._through_trees(memory, trees)
        last = torch.stack([steps[tree, int(path[-1])] for tree, path in trees.paths])
        likeliest = last.topk(min(4 * count + 20, last.shape[1]))
        return [
            self._next_words(Beginning(tuple(tokens), so_far), values, indices, not prefix)[:count]
            for prefix, tokens, so_far, values, indices in zip(
                prefixes, sequences, trees.log_likelihoods(steps),
                likeliest.values.tolist(), likeliest.indices.tolist(), strict=True,
            )
        ]  # fmt: skip

    def _next_words(
        self,
        prefix: Beginning,
        log_probabilities: Sequence[float],
        tokens: Sequence[int],
        is_first: bool,
    ) -> list[NextWord]:
        pieces = self.processor.tokenizer.convert_ids_to_tokens(list(tokens))
        return [
            NextWord(word, value, prefix.then(token, value))
            for token, piece, value in zip(tokens, pieces, log_probabilities, strict=True)
            if (word := self._word(piece, is_first))
        ]

    def log_likelihoods(self, memory: torch.Tensor, captions: Sequence[str]) -> list[float]:
        """log p(caption | image) summed over tokens, for each caption; higher is likelier."""
        if not captions:
            return []
        return self._log_likelihoods(memory, self._tokens(captions))

    def likeliest(
        self,
        memory: torch.Tensor,
        captions: Sequence[str],
        beginnings: Sequence[Beginning],
        count: int,
    ) -> list[tuple[int, float]]:
        """The `count` likeliest captions, likeliest first, as (index, log-likelihood).

        `beginnings`: the presumed token prefix of each caption. No caption is likelier than its
        prefix, so captions whose prefix is less likely than the `count` best captions are skipped;
        the result is the same as with `log_likelihoods`.
        """
        sequences = self._tokens(captions) if captions else []
        bounds = [
            beginning.log_p if beginning.begins(tokens) else math.inf
            for beginning, tokens in zip(beginnings, sequences, strict=True)
        ]
        waiting = sorted(range(len(captions)), key=lambda i: (-bounds[i], i))
        best: list[tuple[int, float]] = []
        while waiting and (len(best) < count or bounds[waiting[0]] > best[-1][1]):
            now = sorted(waiting[:SEQUENCES])  # keeps shared prefixes together
            waiting = waiting[SEQUENCES:]
            values = self._log_likelihoods(memory, [sequences[i] for i in now])
            best += zip(now, values, strict=True)
            best = sorted(best, key=lambda item: (-item[1], item[0]))[:count]
        return best

    @torch.inference_mode()
    def _log_likelihoods(
        self, memory: torch.Tensor, sequences: Sequence[Sequence[int]]
    ) -> list[float]:
        """For each sequence: sum of log p(token | tokens before) over all tokens but the first."""
        trees = self._trees([sequence[:-1] for sequence in sequences])
        steps = self._through_trees(memory, trees)
        ends = [float(steps[tree, int(path[-1]), sequence[-1]])
                for sequence, (tree, path) in zip(sequences, trees.paths, strict=True)]  # fmt: skip
        before = trees.log_likelihoods(steps)
        return [so_far + end for so_far, end in zip(before, ends, strict=True)]

    def _trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        return trees_of(sequences)

    def _through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
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

    def describe(self, image: Image.Image, prefix: str = "", max_new_tokens: int = 30) -> str:
        """A caption generated from the image alone (unguided), by beam search."""
        return self.describe_all([self.see(image)], prefix, max_new_tokens)[0]

    @torch.inference_mode()
    def describe_all(
        self, memories: Sequence[torch.Tensor], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        """`describe` for a batch of encoded images."""
        if not memories:
            return []
        begun = torch.tensor([self._tokens([prefix])[0][:-1]] * len(memories), device=self.device)
        tokens = self._generated(torch.cat(list(memories)), begun, max_new_tokens)
        decoded = self.processor.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [str(text).strip() for text in decoded]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """[DEC] words … [SEP]: the decoder's start token replaces [CLS], as in generate()."""
        return [tokens for tokens, _ in self._tokens_and_spans(texts)]

    def _tokens_and_spans(
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

    def _logits(self, memory: torch.Tensor, sequences: Sequence[Sequence[int]]) -> torch.Tensor:
        """Shape [sequences, longest, vocabulary]. `memory`: one encoded image, or one each."""
        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long, device=self.device)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        return self._decoded(ids, mask, memory.expand(len(sequences), -1, -1)).float()

    def _generated(
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

    def _tokens_and_spans(
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

    @property
    def _is_byte_pair(self) -> bool:
        return _BEGINS_WORD + "a" in self.processor.tokenizer.get_vocab()

    def _encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.model.encoder(pixel_values=pixels).last_hidden_state
        return hidden

    def _generated(
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

    def _trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        shares = self.model.config.decoder.model_type in _DECODERS_OF_TREES
        return trees_of(sequences, SEQUENCES if shares else 1)

    def _through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
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
            f"'{model}' does not say with which token a caption begins and ends "
            f"(decoder_start_token_id, eos_token_id in generation_config.json). {_ADVICE}"
        )
    identity = weights_digest(loaded)
    processor = Processor(tokenizer, pictures)
    return VisionToText(model, loaded.to(device), processor, device, identity)


def perplexity(log_likelihood: float, words: int) -> float:
    """Per-word perplexity of a caption; lower reads more naturally."""
    return math.exp(-log_likelihood / max(1, words))
