"""Drawn scenes described in other languages: `grammars/LANGUAGE.toml` holds the words and forms.

A `Description` says the same in each language. English has a grammar of its own (`grammar`,
`phrasing`); `ENGLISH` is that one.

>>> from research.scenes.grammar import NounPhrase
>>> description = Description((NounPhrase("dog", 2, colour="red"),), setting="park")
>>> wording_of("de").text(description), wording_of("zh").text(description)
('Zwei rote Hunde im Park.', '两只红色狗在公园里。')
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from research.noise.language_model import jumped_over, new_words
from research.scenes import phrasing
from research.scenes.architecture import SPECIAL, TOKENS
from research.scenes.grammar import Description, NounPhrase, words_of

FOLDER = Path(__file__).parent / "grammars"


@dataclass(frozen=True)
class Wording:
    """English; others override what is theirs. `tokens`: the vocabulary of a model, by number."""

    code: str = "en"
    tokens: tuple[str, ...] = TOKENS
    function_words: frozenset[str] = phrasing.WITHOUT_A_CLAIM

    @cached_property
    def index(self) -> Mapping[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def words(self, description: Description) -> tuple[str, ...]:
        return words_of(description)

    def text(self, description: Description) -> str:
        return description.text

    def token_numbers(self, words: Sequence[str]) -> list[int]:
        return [self.index[word] for word in words]

    def is_changed(self, before: Description, after: Description) -> list[bool]:
        """Of each token of `after`: whether its word makes it say something else."""
        old, words = self.words(before), self.words(after)
        changes = self.changed_words(old, words)
        return [number in changes for number, word in enumerate(words)
                for _ in self.token_numbers([word])]  # fmt: skip

    def changed_words(self, old: Sequence[str], new: Sequence[str]) -> frozenset[int]:
        texts = old, new, self.function_words
        return new_words(*texts) | jumped_over(*texts)


@dataclass(frozen=True)
class OtherWording(Wording):
    """`data`: what the language's file says."""

    data: Mapping[str, Any] = field(default_factory=dict)

    def words(self, description: Description) -> tuple[str, ...]:
        """In lower case and without a stop."""
        data = self.data
        words: list[str] = []
        if description.setting_first and description.setting:
            words += [*data["settings"][description.setting].split(), data["comma"]]
        for number, phrase in enumerate(description.phrases):
            before, case, after = "", "nominative", ""
            if number:
                link = description.links[number - 1]
                kind = link.kind + ("_inverse" if link.subject > link.object else "")
                before, case, after = data["links"].get(kind, data["links"][link.kind])
            words += [*before.split(), *self._phrase(phrase, case), *after.split()]
        if description.setting and not description.setting_first:
            words += data["settings"][description.setting].split()
        if description.weather:
            words += data["weathers"][description.weather].split()
        if description.absent:
            kind, noun, *_ = data["names"][description.absent].split()
            words += [*data["absent"].get(kind, data["absent"].get("*", "")).split(), noun]
        return tuple(words)

    def _phrase(self, phrase: NounPhrase, case: str) -> list[str]:
        data = self.data
        kind, *forms = data["names"][phrase.noun].split()
        number = "plural" if phrase.count > 1 else kind
        ending = data["endings"].get(case, {}).get(number, "")
        form = min(len(forms) - 1, 0 if phrase.count == 1 else 1 + (case == "dative"))
        article = data["one"].get(case, {}).get(kind) if phrase.count == 1 else None
        colour = data["colours"][phrase.colour] if phrase.colour else ""
        dressed = bool(colour) and phrase.is_person
        parts = {
            "count": article or data["counts"][str(phrase.count)],
            "class": kind,
            "size": data["sizes"][phrase.size] + ending if phrase.size else "",
            "colour": colour + ending if colour and not dressed else "",
            "noun": forms[form],
            "garment": data["garment"].format(
                colour=colour, garment=data["garments"][phrase.noun]
            ) if dressed else "",
            "action": data["actions"][phrase.action] if phrase.action else "",
        }  # fmt: skip
        return [word for slot in data["order"] for word in parts[slot].split()]

    def text(self, description: Description) -> str:
        data = self.data
        words = [self._write(word) for word in self.words(description)]
        sentence = data["joiner"].join(words).replace(" ,", ",")
        return sentence[0].upper() + sentence[1:] + data["stop"]

    def _write(self, word: str) -> str:
        return word.capitalize() if self.data["joiner"] and word in self._nouns else word

    @cached_property
    def _nouns(self) -> frozenset[str]:
        data = self.data
        lists = [value.split()[1:] for value in data["names"].values()]
        lists += [[value] for value in data["garments"].values()]
        for table in ("actions", "settings", "weathers"):
            lists += [[value.split()[-1]] for value in data[table].values()]
        return frozenset(word for words in lists for word in words) | {"hand"}

    def token_numbers(self, words: Sequence[str]) -> list[int]:
        """Without spaces each character is a token, as in BERT's tokenizer."""
        units = words if self.data["joiner"] else "".join(words)
        return [self.index[unit] for unit in units]


ENGLISH = Wording()


@cache
def wording_of(code: str) -> Wording:
    """The wording of a language: "en" or the name of a file in `grammars`.

    A model of another language has as many tokens as an English one, and the special ones at the
    same places: what stands for a sentence's end, for "no" and for "without" there does so here.
    """
    if code == "en":
        return ENGLISH
    data = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    words = _vocabulary(data)
    body = list(TOKENS[len(SPECIAL) + 2 : -2])
    if len(words) > len(body) - 2:
        raise ValueError(f"{code}: {len(words)} words; the models have room for {len(body) - 2}.")
    negations = [body.index("no"), body.index("without")]
    free = [index for index in range(len(body)) if index not in negations]
    names = {index: f"[unused{index}]" for index in range(len(body))}
    denying = _denying(data)
    names |= dict(zip(negations, denying, strict=False))
    names |= dict(zip(free, sorted(words - set(denying)), strict=False))
    marks = (data["stop"], data["comma"])
    tokens = (*SPECIAL, *marks, *(names[index] for index in range(len(body))), *TOKENS[-2:])
    return OtherWording(code, tokens, frozenset(data["function_words"].split()), data)


def _denying(data: Mapping[str, Any]) -> list[str]:
    words = sorted({value.split()[-1] for value in data["absent"].values()})
    return words if data["joiner"] else [words[0][0]]


def _vocabulary(data: Mapping[str, Any]) -> set[str]:
    """Every word of the file, or every character without spaces."""
    words = {word for noun in data["names"].values() for word in noun.split()[1:]}
    words |= {word for cases in data["one"].values() for word in cases.values()}
    endings = {ending for cases in data["endings"].values() for ending in cases.values()} or {""}
    stems = [*data["sizes"].values(), *data["colours"].values()]
    words |= {stem + ending for stem in stems for ending in endings}
    for colour in data["colours"].values():
        for garment in data["garments"].values():
            words |= set(data["garment"].format(colour=colour, garment=garment).split())
    for table in ("counts", "actions", "settings", "weathers", "absent"):
        words |= {word for value in data[table].values() for word in value.split()}
    for before, _, after in data["links"].values():
        words |= set(before.split()) | set(after.split())
    if not data["joiner"]:
        words |= {noun.split()[0] for noun in data["names"].values()}
        words = set("".join(words))
    return words - {data["stop"], data["comma"]}
