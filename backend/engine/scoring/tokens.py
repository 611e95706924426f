"""Captions to tokens and back, through a Hugging Face tokenizer; and where the characters of a
cleaned text stand in the user's own.

Libraries clean a caption before they read it: lower case, no punctuation, repaired encoding. The
model's tokens refer to the cleaned text; what is highlighted and replaced is the user's.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from tokenizers.models import BPE
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from backend.engine.captions import Caption
from backend.engine.scoring.cleaning import Cleaning
from backend.engine.scoring.protocol import BoolArray, Tokens

_CHUNK = re.compile(r"\S+")
#: A letter, or what HTML writes for one, escaped once more or not.
_LETTER = re.compile(r"&(?:amp;)?#?\w+;|.", re.DOTALL)

Span = tuple[int, int]


def origins(text: str, clean: Callable[[str], str]) -> list[Span]:
    """For each character of `clean(text)`, the half-open range of `text` that it comes from.

    Text is compared word by word if that gives the same result as cleaning it whole, so that
    repeated words are never mistaken for each other. An added character gets an empty range.

    >>> origins("A_B, c", lambda t: t.replace("_", " ").replace(",", "").lower())
    [(0, 1), (1, 2), (2, 3), (3, 5), (5, 6)]
    """
    whole = clean(text)
    chunks = [(match.start(), match.group()) for match in _CHUNK.finditer(text)]
    parts = [clean(chunk) for _, chunk in chunks]
    if not " ".join(filter(None, parts)).startswith(whole):  # the end may be cut off
        chunks, parts = [(0, text)], [whole]
    ranges: list[Span] = []
    for (start, chunk), part in zip(chunks, parts, strict=True):
        if part and ranges:
            ranges.append((ranges[-1][1], start))  # the space between two words
        ranges += [(start + a, start + b) for a, b in _align(chunk, part)]
    return ranges[: len(whole)]


def span_in(ranges: list[Span], clean_text: str, start: int, end: int) -> Span:
    """The range of the user's text behind `clean_text[start:end]`, without the spaces around it.

    `ranges`: of `origins`. Empty if there is nothing but spaces.
    """
    start, end = without_spaces(clean_text, start, end)
    if start < end:
        return ranges[start][0], ranges[end - 1][1]
    place = ranges[start - 1][1] if start else 0
    return place, place


def without_spaces(text: str, start: int, end: int) -> Span:
    """
    >>> without_spaces("a dog", 1, 5), without_spaces("a dog", 1, 2)
    ((2, 5), (2, 2))
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _align(text: str, clean_text: str) -> list[Span]:
    if text == clean_text:
        return [(index, index + 1) for index in range(len(text))]
    letters = list(_LETTER.finditer(text))
    matcher = SequenceMatcher(
        None, [_fold(each.group()) for each in letters], list(map(_fold, clean_text)), False
    )
    edges = [each.start() for each in letters] + [len(text)]
    ranges: list[Span] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            ranges += pairwise(edges[start : end + 1])
        else:
            ranges += [(edges[start], edges[end])] * (last - first)
    return ranges


def _fold(letter: str) -> str:
    """In lower case and its compatibility form."""
    return unicodedata.normalize("NFKC", letter).lower()


#: Entries of a vocabulary that stand for no text: `[unused7]`, `<0x0A>`, `<unused7>`.
_PLACEHOLDER = re.compile(r"\[\w+\]|<\w+>")


def _same(text: str) -> str:
    return text


@dataclass
class HubReader:
    """A tokenizer of Hugging Face with the model's context.

    `context` includes the special tokens around a caption, of which there are `special`.
    `vocabulary` is the number of rows of the model's embedding table, which may exceed the
    tokenizer's vocabulary. `clean`: what the model's library does to a caption before its
    tokenizer.
    """

    tokenizer: Any
    context: int
    vocabulary: int
    special: int = 2
    clean: Callable[[str], str] = _same

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        if not captions:
            return []
        encoding = self.tokenizer(
            [self.clean(caption) for caption in captions],
            add_special_tokens=False,
            truncation=True,
            max_length=self.context - self.special,
            return_attention_mask=False,
        )
        return [tuple(ids) for ids in encoding["input_ids"]]

    def tokens_of_words(self, caption: Caption) -> list[Tokens] | None:
        """Words between spaces are read on their own by BERT's and CLIP's tokenizers. One call of
        a tokenizer for a caption's words is much faster than one for its every deletion."""
        chunks = caption.chunks
        is_apart = all(chunk.endswith((" ", "\n", "\t")) for chunk in chunks[:-1])
        is_apart = is_apart and self._cleans_words_apart(caption.text)
        if not chunks or not is_apart or not self._reads_words_apart:
            return None
        whole, *words = self.tokenise([caption.text, *chunks])
        tokens = tuple(token for word in words for token in word)
        if tokens[: self.context - self.special] != whole:
            return None
        return words

    def _cleans_words_apart(self, text: str) -> bool:
        if isinstance(self.clean, Cleaning):
            return self.clean.is_by_word(text)
        return self.clean is _same

    @cached_property
    def _reads_words_apart(self) -> bool:
        if not self.tokenizer.is_fast:
            return False
        backend = self.tokenizer.backend_tokenizer
        if isinstance(backend.pre_tokenizer, BertPreTokenizer):
            return isinstance(backend.normalizer, BertNormalizer)
        return isinstance(backend.model, BPE) and backend.model.end_of_word_suffix == "</w>"

    def spans(self, caption: str) -> list[Span]:
        """A SentencePiece tokenizer has no offsets: there, the text of its pieces is aligned."""
        most = self.context - self.special
        if not self.tokenizer.is_fast:
            pieces = self._pieces(caption)
            places = accumulate(map(len, pieces), initial=0)
            return to_source_spans(caption, self._read, list(pairwise(places))[:most])
        encoding = self.tokenizer(
            self.clean(caption),
            add_special_tokens=False,
            truncation=True,
            max_length=most,
            return_offsets_mapping=True,
        )
        places = [(int(start), int(end)) for start, end in encoding["offset_mapping"]]
        return to_source_spans(caption, self.clean, places)

    def _pieces(self, text: str) -> list[str]:
        """The text of each token; the first begins without a space."""
        pieces = [piece.replace("▁", " ") for piece in self.tokenizer.tokenize(self.clean(text))]
        return [pieces[0].lstrip(), *pieces[1:]] if pieces else []

    def _read(self, text: str) -> str:
        return "".join(self._pieces(text))

    def decode(self, tokens: Tokens) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True)).strip()

    def words_read(self, caption: str) -> int:
        return words_within(caption, self.spans(caption), self.context - self.special)

    def replaceable(self, whole_words: bool) -> BoolArray:
        is_replaceable = np.zeros(self.vocabulary, np.bool_)
        vocab = self.tokenizer.get_vocab()
        special, mark = set(self.tokenizer.all_special_ids), mark_of(vocab)
        for token, number in vocab.items():
            if number in special or number >= self.vocabulary or _PLACEHOLDER.fullmatch(token):
                continue
            is_replaceable[number] = not whole_words or is_word(token, mark)
        return is_replaceable


def mark_of(vocabulary: Collection[str]) -> str:
    """How a vocabulary marks whole words: CLIP by a suffix, SigLIP and GPT-2 by a prefix, BERT not
    at all."""
    marks = ("a</w>", "▁a", "Ġa")
    return next((mark for mark in marks if mark in vocabulary), "").replace("a", "")


def is_word(token: str, mark: str) -> bool:
    """Whether a vocabulary entry is a complete word.

    >>> is_word("dog</w>", "</w>"), is_word("do", "</w>"), is_word("dog", ""), is_word("##ing", "")
    (True, False, True, False)
    """
    bare = token.removesuffix("</w>").lstrip("▁Ġ")
    return mark in token and bare.isalpha()


def to_source_spans(
    caption: str, clean: Callable[[str], str], places: Iterable[Span]
) -> list[Span]:
    """The spans of the caption behind places of `clean(caption)`."""
    if clean is _same:
        return [without_spaces(caption, start, end) for start, end in places]
    ranges, text = origins(caption, clean), clean(caption)
    return [span_in(ranges, text, start, end) for start, end in places]


def words_within(caption: str, spans: Sequence[tuple[int, int]], most: int) -> int:
    """How many words of the caption are fully covered by the token spans `spans`.

    With fewer than `most` tokens nothing was truncated, so every word counts as read, even one that
    the tokenizer discards.
    """
    words = Caption.parse(caption).spans
    if len(spans) < most:
        return len(words)
    end_of_text = max((end for _, end in spans), default=0)
    return sum(end <= end_of_text for _, end in words)
