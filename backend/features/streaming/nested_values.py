"""Lists and dictionaries as LitData stores them: a byte that says what follows, then numbers of
eight bytes, texts with their length, or values of their own. Before 0.2.76 they were JSON, as those
of MDS are.
"""

import json
import struct
from typing import Any

(_JSON, _TEXTS, _INTEGERS, _FLOATS, _BOOLEANS, _DICTIONARY, _RECORDS, _TEXT, _INTEGER, _FLOAT,
 _BOOLEAN, _NONE) = range(12)  # fmt: skip
#: In records the kinds of single values have other numbers.
_IN_RECORDS = {0x10: _NONE, 0x11: _TEXT, 0x12: _INTEGER, 0x13: _FLOAT, 0x14: _BOOLEAN}
#: JSON begins with a bracket.
_LAST_KIND = 0x20
_MANY = {_INTEGERS: "q", _FLOATS: "d", _BOOLEANS: "?"}
_ONE = {_INTEGER: "q", _FLOAT: "d", _BOOLEAN: "?"}


def nested_value(content: bytes) -> Any:
    """The value. Raises ValueError, and RecursionError for one that is nested too deeply."""
    if content[:1] > bytes([_LAST_KIND]) or not content:
        return json.loads(content)
    try:
        return _Reader(content).value()
    except (struct.error, IndexError) as problem:
        raise ValueError("its list or dictionary is cut") from problem


class _Reader:
    """Reads values one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def value(self) -> Any:
        (kind,) = self._numbers("B")
        return self._value_of(kind)

    def _value_of(self, kind: int) -> Any:
        if kind == _NONE:
            return None
        if kind in _ONE:
            return self._numbers(_ONE[kind])[0]
        if kind == _TEXT:
            return self._text()
        if kind == _JSON:
            return json.loads(self._part())
        count = self._count()
        if kind in _MANY:
            return list(self._numbers(f"{count}{_MANY[kind]}"))
        if kind == _TEXTS:
            return [self._text() for _ in range(count)]
        if kind == _DICTIONARY:
            return {self._text(): self.value() for _ in range(count)}
        if kind == _RECORDS:
            return self._records(count)
        raise ValueError(f"{kind} is no kind of value")

    def _records(self, count: int) -> list[dict[str, Any]]:
        names = [self._text() for _ in range(self._count())]
        if not names or count > len(self._content):
            raise ValueError("its records have no values")
        return [{name: self._of_record() for name in names} for _ in range(count)]

    def _of_record(self) -> Any:
        (kind,) = self._numbers("B")
        if kind not in _IN_RECORDS:
            raise ValueError(f"{kind} is no kind of value in a record")
        return self._value_of(_IN_RECORDS[kind])

    def _numbers(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        size = struct.calcsize(form)
        numbers = struct.unpack_from(form, self._content, self._place)
        self._place += size
        return numbers

    def _count(self) -> int:
        return int(self._numbers("I")[0])

    def _part(self) -> bytes:
        size = self._count()
        part = self._content[self._place : self._place + size]
        if len(part) < size:
            raise ValueError("its text is cut")
        self._place += size
        return part

    def _text(self) -> str:
        return self._part().decode("utf-8")
