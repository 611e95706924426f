"""The claims of prose: its sentences, and the clauses of sentences that a model cannot read whole.

Lines are looked at first, because what models write is Markdown as often as prose: headings, list
marks, code, role names of a chat and marks such as `<image>` belong to no claim.
"""

import re
from collections.abc import Callable, Iterator

from backend.engine.claims.claim import Claim
from backend.engine.claims.sentence_ends import sentence_ranges
from backend.engine.languages.identification import LATIN_LANGUAGES, language_of

#: Whether a model reads a text whole.
Fits = Callable[[str], bool]

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
#: A tag with its attributes, and marks of tokenizers with the role behind them.
_MARK = re.compile(
    r"<\|?/?[A-Za-z_][\w-]*(?:\s+[\w-]+=(?:\"[^\"]*\"|'[^']*'|[^\s<>\"']+))*\s*\|?/?>"
    r"(?:(?:assistant|model)(?=\n))?"
    r"|\[/?(?:CLS|SEP|PAD|UNK|BOS|EOS|INST|IMG)\]"
)
_BOLD = r"(?:\*\*|__)"
_HEADING = re.compile(rf"[ \t]*(?:#{{1,6}}\s.*|{_BOLD}[^*_]{{1,80}}{_BOLD}:?|[-=*_]{{3,}})[ \t]*")
_LIST_MARK = re.compile(
    r"[ \t]*(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|(?P<letter>[a-zA-Z])\.)[ \t]+"
)
#: Whose turn it is: first group, of somebody who asks; second group, of one who answers.
_ROLE = re.compile(
    rf"[ \t]*{_BOLD}?(?:(user|human|system|question)|"
    r"(assistant|gpt|model|answer|(?:image )?(?:caption|description)|alt(?:ernative)?[ -]text|"
    r"légende|bildunterschrift|bildbeschreibung|beschreibung|título|leyenda|descripción|titolo|didascalia|"
    r"descrizione|legenda|descrição|onderschrift|beschrijving|подпись|описание|opis|podpis|"
    rf"标题|描述|說明|说明|キャプション|説明|설명))[ \t\xa0]*{_BOLD}?[:：]{_BOLD}?[ \t]*",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[:：]\s*$")

#: Where a long sentence may be divided, the best places first; each match ends where the next
#: clause begins.
_CLAUSE_STARTS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[;；:：]\s*|\s+[—–-]{1,2}\s+|—",
        r"[,，]\s*(?=(?:and|but|while|whereas|with|which|who|where|as|or|so|then)\b)",
        r"[,，、]\s*",
        r"\s+(?=(?:and|but|while|whereas|with|which|who|where|wearing|holding|standing|sitting)\b)",
    )
)
#: A clause has at least so many letters on each side of the place.
_SHORTEST = 12


def sentences_of(text: str, fits: Fits | None = None) -> Iterator[Claim]:
    """The claims of prose in order. `fits`: None: sentences are never divided.

    >>> text = "# Scene\\n- A dog runs. It is red.\\n- Dr. Ames waves."
    >>> [claim.of(text) for claim in sentences_of(text)]
    ['A dog runs.', 'It is red.', 'Dr. Ames waves.']
    """
    for start, end in _blocks(text):
        for first, last in _sentences(text, start, end):
            opens = _OPENING.search(text, first, last) is not None
            kind = "opening" if opens and last < len(text.rstrip()) else "sentence"
            if fits is None or fits(text[first:last]):
                yield Claim(first, last, kind)
            else:
                yield from _clauses(text, first, last, fits)


def mark_of_list(text: str, line: int) -> int | None:
    """Where the mark of a list ends with which the line that starts here begins; None: with none.

    >>> mark_of_list("- A dog.", 0), mark_of_list("A dog.", 0), mark_of_list("J. Ames waves.", 0)
    (2, None, None)
    """
    mark = _LIST_MARK.match(text, line)
    if mark is None or (mark["letter"] and not _has_neighbour(text, mark["letter"])):
        return None
    return mark.end()


def _has_neighbour(text: str, letter: str) -> bool:
    """Whether another line begins with the letter before or after: else it is an initial."""
    neighbours = "|".join(re.escape(chr(ord(letter) + step)) for step in (-1, 1))
    return re.search(rf"^[ \t]*(?:{neighbours})\.[ \t]", text, re.MULTILINE) is not None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of text that belong together: paragraphs, and items of lists, without their marks; in
    a chat the assistant's turns alone."""
    fences = [match.span() for match in _FENCE.finditer(text)]
    asks = False  # inside a turn of the user
    start: int | None = None
    for line_start, line_end in _lines(text):
        line = text[line_start:line_end]
        in_code = any(first <= line_start < last for first, last in fences)
        if in_code or not line.strip() or _HEADING.fullmatch(line):
            if start is not None:
                yield start, line_start
                start = None
            continue
        content = line_start
        if role := _ROLE.match(line):
            asks, content = role[1] is not None, line_start + role.end()
        elif mark := mark_of_list(text, line_start):
            content = mark
        if content > line_start:
            if start is not None:
                yield start, line_start
            start = None if asks else content
        elif start is None and not asks:
            start = line_start
    if start is not None:
        yield start, len(text)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line.rstrip("\r\n"))
        start += len(line)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a block, without white space around them."""
    edges = [start, *(edge for m in _MARK.finditer(text, start, end) for edge in m.span()), end]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        part = text[first:last]
        language = language_of(part)
        code = language if language in LATIN_LANGUAGES else "en"
        for begin, stop in sentence_ranges(code, part):
            if (span := _trim(text, first + begin, first + stop)) is not None:
                yield span


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range without white space at its ends; None if there is neither letter nor digit."""
    piece = text[start:end]
    if not any(character.isalnum() for character in piece):
        return None
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _clauses(text: str, start: int, end: int, fits: Fits) -> Iterator[Claim]:
    """The parts of a long sentence that fit, divided at the best place nearest to its middle; a
    part that cannot be divided is left as it is, and a model reads its beginning."""
    place = None if fits(text[start:end]) else _division(text, start, end)
    if place is None:
        yield Claim(start, end, "clause")
        return
    for first, last in ((start, place), (place, end)):
        if (span := _trim(text, first, last)) is not None:
            yield from _clauses(text, *span, fits)


def _division(text: str, start: int, end: int) -> int | None:
    """Where the second of two clauses begins."""
    middle = (start + end) / 2
    for pattern in _CLAUSE_STARTS:
        places = [
            match.end()
            for match in pattern.finditer(text, start, end)
            if match.start() - start >= _SHORTEST and end - match.end() >= _SHORTEST
        ]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return None
