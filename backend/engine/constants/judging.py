# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Which words of a constant part say nothing about a picture: words that are none, the openings of
language models, words of quality and of cameras, a picture's number, date and website.

What names something visible stays, however constant: a dataset of dogs has captions that are wrong
about the dog. A word in doubt stays as well; a person can state what is to be left out.
"""

import re
from collections.abc import Sequence
from functools import cache

from backend.engine.constants.part import NUMBER, Place, joined
from backend.engine.languages.language import language_by_name
from backend.engine.phrases.nonce import words as english_words

#: What the picture itself is called; the verbs by which a language model says what it shows, which
#: belong to an opening behind one of these alone ("a display" is a thing).
_PICTURES = frozenset(
    "image images picture pictures photo photos photograph photographs photography snapshot "
    "scene scenes".split()
)
_OF_OPENINGS = frozenset(
    "show shows showing shown depict depicts depicting depicted feature features featuring capture "
    "captures capturing captured display displays displaying present presents presenting portray "
    "portrays portraying illustrate illustrates illustrating contains containing describes appears "
    "seen see visible provided given a an the this that these in of we can may there is are "
    "be which where it us you i to as from and by for at".split()
)
#: Openings that name no picture.
_HEDGES = re.compile(
    r"(?:we|i|you|one)(?: can| could)? see|there (?:appears?|seems?) to be"
    r"|(?:it|this|that|what) (?:seems|appears|looks)(?: like| that| as if| to be)?"
    r"(?: there (?:is|are))?|possibly|probably|perhaps|apparently|presumably"
)
#: Praise, resolution, cameras, renderers and websites; and words that are praise beside these
#: alone, or that stand behind a trigger.
_QUALITY = frozenset(
    "8k 4k 2k 16k uhd hd hdr hq 1080p dslr masterpiece masterpieces quality highres absurdres "
    "lowres detailed photorealistic hyperrealistic ultrarealistic ultradetailed hyperdetailed "
    "photorealism hyperrealism cinematic artstation 35mm 50mm 85mm bokeh unsplash pexels "
    "pixabay shutterstock istock istockphoto gettyimages alamy dreamstime depositphotos 123rf "
    "freepik instagram pinterest flickr deviantart pixiv photooftheday picoftheday "
    "instagood".split()
)
_WITH_QUALITY = frozenset(
    "best good high highest low worst normal resolution res detail details highly ultra extremely "
    "intricate hyper realistic realism professional award winning stunning amazing beautiful "
    "gorgeous sharp focus trending on unreal engine octane render rendered wallpaper aesthetic raw "
    "lens shot taken nikon canon fujifilm leica style art in the of by a an very newest stock "
    "royalty free via credit courtesy getty adobe".split()
)
#: Before a number, what a picture is called or how good it is: "score_9", "img_0123".
_NUMBERED = frozenset("score img fig figure frame".split())
_BEFORE_A_NUMBER = _PICTURES | _NUMBERED
#: Written without blanks, so that they are told from English words beside them.
_UNSPACED_LANGUAGES = ("zh", "ja")
#: What goes to the noun behind it, but "of" in "a photo of".
ARTICLES = frozenset(("a", "an", "the"))
_LOOSE = ARTICLES | frozenset("in on at by from for and to as".split())
#: Stand before the noun that they belong to, so that an unknown word behind them names a thing.
_DETERMINERS = ARTICLES | frozenset("one two three some this that his her their my".split())
_PIECE = re.compile(r"[^\W\d_]+")


def says_nothing(words: Sequence[str], place: Place, language: str = "en") -> tuple[int, int]:
    """Which of a part's words say nothing about a picture, from the edge of the caption inwards:
    the first and the one behind the last; (0, 0): none. `words`: in lower case; `language`: of the
    captions: of others than English, openings alone are known.

    >>> says_nothing(("a", "photo", "of", "sks", "dog"), "begin")
    (0, 4)
    >>> says_nothing(("a", "dog"), "begin"), says_nothing(("a", "labradoodle"), "begin")
    ((0, 0), (0, 0))
    >>> says_nothing(("the", "image", "shows", "a"), "begin")
    (0, 3)
    >>> says_nothing(("grass", "8k", "masterpiece"), "end")
    (1, 3)
    """
    opening = opening_of(words, language) if place == "begin" else ()
    if language != "en":
        return 0, len(opening)
    runs = [*_runs(words, place), (0, len(opening))]
    if place == "begin":
        runs = [run for run in runs if run[0] == 0]
    elif place == "end":
        runs = [run for run in runs if run[1] == len(words)]
    return max(runs, key=lambda run: run[1] - run[0], default=(0, 0))


def _runs(words: Sequence[str], place: Place) -> list[tuple[int, int]]:
    """The longest runs of words that say nothing, without articles at their ends, of those that are
    more than words that need another one."""
    runs: list[tuple[int, int]] = []
    first = 0
    for index in range(len(words) + 1):
        if index < len(words) and (
            _is_companion(words[index])
            or _is_number_of_a_picture(words, index)
            or _is_label(words, index, place)
        ):
            continue
        while place == "anywhere" and first < index and words[first] in _OF_OPENINGS:
            first += 1
        last = _without_loose(words, first, index)
        if any(_is_label(words, at, place) for at in range(first, last)):
            runs.append((first, last))
        first = index + 1
    return runs


def _is_companion(word: str) -> bool:
    return word in _OF_OPENINGS or word in _WITH_QUALITY


def _is_label(words: Sequence[str], index: int, place: Place) -> bool:
    """Whether a word names the picture as such, praises, or is a trigger. Amid a caption a picture
    is a thing that hangs on a wall."""
    word = words[index]
    if tuple(words[max(0, index - 1) : index + 2]) == (NUMBER,) * 3:  # a date
        return True
    if word in _NUMBERED and index + 1 < len(words) and words[index + 1] == NUMBER:
        return True
    if word in _QUALITY or (word in _PICTURES and place != "anywhere"):
        return True
    is_noun = index > 0 and words[index - 1] in _DETERMINERS and index + 1 == len(words)
    return not is_noun and is_invented(word)


def _is_number_of_a_picture(words: Sequence[str], index: int) -> bool:
    """Whether it is a number behind the word for a picture or beside another number, that of all
    pictures, or the "up" of "score_8_up"."""
    before = words[index - 1] if index else ""
    behind = words[index + 1] if index + 1 < len(words) else ""
    if words[index] == NUMBER:
        is_beside = before in _BEFORE_A_NUMBER or NUMBER in (before, behind)
        return is_beside or _is_number_of_pictures(words, index)
    return words[index] == "up" and before == NUMBER


def _is_number_of_pictures(words: Sequence[str], index: int) -> bool:
    """Whether it is the second number of "image 3 of 120"."""
    return tuple(words[max(0, index - 2) : index + 1]) == (NUMBER, "of", NUMBER)


def opening_of(words: Sequence[str], language: str = "en") -> tuple[str, ...]:
    """The words with which a language model opens a description; () if the first say something.

    >>> opening_of(("in", "this", "picture", "we", "can", "see", "a", "dog"))
    ('in', 'this', 'picture', 'we', 'can', 'see')
    >>> opening_of(("das", "bild", "zeigt", "einen", "hund"), "de")
    ('das', 'bild', 'zeigt')
    """
    if language == "en" and (opening := _english_opening(words)):
        return opening
    for name in (language, *_UNSPACED_LANGUAGES):
        expression = language_by_name(name).opening
        if expression and expression.match(joined(words)):
            for last in range(len(words), 0, -1):
                if expression.fullmatch(joined(words[:last])):
                    return tuple(words[:last])
    return ()


def _english_opening(words: Sequence[str]) -> tuple[str, ...]:
    last = 0
    while last < len(words) and (
        words[last] in _PICTURES
        or words[last] in _OF_OPENINGS
        or (last and words[last] == NUMBER and words[last - 1] in _PICTURES)
        or _is_number_of_pictures(words, last)
    ):
        last += 1
    if last == len(words):
        return ()
    last = _without_loose(words, 0, last)
    if _PICTURES.intersection(words[:last]):
        return tuple(words[:last])
    hedge = _HEDGES.match(joined(words))
    return tuple(words[: len(hedge[0].split())]) if hedge is not None else ()


def _without_loose(words: Sequence[str], first: int, last: int) -> int:
    """Where the words end, without those that belong to what stands behind them."""
    while last > first and words[last - 1] in _LOOSE:
        last -= 1
    return last


@cache
def is_invented(word: str) -> bool:
    """Whether a word in lower case is no English one and is not spelt like one: what is spelt like
    one may be a breed, a name, or a word that the lexicon does not have.

    >>> is_invented("ohwx"), is_invented("sks"), is_invented("corgi"), is_invented("1girl")
    (True, True, False, False)
    """
    pieces = _PIECE.findall(word)
    if not word.isascii() or not pieces or all(_is_english(piece) for piece in pieces):
        return False
    letters = "".join(pieces)
    if len(letters) < 2:
        return False
    if re.search(r"[^\W\d_]\d+[^\W\d_]", word):  # p3rson
        return True
    return not re.search("[aeiouy]", letters) or not _is_spelt_like_english(letters)


def _is_english(piece: str) -> bool:
    return piece in english_words() or piece in _QUALITY or _is_companion(piece)


def _is_spelt_like_english(letters: str) -> bool:
    """Borrowed words ("schnauzer") have one run of letters that English has not."""
    edged = f"^{letters}$"
    return sum(edged[at : at + 3] not in _spellings() for at in range(len(edged) - 2)) < 2


@cache
def _spellings() -> frozenset[str]:
    """All runs of three letters of English words, with their edges, but those of one word alone."""
    once: set[str] = set()
    again: set[str] = set()
    for word in english_words():
        edged = f"^{word}$"
        for at in range(len(edged) - 2):
            three = edged[at : at + 3]
            (again if three in once else once).add(three)
    return frozenset(again)
