"""Errors and diagnostics: what went wrong, where, and what to do about it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from augury.printable import one_line, printable
from augury.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MAX_COLUMNS = 160
"""Characters of a source line that a message shows, around the place it is about."""


class AuguryError(Exception):
    """Everything Augury raises for its users derives from this."""


class AuguryWarning(UserWarning):
    """Something a user should know that does not stop the query."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One user error: a code, a place, a reason and a way out.

    Codes: A1xx syntax, A2xx names, A3xx types, A4xx legality.
    """

    code: str
    message: str
    span: Span
    label: str = ""
    help: str = ""

    def render(self, source: Source) -> str:
        """The message with its source line and a caret under the place."""
        line, column = source.position(self.span.start)
        whole, at = source.line(line), column - 1
        first = 0 if len(whole) <= MAX_COLUMNS else max(0, min(at - MAX_COLUMNS // 2, len(whole) - MAX_COLUMNS))
        # As many columns as characters, so that the caret stays where it belongs.
        shown = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in whole[first : first + MAX_COLUMNS])
        cut_before, cut_after = "…" if first else "", "…" if first + MAX_COLUMNS < len(whole) else ""
        text, at = f"{cut_before}{shown}{cut_after}", at - first + len(cut_before)
        gutter = " " * len(str(line))
        length = max(1, min(self.span.end - self.span.start, len(text) - at))
        carets = "^" * max(1, _width(text[at : at + length]))
        # A tab before the caret is repeated, so that both lines are indented alike whatever its width.
        lead = "".join("\t" if c == "\t" else " " * _width(c) for c in text[:at])
        out = [
            f"error[{self.code}]: {printable(self.message)}",
            f"{gutter}--> {one_line(source.name)}:{line}:{column}",
            f"{line} | {text}",
            f"{gutter} | {lead}{carets} {printable(self.label)}".rstrip(),
        ]
        if self.help:
            out.append(f"{gutter} = help: {printable(self.help)}")
        return "\n".join(out)


class QueryError(AuguryError):
    """The query text is wrong; holds every diagnostic that was found."""

    def __init__(self, diagnostics: Sequence[Diagnostic], source: Source) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: (d.span, d.code)))
        self.source = source
        super().__init__("\n\n".join(d.render(source) for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[QueryError], tuple[Sequence[Diagnostic], Source]]:
        return type(self), (self.diagnostics, self.source)


class HostError(AuguryError):
    """The events, or an option of the call, are wrong (codes A5xx)."""

    def __init__(self, code: str, message: str, help: str = "") -> None:
        self.code, self.message, self.help = code, message, help
        super().__init__(printable(f"error[{code}]: {message}" + (f"\n = help: {help}" if help else "")))

    def __reduce__(self) -> tuple[type[HostError], tuple[str, str, str]]:
        return type(self), (self.code, self.message, self.help)


class FunctionFailed(HostError):
    """A registered function raised an exception, which is the cause of this one.

    `position` is that of the event it was called for, in the table it was computed for, where that is known.
    """

    position: int | None = None


class UnsupportedPlan(HostError):
    """The plan that was asked for cannot run this query."""


class BudgetExceeded(HostError):
    """A query needs more than its budget: `max_memory`, `timeout`, or one of the limits below."""


class NotEnoughMemory(BudgetExceeded):
    """A query, or one step of a stream, needs more than `max_memory`."""


class TooManyMatches(BudgetExceeded):
    """More matches, or partial matches, than `max_matches` or `max_partial_matches` allow; none was returned."""


def names(words: Iterable[str]) -> str:
    """Names for a message, each in backquotes.

    >>> names(["s", "r"])
    '`s`, `r`'
    """
    return ", ".join(f"`{w}`" for w in words)


def suggestion(word: str, known: Iterable[str]) -> str:
    """The help line for an unknown name: the nearest known one, or all of them.

    >>> suggestion("pric", ["price", "volume"])
    'did you mean `price`?'
    """
    known = list(known)
    near = get_close_matches(word, known, n=1, cutoff=0.7)
    if near:
        return f"did you mean `{near[0]}`?"
    if not known:
        return ""
    shown = names(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return f"known: {shown}"


def _width(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
