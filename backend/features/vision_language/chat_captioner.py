"""A vision-language model as a captioner: log p(word | picture, words before) in its answer to a
request to describe the picture, and its likeliest words. The model may be the scorer's own."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np
import torch
from PIL import Image

from backend.engine.correction.beam_search import BEAMS
from backend.engine.correction.captioner import MAX_BATCH, Captioner
from backend.engine.correction.captioner_loading import CaptionerFamily
from backend.engine.correction.decoding import AskedTokens, Decoding
from backend.engine.correction.plain_decoding import BATCH
from backend.engine.model_fit import probe
from backend.engine.model_names import PREFIX, parts_of
from backend.engine.scoring.batch_memory import images_that_fit
from backend.engine.scoring.checkpoints import Request, weights_digest
from backend.engine.scoring.protocol import Scorer, Work
from backend.engine.scoring.tokens import mark_of
from backend.errors import ModelMismatch
from backend.features.vision_language.asked_model import AskedImage, AskedModel
from backend.features.vision_language.caption_question import Description, after_caption
from backend.features.vision_language.picture_memory import PictureMemories
from backend.features.vision_language.vqa_checkpoints import VqaScorer, load_vqa

#: Tokens held for an image: picture and request, and the captions of one call.
_TOKENS_AN_IMAGE = 1500


@dataclass(frozen=True, kw_only=True)
class ChatCaptioner(Captioner):
    """An encoded image is an `AskedImage`.

    A caption's first token stands for the request, after which the first word follows; like the
    last, it is the token that ends a turn."""

    chat: AskedModel

    def encode(self, images: Sequence[Image.Image]) -> list[AskedImage]:
        return self.chat.encode_images(images)

    @property
    def max_batch(self) -> int:
        size = self.chat.bytes_a_token * _TOKENS_AN_IMAGE
        return images_that_fit(size, self.device, MAX_BATCH)

    def decoding(self, memories: Sequence[AskedImage]) -> "ChatDecoding":
        return ChatDecoding(self, memories)

    @property
    def end(self) -> int:
        return self.chat.after[0]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.end, *tokens, self.end] for tokens in self.chat.reader.tokenise(texts)]

    def tokens_and_spans(
        self, texts: Sequence[str]
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        spans = [self.chat.reader.spans(text) for text in texts]
        return list(zip(self.tokens(texts), spans, strict=True))

    @property
    def _vocabulary_size(self) -> int:
        return self.chat.reader.vocabulary

    @cached_property
    def _mark(self) -> str:
        return mark_of(self.chat.reader.tokenizer.get_vocab())

    def _word(self, token: str, is_first: bool) -> str:
        word = token.removeprefix(self._mark)
        follows_space = not is_first or self.chat.reader.before == " "
        begins = token.startswith(self._mark) if follows_space else True
        return word if begins and word.isalnum() else ""


class ChatDecoding(Decoding):
    """Each image is read once; the captions of a call share their prefixes."""

    _captioner: ChatCaptioner

    def __init__(self, captioner: ChatCaptioner, images: Sequence[AskedImage]) -> None:
        super().__init__(captioner)
        self._images = images
        #: Each with its logits after picture and request, [1, vocabulary].
        self._memories: dict[int, tuple[PictureMemories, torch.Tensor]] = {}

    @torch.inference_mode()
    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        captioner = self._captioner
        (start,) = captioner.tokens([prefix])
        descriptions = []
        for image in images:
            inputs = self._images[image].followed_by(start[1:-1])
            whole = captioner.model.generate(
                **captioner.chat.on_device(inputs), num_beams=BEAMS, do_sample=False,
                max_new_tokens=max_new_tokens, eos_token_id=captioner.end,
                pad_token_id=captioner.end,
            )  # fmt: skip
            descriptions += captioner.texts(whole[:, self._images[image].ids.shape[1] :])
        return descriptions

    def steps(self, requests: AskedTokens) -> list[torch.Tensor]:
        steps = []
        for image, tokens in requests:
            log_p, ((rows, _),) = self._read(image, [tokens])
            steps.append(log_p[rows])
        return steps

    def _after(self, requests: AskedTokens) -> Iterator[tuple[torch.Tensor, list[float]]]:
        for image, of_image in groupby(requests, key=itemgetter(0)):
            sequences = [tokens for _, tokens in of_image]
            for at in range(0, len(sequences), BATCH):
                log_p, rows_and_sums = self._read(image, sequences[at : at + BATCH])
                last = log_p[[rows[-1] for rows, _ in rows_and_sums]]
                yield last, [total for _, total in rows_and_sums]

    @torch.inference_mode()
    def _read(
        self, image: int, sequences: Sequence[Sequence[int]]
    ) -> tuple[torch.Tensor, list[tuple[list[int], float]]]:
        """Log-probabilities of the next token after each distinct prefix, [prefixes, vocabulary];
        for each sequence the rows of its prefixes, and the sum over its tokens but the first."""
        if image not in self._memories:
            memories = PictureMemories(self._captioner.chat, Work())
            _, begin = memories.add([self._images[image]])
            self._memories[image] = memories, begin
        memories, logits = self._memories[image]
        tree = memories.tree(0)
        ends, slots = list[int](), list[int]()
        for sequence in sequences:
            end, new = tree.insert(sequence[1:])
            ends.append(end)
            slots += new
        if slots:
            after = memories.read([(0, np.array(slots), range(len(slots)))])
            logits = torch.cat([logits, after])
        log_p = logits.float().log_softmax(-1)
        row_of = {slot: row for row, slot in enumerate(slots, 1)}
        rows_and_sums = []
        for sequence, end in zip(sequences, ends, strict=True):
            path = tree.path[end, : len(sequence) - 1].tolist() if len(sequence) > 1 else []
            rows = [0, *(row_of[slot] for slot in path)]
            total = float(log_p[rows[:-1], list(sequence[1:])].double().sum())
            rows_and_sums.append((rows, total))
        memories.forget_texts(0)
        return log_p, rows_and_sums


def load_chat_captioner(name: str, device: str, scorer: Scorer | None = None) -> ChatCaptioner:
    """`scorer`: its model is shared if it is the same. Raises as `load_vqa` does, and ModelMismatch
    for a model that cannot be read in packed texts."""
    shared = isinstance(scorer, VqaScorer) and parts_of(scorer.info.model)[0] == parts_of(name)[0]
    if shared:
        chat = scorer
    else:
        from backend.engine.scoring.loading import choose_precision

        chat = load_vqa(Request(name, None, device, choose_precision(device)))
    if not chat.shares_prefixes:
        raise ModelMismatch(
            f"'{name}' cannot be the captioner: it reads each text by itself, which is too slow. "
            "Choose another captioner, or none."
        )
    description = Description()
    text = chat.processor.apply_chat_template(description.turns(probe(), "Traced caption"))
    before = str(text).partition("Traced caption")[0][-1:]
    reader = replace(chat.reader, before=before if before.isspace() else "")
    after = after_caption(name, chat.processor, description, reader)
    digest = hashlib.sha256(f"{weights_digest(chat.model)} {text}".encode()).hexdigest()[:12]
    return ChatCaptioner(
        name, chat.model, chat.processor, device, digest,
        chat=AskedModel(
            chat.info, chat.model, chat.processor, reader, description, chat.answers, after
        ),
    )  # fmt: skip


FAMILY = CaptionerFamily(lambda model: model.startswith(PREFIX), load_chat_captioner)
