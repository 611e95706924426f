# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Nonsense words, and their substitution for a phrase's head.

Three invariants (from the paper) must be satisfied, otherwise the phrase is *not covered*:

* **tokens**: with the scorer's own tokenizer, the number of tokens is unchanged, all other tokens
  are the same, and no special token appears. This is checked on the whole caption, because
  SentencePiece splits a word depending on its context.
* **meaning**: the nonce is not in the lexicon, contains no known word of four or more letters, and
  does not occur in a second lexicon of words in use. A word that is a single token was frequent in
  some corpus: where a vocabulary has too few without use, the least used complete a form
  (`NoncePools.in_use`). Only the *emptiest* candidates are kept: those whose text vectors are
  nearest to the mean of all candidates of their form.
* **form**: capitals, -s, -es, -ing, -ed and the possessive are preserved, and so is an initial
  vowel, so that a preceding "a" or "an" stays correct (as a fallback, -s may replace -es, and
  without an article the other kind of initial may be used).

A scorer with a closed vocabulary (the embedded models) maps every nonce to its unknown token: one
nonce is enough there, and words that are unknown to it cannot be tested.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from backend.engine.captions import Caption
from backend.engine.english.articles import article_for, match_case
from backend.engine.english.nouns import form_table, known_nouns, plural_of, singular_of
from backend.engine.english.phrases import Phrase
from backend.engine.english.tagger import lexicon
from backend.engine.scoring.protocol import FloatArray, TokenReader, Tokens

#: Known words of at least this many letters would be recognised inside a nonce.
SHORTEST_WITHIN = 4


@cache
def words() -> frozenset[str]:
    """All words in lower case, about 80,000."""
    lexicon_words = {word.lower() for word in lexicon()}
    names = Path(__file__).with_name("names.txt").read_text(encoding="utf-8").split()
    nouns = {*known_nouns(), *map(plural_of, known_nouns())}
    return frozenset(lexicon_words | set(names) | nouns | set(form_table()))


def means_nothing(text: str, within: bool = True) -> bool:
    """Whether the lower-case text is not a word and (`within`) contains none of 4 or more letters.

    >>> means_nothing("glorptev"), means_nothing("dog"), means_nothing("xdoorx")
    (True, False, False)
    """
    known_words = words()
    if text in known_words:
        return False
    return not within or not any(
        text[start:end] in known_words
        for start in range(len(text) - SHORTEST_WITHIN + 1)
        for end in range(start + SHORTEST_WITHIN, len(text) + 1)
    )


def frequency(word: str) -> float:
    """How often a lower-case word occurs in English text, as a share of all words; 0 if it occurs
    less than once in a hundred million words.

    >>> frequency("pixels") > 1e-6, frequency("glorptev")
    (True, 0.0)
    """
    from wordfreq import get_frequency_dict  # cached, but its first call takes a second

    return float(get_frequency_dict("en", wordlist="large").get(word, 0.0))


SUFFIXES = ("", "s", "es", "ing", "ed")
#: Maximum number of tokens of a replaceable head.
MOST_TOKENS = 8
#: Nonces kept per form, and candidates they are chosen from.
KEPT, CANDIDATES = 16, 48
#: Nonces per phrase: m.
PER_PHRASE = 3
SEED = 24
#: Incremented when a rule change alters the pools.
VERSION = 3

_ONSETS = (
    "b bl br d dr f fl fr g gl gr j k kl kr l m n p pl pr sk sl sm sn sp st t tr v w y z"
).split()
_VOWELS = ["a", "e", "i", "o", "u"]
_CODAS = ("b d f g k l lb lf lm lp lt m mp n nk p rb rd rf rk rl rm rn rp rt sk sp t v x z").split()
_ONE_TOKEN = re.compile("[a-z]{4,8}")
#: Plurals in -es.
_HISSING = re.compile("(?:s|sh|ch|x|z|o|i)es$")
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])$", re.IGNORECASE)

Embed = Callable[[Sequence[Tokens]], FloatArray]


@dataclass(frozen=True)
class Form:
    """The features of a word's form that a nonce preserves, besides letter case and possessive."""

    suffix: str
    vowel: bool


@dataclass(frozen=True)
class NoncePools:
    """The nonces of one tokenizer: (tokens, suffix, vowel) to words, the emptiest first.

    `closed`: the tokenizer maps each of them to its unknown token."""

    pools: Mapping[tuple[int, str, bool], tuple[str, ...]]
    closed: bool = False

    @property
    def per_phrase(self) -> int:
        return 1 if self.closed else PER_PHRASE

    @property
    def digest(self) -> str:
        """Identifies these pools in a run's parameters."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=8).hexdigest()

    def to_json(self) -> str:
        pools = {
            f"{count} {suffix or '-'} {'vowel' if vowel else 'consonant'}": list(words)
            for (count, suffix, vowel), words in sorted(self.pools.items())
        }
        return json.dumps({"version": VERSION, "closed": self.closed, "pools": pools}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "NoncePools":
        """Raises ValueError for invalid data, or for pools of another VERSION."""
        try:
            value: dict[str, Any] = json.loads(text)
            if value["version"] != VERSION:
                raise ValueError("the pool was made by different rules")
            pools = {}
            for name, words in value["pools"].items():
                count, suffix, start = name.split(" ")
                if not all(isinstance(w, str) and w.isascii() and w.isalpha() for w in words):
                    raise ValueError(f"the pool holds something that is not a word: {name}")
                pools[int(count), "" if suffix == "-" else suffix, start == "vowel"] = tuple(words)
            return cls(pools, bool(value["closed"]))
        except (KeyError, TypeError, AttributeError) as problem:
            raise ValueError("the file holds no pool of nonces") from problem

    def words(self) -> frozenset[str]:
        return frozenset(word for words in self.pools.values() for word in words)

    def in_use(self) -> frozenset[str]:
        """The nonces that occur in text, if rarely: single tokens without which a form would have
        too few."""
        return frozenset(word for word in self.words() if frequency(word))

    def without(self, used_words: Iterable[str]) -> "NoncePools":
        """The pools without the words that a dataset uses."""
        removed_words = set(used_words)
        pools = {
            key: tuple(w for w in words if w not in removed_words)
            for key, words in self.pools.items()
        }
        return NoncePools(pools, self.closed)


@dataclass(frozen=True)
class Substitution:
    """A caption with a phrase's head replaced, once for each nonce."""

    phrase: Phrase
    nonces: tuple[str, ...]
    captions: tuple[str, ...]
    tokens: tuple[Tokens, ...]

    @property
    def covered(self) -> bool:
        return bool(self.captions)


def stem_and_possessive(word: str) -> tuple[str, str]:
    """
    >>> stem_and_possessive("man's"), stem_and_possessive("girls'"), stem_and_possessive("bus")
    (('man', "'s"), ('girls', "'"), ('bus', ''))
    """
    match = _POSSESSIVE.search(word)
    return (word[: match.start()], match.group()) if match else (word, "")


def form_of(word: str) -> Form:
    """The form of a word without its possessive.

    Plurals without an -s ("men") get the suffix "s".

    >>> form_of("Buses"), form_of("orange"), form_of("grass").suffix
    (Form(suffix='es', vowel=False), Form(suffix='', vowel=True), '')
    """
    lower = word.lower()
    return Form(_suffix_of(lower), article_for(lower) == "an")


def _suffix_of(lower: str) -> str:
    if singular_of(lower) != lower:
        return "es" if _HISSING.search(lower) else "s"
    for ending in ("ed", "ing"):
        if lower.endswith(ending) and re.search("[aeiouy]", lower[: -len(ending)]):
            return ending
    return ""


@dataclass
class Nonces:
    """Substitutions for one scorer: its tokenizer and its pools. Computes no scores."""

    reader: TokenReader
    pools: NoncePools
    _special: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        ordinary = self.reader.replaceable(False)
        self._special = frozenset(np.flatnonzero(~ordinary).tolist())

    def substitutions(self, caption: Caption, phrases: Sequence[Phrase]) -> list[Substitution]:
        """One per phrase, in order; without captions if the phrase is not covered."""
        if not phrases:
            return []
        (whole,) = self.reader.tokenise([caption.text])
        spans = self.reader.spans(caption.text)
        ranges = [_tokens_of(caption, phrase, spans) for phrase in phrases]
        trials: list[list[tuple[str, str]]] = []
        for phrase, inside in zip(phrases, ranges, strict=True):
            word = caption.words[phrase.word]
            before = caption.words[phrase.word - 1].lower() if phrase.word else ""
            choices = self._choices(word, inside, before in ("a", "an")) if inside else []
            trials.append([(nonce, caption.replace({phrase.word: nonce})) for nonce in choices])
        texts = self.reader.tokenise([text for candidates in trials for _, text in candidates])
        substitutions, at = [], 0
        for phrase, inside, candidates in zip(phrases, ranges, trials, strict=True):
            read_texts = texts[at : at + len(candidates)]
            at += len(candidates)
            usable = [
                (nonce, text, tokens)
                for (nonce, text), tokens in zip(candidates, read_texts, strict=True)
                if inside and self._holds(whole, tokens, *inside)
            ][: self.pools.per_phrase]
            nonces, captions, tokens = zip(*usable, strict=True) if usable else ((), (), ())
            substitutions.append(Substitution(phrase, nonces, captions, tokens))
        return substitutions

    def _choices(self, word: str, inside: tuple[int, int], after_article: bool) -> list[str]:
        """Nonces in the word's form, in an order that depends only on the word; twice as many
        as needed, because some may not fit the caption."""
        stem, possessive = stem_and_possessive(word)
        form = form_of(stem)
        count = 1 if self.pools.closed else inside[1] - inside[0]
        beginnings = (form.vowel,) if after_article else (form.vowel, not form.vowel)
        suffixes = (form.suffix, "s") if form.suffix == "es" else (form.suffix,)
        keys = [(count, suffix, vowel) for suffix in suffixes for vowel in beginnings]
        pool = next((pool for key in keys if (pool := self.pools.pools.get(key))), ())
        lower = stem.lower()
        nonces = sorted(pool, key=lambda nonce: _rank(lower, form.suffix, nonce))
        most = 2 * self.pools.per_phrase
        return [match_case(nonce, stem) + possessive for nonce in nonces[:most]]

    def _holds(self, before: Tokens, after: Tokens, start: int, end: int) -> bool:
        """Whether only the tokens from start to end - 1 differ, and none of them is special."""
        if len(before) != len(after) or before == after:
            return False
        if before[:start] != after[:start] or before[end:] != after[end:]:
            return False
        return self.pools.closed or not self._special.intersection(after[start:end])


def _tokens_of(
    caption: Caption, phrase: Phrase, spans: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """The half-open token range of a head without its possessive; None if it is truncated."""
    stem, _ = stem_and_possessive(caption.words[phrase.word])
    start, end = phrase.head_start, phrase.head_start + len(stem)
    inside = [i for i, (a, b) in enumerate(spans) if a < end and b > start]
    if not inside or spans[inside[-1]][1] < end:
        return None
    return inside[0], inside[-1] + 1


def _rank(word: str, suffix: str, nonce: str) -> bytes:
    """A sort key that is the same in every caption and on every machine."""
    return hashlib.blake2b(f"{word}\0{suffix}\0{nonce}".encode(), digest_size=8).digest()


# ---------------------------------------------------------------- making the pools


def make_pools(reader: TokenReader, embed: Embed | None) -> NoncePools:
    """The pools of a scorer. `embed`: unit text vectors of token sequences, [texts, d]; without it,
    the first candidates are kept, which are in random order."""
    closed = is_closed(reader)
    candidates = _candidates(reader, closed)
    if closed or embed is None:
        return NoncePools({key: tuple(w[:KEPT]) for key, w in candidates.items()}, closed)
    return NoncePools({key: emptiest(words, key[1], reader, embed)
                       for key, words in candidates.items()})  # fmt: skip


def is_closed(reader: TokenReader) -> bool:
    """Whether the tokenizer maps all unknown words to a single token."""
    strange = list(islice(_syllables(random.Random(0)), 12))
    return len(set(reader.tokenise(strange))) == 1


def emptiest(
    words: Sequence[str], suffix: str, reader: TokenReader, embed: Embed
) -> tuple[str, ...]:
    """The words whose text vectors are nearest to the mean of all, which share only their form.

    Ties go to the first word."""
    if not words:
        return ()
    template = "a photo of a {}" if not suffix else "a photo of {}"
    texts = [template.format(w).replace(" a " + w, f" {article_for(w)} {w}") for w in words]
    vectors = embed(reader.tokenise(texts)).astype(np.float64)
    mean = vectors.mean(0)
    nearness = np.round(vectors @ (mean / max(float(np.linalg.norm(mean)), 1e-12)), 6)
    order = sorted(range(len(words)), key=lambda i: (-nearness[i], i))
    return tuple(words[i] for i in order[:KEPT])


def _candidates(reader: TokenReader, is_closed: bool) -> dict[tuple[int, str, bool], list[str]]:
    """Up to CANDIDATES nonces for every number of tokens, suffix and kind of initial letter; for
    a closed vocabulary only KEPT, since none is better than another; PER_PHRASE where single tokens
    in use have to complete a form."""
    most = KEPT if is_closed else CANDIDATES
    counts = (1,) if is_closed else range(1, MOST_TOKENS + 1)
    pools: dict[tuple[int, str, bool], list[str]] = {
        (count, suffix, vowel): [] for count in counts for suffix in SUFFIXES
        for vowel in (True, False)
    }  # fmt: skip

    def take(count: int, suffix: str, nonce: str, most: int) -> None:
        vowel = nonce[0] in "aeiou"
        pool = pools.get((count, suffix, vowel))
        if pool is None or len(pool) >= most or nonce in pool:
            return
        unclear = nonce.startswith(("u", "eu", "one"))  # "a unit" but "an urn", "an ytt"
        if not unclear and (article_for(nonce) == "an") == vowel:  # asked last: it is slow
            pool.append(nonce)

    rng = random.Random(SEED)
    if not is_closed:
        for nonce in _single_tokens(reader, rng):
            take(1, _suffix_of(nonce), nonce, PER_PHRASE if frequency(nonce) else most)
    for syllables in (*range(1, 7), *(1, 2) * 6):
        lacking = [key for key, words in pools.items() if len(words) < most]
        if not any(is_closed or count > 1 for count, _, _ in lacking):
            break
        stems = [s for s in islice(_syllables(rng, syllables), 600) if means_nothing(s)]
        for suffix in SUFFIXES:
            nonces = [
                word
                for stem in stems
                if _fits(stem, suffix)
                and means_nothing(word := stem + suffix)
                and not frequency(word)
            ]
            for nonce, tokens in zip(nonces, reader.tokenise(nonces), strict=True):
                take(len(tokens), suffix, nonce, most)
    return {key: words for key, words in pools.items() if words}


def _fits(stem: str, suffix: str) -> bool:
    """Whether stem + suffix reads as that inflection, and not as a known word with a dropped e."""
    if _suffix_of(stem + suffix) != suffix or (suffix and not means_nothing(stem + "e", False)):
        return False
    return suffix != "s" or not stem.endswith(("x", "z", "s"))


def _single_tokens(reader: TokenReader, rng: random.Random) -> list[str]:
    """Single-token words from the rarest third of the vocabulary that are not in the lexicon,
    the least used first, shuffled where none is used."""
    numbers = np.flatnonzero(reader.replaceable(True))
    rare = numbers[numbers >= 2 * len(reader.replaceable(True)) // 3]
    words = []
    for number in rare.tolist():
        word = reader.decode((number,)).strip()
        if (
            _ONE_TOKEN.fullmatch(word)
            and re.search("[aeiouy]", word)
            and means_nothing(word)
            and _has_no_known_stem(word)
            and reader.tokenise([word]) == [(number,)]
        ):
            words.append(word)
    rng.shuffle(words)
    return sorted(words, key=frequency)


def _has_no_known_stem(word: str) -> bool:
    """Whether it is not an inflected form, such as "joking" of "joke" or "jogged" of "jog"."""
    suffix = _suffix_of(word)
    stem = word.removesuffix(suffix)
    stems = (stem, stem + "e", stem[:-1], stem[:-1] + "y") if suffix else ()
    return all(len(s) < 3 or means_nothing(s, False) for s in stems)


def _syllables(rng: random.Random, syllables: int = 2) -> Iterable[str]:
    """An endless iterator of pronounceable strings."""
    while True:
        parts = []
        for index in range(syllables):
            onset = "" if index == 0 and rng.random() < 0.5 else rng.choice(_ONSETS)
            parts.append(onset + rng.choice(_VOWELS) + rng.choice(_CODAS))
        yield "".join(parts)
