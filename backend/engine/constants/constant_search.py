"""The constant parts of a dataset's captions: looked for in a sample, counted in all of them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from backend.engine.constants.judging import opening_of, says_nothing
from backend.engine.constants.part import NUMBER, WORD, ConstantPart, Place, words_in, words_stated
from backend.engine.languages.identification import MIXED, UNKNOWN, language_of
from backend.engine.languages.language import language_by_name
from backend.errors import SettingsError

#: Captions that it takes to say what is constant.
FEWEST = 30
#: The share of captions that begin or end with a part; that have it anywhere, which is looked for
#: among words that say nothing alone; and of which each wording of an opening has so many.
AT_THE_ENDS, ANYWHERE, _WORDING = 0.5, 0.3, 0.02
#: Captions that are looked at for parts, words of a part, and words of a caption that are read.
_SAMPLE, _LONGEST, _READ = 10_000, 12, 300
#: Two parts are in about as many captions if one has this share of those of the other.
_ALIKE = 0.9
#: A number in front, with that of all captions behind it and a mark: "3:", "(3/120)"; the share of
#: captions that have one of their own if it counts them.
_COUNT = re.compile(r"\s*[\[(#]{0,2}(\d+)(?:\s?/\s?(\d+))?(?:[\])]|\s?[:.|]|\t|\s[–—-])")
_COUNTED = 0.9
#: Writers whose captions are looked at apart.
_WRITERS = 20

#: Captions with their writers, "" if nobody says.
Captions = Iterable[tuple[str, str]]


def find_constants(captions: Callable[[], Captions], total: int) -> tuple[ConstantPart, ...]:
    """The constant parts, those that are left out first. `captions`: the `total` captions of the
    dataset, twice."""
    if total < FEWEST:
        return ()
    step = max(1, total // _SAMPLE)
    words_by: dict[str, list[tuple[str, ...]]] = {"": []}
    counts: dict[str, Counter[tuple[str, str]]] = {"": Counter()}
    languages: dict[str, Counter[str]] = {"": Counter()}
    for number, (caption, writer) in enumerate(captions()):
        if number % step:
            continue
        words = tuple(NUMBER if w.isdecimal() else w for w in words_in(caption)[:_READ])
        count = [(m[1], m[2] or "") for m in [_COUNT.match(caption)] if m]
        language = language_of(caption)
        for group in {"", writer}:
            words_by.setdefault(group, []).append(words)
            counts.setdefault(group, Counter()).update(count)
            languages.setdefault(group, Counter())[language] += 1
    sizes = sorted(words_by, key=lambda group: -len(words_by[group]))[: _WRITERS + 1]
    parts: list[ConstantPart] = []
    for group in sizes:
        if len(words_by[group]) < FEWEST:
            continue
        number = _running_number(counts[group], len(words_by[group]), group)
        parts += number
        parts += (
            part
            for part in _candidates(words_by[group], group, _main_language(languages[group]))
            if part.is_left_out or not (number and part.words[0] == NUMBER)
        )
    return _in_order(_count(parts, captions())) if parts else ()


def stated_constants(
    texts: Sequence[str], captions: Callable[[], Captions], may_lack: bool = False
) -> tuple[ConstantPart, ...]:
    """The parts that a person states, wherever they stand in a caption. Raises SettingsError for a
    text without words, and for one that stands in no caption as whole words, unless captions
    `may_lack` it: then it is left out."""
    parts = []
    for text in dict.fromkeys(texts):
        if not (words := words_stated(text)):
            raise SettingsError(f"'{text}' has neither letters nor digits, so it is no constant.")
        parts.append(ConstantPart(words, "anywhere", is_stated=True))
    counted_parts = _count(list(dict.fromkeys(parts)), captions()) if parts else []
    for part in counted_parts:
        if not part.captions and not may_lack:
            raise SettingsError(
                f"'{part.text}' stands in none of the {part.of:,} captions as whole words, with "
                "others beside them. Copy it from a caption."
            )
    return tuple(part for part in counted_parts if part.captions)


def _main_language(languages: Counter[str]) -> str:
    clear = {name: n for name, n in languages.items() if name not in ("", UNKNOWN, MIXED)}
    return max(clear, key=clear.__getitem__, default="en")


def _candidates(
    captions: Sequence[tuple[str, ...]], writer: str, language: str
) -> Iterator[ConstantPart]:
    """What may be constant, by a sample."""
    every = len(captions)
    frequent = _common(Counter(word for words in captions for word in set(words)), ANYWHERE, every)
    places: tuple[tuple[Place, float], ...] = (
        ("begin", AT_THE_ENDS), ("end", AT_THE_ENDS), ("anywhere", ANYWHERE)
    )  # fmt: skip
    begins: set[tuple[str, ...]] = set()
    for place, share in places:
        numbers: Counter[tuple[str, ...]] = Counter()
        for words in captions:
            numbers.update(set(_runs(words, place, frequent)))
        common = _common(numbers, share, every)
        for words in _longest(common, place, numbers):
            first, last = says_nothing(words, place, language)
            if first < last:
                begins |= {words[first:last]} if place == "begin" else set()
                yield ConstantPart(words[first:last], place, writer=writer)
            elif place != "anywhere" and _is_worth_saying(words, language):
                words = _with_most(words, place, numbers, language)
                yield ConstantPart(words, place, is_left_out=False, writer=writer)
    wordings = Counter(opening_of(words[:_LONGEST], language) for words in captions)
    del wordings[()]
    if wordings.total() >= AT_THE_ENDS * every:
        common = begins | _common(wordings, _WORDING, every)
        for words in common - begins:
            if any(words[:size] in common for size in range(1, len(words))):
                continue
            yield ConstantPart(words, "begin", writer=writer)


def _running_number(
    counts: Counter[tuple[str, str]], every: int, writer: str
) -> list[ConstantPart]:
    """The number in front that counts the captions, if there is one. `counts`: these numbers, with
    those of all captions, "" where there is none."""
    if len({number for number, _ in counts}) < _COUNTED * every:
        return []
    has_total = all(total for _, total in counts)
    return [ConstantPart((NUMBER,) * (2 if has_total else 1), "begin", writer=writer)]


def _common(numbers: Counter[tuple[str, ...]] | Counter[str], share: float, every: int) -> set:  # type: ignore[type-arg]
    return {words for words, number in numbers.items() if number >= share * every}


def _runs(words: tuple[str, ...], place: Place, frequent: set[str]) -> Iterator[tuple[str, ...]]:
    """The runs of frequent words at a place, none of them the whole caption."""
    longest = min(_LONGEST, len(words) - 1)
    starts = range(len(words)) if place == "anywhere" else (0,)
    if place == "end":
        words = words[::-1]
    for start in starts:
        for last in range(start + 1, min(start + longest, len(words)) + 1):
            if words[last - 1] not in frequent:
                break
            run = words[start:last]
            yield run[::-1] if place == "end" else run


def _longest(
    common: set[tuple[str, ...]], place: Place, numbers: Mapping[tuple[str, ...], int]
) -> list[tuple[str, ...]]:
    """Those that are no part of a longer one at the place which is in about as many captions."""
    within = set()
    for words in common:
        shorter = {words[1:]} if place != "begin" else set()
        shorter |= {words[:-1]} if place != "end" else set()
        within |= {part for part in shorter if numbers[words] >= _ALIKE * numbers[part]}
    return sorted(common - within, key=lambda words: (-len(words), words))


def _is_worth_saying(words: tuple[str, ...], language: str) -> bool:
    """Words that may name something visible: "in the" does not."""
    names = set(words) - language_by_name(language).function_words
    return bool(names) and (len(words) > 1 or len(words[0]) > 5)


def _with_most(
    words: tuple[str, ...], place: Place, numbers: Mapping[tuple[str, ...], int], language: str
) -> tuple[str, ...]:
    """The words without those at the inner end that fewer captions have.

    >>> _with_most(("bluvok", "a"), "begin", {("bluvok", "a"): 86, ("bluvok",): 120}, "en")
    ('bluvok',)
    """
    for size in range(len(words) - 1, 0, -1):
        shorter = words[:size] if place == "begin" else words[-size:]
        if _is_worth_saying(shorter, language) and numbers[words] < _ALIKE * numbers[shorter]:
            words = shorter
    return words


def _count(parts: Sequence[ConstantPart], captions: Captions) -> list[ConstantPart]:
    """The parts with how many captions have them; captions that are nothing else do not."""
    numbers = [0] * len(parts)
    totals: Counter[str] = Counter()
    for caption, writer in captions:
        lower = caption.lower()
        totals[""] += 1
        if writer:
            totals[writer] += 1
        for index, part in enumerate(parts):
            if part.words[0] != NUMBER and part.words[0] not in lower:
                continue
            if part.writer not in ("", writer):
                continue
            match = part.expression.search(caption)
            if match and (
                WORD.search(caption, match.end()) or WORD.search(caption[: match.start("part")])
            ):
                numbers[index] += 1
    return [
        ConstantPart(
            part.words, part.place, number, totals[part.writer], part.is_left_out,
            part.is_stated, part.writer,
        )
        for part, number in zip(parts, numbers, strict=True)
    ]  # fmt: skip


def _in_order(parts: Iterable[ConstantPart]) -> tuple[ConstantPart, ...]:
    """Without those that say nothing beside a longer one: in as many captions, and within it."""
    others: list[ConstantPart] = []
    for part in sorted(
        parts, key=lambda each: (not each.is_left_out, -len(each.words), each.writer)
    ):
        if not part.captions or any(_covers(other, part) for other in others):
            continue
        others.append(part)
    return tuple(
        sorted(others, key=lambda part: (not part.is_left_out, -part.captions, part.words))
    )


def _covers(other: ConstantPart, part: ConstantPart) -> bool:
    if other.is_left_out != part.is_left_out or other.captions < _ALIKE * part.captions:
        return False
    size = len(part.words)
    return any(
        other.words[at : at + size] == part.words for at in range(len(other.words) - size + 1)
    )
