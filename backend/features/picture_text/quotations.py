"""What a caption says that the text in its picture is.

>>> quotations('A sign that reads EXIT next to a „Bäckerei“'), quotations("A dog's bowl says Rex")
(['Bäckerei', 'EXIT'], ['Rex'])
"""

import re

#: Opening and closing marks. An apostrophe inside or after a word is none.
_MARKS = ("“”", "„“", "„”", "””", "«»", "»«", "‹›", "「」", "『』", "＂＂", "‘’", "‚‘")
_QUOTED = re.compile(
    "|".join(
        [
            *(f"{re.escape(a)}([^{re.escape(a + b)}\n]+){re.escape(b)}" for a, b in _MARKS),
            r'(?<!\d)"(?!\s)([^"\n]+)"',  # none behind a number of inches
            r"(?<!\w)'([^'\n]+(?:'\w[^'\n]*)*)'(?!\w)",
        ]
    )
)
#: Before a quotation that is a name and not written anywhere.
_NAMING = re.compile(r"\b(?:named|called|titled|nicknamed|known as|so-called)[\s,:]*$", re.I)
_CAPITALS = r"[A-Z0-9][A-Z0-9&'’!?.-]*(?:\s+[A-Z0-9&][A-Z0-9&'’!?.-]*)*"
_CAPITALISED = r"[A-Z0-9][\w&'’!?.-]*(?:\s+[A-Z0-9&][\w&'’!?.-]*)*"
#: Without marks: capitals behind these words, or capitalised words behind the first two.
_STATED = re.compile(
    rf"\b(?:reads|says)[:,]?\s+({_CAPITALISED})|"
    r"\b(?:read|reading|say|saying|labell?ed|spells?|spelling|marked|written|words?|text|letters|"
    rf"numbers?)[:,]?\s+(?:is\s+|with\s+)?({_CAPITALS})(?![\w])"
)
_END = " \t.,;:!?"


def quotations(caption: str) -> list[str]:
    """Each quotation with a letter or digit once, those in marks first."""
    texts: dict[str, None] = {}
    rest = caption
    for match in _QUOTED.finditer(caption):
        rest = rest[: match.start()] + " " * len(match.group()) + rest[match.end() :]
        if not _NAMING.search(caption[: match.start()]):
            texts[next(filter(None, match.groups())).strip()] = None
    for match in _STATED.finditer(rest):
        texts[(match[1] or match[2]).rstrip(_END)] = None
    return [text for text in texts if any(map(str.isalnum, text))]
