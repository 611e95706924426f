"""A vision-language model with a question: what it reads of a picture, and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F  # noqa: N812
from torch.nn.functional import normalize

from backend.engine.scoring.batch_memory import ImageBatches, Pace, pace_of
from backend.engine.scoring.protocol import FloatArray, ScorerInfo, Tokens
from backend.features.vision_language.caption_question import (
    LONGEST_SIDE,
    Answers,
    ChatReader,
    Description,
    Prompt,
)
from backend.features.vision_language.local import as_inputs


@dataclass(frozen=True)
class AskedImage:
    """The model's inputs up to the caption. `inputs`: tensors of the model's processor on the CPU;
    those of shape [1, tokens] run along the text, the others are the picture."""

    inputs: Mapping[str, torch.Tensor]

    @property
    def ids(self) -> torch.Tensor:
        """Token ids up to the caption, shape [1, tokens]."""
        return self.inputs["input_ids"]

    def along_text(self) -> list[str]:
        return [key for key, tensor in self.inputs.items() if tensor.shape == self.ids.shape]

    def shapes(self) -> tuple[tuple[str, torch.Size], ...]:
        """What pictures must have in common to be read in one call."""
        along = self.along_text()
        return tuple((key, tensor.shape[1:]) for key, tensor in self.inputs.items()
                     if key not in along)  # fmt: skip

    def followed_by(self, tokens: Sequence[int]) -> dict[str, torch.Tensor]:
        """The inputs with these tokens after them."""
        more = torch.tensor([list(tokens)], dtype=torch.long)
        inputs = dict(self.inputs)
        for key in self.along_text():
            more_inputs = {"input_ids": more, "attention_mask": torch.ones_like(more)}
            inputs[key] = torch.cat([inputs[key], more_inputs.get(key, torch.zeros_like(more))], 1)
        return inputs


def side_by_side(states: Sequence[AskedImage]) -> tuple[dict[str, torch.Tensor], list[int]]:
    """The inputs of several pictures, and the length of each one's text. Shorter texts are padded
    on the right, where no earlier token sees it, and the padding's states are not used.

    Raises RuntimeError for pictures of different shapes (`AskedImage.shapes`)."""
    lengths = [state.ids.shape[1] for state in states]
    if len(states) == 1:
        return dict(states[0].inputs), lengths
    along = states[0].along_text()
    inputs = {}
    for key in states[0].inputs:
        tensors = [state.inputs[key] for state in states]
        if key in along:
            # By a token that stands for no picture: the last before the caption.
            fillers = [tensor[0, -1] if key == "input_ids" else 0 for tensor in tensors]
            tensors = [
                F.pad(tensor, (0, max(lengths) - tensor.shape[1]), value=int(filler))
                for tensor, filler in zip(tensors, fillers, strict=True)
            ]
        inputs[key] = torch.cat(tensors)
    return inputs, lengths


@dataclass
class AskedModel:
    """A model of transformers' image-text-to-text class. An image's state is an `AskedImage`."""

    info: ScorerInfo
    model: Any
    processor: Any
    reader: ChatReader
    prompt: Prompt | Description
    answers: Answers
    after: Tokens  #: what follows every caption

    def encode_images(self, images: Sequence[Image.Image]) -> list[AskedImage]:
        return [self._image_state(image) for image in images]

    def _image_state(self, image: Image.Image) -> AskedImage:
        inputs = as_inputs(self.processor, self.prompt.turns(reduce(image), "a"))
        whole = inputs["input_ids"].shape[1]
        length = whole - len(self.after) - len(self.reader.tokenise(["a"])[0])
        return AskedImage(
            {
                key: tensor[:, :length] if tensor.shape == (1, whole) else tensor
                for key, tensor in inputs.items()
            }
        )

    @torch.inference_mode()
    def image_embeddings(self, states: Sequence[AskedImage]) -> FloatArray | None:
        """The mean of an image's tokens, as the language model gets them."""
        if not states:
            return None
        return np.concatenate([self._vector(state) for state in states])

    def _vector(self, state: AskedImage) -> FloatArray:
        along = state.along_text()
        picture = {key: tensor for key, tensor in state.inputs.items() if key not in along}
        image_features = self.model.get_image_features(**self.on_device(picture), return_dict=True)
        tokens = image_features.pooler_output
        if not isinstance(tokens, torch.Tensor):
            tokens = torch.cat([part.flatten(0, -2) for part in tokens])
        mean = tokens.flatten(0, -2).float().mean(0, keepdim=True)
        vector: FloatArray = normalize(mean, dim=-1).cpu().numpy()
        return vector

    def on_device(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Tensors where the model is, numbers in its precision."""
        dtype = self.model.dtype
        return {
            key: tensor.to(self.info.device, dtype if tensor.is_floating_point() else tensor.dtype)
            for key, tensor in inputs.items()
        }

    @property
    def bytes_a_token(self) -> int:
        """Keys and values of one token in all layers."""
        text = self.model.config.get_text_config()
        heads = int(getattr(text, "num_key_value_heads", None) or text.num_attention_heads)
        width = int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)
        size: int = self.model.dtype.itemsize
        return 2 * int(text.num_hidden_layers) * heads * width * size

    @cached_property
    def pace(self) -> Pace:
        """The batches that suit the device."""
        return pace_of(self.info.device)

    @cached_property
    def image_batches(self) -> ImageBatches:
        """How many pictures are read in a call, learned from one call to the next."""
        return ImageBatches(self.info.device, self.pace)

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """P(yes) / (P(yes) + P(no)) from logits [texts, vocabulary] of the answer's first token."""
        yes, no = (logits[:, ids].float().logsumexp(-1) for ids in self._answer_ids)
        return torch.sigmoid(yes - no)

    @cached_property
    def _answer_ids(self) -> list[torch.Tensor]:
        """Of yes and of no, where the model is."""
        answers = (self.answers.yes, self.answers.no)
        with torch.inference_mode(False):  # autograd uses them as well
            return [torch.tensor(ids, device=self.info.device) for ids in answers]


def reduce(image: Image.Image) -> Image.Image:
    """The image with a longer side of at most `LONGEST_SIDE` pixels."""
    if max(image.size) <= LONGEST_SIDE:
        return image
    smaller = image.copy()
    smaller.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return smaller
