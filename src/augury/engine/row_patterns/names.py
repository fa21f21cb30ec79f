"""Names of the columns of a row pattern in the SQL that surrounds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from augury.errors import Diagnostic, QueryError
from augury.source import Source, Span


def output_names(names: Sequence[str], alias: Sequence[str], place: Span, source: Source) -> list[str]:
    """Distinct names for the columns of a result; `alias` are the names that the statement gives.

    >>> output_names(["x", "y", "X"], [], Span(0, 1), Source(""))
    ['x', 'y', 'X_1']
    """
    if alias:
        if len(alias) != len(names):
            message = f"the alias names {len(alias)} columns, but the result has {len(names)}: {', '.join(names)}"
            raise QueryError([Diagnostic("A727", message, place, "", "name all of them or none")], source)
        return list(names)
    out: list[str] = []
    for name in names:
        taken, number, tried = {n.lower() for n in out}, 0, name
        while tried.lower() in taken:
            number += 1
            tried = f"{name}_{number}"
        out.append(tried)
    return out


def refuse_ambiguous(names: Sequence[str], mentioned: Iterable[str], place: Span, source: Source) -> None:
    """Raise if the surrounding SQL mentions a name that is both a measure and a column of the input."""
    known = set(mentioned)
    for name in names:
        if names.count(name) > 1 and name.lower() in known:
            message = f"`{name}` is both a measure and a column of the input"
            raise QueryError([Diagnostic("A728", message, place, "", "rename the measure")], source)
