"""The tagger is TextBlob's, and TextBlob stays whole for others."""

import os
import sys
from types import ModuleType

import pytest

from backend.engine.english import tagger
from backend.engine.english.tagger import lexicon, tag_words
from tests.fixtures import programs

TEXTS = ["A dog runs, slowly.", "", "Ein Hund", "two men's red-brown dogs", "Über 3 km 🐕"]


def test_tags_are_those_of_the_whole_package() -> None:
    from textblob import TextBlob
    from textblob.taggers import PatternTagger

    for text in TEXTS:
        assert tag_words(text) == PatternTagger().tag(text)
    assert TextBlob("A dog").raw == "A dog"
    assert {"dog", "red", "runs"} <= lexicon()


def test_whoever_imports_the_package_later_gets_it_whole() -> None:
    script = (
        "import sys\nfrom backend.engine.english.tagger import tag_words\n"
        "tag_words('A dog')\nassert not {'nltk', 'scipy', 'textblob'} & set(sys.modules)\n"
        "import textblob, textblob.en\nprint(textblob.TextBlob('A dog').raw, textblob.en.tag)"
    )
    status, printed, reported = programs.run(["-c", script], os.environ)
    assert status == 0, reported
    assert "dog" in printed


def test_the_tagger_is_read_while_other_threads_import(monkeypatch: pytest.MonkeyPatch) -> None:
    class Name(str):
        def partition(self, separator: str) -> tuple[str, str, str]:
            monkeypatch.setitem(sys.modules, "imported_meanwhile", ModuleType("imported_meanwhile"))
            return super().partition(separator)

    monkeypatch.setitem(sys.modules, Name("a_module"), ModuleType("a_module"))
    tagger._english_part.cache_clear()
    assert tag_words("A dog") == [("A", "DT"), ("dog", "NN")]
    assert "imported_meanwhile" in sys.modules
