"""What the program has of each language: one file in `data`, read into one registry.

`name`; `sentence`: words that a tokenizer of the language knows; `scripts`: those that are the
language's alone, as `identification` names them; `identifies`: words that nearly every caption has,
without those that are English words as well; `opening`: an expression for the words with which
descriptions open and say nothing ("the image shows"), in lower case; `function_words`. With those
and with groups, captions get kinds of words, and errors for cold start:

Groups by kind (`KINDS`), each a line of words that may stand for each other in a caption, so of one
gender, class of counting or case. A word's inflected forms are joined by "/", in one order for a
group; or are made by `endings`. A form is exchanged for the same form of another word.
`may_both_be_true`: words that may be true of the same picture, which are never exchanged.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

#: Kinds of words in a language's file. English has more rules, of the same kinds.
KINDS = (
    "colour", "count", "size", "attribute", "person", "object", "place", "weather", "time",
    "action", "relation", "negation",
)  # fmt: skip
_FOLDER = Path(__file__).with_name("data")
_TEXTS = (
    "name",
    "sentence",
    "scripts",
    "licence",
    "identifies",
    "opening",
    "function_words",
    "endings",
)


@dataclass(frozen=True, eq=False)
class Group:
    """Words that may stand for each other. `forms`: each form with the places in which it is a form
    of its word; two forms at the same places are the same form of two words. `words`: of which
    word each is a form."""

    kind: str
    forms: Mapping[str, frozenset[int]]
    words: Mapping[str, str]

    def instead_of(self, form: str) -> list[str]:
        """The same form of every word, including its own."""
        return [other for other, places in self.forms.items() if places == self.forms[form]]


@dataclass(frozen=True, eq=False)
class Language:
    code: str
    name: str = ""
    sentence: str = ""
    scripts: frozenset[str] = frozenset()
    identifies: frozenset[str] = frozenset()
    function_words: frozenset[str] = frozenset()
    groups: tuple[Group, ...] = ()
    may_both_be_true: Mapping[str, frozenset[str]] = field(default_factory=dict)
    opening: re.Pattern[str] | None = None

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each form; of the first group that has it."""
        return {form: group.kind for group in reversed(self.groups) for form in group.forms}

    @cached_property
    def words(self) -> frozenset[str]:
        return self.function_words.union(self.kinds)


def _read(path: Path) -> Language:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := data.keys() - {*_TEXTS, *KINDS, "may_both_be_true"}:
        raise ValueError(f"{path.name}: there is no kind of word '{min(unknown)}'.")
    endings = data.get("endings", [""])
    groups = tuple(_group(kind, line, endings) for kind in KINDS for line in data.get(kind, ()))
    alike: dict[str, frozenset[str]] = {}
    for line in data.get("may_both_be_true", ()):
        for word in line.split():
            alike[word] = alike.get(word, frozenset()).union(line.split())
    scripts, identifies, function_words = (
        frozenset(data.get(name, "").split())
        for name in ("scripts", "identifies", "function_words")
    )
    return Language(
        path.stem, data["name"], data.get("sentence", ""), scripts, identifies, function_words,
        groups, alike, re.compile(data["opening"]) if "opening" in data else None,
    )  # fmt: skip


def _group(kind: str, line: str, endings: list[str]) -> Group:
    forms: dict[str, set[int]] = {}
    words: dict[str, str] = {}
    for item in line.split():
        first, *others = item.split("/")
        forms_of_word = [first, *others] if others else [first + ending for ending in endings]
        for index, form in enumerate(forms_of_word):
            if form:
                forms.setdefault(form, set()).add(index)
                words.setdefault(form, first)
    return Group(kind, {form: frozenset(places) for form, places in forms.items()}, words)


#: By code.
LANGUAGES: Mapping[str, Language] = {
    path.stem: _read(path) for path in sorted(_FOLDER.glob("*.toml"))
}
ENGLISH = LANGUAGES["en"]
_BY_SCRIPT = {script: each for each in LANGUAGES.values() for script in each.scripts}


def language_by_name(name: str) -> Language:
    """The language of a code or a script; one without words, if the program has nothing of it.

    >>> language_by_name("han").code, language_by_name("thai").groups
    ('zh', ())
    """
    return LANGUAGES.get(name) or _BY_SCRIPT.get(name) or Language(name, name)
