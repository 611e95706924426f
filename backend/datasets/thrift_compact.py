"""Streaming reader for Thrift's compact protocol, as far as Parquet uses it.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Iterator

#: Field types.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)
_DEEPEST = 16


class CompactReader:
    """Reads `content` from offset `at`. Every method raises IndexError if the content ends
    prematurely, and ValueError if it violates the protocol."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content = content
        self.at = at

    def fields(self) -> Iterator[tuple[int, int]]:
        """(number, kind) of each field of a struct; the caller must read or skip each value before
        requesting the next."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            yield number, head & 15

    def integer(self, kind: int) -> int:
        """The value of an integer field."""
        if kind not in _INTEGERS:
            raise ValueError("a field that must be a number has another type")
        return self._signed()

    def binary(self, kind: int) -> bytes:
        """The value of a binary field."""
        if kind != BINARY:
            raise ValueError("a field that must be text has another type")
        length = self._varint()
        self._jump(length)
        return self._content[self.at - length : self.at]

    def elements(self, kind: int) -> Iterator[int]:
        """The kind of each element of a list; the caller must read or skip each before the next."""
        if kind not in (LIST, SET):
            raise ValueError("a field that must be a list has another type")
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        for _ in range(size):
            yield head & 15

    def struct(self, kind: int) -> Iterator[tuple[int, int]]:
        """As `fields`, for a struct field."""
        if kind != STRUCT:
            raise ValueError("a field that must be a struct has another type")
        return self.fields()

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip the value of a field."""
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in _INTEGERS:
            self._varint()
        elif kind == BINARY:
            self._jump(self._varint())
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (LIST, SET):
            for inner in self.elements(kind):
                self._skip_element(inner, depth + 1)
        elif kind == MAP:
            self._skip_map(depth + 1)
        elif kind in (BYTE, DOUBLE):
            self._jump(1 if kind == BYTE else 8)
        elif kind not in (TRUE, FALSE):  # their value is in the field header
            raise ValueError(f"there is no field type {kind}")

    def _skip_element(self, kind: int, depth: int) -> None:
        if kind in (TRUE, FALSE):
            self._jump(1)
        else:
            self.skip(kind, depth)

    def _skip_map(self, depth: int) -> None:
        size = self._varint()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._skip_element(kinds >> 4, depth)
            self._skip_element(kinds & 15, depth)

    def _jump(self, length: int) -> None:
        self.at += length
        if self.at > len(self._content):
            raise IndexError

    def _byte(self) -> int:
        byte = self._content[self.at]
        self.at += 1
        return byte

    def _signed(self) -> int:
        """A zigzag-encoded integer: 0, -1, 1, -2, 2, …"""
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("it holds a number without end")
