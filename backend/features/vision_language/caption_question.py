"""The question about a caption, as a chat model reads it.

The question's words are VQAScore's; the caption comes last, on a line of its own. A picture and
everything before the caption are then read once for all of a picture's captions, and no tokenizer
joins the caption's characters with those of the prompt: a line break before it and the end of the
turn after it are borders for all of them. A prompt in which they are joined is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.datasets.safe_files.regular_files import read_regular
from backend.engine.model_fit import probe
from backend.engine.scoring.protocol import BoolArray, Tokens
from backend.engine.scoring.tokens import HubReader, Span, to_source_spans
from backend.errors import ModelMismatch, SettingsError
from backend.features.vision_language.local import as_inputs

SHIPPED = Path(__file__).parent / "prompt.txt"
CAPTION = "{caption}"
#: The most characters of a user's own prompt.
_LONGEST = 4_000
#: Pictures are reduced to this longer side (pixels) first: models of any resolution, such as
#: Qwen-VL, would read a photograph of 12 million pixels as 16,000 tokens.
LONGEST_SIDE = 768
#: Different first and last characters, to find out where the prompt ends and begins.
_BORDERS = ("a", "7 dogs!")
_PROBES = (
    *_BORDERS, "A_Dog's photo, été &amp; 犬 🐕", "“Quoted” (twice)", "'s ...", "A dog on a boat.",
)  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """`text` contains `CAPTION` once."""

    text: str

    def turns(self, image: Image.Image, caption: str) -> list[dict[str, Any]]:
        """The question as a conversation for transformers' chat templates."""
        question = {"type": "text", "text": self.text.replace(CAPTION, caption)}
        return [{"role": "user", "content": [{"type": "image", "image": image}, question]}]


@dataclass(frozen=True)
class Description:
    """A request to describe the picture, answered by the caption."""

    text: str = (Path(__file__).parent / "description.txt").read_text("utf-8").strip()

    def turns(self, image: Image.Image, caption: str) -> list[dict[str, Any]]:
        request: dict[str, Any] = {"type": "text", "text": self.text}
        answer = [{"type": "text", "text": caption}]
        return [
            {"role": "user", "content": [{"type": "image", "image": image}, request]},
            {"role": "assistant", "content": answer},
        ]


def read_prompt(path: Path = SHIPPED) -> Prompt:
    """Raises SettingsError, which names the file."""
    try:
        text = read_regular(path).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"The prompt '{path}' cannot be read as UTF-8 text.") from problem
    if text.count(CAPTION) != 1 or len(text) > _LONGEST:
        raise SettingsError(
            f"The prompt '{path}' must contain {CAPTION} once, and at most {_LONGEST:,} characters."
        )
    return Prompt(text)


def one_line(caption: str) -> str:
    """The caption as the model reads it: a line break would end the question's last line.

    >>> one_line("  a\\n dog ")
    'a dog'
    """
    return " ".join(caption.split())


@dataclass
class ChatReader(HubReader):
    """Captions as a chat model reads them, never as special tokens, so that no caption can end the
    question or claim to be a picture. `before`: the character in front of them; a space is part of
    their first word's token."""

    before: str = "\n"

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        return [tuple(token for token, _ in tokens) for tokens in self._read(captions)]

    def spans(self, caption: str) -> list[Span]:
        (tokens,) = self._read([caption])
        return to_source_spans(caption, self.clean, [span for _, span in tokens])

    def _read(self, captions: Sequence[str]) -> list[list[tuple[int, Span]]]:
        """The caption's own tokens, each with its place in the cleaned caption."""
        if not captions:
            return []
        shift = len(self.before)
        begin = 0 if self.before == " " else shift
        encoding = self.tokenizer(
            [self.before + self.clean(caption) for caption in captions],
            add_special_tokens=False, return_offsets_mapping=True, return_attention_mask=False,
            split_special_tokens=True,
        )  # fmt: skip
        return [
            [
                (token, (max(0, start - shift), max(0, end - shift)))
                for token, (start, end) in zip(ids, places, strict=True)
                if end > begin
            ][: self.context]
            for ids, places in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True)
        ]

    def replaceable(self, whole_words: bool) -> BoolArray:
        mask = super().replaceable(whole_words)
        added_tokens = np.array(list(self.tokenizer.added_tokens_decoder), np.int64)
        mask[added_tokens[added_tokens < len(mask)]] = False
        return mask


@dataclass(frozen=True)
class Answers:
    """Token ids of every spelling of the two answers."""

    yes: tuple[int, ...]
    no: tuple[int, ...]


def answers_of(name: str, tokenizer: Any, rows: int) -> Answers:
    """Every entry of the vocabulary that is "yes" or "no" but for capitals and a space before it.

    Raises ModelMismatch if the tokenizer splits one of the words."""
    spellings: dict[str, list[int]] = {"yes": [], "no": []}
    for token, number in tokenizer.get_vocab().items():
        word = token.lstrip("Ġ▁ ").casefold()
        if word in spellings and number < rows:
            spellings[word].append(number)
    if missing := [word for word, ids in spellings.items() if not ids]:
        raise ModelMismatch(
            f"The tokenizer of '{name}' has no token '{missing[0]}', so its answer to a question "
            "cannot be read from one token. Choose another model."
        )
    return Answers(tuple(sorted(spellings["yes"])), tuple(sorted(spellings["no"])))


def whole_ids(
    processor: Any, prompt: Prompt | Description, image: Image.Image, caption: str
) -> list[int]:
    """All token ids of a conversation, those of the picture included, by the model's library."""
    ids: list[int] = as_inputs(processor, prompt.turns(image, caption))["input_ids"][0].tolist()
    return ids


def after_caption(
    name: str, processor: Any, prompt: Prompt | Description, reader: ChatReader
) -> Tokens:
    """The ids that follow every caption: the end of its turn, and the beginning of the answer.

    Raises ModelMismatch if the tokenizer joins captions and prompt, or if the model reasons before
    it answers."""
    image = probe()
    first, second = (whole_ids(processor, prompt, image, caption) for caption in _BORDERS)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first[::-1], second[::-1], strict=False))
    after = tuple(token for token, _ in same)[::-1]
    start = len(first) - len(after) - len(reader.tokenise(_BORDERS[:1])[0])
    for caption in _PROBES:
        tokens = reader.tokenise([caption])[0]
        if whole_ids(processor, prompt, image, caption) != [*first[:start], *tokens, *after]:
            raise ModelMismatch(
                f"The tokenizer of '{name}' joins the caption with the words of the prompt around "
                f"it ('{caption}'). End the prompt with {CAPTION} on a line of its own."
            )
    if reader.tokenizer.decode(after).rstrip().endswith("<think>"):
        raise ModelMismatch(
            f"'{name}' reasons before it answers, so its first word is no answer. Choose the "
            "version of the model that answers at once (often named Instruct)."
        )
    return after
