"""What a family's training did to captions before its tokenizer read them.

A tokenizer's files do not say it. BLIP's captions had lost their full stops (`blip_caption` of
LAVIS 1.0.2); CLIP's text was repaired and unescaped, which open_clip's tokenizer does and the one
of transformers does not.
"""

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from backend.datasets.safe_files.regular_files import read_regular
from backend.errors import SettingsError

#: As the model's training did, or as the tokenizer's library does, which cleans less.
Reading = Literal["as-trained", "as-written"]
READINGS: tuple[Reading, ...] = get_args(Reading)

_TAKEN_OUT = re.compile(r"[.!\"()*#:;~]")
#: The longest caption that `blip_caption` lets through.
_MOST_WORDS = 50


@dataclass(frozen=True)
class Cleaning:
    """`name`: stored with runs; `clean`: the text that is read; `is_by_word`: whether each word
    between blanks of a text, and of what deletions leave of it, is cleaned on its own."""

    name: str
    clean: Callable[[str], str]
    is_by_word: Callable[[str], bool]

    def __call__(self, text: str) -> str:
        return self.clean(text)


def parse_reading(text: str) -> Reading:
    """Raises SettingsError for any but `READINGS`."""
    for reading in READINGS:
        if reading == text:
            return reading
    raise SettingsError(f"Captions cannot be read '{text}'; use {' or '.join(READINGS)}.")


def reading_of(model: str) -> Reading:
    """How captions were read in the model's training, by its `traced.json`: by default as its
    family's published models were trained. Raises SettingsError for any other."""
    return parse_reading(str(stated_by(model).get("text", "as-trained")))


def stated_by(model: str) -> dict[str, Any]:
    """What the `traced.json` of a model's folder says; {} if there is none."""
    path = Path(model) / "traced.json"
    return dict(json.loads(read_regular(path))) if path.is_file() else {}


def clean_for_blip(text: str) -> str:
    """
    >>> clean_for_blip('A "red" dog. It runs (fast)!')
    'a red dog it runs fast'
    """
    spaced = re.sub(r"\s{2,}", " ", _TAKEN_OUT.sub(" ", text.lower()))
    words = spaced.rstrip("\n").strip(" ").split(" ")
    return " ".join(words[:_MOST_WORDS])


def clean_for_clip(text: str) -> str:
    """
    >>> clean_for_clip("“Fish &amp;amp; chips”,  oﬃce")
    '"Fish & chips", office'
    """
    if not (text.isascii() and text.isprintable() and "&" not in text):
        import ftfy  # which has nothing to repair in the others

        text = html.unescape(html.unescape(ftfy.fix_text(text)))
    return " ".join(text.split())


#: The kinds of score whose models have a cleaning, unless they state that they have none.
CLEANED_KINDS = frozenset(("blip-itm", "blip-itc", "clip"))
#: A cut at fifty words comes after the 35 tokens that BLIP reads.
BLIP_CAPTION = Cleaning("blip_caption", clean_for_blip, lambda text: True)
#: Whether letters are repaired can depend on others of the caption; ASCII has none to repair.
CLIP_TEXT = Cleaning("clip", clean_for_clip, str.isascii)
