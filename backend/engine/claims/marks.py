r"""Formatting marks of a caption: what a program writes around words and that is no word itself.

    **A red** car, <b>parked</b>      [A red car.]      "A red car."      # A red car

Emphasis of Markdown, HTML and BBCode; brackets and quotation marks around the whole caption; the
mark of a heading, list or quotation before a caption of one line. Models are asked without them; a
caption has the same words with and without.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from backend.engine.captions import Caption, align

#: Filled in for marks that are known, to look for those inside and around them.
_FILL = "\0"
_INSIDE = r"(?P<inside>(?=[^\s\0])[^\n]{1,300}?(?<=[^\s\0]))"
#: So that no mark is a word of its own, as beside Han and kana, which have no blanks.
_LETTER = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_BEHIND_WORD = rf"(?:(?<={_LETTER})|(?<={_LETTER}[.,!?]))"
_PAIRED = tuple(
    re.compile(pattern.format(inside=_INSIDE, letter=_LETTER, word=_BEHIND_WORD), re.IGNORECASE)
    for pattern in (
        r"(?<![*\d\\])(?P<mark>\*{{2,3}})(?!\*){inside}(?<![*\\])(?P=mark)(?![*\d])",
        r"(?<![\w*\\])(?P<mark>\*)(?!\*){inside}(?<![*\\])(?P=mark)(?![\w*])",
        r"(?<![\w\\])(?P<mark>_{{1,2}})(?={letter}){inside}{word}(?P=mark)(?!\w)",
        r"(?<!`)(?P<mark>`{{1,2}})(?!`){inside}(?<!`)(?P=mark)(?!`)",
        r"<(?P<mark>b|i|u|em|strong|small|mark|span)>(?={letter}){inside}{word}</(?P=mark)>",
        r"\[(?P<mark>b|i|u|s)\](?={letter}){inside}{word}\[/(?P=mark)\]",
    )
)
#: In most captions is none of these.
_FIRST_LOOK = re.compile(r"[*_`<\[]|\A\s*[^\w\s]")
_AROUND = {
    "(": ")", "[": "]", "{": "}", "<": ">", "“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›",
    "‘": "’", "‚": "‘", "「": "」", "『": "』", "【": "】", '"': '"', "'": "'",
}  # fmt: skip
_SEVERAL = (('"""', '"""'), ("'''", "'''"), ("``", "''"))
#: Before a caption of one line, with what stands behind it.
_BEFORE_LINE = re.compile(r"(?:#{1,6}|[-*+•‣◦–—>|]|[-*=~]{2,})[ \t]+(?=\S)")
_BEHIND_LINE = "-*=~#|"
#: Of marks around each other, more are nonsense.
_MOST = 5


class Mark(NamedTuple):
    """Characters `start` to `inner_start` open what they mark, `inner_end` to `end` close it; one
    of them may be empty."""

    start: int
    inner_start: int
    inner_end: int
    end: int


@lru_cache(maxsize=4096)
def marks_of(caption: str) -> tuple[Mark, ...]:
    """The marks of a caption, the inner ones first; none if nothing else is in it.

    >>> marks_of("[**A red** car]")
    (Mark(start=1, inner_start=3, inner_end=8, end=10), Mark(start=0, inner_start=1, \
inner_end=14, end=15))
    >>> marks_of("A (red) car"), marks_of("5 * 3 * 2"), marks_of("a_b_c, ^_^")
    ((), (), ())
    """
    if _FIRST_LOOK.search(caption) is None or not any(map(str.isalnum, caption)):
        return ()
    marks: list[Mark] = []
    text = caption
    for _ in range(_MOST):
        known = len(marks)
        for pattern in _PAIRED:
            for match in pattern.finditer(text):
                marks.append(Mark(match.start(), *match.span("inside"), match.end()))
            text = _filled(text, marks[known:])
        if (around := _around(text)) is not None:
            marks.append(around)
            text = _filled(text, [around])
        if len(marks) == known:
            break
    return tuple(sorted(marks, key=lambda mark: mark.end - mark.start))


def _filled(text: str, marks: Sequence[Mark]) -> str:
    for start, inner_start, inner_end, end in marks:
        opening, closing = _FILL * (inner_start - start), _FILL * (end - inner_end)
        text = text[:start] + opening + text[inner_start:inner_end] + closing + text[end:]
    return text


def _around(text: str) -> Mark | None:
    """The mark around all of a text or before it."""
    rest = text.strip(f"{_FILL} \t\r\n")
    start = text.find(rest) if rest else 0
    end = start + len(rest)
    if size := _size_around(rest):
        inner = rest[size:-size]
        before, behind = (len(inner) - len(each) for each in (inner.lstrip(), inner.rstrip()))
        return Mark(start, start + size + before, end - size - behind, end)
    before = _BEFORE_LINE.match(rest)
    if before is None or "\n" in rest:
        return None
    words = rest.rstrip(_BEHIND_LINE)
    inner_end = start + len(words.rstrip()) if words[-1:].isspace() else end
    return Mark(start, start + before.end(), inner_end, end)


def _size_around(text: str) -> int:
    """How many characters open at the beginning of a text what as many close at its end."""
    for opening, closing in _SEVERAL:
        inner = text[len(opening) : -len(opening)]
        if text.startswith(opening) and text.endswith(closing) and opening not in inner:
            return len(opening) if any(map(str.isalnum, inner)) else 0
    return int(_encloses(text))


def _encloses(text: str) -> bool:
    """Whether the first character opens what the last one closes."""
    closing = _AROUND.get(text[:1], "")
    if len(text) < 3 or text[-1] not in closing or not any(map(str.isalnum, text)):
        return False
    inner = text[1:-1]
    if text[0] == "<":
        return " " in inner and not any(mark in inner for mark in "<>=/")
    if text[0] in "([{":
        depth = 0
        for character in inner:
            depth += (character == text[0]) - (character == text[-1])
            if depth < 0:
                return False
        return depth == 0
    apostrophes = r"\w['’]\w" if text[-1] in "'’" else r"(?!)"
    plain = re.sub(apostrophes, "", inner)
    return not any(mark in plain for mark in (text[0], *closing))


def without_marks(
    caption: str, start: int = 0, end: int | None = None
) -> tuple[str, Sequence[int]]:
    """The characters `start` to `end` of a caption without marks, and where each of them stands in
    the caption; one more place for the end.

    >>> without_marks("[A *red* car]")[0], list(without_marks("(ab)")[1])
    ('A red car', [1, 2, 4])
    """
    end = len(caption) if end is None else end
    marks = marks_of(caption)
    if not marks:
        return caption[start:end], range(start, end + 1)
    hidden: set[int] = set()
    for mark in marks:
        hidden.update(range(mark.start, mark.inner_start), range(mark.inner_end, mark.end))
    places = [index for index in range(start, end) if index not in hidden]
    return "".join(caption[index] for index in places), [*places, end]


def with_marks_beside(caption: str, start: int, end: int) -> tuple[int, int]:
    """The range with the marks that open and close in it or next to it.

    >>> caption = "**A red** car. [b]A dog. A cat.[/b]"
    >>> with_marks_beside(caption, 2, 14), with_marks_beside(caption, 18, 24)
    ((0, 14), (18, 24))
    """
    for mark in marks_of(caption):
        opens, closes = mark.inner_start == start, mark.inner_end == end
        if (opens or mark.start >= start) and (closes or mark.end <= end):
            start, end = min(start, mark.start), max(end, mark.end)
    return start, end


def with_marks_again(caption: str, start: int, end: int, text: str) -> str | None:
    """A text that is to take the place of the characters `start` to `end` without their marks, with
    the marks around the same words, and in another caption those around all of it; None if a mark
    opens in them and closes elsewhere.

    >>> with_marks_again("**A red** car", 0, 13, "A blue car")
    '**A blue** car'
    """
    within = [m for m in marks_of(caption) if m.start < end and start < m.end]
    if not within:
        return text
    plain, places = without_marks(caption, start, end)
    if text == plain:
        return caption[start:end]
    words, new_words = Caption.parse(plain), Caption.parse(text)
    new_of: dict[int, list[int]] = {}
    runs = align(words.words, new_words.words)
    is_another = 2 * sum(len(run.old) for run in runs if run.kept) < len(words)
    for run in runs:
        for number, index in enumerate(run.old):
            one_by_one = len(run.old) == len(run.new)
            new_of[index] = [run.new[number]] if one_by_one else list(run.new)
    inserts: list[tuple[int, bool, int, str]] = []
    for rank, mark in enumerate(within):
        if mark.start < start and mark.end > end:
            continue
        if mark.start < start or mark.end > end:
            return None
        first, last = bisect_left(places, mark.inner_start), bisect_left(places, mark.inner_end)
        marked_words = [i for i, (a, b) in enumerate(words.spans) if a < last and first < b]
        now_marked = sorted(index for word in marked_words for index in new_of[word])
        if first == 0 and last == len(plain):
            opens, closes = 0, len(text)
        elif now_marked and not is_another:
            before = plain[first : words.spans[marked_words[0]][0]]
            behind = plain[words.spans[marked_words[-1]][1] : last]
            opens, closes = new_words.spans[now_marked[0]][0], new_words.spans[now_marked[-1]][1]
            opens -= len(before) if text[:opens].endswith(before) else 0
            closes += len(behind) if text.startswith(behind, closes) else 0
        else:
            continue
        inserts.append((opens, True, -rank, caption[mark.start : mark.inner_start]))
        inserts.append((closes, False, rank, caption[mark.inner_end : mark.end]))
    for place, _, _, characters in sorted(inserts, reverse=True):  # the inner ones first
        text = text[:place] + characters + text[place:]
    return text
