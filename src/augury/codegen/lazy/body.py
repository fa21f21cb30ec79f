"""The statements of a generated function, each with the local variables that it reads and defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from augury.codegen.common.expressions import Code
from augury.codegen.common.lines import Line, Lines


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Return to the caller from where the outermost event was taken, and leave the `reason` in `nums`."""

    depth: int
    reason: int


@dataclass(frozen=True, slots=True)
class Deferred:
    """Statements that can be written only when the whole kernel is known, such as updates of every cell of a list."""

    depth: int
    write: Callable[[Lines], None]


Item: TypeAlias = "Line | GiveUp | Deferred"


@dataclass(slots=True)
class Body:
    """Collects statements at the current indentation, and what they read, write and count.

    Text is made for the body it will stand in: whoever names a local variable asks the body for its name.

    >>> body = Body()
    >>> with body.block(f"if {body.local('t_v0_a')} > now:"):
    ...     body.add("continue")
    >>> body.reads
    {'t_v0_a'}
    """

    depth: int = 0
    items: list[Item] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    """What is read of bound events, and of the arrays of the stream."""
    cursors: dict[str, None] = field(default_factory=dict)
    """Positions that searches for successive events continue from, in the order of their first use."""
    flags: set[str] = field(default_factory=set)
    """Local variables that say whether something was computed for the first event already."""
    pools: set[int] = field(default_factory=set)
    """States whose pools of partial matches grow here."""
    stages: set[int] = field(default_factory=set)
    """States whose partial matches are handed to another function here."""
    counted: set[int] = field(default_factory=set)
    """States whose partial matches are counted here."""
    states: set[int] = field(default_factory=set)
    """States whose candidates are looked for here."""
    buffers: set[int] = field(default_factory=set)
    """Buffers whose arrays are read here."""

    def add(self, text: str, why: str = "") -> None:
        self.items.append(Line(self.depth, text, why))

    def comment(self, text: str) -> None:
        self.add("", text)

    @contextmanager
    def block(self, head: str, why: str = "") -> Iterator[None]:
        self.add(head, why)
        self.depth += 1
        yield
        self.depth -= 1

    def give_up(self, reason: int) -> None:
        self.items.append(GiveUp(self.depth, reason))

    def defer(self, write: Callable[[Lines], None]) -> None:
        self.items.append(Deferred(self.depth, write))

    def local(self, name: str) -> str:
        """The name of a local variable, which is read here."""
        self.reads.add(name)
        return name

    def code(self, code: Code) -> str:
        """The text of an expression, which is evaluated here."""
        self.reads.update(code.reads)
        return code.value

    def cursor(self, name: str) -> str:
        """The name of a cursor, which is read or set here."""
        self.cursors[name] = None
        return name

    def include(self, other: Body) -> None:
        """Append the statements of another body as they are indented there."""
        self.items += other.items
        self.reads |= other.reads
        self.cursors |= other.cursors
        self.flags |= other.flags
        self.pools |= other.pools
        self.stages |= other.stages
        self.counted |= other.counted
        self.states |= other.states
        self.buffers |= other.buffers
