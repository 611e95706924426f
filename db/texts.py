"""What is an empty text, and what a name may hold: one definition of each, for all layers."""

import unicodedata

#: Characters that take no place or show nothing, and are neither blanks, controls nor formats
#: (Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt; the empty Braille cell).
_INVISIBLE = frozenset(map(chr, (
    0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2065, 0x2800, 0x3164,
    *range(0xFE00, 0xFE10), 0xFFA0, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000),
)))  # fmt: skip
#: Controls (line ends among them), halves of surrogate pairs, and Unicode's own line ends.
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
#: What turns the order of letters around, so that `gpj.exe` reads as a picture: no script needs it.
_OVERRIDES = "\u202d\u202e"


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen: it is empty, or has but blanks, controls and characters
    without width.

    >>> is_blank(" \\n\\u200b\\u00ad"), is_blank("\\u3164"), is_blank("\\u202f.")
    (True, True, False)
    """
    return all(
        c.isspace() or c in _INVISIBLE or unicodedata.category(c) in ("Cc", "Cf") for c in text
    )


def compose(text: str) -> str:
    """The text in normal form C. macOS writes file names decomposed, an accent after its letter:
    the same name in two forms is two names on other systems."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def has_controls(text: str) -> bool:
    """Whether it holds characters that no name has: controls, line ends, halves of characters,
    overrides of direction. Blanks of any width, and formats that scripts and emoji need, are none.

    >>> [has_controls(name) for name in ("9.41\\u202fAM", "\\u0645\\u200c", "a\\nb", "\\ud83d")]
    [False, False, True, True]
    """
    if text.isascii() and text.isprintable():
        return False
    return any(c in _OVERRIDES or unicodedata.category(c) in _CONTROLS for c in text)
