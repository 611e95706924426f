"""Captions compared with references (CIDEr-D) and with the objects in the picture (CHAIR).

CIDEr-D is pycocoevalcap's. Only its tokeniser needs Java, so we use our own, which lowercases and
drops punctuation as that one does for plain English. CHAIR uses a vocabulary of objects (Rohrbach
et al., 2018).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import ModelUnavailable

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words_of(caption: str) -> list[str]:
    """Lower-case words without punctuation.

    >>> words_of("A dog's kite, two-coloured!")
    ['a', "dog's", 'kite', 'two-coloured']
    """
    return _WORD.findall(caption.lower())


def cider_d(captions: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """CIDEr-D of each caption against its references, on the published scale (maximum 10).

    Document frequencies come from the given references, so scores of two sets are not comparable.
    Raises ModelUnavailable if pycocoevalcap is not installed.
    """
    scorer = _scorer()
    for caption, texts in zip(captions, references, strict=True):
        scorer += (" ".join(words_of(caption)), [" ".join(words_of(text)) for text in texts])
    _, scores = scorer.compute_score()
    return [float(score) for score in np.asarray(scores)]


class CiderD:
    """CIDEr-D of captions of some of the pictures, with document frequencies of all their
    references, for use as a reward. Raises ModelUnavailable if pycocoevalcap is not installed."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        scorer = _scorer()
        for texts in references:
            scorer += (None, [" ".join(words_of(text)) for text in texts])
        scorer.compute_doc_freq()
        self._references, self._frequencies = scorer.crefs, scorer.document_frequency

    def scores(self, captions: Sequence[str], rows: Sequence[int]) -> NDArray[np.float64]:
        """On the published scale (maximum 10), shape [captions]; `rows`: whose references."""
        scorer = _scorer()
        for caption in captions:
            scorer.cook_append(" ".join(words_of(caption)), [])
        references = [self._references[row] for row in rows]
        # The scorer takes the number of documents from its list of references, and pairs the list
        # with the captions as far as these go.
        scorer.crefs = [
            *references,
            *self._references[: max(0, len(self._references) - len(references))],
        ]
        scorer.document_frequency = self._frequencies
        return np.asarray(scorer.compute_cider(), np.float64)


def _scorer() -> Any:
    try:
        from pycocoevalcap.cider.cider_scorer import CiderScorer
    except ImportError as problem:
        raise ModelUnavailable(
            "CIDEr needs pycocoevalcap: pip install -r research/requirements.txt"
        ) from problem
    return CiderScorer(n=4, sigma=6.0)


def distinct_words(captions: Sequence[str]) -> int:
    """How many different words the captions use in total.

    >>> distinct_words(["A dog.", "a cat"])
    3
    """
    return len({word for caption in captions for word in words_of(caption)})


def distinct_pairs(captions: Sequence[str]) -> float:
    """Mean share of different pairs of adjacent words within a caption (distinct-2), 1 if none is
    repeated; captions of one word do not count.

    >>> distinct_pairs(["a dog a dog", "a dog", "a"])
    0.8333333333333333
    """
    shares = []
    for caption in captions:
        words = words_of(caption)
        pairs = list(pairwise(words))
        if pairs:
            shares.append(len(set(pairs)) / len(pairs))
    return float(np.mean(shares)) if shares else 1.0


@dataclass(frozen=True)
class Chair:
    """`of_objects` (CHAIR_I): the share of mentioned objects that are not in the picture;
    `of_captions` (CHAIR_S): the share of captions with at least one such object. Lower is better.
    `mentioned`: the number of objects mentioned."""

    of_objects: float
    of_captions: float
    mentioned: int


def chair(
    captions: Sequence[str],
    objects: Sequence[Collection[str]],
    object_of: Mapping[str, str],
) -> Chair:
    """CHAIR of captions. `objects`: those in each caption's picture; `object_of`: maps every word
    that names an object (plurals, synonyms) to the object. An object mentioned twice in a caption
    counts once.

    >>> chair(["a dog and a cat", "a puppy"], [{"dog"}, {"dog"}],
    ...       {"dog": "dog", "puppy": "dog", "cat": "cat"})
    Chair(of_objects=0.3333333333333333, of_captions=0.5, mentioned=3)
    """
    mentions = false = captions_with = 0
    for caption, picture_objects in zip(captions, objects, strict=True):
        caption_objects = {object_of[word] for word in words_of(caption) if word in object_of}
        absent = len(caption_objects.difference(picture_objects))
        mentions += len(caption_objects)
        false += absent
        captions_with += absent > 0
    return Chair(
        false / mentions if mentions else 0.0,
        captions_with / len(captions) if captions else 0.0,
        mentions,
    )
