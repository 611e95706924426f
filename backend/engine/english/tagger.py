"""TextBlob's tagger of English words, without the rest of TextBlob.

`import textblob` imports NLTK, which imports SciPy and scikit-learn where they are: two seconds of
the processor and 100 MB, for which a server's first page would wait. The tagger needs none of them.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Any

_LOCK = Lock()


def tag_words(text: str, tokenize: bool = True) -> list[tuple[str, str]]:
    """The words of a text with their Penn tags; with `tokenize`, punctuation is divided from words.

    >>> tag_words("A dog runs")
    [('A', 'DT'), ('dog', 'NN'), ('runs', 'VBZ')]
    """
    return [(str(word), str(name)) for word, name in _english().tag(text, tokenize=tokenize)]


def lexicon() -> frozenset[str]:
    """The words that the tagger knows."""
    words = _english().parser.lexicon
    _ = "dog" in words  # a first lookup triggers the lazy loading of its file
    return frozenset(map(str, dict.keys(words)))


def _english() -> Any:
    with _LOCK:  # two threads would take each other's package away
        return _english_part()


@cache
def _english_part() -> ModuleType:
    """`textblob.en`, imported into a package without content; whoever imports TextBlob gets another
    one, whole."""
    spec = find_spec("textblob")
    if spec is None:
        raise ModuleNotFoundError("No module named 'textblob'", name="textblob")
    whole = _take_out()
    package = ModuleType("textblob")
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules["textblob"] = package
    try:
        return import_module("textblob.en")
    finally:
        _take_out()
        sys.modules.update(whole)


def _take_out() -> dict[str, ModuleType]:
    loaded = list(sys.modules)  # other threads import meanwhile
    names = [name for name in loaded if name.partition(".")[0] == "textblob"]
    return {name: sys.modules.pop(name) for name in names}
