"""Source text, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, text: str = "", why: str = "") -> None:
        line = "    " * self.depth + text if text else ""
        self.lines.append(f"{line}  # {why}" if why else line)

    @contextmanager
    def block(self, head: str, why: str = "") -> Iterator[None]:
        self.add(head, why)
        self.depth += 1
        yield
        self.depth -= 1

    def __str__(self) -> str:
        return "\n".join(self.lines)
