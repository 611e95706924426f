"""Shortened captions that are still sentences.

A trajectory removes single words, whichever raise the score: "A tree with a bird in a green field."
becomes "A tree with a in a green". The trajectory decides which *content* words are removed; the
function words follow by rules:

* a noun's articles and modifiers are removed with it, and a noun that is kept keeps its article;
* a preposition or a verb is removed with its objects, or with its subject;
* a relation that is removed alone, between two objects that are kept, becomes "and";
* "and", "is" and similar words are kept only between the words they join.

The result has the caption's capital letter and final punctuation. If the rules do not accept it as
a sentence, it is None.
"""

import re
from collections.abc import Collection

from backend.engine.captions import Caption
from backend.engine.english.adjacent_phrases import has_adjacent_phrases
from backend.engine.english.articles import repair_articles
from backend.engine.english.phrases import NAMES_IN_ING, Grammar, grammar_of, is_spaced

_CONTENT = ("noun", "adjective", "verb", "weather", "other")
_NAMES = ("noun", "pronoun", "weather")
#: Prepositions whose objects are all nouns that "and" joins after them.
_JOINING = ("of", "with", "between")


def without_words(caption: Caption, places: Collection[int]) -> str | None:
    """`caption` without the words at `places`, repaired to a sentence; None if that fails, if no
    word would be removed or kept, or if the text has no spaces between words."""
    if not is_spaced(caption.text):
        return None
    grammar = grammar_of(caption)
    relations = {_first(grammar, i) for i in places if _is_relation(grammar, caption, i)}
    removal = {
        i for i in places
        if _is_content(grammar, caption, i) and _first(grammar, i) not in relations
    }  # fmt: skip
    conjunctions: set[int] = set()
    while True:
        removal = _with_consequences(grammar, caption, removal)
        conjunctions = {i for i in relations - removal if _lies_between(grammar, i, removal)}
        alone = {word for i in relations - removal - conjunctions for word in _whole(grammar, i)}
        if not alone:
            break
        removal |= alone
    words = dict.fromkeys(removal, "")
    for first in conjunctions:
        words |= dict.fromkeys(_whole(grammar, first), "") | {first: "and"}
    text = tidy(_with_replaced(caption, words), caption.text)
    return text if words and text != caption.text and is_sentence(text) else None


def tidy(text: str, model: str) -> str:
    """`text` with the capital letter and final punctuation of `model`, no stray punctuation, and
    articles that agree where `model` has another word behind them.

    >>> tidy("dog , on a orange mat,", "A dog, on a bright orange mat.")
    'Dog, on an orange mat.'
    """
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    text = re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", text).strip(" ,;:-–—")
    if not Caption.parse(text).words:
        return ""
    end = re.search(r"[.!?…]+$", model.rstrip())
    if end and not re.search(r"[.!?…]$", text):
        text += end.group()
    if model.lstrip()[:1].isupper():
        text = text[:1].upper() + text[1:]
    return repair_articles(text, model)


def is_sentence(text: str) -> bool:
    """Whether the rules find nothing dangling: an article without its noun, a preposition without
    an object, "and" with nothing to join, two noun phrases beside each other.

    >>> is_sentence("A tree in a field."), is_sentence("A tree with a in a green in")
    (True, False)
    >>> is_sentence("A horse in front of a tree."), is_sentence("A horse in front of on a day")
    (True, False)
    """
    caption = Caption.parse(text)
    if not caption.words or not is_spaced(text):
        return bool(caption.words)
    grammar = grammar_of(caption)
    labels, words = grammar.labels, [word.lower() for word in caption.words]
    names_something = any(label in (*_NAMES, "verb", "adjective") for label in labels)
    if not names_something or labels[0] == "link" or words[0] == "of":
        return False
    if labels[-1] in ("preposition", "determiner", "link", "copula"):
        return False
    if any(_lacks_noun(grammar, words, i) for i in range(1, len(words))):
        return False
    if any(_is_dangling(grammar, words, i) for i in range(len(words) - 1)):
        return False
    return not has_adjacent_phrases(caption, grammar)


def _lacks_noun(grammar: Grammar, words: list[str], i: int) -> bool:
    """Whether word i is the first of a name whose noun is missing: "in the living"."""
    follows = grammar.labels[i + 1 : i + 2]
    is_first = words[i] in NAMES_IN_ING and words[i - 1] in ("a", "the")
    return is_first and follows not in (("noun",), ("adjective",))


def _is_dangling(grammar: Grammar, words: list[str], i: int) -> bool:
    """Whether word i cannot be followed by the next word."""
    label, following = grammar.labels[i], grammar.labels[i + 1]
    if label == "determiner":
        if words[i] in ("that", "all", "both", "each") and following in ("verb", "copula"):
            return not i or grammar.labels[i - 1] not in _NAMES  # "dogs that run", "men both are"
        stacked = following == "determiner" and words[i] not in ("all", "both")
        return stacked or (grammar.heads[i] is None and following != "adjective")
    if label == "preposition" and grammar.compounds.get(i, i + 1) == i + 1:
        behind_is_compound = i + 1 in grammar.compounds
        return following in ("preposition", "link", "copula") and not behind_is_compound
    if label == "copula" and i and words[i - 1] == "there" and words[i + 1] == "the":
        return True
    return label in ("link", "copula") and following in ("link", "copula")


def _is_content(grammar: Grammar, caption: Caption, i: int) -> bool:
    """Whether the trajectory decides on word i; all other words depend on what they connect."""
    return grammar.labels[i] in _CONTENT or caption.words[i].lower() == "no"


def _first(grammar: Grammar, i: int) -> int:
    """The first word of the relation that word i belongs to, otherwise i."""
    return min(_whole(grammar, i))


def _is_relation(grammar: Grammar, caption: Caption, i: int) -> bool:
    """Whether word i relates two objects: "above", the "front" of "in front of", "holding"."""
    if i in grammar.compounds:
        return grammar.labels[i] not in ("preposition", "determiner")
    if grammar.labels[i] == "preposition":
        return caption.words[i].lower() != "of"
    return grammar.labels[i] == "verb" and _direct_object(grammar, i) is not None


def _direct_object(grammar: Grammar, i: int) -> int | None:
    behind = grammar.compounds.get(i, i + 1)
    return grammar.heads[behind] if behind < len(grammar.heads) else None


def _objects(grammar: Grammar, caption: Caption, i: int) -> list[int]:
    """The objects of the verb or preposition at word i: both of "of a dog and a cat"."""
    head = _direct_object(grammar, i)
    things = [] if head is None else [head]
    while head is not None and caption.words[i].lower() in _JOINING:
        link = head + 1
        if link + 1 >= len(grammar.labels) or grammar.labels[link] != "link":
            break
        head = grammar.heads[link + 1]
        things += [] if head is None else [head]
    return things


def _has_subject(grammar: Grammar, i: int, removal: Collection[int]) -> bool:
    """Whether any possible subject of word i is left before it."""
    return any(grammar.labels[j] in _NAMES and j not in removal for j in range(i))


def _lies_between(grammar: Grammar, i: int, removal: Collection[int]) -> bool:
    """Whether both subject and object of the relation at word i are kept."""
    thing = _direct_object(grammar, i)
    return thing is not None and thing not in removal and _has_subject(grammar, i, removal)


def _with_consequences(grammar: Grammar, caption: Caption, removal: Collection[int]) -> set[int]:
    """The words of `removal`, and all that cannot be kept without them."""
    before: set[int] = set()
    more = set(removal)
    while more != before:
        before = set(more)
        for i in range(len(caption)):
            if i not in more and _cannot_stay(grammar, caption, i, more):
                more |= _whole(grammar, i)
    return more


def _cannot_stay(grammar: Grammar, caption: Caption, i: int, removal: Collection[int]) -> bool:
    """Whether word i cannot be kept if the words of `removal` are removed."""
    label, head = grammar.labels[i], grammar.heads[i]
    if label == "preposition" or i in grammar.compounds or label == "verb":
        things = _objects(grammar, caption, i)
        leads_nowhere = bool(things) and all(thing in removal for thing in things)
        had_subject = _has_subject(grammar, i, ())
        return leads_nowhere or (had_subject and not _has_subject(grammar, i, removal))
    if label in ("determiner", "adjective", "weather", "noun"):
        return head is not None and head != i and head in removal
    if label in ("link", "copula"):
        behind = [j for j in range(i + 1, len(caption)) if j not in removal]
        is_first = not any(j not in removal and grammar.labels[j] in _CONTENT for j in range(i))
        after = grammar.labels[behind[0]] if behind else "link"
        lost = i + 1 in removal and label == "copula" and after == "preposition"
        return (
            is_first
            or after in ("link", "copula")
            or lost
            or _joins_nothing(grammar, caption, i, removal)
        )
    return False


def _joins_nothing(grammar: Grammar, caption: Caption, i: int, removal: Collection[int]) -> bool:
    """Whether the "and" at word i joins two objects of one relation, the first of them removed."""
    relations = (j for j in range(i) if j not in removal and i - 1 in _objects(grammar, caption, j))
    return grammar.labels[i] == "link" and i - 1 in removal and any(True for _ in relations)


def _whole(grammar: Grammar, i: int) -> set[int]:
    """All words of the relation that word i belongs to."""
    if i not in grammar.compounds:
        return {i}
    end = grammar.compounds[i]
    return {j for j, other in grammar.compounds.items() if other == end}


def _with_replaced(caption: Caption, words: dict[int, str]) -> str:
    """The text with each word of `words` replaced or, if the replacement is empty, removed;
    punctuation after a removed word moves to the text before it."""
    pieces: list[str] = []
    for i, chunk in enumerate(caption.chunks):
        if i not in words:
            pieces.append(chunk)
        elif words[i]:
            pieces.append(words[i] + " ")
        elif pieces and (
            mark := re.search(r"[,.;:!?]", chunk[caption.spans[i][1] - caption.starts[i] :])
        ):
            pieces[-1] = pieces[-1].rstrip() + mark.group() + " "
    return "".join(pieces)
