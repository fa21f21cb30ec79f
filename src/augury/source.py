"""Query text with the name of its source, and places in it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of character offsets in a `Source`.

    >>> Span(3, 5) | Span(8, 9)
    Span(start=3, end=9)
    """

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


def span_field() -> Span:
    """The span of a node: where it was written, which does not take part in what it is."""
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Source:
    r"""Query text and the name it is reported under.

    >>> Source("PATTERN\nA a").position(8)
    (2, 1)
    """

    text: str
    name: str = "query"

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`, both counted from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - (self.text.rfind("\n", 0, offset) + 1) + 1

    def line(self, number: int) -> str:
        """The text of line `number`, counted from 1, without its line break."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if number <= len(lines) else ""
