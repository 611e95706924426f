# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Every fine-grained edit that an English caption allows, without knowing the picture.

Each rule is a generator over one caption. An edit changes one detail of the caption (TRACED A.2
changes one or two components of a sentence) and keeps it grammatical: number, verb form and article
remain correct. Edits that cannot guarantee this are not generated.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from backend.engine.english import word_lists as lists
from backend.engine.english.articles import article_for
from backend.engine.english.nouns import (
    form_table,
    forms_of,
    is_plural,
    known_nouns,
    plural_of,
    singular_of,
)
from backend.engine.english.word_lists import CLOSED_CLASS
from backend.engine.noise.edits import Edit, Rule, Rules, Text, exchanges
from backend.engine.noise.noisy_caption import Replacement, negation_scope

_DETERMINERS = frozenset(
    "a an the this that his her its their one no some each another".split()
) | frozenset(lists.NUMBERS)
_PREPOSITIONS = frozenset(
    (
        "in on at near by through across into onto over along to toward towards around of with "
        "from behind beside under above inside outside down up"
    ).split()
)
_TIME_WORDS = frozenset(
    (
        "day night morning evening afternoon sunday monday phone way left right side top display "
        "vacation tv television fire"
    ).split()
)
_NO_GROUP = ("a", "an", "no")


def _determiner(text: Text, position: int) -> str:
    """The article, possessive or number of the noun at `position`, before any adjectives; ""
    if there is none."""
    scan = position - 1
    while scan >= 0 and text.words[scan] in lists.ADJECTIVES:
        scan -= 1
    word = text.words[scan] if scan >= 0 else ""
    return word if word in _DETERMINERS else ""


def _preposition(text: Text, position: int) -> str:
    """The preposition that governs the noun at `position`, or ""."""
    scan = position - 1
    while scan >= 0 and text.words[scan] in lists.ADJECTIVES | _DETERMINERS:
        scan -= 1
    word = text.words[scan] if scan >= 0 else ""
    return word if word in _PREPOSITIONS else ""


@cache
def _may_both_be_true(word: str) -> frozenset[str]:
    """The words that may be true whenever `word` is, including itself."""
    key = word.replace(" ", "-")
    sets = [line for line in lists.MAY_BOTH_BE_TRUE if key in line]
    return frozenset(other.replace("-", " ") for line in sets for other in line) | {word}


def _exchanges(
    text: Text, kind: str, position: int, group: Sequence[str], write: Callable[[str], str] = str
) -> Iterator[Edit]:
    """One edit for each word of `group` that cannot also be true; `write` inflects base forms."""
    word = text.words[position]
    base = next((member for member in group if write(member) == word), word)
    forbidden = frozenset(map(write, _may_both_be_true(base)))
    yield from exchanges(text, kind, position, [write(member) for member in group], forbidden)


def colours(text: Text) -> Iterator[Edit]:
    for position, word in enumerate(text.words):
        if word not in lists.COLOURS:
            continue
        follower = text.after(position)
        if word == "orange" and (not follower or follower in CLOSED_CLASS):
            continue  # the fruit
        yield from _exchanges(text, "colour", position, lists.COLOURS)


def numbers(text: Text) -> Iterator[Edit]:
    """Another count; one becomes many ("a red car is" → "two red cars are") and vice versa."""
    for position, word in enumerate(text.words):
        if word in lists.NUMBERS:
            yield from _exchanges(text, "number", position, lists.NUMBERS)
        yield from _one_or_many(text, position)


def _one_or_many(text: Text, position: int) -> Iterator[Edit]:
    word = text.words[position]
    singular = word in ("a", "an", "one")
    if not singular and word not in lists.NUMBERS:
        return
    noun = position + 1
    while noun < len(text.words) and text.words[noun] in lists.ADJECTIVES:
        noun += 1
    # "a dog house", "two police officers": the noun must be the last of its phrase.
    if noun >= len(text.words) or text.words[noun] not in _all_nouns(plural=not singular):
        return
    follower = text.after(noun)
    ends = text.is_joined(position, noun) and (
        not follower
        or follower in CLOSED_CLASS
        or follower in form_table()
        or follower.endswith("ing")
        or not text.is_joined(noun, noun + 1)
    )
    if not ends or text.before(position) in ("of", "or"):
        return
    agreeing, last = _agreement(follower, singular), noun
    if follower and agreeing is None:
        return
    if agreeing and agreeing != follower and text.is_joined(noun, noun + 1):
        last = noun + 1
    between = text.words[position + 1 : noun]
    tail = (agreeing,) if last > noun and agreeing else ()
    if singular:
        for number in lists.NUMBERS[:3]:
            new = (number, *between, plural_of(text.words[noun]), *tail)
            yield _one_or_many_edit(position, last, word, number, new)
    else:
        single = singular_of(text.words[noun])
        article = article_for(between[0] if between else single)
        yield _one_or_many_edit(position, last, word, article, (article, *between, single, *tail))


def _one_or_many_edit(first: int, last: int, lost: str, gained: str, new: Sequence[str]) -> Edit:
    group = ("a", "an", *lists.NUMBERS[:3])
    return Edit("number", (Replacement(first, last, " ".join(new)),), lost, gained, group)


def _agreement(follower: str, singular: bool) -> str | None:
    """The form of the word after a subject that changes its number; the word itself if it does not
    change, None if that cannot be determined."""
    pairs = {"is": "are", "was": "were", "has": "have"}
    if follower in pairs or follower in pairs.values():
        table = pairs if singular else {many: single for single, many in pairs.items()}
        return table.get(follower)
    if follower in form_table():
        base, form, _ = form_table()[follower]
        if singular and form == "third":
            return base
        if not singular and form == "base":
            return forms_of(base)["third"]
        return follower if form in ("progressive", "past") else None
    return follower


@cache
def _all_nouns(plural: bool) -> frozenset[str]:
    nouns = known_nouns() - lists.MASS_PLACES
    return frozenset(plural_of(noun) for noun in nouns) if plural else nouns


def opposites(kind: str, table: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Rule:
    """A rule that replaces the words of one side with those of the other."""

    def rule(text: Text) -> Iterator[Edit]:
        for position, word in enumerate(text.words):
            for left, right in table:
                if word in left or word in right:
                    others = right if word in left else left
                    yield from _exchanges(text, kind, position, [word, *others])

    return rule


def people(text: Text) -> Iterator[Edit]:
    """Another person; pronouns are adapted if no other gendered noun could be their antecedent."""
    antecedents = [
        i for i, w in enumerate(text.words) if singular_of(w) in lists.MALE + lists.FEMALE
    ]
    for position, word in enumerate(text.words):
        if singular_of(word) not in lists.PEOPLE:
            continue
        write = plural_of if is_plural(word) else str
        for edit in _exchanges(text, "person", position, lists.PEOPLE, write):
            new = singular_of(edit.gained)
            pronouns: tuple[Replacement, ...] = ()
            if antecedents == [position] and new in lists.MALE + lists.FEMALE:
                pronouns = tuple(_pronouns(text, to_male=new in lists.MALE))
            yield Edit(edit.kind, edit.replacements + pronouns, word, edit.gained, edit.group)


def _pronouns(text: Text, to_male: bool) -> Iterator[Replacement]:
    to_female = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
    for position, word in enumerate(text.words):
        if to_male and word == "her":
            follower = text.after(position)
            owner = follower and follower not in CLOSED_CLASS
            yield Replacement(position, position, "his" if owner else "him")
        elif to_male and word in ("she", "herself"):
            yield Replacement(position, position, {"she": "he", "herself": "himself"}[word])
        elif not to_male and word in to_female:
            yield Replacement(position, position, to_female[word])


def nouns(text: Text) -> Iterator[Edit]:
    for position, word in enumerate(text.words):
        single = singular_of(word)
        if word == "orange" and text.after(position) not in CLOSED_CLASS | {""}:
            continue  # the colour
        for category in lists.NOUNS.values():
            if single in category:
                write = plural_of if is_plural(word) else str
                yield from _exchanges(text, "noun", position, category, write)
                break


def places(text: Text) -> Iterator[Edit]:
    """Another place after a preposition, with an article only if the place takes one."""
    for position, word in enumerate(text.words):
        if word not in lists.ON_PLACES and word not in lists.IN_PLACES:
            continue
        preposition, determiner = _preposition(text, position), _determiner(text, position)
        if not preposition:
            continue
        if preposition in ("on", "onto"):
            group = lists.ON_PLACES
        elif preposition in ("in", "into", "inside"):
            group = lists.IN_PLACES
        else:
            group = lists.ON_PLACES if word in lists.ON_PLACES else lists.IN_PLACES
        if determiner in ("a", "an", "one"):
            group = [place for place in group if place not in lists.MASS_PLACES]
        elif not determiner:
            group = [place for place in group if place in lists.MASS_PLACES]
        if word in group:
            yield from _exchanges(text, "setting", position, group)


def verbs(text: Text) -> Iterator[Edit]:
    """Another verb in the same form and with the same complements."""
    for position, word in enumerate(text.words):
        if word not in form_table():
            continue
        _, form, category = form_table()[word]
        previous, follower = text.before(position), text.after(position)
        if form == "progressive":
            is_verb = (
                previous not in lists.ADJECTIVES | _DETERMINERS | {"of"}
                and bool(previous)
                and follower not in ("pool", "shoes", "board", "path", "room", "stick", "trunks")
            )
        elif form == "third":
            is_verb = previous in _all_nouns(plural=False)
        else:
            is_verb = form == "base" and previous in _all_nouns(plural=True)
        if is_verb:
            yield from _exchange_verbs(text, position, form, category)


def _exchange_verbs(text: Text, position: int, form: str, category: str) -> Iterator[Edit]:
    def write(base: str) -> str:
        return forms_of(base)[form]

    yield from _exchanges(text, "verb", position, lists.VERBS[category], write)


def relations(text: Text) -> Iterator[Edit]:
    """Another relation between two objects; "on" only if it is spatial ("on a bench", not "on the
    phone", "on a sunny day")."""
    phrases = sorted((phrase.split() for phrase in lists.RELATIONS), key=len, reverse=True)
    position = 0
    while position < len(text.words):
        relation = next(
            (p for p in phrases if list(text.words[position : position + len(p)]) == p), None
        )
        if relation is None:
            position += 1
            continue
        last = position + len(relation) - 1
        phrase = " ".join(relation)
        if text.is_joined(position, last) and _is_spatial(text, phrase, last):
            forbidden = _may_both_be_true(phrase)
            for other in lists.RELATIONS:
                if other not in forbidden:
                    replacement = Replacement(position, last, other)
                    yield Edit("relation", (replacement,), phrase, other, lists.RELATIONS)
        position = last + 1


def _is_spatial(text: Text, phrase: str, last: int) -> bool:
    scan = last + 1
    while scan < len(text.words) and text.words[scan] in lists.ADJECTIVES | _DETERMINERS:
        scan += 1
    if scan >= len(text.words):
        return False
    noun = text.words[scan]
    if phrase != "on":
        return noun not in _TIME_WORDS
    places = set(lists.ON_PLACES) - {"bridge"}
    return singular_of(noun) in known_nouns() - places and noun not in _TIME_WORDS


def directions(text: Text) -> Iterator[Edit]:
    for position, word in enumerate(text.words):
        for left, right in lists.OPPOSITE_DIRECTIONS:
            if word in left or word in right:
                if word in ("left", "right") and text.before(position) not in ("the", "its", "far"):
                    continue
                if word == "before" or (word == "up" and text.after(position) in ("of", "")):
                    continue
                yield from _exchanges(
                    text, "relation", position, [word, *(right if word in left else left)]
                )


def negations(text: Text) -> Iterator[Edit]:
    """Swap "with" and "without", "is running" and "is not running", "with a dog" and "with no
    dog"."""
    for position, word in enumerate(text.words):
        follower = text.after(position)
        if word in ("with", "without"):
            other = "without" if word == "with" else "with"
            yield _negation(text, position, position, word, other, other, ("with", "without"))
        elif word in ("is", "are") and text.is_joined(
            position, min(position + 1, len(text.words) - 1)
        ):
            if follower == "not":
                yield _negation(text, position, position + 1, "not", word, word, (word, "not"))
            elif follower.endswith("ing"):
                yield _negation(text, position, position, word, f"{word} not", "not", (word, "not"))
        elif word in _NO_GROUP and text.before(position) in ("is", "with", "has", "wearing"):
            if word != "no":
                yield _negation(text, position, position, word, "no", "no", _NO_GROUP)
            elif singular_of(follower) == follower and follower in known_nouns():
                article = article_for(follower)
                yield _negation(text, position, position, "no", article, article, _NO_GROUP)


def _negation(
    text: Text, first: int, last: int, lost: str, new: str, gained: str, group: tuple[str, ...]
) -> Edit:
    replacement = Replacement(first, last, new, negation_scope(text.words, last))
    return Edit("negation", (replacement,), lost, gained, group)


RULES: Rules = (
    ("colour", colours),
    ("number", numbers),
    ("size", opposites("size", lists.OPPOSITE_SIZES)),
    ("attribute", opposites("attribute", lists.OPPOSITE_ATTRIBUTES)),
    ("person", people),
    ("noun", nouns),
    ("relation", relations),
    ("relation", directions),
    ("negation", negations),
    ("setting", places),
    ("setting", opposites("setting", lists.TIMES)),
    ("setting", opposites("setting", ((["sunny"], lists.WEATHER[1:]),))),
    ("verb", verbs),
)
