"""Names of what the rounds of a group bind, those of the pattern written out (SEMANTICS section 10)."""

from __future__ import annotations


def written(variable: str, round: int) -> str:
    """The name of a variable in one round of its group, counted from 1.

    No name of a query holds a line break, so it is never one that was given to something else.

    >>> written("b", 2)
    'b\\n2'
    """
    return f"{variable}\n{round}"
