"""Source text, line by line."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

_CODE = frozenset(string.ascii_letters + string.digits + "_ ()[],.:=<>!+-*/%&|^~@")
"""The characters of statements. There are no quotes and no `#`: neither strings nor comments stand in them."""


@dataclass(frozen=True, slots=True)
class Line:
    """A statement, or the head of one, and a comment on it; either may be empty."""

    depth: int
    text: str
    why: str
    reads: tuple[str, ...] = ()
    """What it reads of what others have to load first; see `Code.reads`."""
    write: Callable[[Lines], None] | None = None
    """What writes the lines that stand here, once that is known (`Lines.later`)."""

    def __str__(self) -> str:
        indent = "    " * self.depth
        if self.why:
            return f"{indent}{self.text}  # {self.why}" if self.text else f"{indent}# {self.why}".rstrip()
        return indent + self.text if self.text else ""


@dataclass(slots=True)
class Lines:
    """Collects lines at the current indentation.

    >>> out = Lines()
    >>> with out.block("if x:"):
    ...     out.add("y()", why="x holds")
    >>> print(out)
    if x:
        y()  # x holds
    """

    lines: list[Line] = field(default_factory=list)
    depth: int = 0

    def add(self, text: str = "", why: str = "", reads: Sequence[str] = ()) -> None:
        r"""A statement, a comment, or both.

        `reads` are names that the statement needs to be loaded before it.

        Statements are made of plain ASCII and comments are one line of printable characters
        (`augury.codegen.common.naming.remark`): anything else did not come the way that text of users has to come.

        >>> Lines().add("x = 1", why="a\rprint()")
        Traceback (most recent call last):
        ValueError: not a comment: 'a\rprint()'
        """
        if not _CODE.issuperset(text):
            raise ValueError(f"not a statement: {text!r}")
        if not why.isprintable():
            raise ValueError(f"not a comment: {why!r}")
        self.lines.append(Line(self.depth, text, why, tuple(reads)))

    def later(self, write: Callable[[Lines], None]) -> None:
        """Leave a place for lines that depend on what the rest of the text turns out to need.

        >>> out, needed = Lines(), []
        >>> out.later(lambda here: here.add(f"room({len(needed)})"))
        >>> needed += ["x", "y"]
        >>> out.settle()
        >>> print(out)
        room(2)
        """
        self.lines.append(Line(self.depth, "", "", write=write))

    def settle(self) -> None:
        """Write the lines that were left for later."""
        settled: list[Line] = []
        for line in self.lines:
            if line.write is None:
                settled.append(line)
            else:
                here = Lines(depth=line.depth)
                line.write(here)
                settled += here.lines
        self.lines = settled

    def comment(self, text: str = "") -> None:
        """A line that is a comment alone."""
        self.add(why=text or " ")

    @contextmanager
    def block(self, head: str, why: str = "", reads: Sequence[str] = ()) -> Iterator[None]:
        """A statement with others inside it."""
        self.add(head, why, reads)
        self.depth += 1
        yield
        self.depth -= 1

    @property
    def reads(self) -> tuple[str, ...]:
        """The names that the statements read, each once, in the order of the lines.

        >>> out = Lines()
        >>> out.add("x = a + b", reads=("a", "b"))
        >>> out.add("y = b", reads=("b",))
        >>> out.reads
        ('a', 'b')
        """
        return tuple(dict.fromkeys(name for line in self.lines for name in line.reads))

    @property
    def code(self) -> str:
        """The statements without their comments.

        >>> out = Lines()
        >>> with out.block("if x > limit:", why="x > 10"):
        ...     out.comment("it is greater")
        ...     out.add("y()")
        >>> print(out.code)
        if x > limit:
            y()
        """
        return "\n".join(["    " * line.depth + line.text for line in self.lines if line.text])

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))
