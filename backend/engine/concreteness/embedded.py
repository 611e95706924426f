"""The embedded ICC: regression on sentence embeddings.

A linear regression rates words; it is fitted to `words.tsv` (1 abstract to 5 concrete). A kernel
ridge regression with a Gaussian kernel rates captions from their embedding, the ratings of their
words and their surface features (shares of word classes and marks, tagged by TextBlob); it is
fitted to `captions.tsv`: captions in styles found on the web, rated 0 (abstract) to 3 (concrete).
Words, captions and ratings were written for this project. Weights: `assets/models/concreteness`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from backend.bundled import MODELS
from backend.engine.embeddings import embed
from backend.engine.english.tagger import tag_words
from backend.engine.english.word_lists import FUNCTION_WORDS
from backend.errors import check_model_packages

#: Penn Treebank tags whose share among a caption's words is a feature.
_TAGS = ("NN", "NNS", "NNP", "VB", "VBG", "VBD", "VBZ", "VBN", "JJ", "IN", "DT", "PRP", "PRP$",
         "CD", "RB", "TO", "CC")  # fmt: skip
#: Each pattern's number of matches per word of the caption is a feature.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:you|your|we|our|us|my|i|me|it)\b",
        r"\b(?:how|why|what|when|who|which)\b",
        r"\b(?:a|an|one|two|three|four)\b",
        r"\bthe\b",
        r"\b(?:with|on|in|at|under|behind|next|beside|above)\b",
        r"\bof\b",
        r"\b\w{3,}ing\b",
        r"\b\w{3,}ed\b",
        r"\b(?:is|are|was|were|has|have|had|be|been|will|can|should|would|could|may)\b",
        r"isolated|background|vector|stock|illustration|silhouette|close-?up|photo|cartoon"
        r"|portrait|view",
        r"\.",
        r",",
        r":",
        r"-",
    )
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT, _LATIN = re.compile(r"\d"), re.compile(r"[A-Za-z]")
#: Only the first characters of a very long caption are used.
_LONGEST = 2_000


def describe(captions: Sequence[str]) -> NDArray[np.float64]:
    """One feature row per caption, shape [captions, WIDTH]."""
    return np.array([_wording(text[:_LONGEST]) + _tags(text[:_LONGEST]) for text in captions])


def _wording(text: str) -> list[float]:
    words, letters = text.split(), _LETTERS.findall(text.lower())
    count, letter_count = max(1, len(words)), max(1, len(letters))
    return [
        float(np.log(count)),
        float(np.log(1 + len(text))),
        sum(word[:1].isupper() for word in words[1:]) / max(1, count - 1),
        sum(word.isupper() and len(word) > 1 for word in words) / count,
        sum(bool(_DIGIT.search(word)) for word in words) / count,
        sum(bool(_DIGIT.search(word) and _LATIN.search(word)) for word in words) / count,
        float(len(_YEAR.findall(text))),
        *(len(pattern.findall(text)) / count for pattern in _PATTERNS),
        sum(word in FUNCTION_WORDS for word in letters) / letter_count,
        float(text.count("!") + text.count("?")),
        float(text.count("|") + text.count("#") + text.count("@")),
        float(text.count("(") + text.count('"')),
        float(np.mean([len(word) for word in letters])) if letters else 0.0,
        len(set(letters)) / letter_count,
        sum(ord(character) > 127 for character in text) / max(1, len(text)),
    ]


def _tags(text: str) -> list[float]:
    tags = [name for _, name in tag_words(text)]
    counts = Counter(tags)
    return [counts[name] / max(1, len(tags)) for name in _TAGS]


#: Number of features.
WIDTH = 7 + len(_PATTERNS) + 7 + len(_TAGS)


WEIGHTS = MODELS / "concreteness" / "model.safetensors"
Vector = NDArray[np.float64]

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Linear:
    """weights · x + bias."""

    weights: Vector
    bias: float

    def __call__(self, features: Vector) -> Vector:
        ratings: Vector = features @ self.weights + self.bias
        return ratings


@dataclass(frozen=True)
class Kernel:
    """mean + Σ weights[i] · exp(-GAMMA · |x - points[i]|²)."""

    points: Vector
    weights: Vector
    mean: float

    def __call__(self, features: Vector) -> Vector:
        squares = (features**2).sum(1)[:, None] + (self.points**2).sum(1)[None, :]
        distances = np.maximum(squares - 2 * features @ self.points.T, 0.0)
        ratings: Vector = np.exp(-GAMMA * distances) @ self.weights + self.mean
        return ratings


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of each feature of `form` over the training captions."""

    mean: Vector
    deviation: Vector

    def __call__(self, numbers: Vector) -> Vector:
        """Standardise, and clip to three standard deviations."""
        z_scores: Vector = np.clip((numbers - self.mean) / self.deviation, -3.0, 3.0)
        return z_scores


@dataclass(frozen=True)
class Regressions:
    """The regressions over words and captions, and the standardisation of surface features."""

    words: Linear
    captions: Kernel
    form: Spread

    def __call__(self, captions: Sequence[str]) -> list[float]:
        """ICC of each caption, unclipped: slightly outside [0, 1] for extreme captions."""
        distinct = list(dict.fromkeys(captions))
        if not distinct:
            return []
        values = self.captions(inputs(distinct, self.words, self.form)).tolist()
        ratings = dict(zip(distinct, values, strict=True))
        return [ratings[caption] for caption in captions]


def inputs(captions: Sequence[str], words: Linear, usual: Spread) -> Vector:
    """Shape [captions, embedding + 4 + form]: unit embedding, word ratings, form."""
    vectors = embed(captions).astype(np.float64)
    form_features = usual(describe(captions))
    return np.concatenate(
        [vectors, _word_ratings(captions, words), FORM_SCALE * form_features], axis=1
    )


#: Weight of the surface features against the embedding in a distance, and the kernel's decay with
#: that distance: chosen by cross-validation on `captions.tsv`.
FORM_SCALE = 0.15
GAMMA = 0.4


def _word_ratings(captions: Sequence[str], words: Linear) -> Vector:
    """Mean, upper and lower quartile and maximum of each caption's word ratings, shape [n, 4]."""
    groups = [
        [w for w in map(str.lower, _WORD.findall(caption)) if w not in FUNCTION_WORDS][:80]
        for caption in captions
    ]
    distinct = list(dict.fromkeys(word for group in groups for word in group))
    ratings = words(embed(distinct).astype(np.float64)) if distinct else np.zeros(0)
    rating_of = dict(zip(distinct, ratings, strict=True))
    rows = []
    for group in groups:
        values = np.array([rating_of[word] for word in group]) if group else np.zeros(1)
        lower, upper = np.quantile(values, (0.25, 0.75))
        rows.append([values.mean(), lower, upper, values.max()])
    return np.array(rows)


@cache
def load() -> Regressions:
    check_model_packages()
    from safetensors.numpy import load_file

    arrays = {name: value.astype(np.float64) for name, value in load_file(WEIGHTS).items()}
    return Regressions(
        Linear(arrays["words.weights"], float(arrays["words.bias"][0])),
        Kernel(
            arrays["captions.points"], arrays["captions.weights"], float(arrays["captions.mean"][0])
        ),
        Spread(arrays["form.mean"], arrays["form.deviation"]),
    )
