"""Reads structs in Thrift's compact protocol, in which Parquet files describe themselves.

Reference: the Apache Thrift compact protocol encoding, thrift-compact-protocol.md.
"""

from __future__ import annotations

from typing import TypeAlias

Value: TypeAlias = "bool | int | bytes | list[Value] | dict[int, Value] | None"
"""The value of a field: a struct by the numbers of its fields; None for maps and floats, which are skipped."""

MAX_DEPTH = 64
"""Levels of nested structs and lists; Arrow refuses more."""

STOP, TRUE, FALSE = 0, 1, 2
BYTES, INTEGERS, DOUBLE, BINARY, LISTS, MAP, STRUCT = (1, 2, 3), (4, 5, 6), 7, 8, (9, 10), 11, 12
"""The kinds of values; true and false are bytes in a list."""


def decode_struct(data: bytes) -> dict[int, Value]:
    """The struct at the beginning of `data`; an `IndexError` if it does not end in it."""
    return _Reader(data).struct(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7

    def integer(self) -> int:
        found = self.varint()
        return found >> 1 ^ -(found & 1)

    def skip(self, size: int) -> int:
        """Advance by `size` bytes, and return the position before them."""
        begin = self.at
        self.at += size
        if self.at > len(self.data):
            raise IndexError("a value beyond the end")
        return begin

    def struct(self, depth: int) -> dict[int, Value]:
        if depth > MAX_DEPTH:
            raise IndexError("structs too deep")
        found: dict[int, Value] = {}
        number = 0
        while (head := self.byte()) & 0x0F != STOP:
            number = number + (head >> 4) if head >> 4 else self.integer()
            kind = head & 0x0F
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth + 1)
        return found

    def value(self, kind: int, depth: int) -> Value:
        """A value of this kind; not for fields of booleans, whose value is in their kind."""
        if kind in INTEGERS:
            return self.integer()
        if kind in BYTES:
            return self.byte()
        if kind == BINARY:
            size = self.varint()
            begin = self.skip(size)
            return self.data[begin : begin + size]
        if kind in LISTS:
            return self.list(depth)
        if kind == STRUCT:
            return self.struct(depth)
        if kind == MAP:
            self.map(depth)
        elif kind == DOUBLE:
            self.skip(8)
        else:
            raise IndexError(f"no kind of value: {kind}")
        return None

    def list(self, depth: int) -> list[Value]:
        if depth > MAX_DEPTH:
            raise IndexError("lists too deep")
        head = self.byte()
        size, kind = head >> 4, head & 0x0F
        return [self.value(kind, depth + 1) for _ in range(self.varint() if size == 15 else size)]

    def map(self, depth: int) -> None:
        if size := self.varint():
            kinds = self.byte()
            for _ in range(size):
                self.value(kinds >> 4, depth + 1)
                self.value(kinds & 0x0F, depth + 1)
