"""Names as shells and WebDataset write several: `shard_{000..009}.tar`, `{train,val}_0.tar`."""

import re
from collections.abc import Iterator
from itertools import islice

from backend.errors import DatasetFormatError

#: Maximum number of names that one pattern stands for, and of its characters.
MOST_NAMES, _LONGEST = 1_000_000, 10_000
_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?|([A-Za-z])\.\.([A-Za-z])")


def expand(pattern: str) -> list[str]:
    """The names that a pattern stands for. Raises DatasetFormatError if they are too many.

    >>> expand("shard_{08..10}.tar")
    ['shard_08.tar', 'shard_09.tar', 'shard_10.tar']
    >>> expand("{train,val/{a,b}}.tar"), expand("{one}.tar")
    (['train.tar', 'val/a.tar', 'val/b.tar'], ['{one}.tar'])
    """
    if len(pattern) > _LONGEST:
        raise DatasetFormatError(f"The pattern '{pattern[:80]}…' is too long for a name.")
    try:
        names = list(islice(_names(pattern), MOST_NAMES + 1))
    except RecursionError:
        raise DatasetFormatError(f"The pattern '{pattern[:80]}' is nested too deeply.") from None
    if len(names) > MOST_NAMES:
        raise DatasetFormatError(
            f"The pattern '{pattern[:80]}' stands for more than {MOST_NAMES:,} names."
        )
    return names


def _names(pattern: str) -> Iterator[str]:
    """The names, one after the other: only the first ones are computed of too many."""
    start = pattern.find("{")
    parts, end = _parts(pattern, start) if start >= 0 else ([], 0)
    if end == 0:
        yield pattern
        return
    inner = pattern[start + 1 : end - 1]
    before, after = pattern[:start], pattern[end:]
    if len(parts) > 1:
        middles = (name for part in parts for name in _names(part))
    elif match := _RANGE.fullmatch(inner):
        middles = _range(match)
    else:  # `{one}` is a name like any other
        middles = (f"{{{name}}}" for name in _names(inner))
    for middle in middles:
        for rest in _names(after):
            yield f"{before}{middle}{rest}"


def _parts(pattern: str, start: int) -> tuple[list[str], int]:
    """The alternatives between the brace at `start` and its partner, and where the text after that
    begins; 0 if it has none."""
    depth, begin, parts = 0, start + 1, []
    for place in range(start, len(pattern)):
        character = pattern[place]
        depth += (character == "{") - (character == "}")
        if (character == "," and depth == 1) or depth == 0:
            parts.append(pattern[begin:place])
            begin = place + 1
        if depth == 0:
            return parts, place + 1
    return [], 0


def _range(match: re.Match[str]) -> Iterator[str]:
    first, last, step, first_letter, last_letter = match.groups()
    if first_letter:
        yield from map(chr, _count(ord(first_letter), ord(last_letter), 1))
        return
    texts = [text.lstrip("-") for text in (first, last)]
    is_padded = any(len(text) > 1 and text.startswith("0") for text in texts)
    width = max(len(first), len(last)) if is_padded else 0
    for number in _count(int(first), int(last), abs(int(step or 1)) or 1):
        yield f"{number:0{width}d}"


def _count(first: int, last: int, step: int) -> range:
    """From the first to the last, which is included, up or down."""
    return range(first, last + 1, step) if last >= first else range(first, last - 1, -step)
