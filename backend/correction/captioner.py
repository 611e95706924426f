"""A captioner: a language model that sees the image and continues a text.

Real class: `BlipForConditionalGeneration`, by hub name or directory. The embedded model and
`Salesforce/blip-image-captioning-base` come through the same lines.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image

import backend.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.errors import ModelMismatch, not_loaded


@dataclass(frozen=True)
class Captioner:
    """A loaded captioning model. Use from one thread at a time."""

    name: str
    model: Any
    processor: Any
    device: str

    @torch.inference_mode()
    def see(self, image: Image.Image) -> torch.Tensor:
        """The image as the decoder's memory, shape [1, patches + 1, width]. Encode once."""
        pixels = self.processor.image_processor(images=[image], return_tensors="pt")
        return self.model.vision_model(pixels["pixel_values"].to(self.device)).last_hidden_state

    @torch.inference_mode()
    def next_words(
        self, memory: torch.Tensor, prefixes: Sequence[str], count: int
    ) -> list[list[tuple[str, float]]]:
        """For each prefix, the `count` likeliest next whole words with their log-probabilities.

        Only tokens that start a word and hold nothing but letters or digits: a curator reads
        words. Special tokens, pieces ("##ing") and punctuation are left out.
        """
        found = []
        for prefix in prefixes:
            tokens = self._tokens(prefix)[:-1]  # without [SEP]: the text goes on
            log_probabilities = self._logits(memory, [tokens])[0, len(tokens) - 1].log_softmax(-1)
            values, indices = log_probabilities.topk(min(4 * count + 20, len(log_probabilities)))
            words = [
                (word, float(value))
                for word, value in zip(
                    self.processor.tokenizer.convert_ids_to_tokens(indices.tolist()),
                    values,
                    strict=True,
                )
                if word.isalnum()
            ]
            found.append(words[:count])
        return found

    @torch.inference_mode()
    def log_likelihoods(self, memory: torch.Tensor, captions: Sequence[str]) -> list[float]:
        """log p(caption | image) summed over tokens, for each caption; higher is likelier."""
        if not captions:
            return []
        sequences = [self._tokens(caption) for caption in captions]
        logits = self._logits(memory, sequences)
        totals = []
        for row, sequence in enumerate(sequences):
            steps = logits[row, : len(sequence) - 1].log_softmax(-1)
            targets = torch.tensor(sequence[1:], device=steps.device)
            totals.append(float(steps.gather(1, targets[:, None]).sum()))
        return totals

    @torch.inference_mode()
    def describe(self, image: Image.Image, prefix: str = "", max_new_tokens: int = 30) -> str:
        """A caption made from the image alone (unguided), by beam search."""
        inputs = self.processor(images=[image], text=[prefix], return_tensors="pt").to(self.device)
        tokens = self.model.generate(**inputs, num_beams=3, max_new_tokens=max_new_tokens)
        return str(self.processor.tokenizer.decode(tokens[0], skip_special_tokens=True)).strip()

    def _tokens(self, text: str) -> list[int]:
        """[DEC] words … [SEP]; the decoder's own first token instead of [CLS], as in generate()."""
        limit = int(self.model.config.text_config.max_position_embeddings)
        tokens = self.processor.tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        return [int(self.model.config.text_config.bos_token_id), *tokens[1:]]

    def _logits(self, memory: torch.Tensor, sequences: Sequence[Sequence[int]]) -> torch.Tensor:
        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long, device=self.device)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        output = self.model.text_decoder(
            input_ids=ids,
            attention_mask=mask,
            encoder_hidden_states=memory.expand(len(sequences), -1, -1),
            return_dict=True,
        )
        logits: torch.Tensor = output.logits.float()
        return logits


def load_captioner(model: str, device: str = "cpu") -> Captioner:
    """Load a BLIP captioner by hub name or directory.

    Raises ModelUnavailable or ModelMismatch with what to do.
    """
    from transformers import AutoConfig, BlipForConditionalGeneration, BlipProcessor

    advice = (
        "Give --captioner a directory or hub name such as Salesforce/blip-image-captioning-base."
    )
    try:
        configuration = AutoConfig.from_pretrained(model)
        if configuration.model_type != "blip":
            raise ModelMismatch(
                f"'{model}' is a {configuration.model_type} model, not a BLIP captioner. {advice}"
            )
        loaded, report = BlipForConditionalGeneration.from_pretrained(
            model, output_loading_info=True, dtype=torch.float32
        )
        processor = BlipProcessor.from_pretrained(model)
    except (OSError, ValueError, KeyError) as problem:
        raise not_loaded("The captioner", model, problem, advice) from problem
    if any(key.startswith("text_decoder") for key in report["missing_keys"]):
        raise ModelMismatch(f"'{model}' has no caption decoder. {advice}")
    return Captioner(model, loaded.eval().to(device), processor, device)


def perplexity(log_likelihood: float, words: int) -> float:
    """Per-word perplexity of a caption; lower reads more naturally."""
    return math.exp(-log_likelihood / max(1, words))
