"""A captioner's answers about a batch of images: next words, likelihoods, descriptions.

Three ways to compute them: `plain_decoding` (any captioner), `packed_decoding` (BLIP, nothing
computed twice) and `chat_captioner`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

#: A stride longer than any caption.
WHOLE = 1 << 20
#: Fewer captions than this are read to their end: short calls cost more than needless tokens.
FEW = 64
#: At least this share of many captions is read further at a time, so that a search takes few
#: rounds.
_SHARE = 1 / 8
#: The index of an image, and tokens.
AskedTokens = Sequence[tuple[int, Sequence[int]]]
#: The index of an image, and token sequences that describe it.
AskedSequences = Sequence[tuple[int, Sequence[Sequence[int]]]]
#: (index of a caption, its log-likelihood), likeliest first.
Ranked = list[tuple[int, float]]


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
class AskNextWords:
    """Request for the `count` likeliest next whole words after each prefix, likeliest first, as
    `NextWord`s. Only tokens that start a word and consist of letters or digits, because curators
    read words: special tokens, subwords ("##ing") and punctuation are skipped."""

    prefixes: Sequence[str]
    count: int


@dataclass(frozen=True)
class AskLikelihoods:
    """Request for log p(caption | image) summed over tokens, for each caption; higher is likelier.
    The answer has shape [captions]."""

    captions: Sequence[str]


@dataclass(frozen=True)
class AskLikeliest:
    """Request for the `count` likeliest captions, likeliest first, as (index, log-likelihood).

    `beginnings`: the presumed token prefix of each caption. No caption is likelier than its prefix,
    so captions whose prefix is less likely than the `count` best captions need not be read.
    """

    captions: Sequence[str]
    beginnings: Sequence[Beginning]
    count: int


class TokenModel(Protocol):
    """What decodings need of a captioner: texts as tokens and back, and its decoder.
    `Captioner` says what each of them does."""

    @property
    def device(self) -> str: ...
    @property
    def end(self) -> int: ...
    @property
    def has_plain_beam_search(self) -> bool: ...
    def tokens(self, texts: Sequence[str]) -> list[list[int]]: ...
    def texts(self, sequences: "Sequence[Sequence[int]] | torch.Tensor") -> list[str]: ...
    def search_width(self, count: int) -> int: ...
    def whole_words(
        self,
        prefix: Beginning,
        log_probabilities: Sequence[float],
        tokens: Sequence[int],
        is_first: bool,
        count: int,
    ) -> list[NextWord]: ...
    def logits(
        self, memory: "torch.Tensor", sequences: Sequence[Sequence[int]]
    ) -> "torch.Tensor": ...
    def generate(
        self, memory: "torch.Tensor", input_ids: "torch.Tensor", max_new_tokens: int
    ) -> "torch.Tensor": ...


class Decoding(ABC):
    """A captioner's answers about the images that it was made for, which requests refer to by
    index; answers are in the order of the requests."""

    #: Tokens by which a search reads captions further; all, where each call reads from the start.
    stride = WHOLE

    def __init__(self, captioner: TokenModel) -> None:
        self._captioner = captioner

    def next_words(
        self, requests: Sequence[tuple[int, AskNextWords]]
    ) -> list[list[list[NextWord]]]:
        prefixes = [(image, prefix, request.count)
                 for image, request in requests for prefix in request.prefixes]  # fmt: skip
        if not prefixes:
            return [[] for _ in requests]
        captioner = self._captioner
        # Without the end token, because the text continues.
        sequences = [
            tokens[:-1] for tokens in captioner.tokens([prefix for _, prefix, _ in prefixes])
        ]
        beginnings, likeliest = list[Beginning](), list[tuple[list[float], list[int]]]()
        most = max(captioner.search_width(count) for _, _, count in prefixes)
        unread = iter(sequences)
        for log_p, so_far in self._after(
            [(image, tokens) for (image, _, _), tokens in zip(prefixes, sequences, strict=True)]
        ):
            top = log_p.topk(min(most, log_p.shape[1]))
            likeliest += zip(top.values.tolist(), top.indices.tolist(), strict=True)
            beginnings += [Beginning(tuple(next(unread)), total) for total in so_far]
        words = iter(
            captioner.whole_words(beginning, values, ids, not prefix, count)
            for (_, prefix, count), beginning, (values, ids) in zip(
                prefixes, beginnings, likeliest, strict=True
            )
        )
        return [[next(words) for _ in request.prefixes] for _, request in requests]

    def log_likelihoods(self, requests: Sequence[tuple[int, AskLikelihoods]]) -> list[list[float]]:
        sequences = self._tokens([request.captions for _, request in requests])
        return self._sums(
            [(image, of_image) for (image, _), of_image in zip(requests, sequences, strict=True)]
        )

    def likeliest(self, requests: Sequence[tuple[int, AskLikeliest]]) -> list[Ranked]:
        sequences = self._tokens([request.captions for _, request in requests])
        return search_likeliest(requests, sequences, self._sums, self.stride)

    @abstractmethod
    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        """A caption of each image, which begins with `prefix`, by beam search."""

    @abstractmethod
    def steps(self, requests: AskedTokens) -> "list[torch.Tensor]":
        """For each (image, tokens), log-probabilities of the token after each of them, float32
        [tokens, vocabulary]."""

    @abstractmethod
    def _after(self, requests: AskedTokens) -> "Iterator[tuple[torch.Tensor, list[float]]]":
        """Log-probabilities of the token after each (image, tokens), [requests, vocabulary], and
        log p of these tokens, summed over all but the first; in order, in parts that fit into
        memory."""

    def _sums(self, requests: AskedSequences) -> list[list[float]]:
        """log p summed over all tokens but the first, for each sequence. The last token is
        predicted, but nothing after it."""
        flat = [(image, tokens) for image, sequences in requests for tokens in sequences]
        last = iter(tokens[-1] for _, tokens in flat)
        sums = iter(
            total + float(row[next(last)])
            for log_p, so_far in self._after([(image, tokens[:-1]) for image, tokens in flat])
            for row, total in zip(log_p, so_far, strict=True)
        )
        return [[next(sums) for _ in sequences] for _, sequences in requests]

    def _tokens(self, captions: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """The tokens of several lists of captions, in one call of the tokenizer."""
        tokens = iter(self._captioner.tokens([text for texts in captions for text in texts]))
        return [[next(tokens) for _ in texts] for texts in captions]


class _Search:
    """The search for one image's likeliest captions. `values[i]`: log-likelihood of the first
    `read[i]` tokens of caption i, which bounds that of the caption."""

    def __init__(
        self, image: int, request: AskLikeliest, sequences: Sequence[Sequence[int]]
    ) -> None:
        self.image = image
        self.sequences = sequences
        self.count = request.count
        matches = [
            beginning.begins(tokens)
            for beginning, tokens in zip(request.beginnings, sequences, strict=True)
        ]
        self.values = [
            beginning.log_p if begins else 0.0
            for beginning, begins in zip(request.beginnings, matches, strict=True)
        ]
        self.read = [
            len(beginning.tokens) if begins else 1
            for beginning, begins in zip(request.beginnings, matches, strict=True)
        ]

    def rank(self) -> list[int]:
        return sorted(range(len(self.values)), key=lambda i: (-self.values[i], i))

    def next(self) -> list[int]:
        """The captions to read further; none if the likeliest are known."""
        ranking = self.rank()
        unread = [i for i in ranking if self.read[i] < len(self.sequences[i])]
        if not set(unread).intersection(ranking[: self.count]):
            return []
        most = max(self.count, int(_SHARE * len(ranking)))
        reading = set(ranking[:most]).intersection(unread)
        return sorted(reading)  # keeps shared prefixes together

    def update(self, reading: Sequence[int], by: int, values: Sequence[float]) -> None:
        for i, value in zip(reading, values, strict=True):
            self.values[i] = value
            self.read[i] = min(self.read[i] + by, len(self.sequences[i]))


def search_likeliest(
    requests: Sequence[tuple[int, AskLikeliest]],
    sequences: Sequence[Sequence[Sequence[int]]],
    likelihoods_of: Callable[[AskedSequences], list[list[float]]],
    stride: int,
) -> list[Ranked]:
    """`Decoding.likeliest`: the captions that are likeliest so far are read further, until the
    likeliest have been read to their end. A caption never becomes likelier when read further, so
    that no other can be among them.

    `sequences`: the tokens of all captions; `likelihoods_of`: returns those of sequences.
    `stride`: number of tokens by which captions are read further at a time.
    """
    searches = [
        _Search(image, request, tokens)
        for (image, request), tokens in zip(requests, sequences, strict=True)
    ]
    while now := [(search, reading) for search in searches if (reading := search.next())]:
        together = sum(len(reading) for _, reading in now)
        by = stride if together >= FEW else WHOLE
        values = likelihoods_of(
            [(s.image, [s.sequences[i][: s.read[i] + by] for i in reading]) for s, reading in now]
        )
        for (search, reading), of_image in zip(now, values, strict=True):
            search.update(reading, by, of_image)
    return [[(i, s.values[i]) for i in s.rank()[: s.count]] for s in searches]
