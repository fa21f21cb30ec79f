"""Names of the variables in rounds of an expanded group (SEMANTICS section 10)."""

from __future__ import annotations


def name_in_round(variable: str, round: int) -> str:
    """The name of a variable in one round of its group, counted from 1.

    Names in queries have no line breaks, so it cannot clash with another name.

    >>> name_in_round("b", 2)
    'b\\n2'
    """
    return f"{variable}\n{round}"
