# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Noun phrases beside each other, with nothing to connect them: "a red apple the sea".

They are what a trajectory leaves of "a red apple near the sea". English allows some: two objects of
a verb ("gives the dog a bone"), a place in front ("in the park a dog"), relative clauses ("the ball
the boy throws") and measures ("two miles long", "the size of a cat"). Only words that certainly
begin a phrase count: in "a park bench" nothing does.
"""

from backend.engine.captions import Caption
from backend.engine.english.nouns import forms_of, singular_of
from backend.engine.english.phrases import Grammar
from backend.engine.english.word_kinds import kind_of

_IRREGULAR = (
    "gave given shown fed thrown brought sent taught told bought made getting got sold lent paid "
    "written drawn built left"
).split()
#: Forms of verbs with two objects.
_WITH_TWO_OBJECTS = frozenset(_IRREGULAR) | {
    form
    for verb in (
        "give hand offer show feed throw bring send teach tell pass serve read buy make get toss "
        "sell lend pay write cook pour draw build ask cut leave call name consider wish"
    ).split()
    for form in forms_of(verb).values()
}
#: Nouns that measure, without a preposition: "two miles long", "the size of", "this way".
_MEASURES = frozenset(
    (
        "foot feet inch meter metre mile kilometer yard year month week hour minute time story way "
        "size color colour height length width shape age"
    ).split()
)
#: Nouns that say when, with one of the words after them: "this morning", "every day".
_TIMES = frozenset("day night morning afternoon evening summer winter".split())
_WHICH_TIME = frozenset("this that these every each all one some".split())
#: They begin a noun phrase wherever they stand.
_OPENERS = frozenset(
    "a an the this these those his its their our my your some any no another".split()
)
#: Attributes that may stand behind their noun with another noun behind them.
_BEHIND_NOUNS = frozenset(
    "open closed full smiling crying wooden metal plastic asleep awake".split()
)
#: Pronouns that go on about the noun before them.
_ABOUT_THE_NOUN = frozenset(
    "who which what whom himself herself itself themselves one other others each".split()
)
#: A colour behind these is a shade: "a navy blue coat".
_SHADES = frozenset(
    "navy lime baby sky royal forest snow jet chocolate olive neon light dark bright pastel".split()
)
#: Listed nouns that are verbs as well: "parks the car", "board a plane".
_ALSO_VERBS = frozenset(
    (
        "park water board skateboard snowboard bike hand tie brush toothbrush fish fence sign duck "
        "ship plate cut cook"
    ).split()
)
_SUBJECTS = frozenset("he she they we you".split())
_INTRANSITIVE = frozenset("sit stand lie kneel crouch sleep".split())


def has_adjacent_phrases(caption: Caption, grammar: Grammar) -> bool:
    """Whether two noun phrases of an English caption stand beside each other unconnected."""
    words = [word.lower() for word in caption.words]
    return any(
        caption.is_joined(i)
        and _ends_phrase(grammar, words, i)
        and _begins_phrase(grammar, words, i + 1)
        and not _is_allowed(caption, grammar, words, i)
        for i in range(len(words) - 1)
    )


def _ends_phrase(grammar: Grammar, words: list[str], i: int) -> bool:
    if i in grammar.compounds or words[i].endswith(("'s", "s'", "’s", "s’")):
        return False
    if grammar.labels[i] == "adjective":  # without its noun: "a red the sea"
        return words[i + 1] in _OPENERS and kind_of(words[i]) in ("colour", "count", "size")
    is_pronoun = grammar.labels[i] == "pronoun" and words[i] not in _ABOUT_THE_NOUN
    return is_pronoun or (grammar.labels[i] == "noun" and not _may_be_verb(grammar, words, i))


def _may_be_verb(grammar: Grammar, words: list[str], i: int) -> bool:
    """Whether noun i may be the verb of the noun before it: "a dog licks", "two men board"."""
    if not i or (grammar.labels[i - 1] not in ("noun", "pronoun") and words[i - 1] != "that"):
        return False
    is_listed = kind_of(words[i]) in ("person", "object", "place", "time")
    agrees = _has_plural_form(words[i]) != _has_plural_form(words[i - 1])
    return agrees and (singular_of(words[i]) in _ALSO_VERBS or not is_listed)


def _has_plural_form(word: str) -> bool:
    return singular_of(word) != word


def _begins_phrase(grammar: Grammar, words: list[str], i: int) -> bool:
    word, label, head = words[i], grammar.labels[i], grammar.heads[i]
    if head is None or i in grammar.compounds:
        return False
    if label == "pronoun":
        starts_clause = word in _SUBJECTS and i + 1 < len(words)  # "a touch we will not forget"
        return word not in _ABOUT_THE_NOUN and not starts_clause
    if word in _OPENERS:
        return True
    kind = kind_of(word)
    if word in _BEHIND_NOUNS or (kind == "colour" and words[i - 1] in _SHADES):
        return False
    describes = label in ("adjective", "weather") and grammar.labels[i + 1 : i + 2] != ()
    return head > i and describes and kind in ("colour", "count", "size", "attribute", "weather")


def _is_allowed(caption: Caption, grammar: Grammar, words: list[str], i: int) -> bool:
    """Whether English allows the phrase that begins behind word i."""
    head = grammar.heads[i + 1]
    assert head is not None
    if {singular_of(words[i]), singular_of(words[head])} & _MEASURES:
        return True
    if words[head] in _TIMES and words[i + 1] in _WHICH_TIME:
        return True
    if words[i] in _TIMES and i and words[i - 1] in _WHICH_TIME:
        return True
    begin = i
    while begin and caption.is_joined(begin - 1) and grammar.labels[begin - 1] != "link":
        begin -= 1
    first = _first_of_phrase(grammar, i)
    if first > begin and words[first - 1] in _WITH_TWO_OBJECTS:
        return True
    is_place = grammar.labels[begin] == "preposition" or begin in grammar.compounds
    if is_place and not any(
        _ends_phrase(grammar, words, j) and _begins_phrase(grammar, words, j + 1)
        for j in range(begin, i)
    ):
        return True
    return _is_relative_clause(grammar, words, head + 1)


def _first_of_phrase(grammar: Grammar, i: int) -> int:
    """The first word of the noun phrase that ends at word i."""
    while i and grammar.labels[i - 1] in ("noun", "adjective", "weather", "determiner"):
        i -= 1
        if grammar.labels[i] == "determiner":
            break
    return i


def _is_relative_clause(grammar: Grammar, words: list[str], i: int) -> bool:
    """Whether the words from i on are a verb without its object: "(the ball a boy) throws", "(the
    dog a man) is walking"."""
    labels = grammar.labels
    has_copula = labels[i : i + 1] == ("copula",)
    i += has_copula
    if labels[i : i + 1] != ("verb",) or (words[i].endswith("ing") and not has_copula):
        return False
    is_posture = any(words[i] in forms_of(verb).values() for verb in _INTRANSITIVE)
    leads_on = grammar.heads[i + 1 : i + 2] not in ((), (None,))
    return not leads_on and not (is_posture and labels[i + 1 : i + 2] == ("preposition",))
