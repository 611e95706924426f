"""What a list of texts in a caption column is: several captions, or the tokens or the tags of one.

The form of all lists of a column decides, not that of one: a list of one-word captions looks like
any list of words.

* Tokens: no piece has blanks, and some have what only running text has: a mark of punctuation alone
  ("."), a word such as "a" or "with", a tokenizer's mark ("##ing", "▁dog").
* Tags: at least three short pieces, no sentence, some of one word; or words joined by underscores,
  "1girl", "(smile:1.2)".
* Captions: most pieces are sentences: of five words, or with an article before or a full stop
  behind.
* Lists of one piece are the same by each reading.

What the form leaves open, the column's name decides (`captions`, `raw`, `tokens`, `tags`), else the
user.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from backend.datasets.read_options import FORMS, ListForm
from backend.datasets.reading.token_texts import has_token_marks, is_punctuation, unspaced_letters

#: What names of columns and fields say of the lists in them.
NAMED: dict[str, ListForm] = {
    "captions": "captions", "sentences": "captions", "texts": "captions", "raw": "captions",
    "tokens": "tokens", "tags": "tags",
}  # fmt: skip
#: Words of running text in the languages of most captions; as tags they are rare.
_RUNNING_TEXT = """
a an the of on in with and is are to at his her its their by for from
ein eine einen einem einer der die das dem den und mit auf im am ist
un une le la les du et avec sur dans est el los las del con una il lo gli di che è um uma os da
het een de van op met и в на с の は が を に で と 的 了 在 着 和 一
"""
_ARTICLES = """
a an the two three four some several this there ein eine einen der die das zwei
un une le la les des deux el los las una dos il lo gli due um uma os het een
"""
_FUNCTION_WORDS, _BEFORE_NOUNS = frozenset(_RUNNING_TEXT.split()), frozenset(_ARTICLES.split())
_SENTENCE_END = re.compile(r"\w[\"'”’)\]]*[.!?…。！？][\"'”’)\]]*$")
#: Words joined by underscores, a number with its noun, a weight, escaped brackets.
_TAG = re.compile(r"\w+_\w+.*|\d+\+?[a-z]{3,}|\(.+:\d.*\)|.*\\[()].*", re.IGNORECASE)
#: From how many words on a text is a sentence, or letters of a script without blanks.
_SENTENCE_WORDS, _SENTENCE_LETTERS = 5, 8
#: Of the lists whose form is clear, how many agree; of all lists, how many are clear.
_AGREEING, _CLEAR = 0.9, 0.25


def form_of(pieces: Iterable[str]) -> ListForm | None:
    """What a list of at least two texts is by its form; None if that is open.

    >>> form_of(["A", "red", "square", "."]), form_of(["1girl", "red", "looking at viewer"])
    ('tokens', 'tags')
    >>> form_of(["A red square.", "A square."]), form_of(["dog", "cat"])
    ('captions', None)
    """
    texts = [piece.strip() for piece in pieces if piece.strip()]
    if len(texts) < 2:
        return None
    if max(map(_words, texts)) > 1 and not _are_words(texts):
        return _form_of_phrases(texts)
    if has_token_marks(texts):
        return "tokens"
    if _share(map(is_sentence, texts)) >= 0.5:
        return "captions"
    is_running = any(is_punctuation(t) or t.lower() in _FUNCTION_WORDS for t in texts)
    has_tags = any(map(_TAG.fullmatch, texts))
    if is_running == has_tags:
        return None
    return "tokens" if is_running else "tags"


def form_of_column(lists: Sequence[Sequence[str]], name: str) -> ListForm | None:
    """What the lists of a column are; None if that is open. Those of one text say nothing.

    >>> form_of_column([["dog", "cat"], ["dog"]], "captions"), form_of_column([["dog"]], "caption")
    ('captions', 'captions')
    """
    several = [pieces for pieces in lists if len(pieces) > 1]
    if not several:
        return "captions"
    forms = Counter(filter(None, map(form_of, several)))
    clear = forms.total()
    by_name = NAMED.get(name.strip().lower())
    best = max(FORMS, key=lambda form: forms[form])
    if clear >= _CLEAR * len(several) and forms[best] >= _AGREEING * clear:
        return best
    return by_name if by_name and forms[by_name] >= _AGREEING * clear else None


def _form_of_phrases(texts: list[str]) -> ListForm | None:
    """The same for texts of which some have several words."""
    sentences = _share(map(is_sentence, texts))
    if sentences >= 0.5:
        return "captions"
    single = _share(_words(text) == 1 or bool(_TAG.fullmatch(text)) for text in texts)
    is_short = sum(map(_words, texts)) <= 2.5 * len(texts)
    if len(texts) >= 3 and sentences <= 0.2 and single >= 0.3 and is_short:
        return "tags"
    return None


def _are_words(texts: list[str]) -> bool:
    """Whether nearly all are single words: some tokenizers leave a name or a number whole."""
    return _share(_words(text) > 1 for text in texts) <= 0.05


def is_sentence(text: str) -> bool:
    """Whether a text has the form of a caption.

    >>> is_sentence("a dog runs on grass"), is_sentence("A red ball"), is_sentence("long hair")
    (True, True, False)
    """
    count = _words(text)
    if count >= _SENTENCE_WORDS or unspaced_letters(text) >= _SENTENCE_LETTERS:
        return True
    if _SENTENCE_END.search(text) and len(text) > 3:
        return True
    return count > 1 and text.split()[0].lower() in _BEFORE_NOUNS


def _words(text: str) -> int:
    """The number of words; where none are separated by blanks, about that."""
    return len(text.split()) + unspaced_letters(text) // 4


def _share(each: Iterable[bool | None]) -> float:
    values = list(each)
    return sum(map(bool, values)) / len(values)
