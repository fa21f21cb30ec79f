"""The queries of paper 000, section 8, over the types of a stream; the rarest type comes last, as in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.lazy.queries import (
    Condition,
    Query,
    Rising,
    conjunction,
    disjunction,
    inner_lists,
    second,
    sequence,
)


def paper_queries(condition: Condition, minutes: float) -> Iterator[Query]:
    """All patterns of the paper over its eight regions, and one with two lists; iteration has half the window."""
    n, e, s, m, c, b, u, f = (
        "NorthAmericanCompany",
        "EuropeanCompany",
        "AsianCompany",
        "MiddleEasternCompany",
        "CentralAmericanCompany",
        "SouthAmericanCompany",
        "AustralianCompany",
        "AfricanCompany",
    )
    yield sequence("SEQ3", [n, e, f], condition, minutes)
    yield sequence("SEQ4", [n, e, c, f], condition, minutes)
    yield sequence("SEQ5", [n, e, s, c, f], condition, minutes)
    yield conjunction("AND2", [e, f], condition, minutes)
    yield conjunction("AND3", [e, c, f], condition, minutes)
    yield second(sequence("NEG SEQ3", [n, e, f], condition, minutes), "none")
    yield second(conjunction("NEG AND3", [e, c, f], condition, minutes), "none")
    yield second(sequence("NEG SEQ5", [n, e, s, c, f], condition, minutes), "none")
    yield iteration("ITER3", [n, e, f], condition, minutes / 2)
    yield iteration("ITER4", [n, e, c, f], condition, minutes / 2)
    yield disjunction("OR2SEQ2", [[n, f], [e, u]], condition, minutes)
    yield disjunction("OR4SEQ2", [[n, f], [e, u], [s, b], [m, c]], condition, minutes)
    yield disjunction("OR2SEQ4", [[n, e, c, f], [s, m, b, u]], condition, minutes)


def iteration(name: str, types: Sequence[str], condition: Condition, minutes: float) -> Query:
    """SEQ with lists between the first and the last event, which climb where prices are compared."""
    query = inner_lists(sequence(name, types, condition, minutes))
    return replace(query, climbing=isinstance(condition, Rising))


def bar_queries(condition: Condition, minutes: float) -> Iterator[Query]:
    """Sequences over the five types of the minute bars, of which one has a single share and one nearly all.

    A North American share has so many peers that 5 minutes of them are enough for an eager automaton.
    """
    n, e, x, s, c = (
        "NorthAmericanCompany",
        "EuropeanCompany",
        "UnlistedCompany",
        "AsianCompany",
        "CentralAmericanCompany",
    )
    yield sequence("SEQ3", [e, s, c], condition, minutes)
    yield sequence("SEQ3 of NA", [n, e, c], condition, min(minutes, 5))
    yield sequence("SEQ4", [e, x, s, c], condition, minutes)
    yield sequence("SEQ5", [e, x, e, s, c], condition, minutes)
    yield second(sequence("NEG SEQ3", [e, x, c], condition, minutes), "none")
    yield second(sequence("NEG SEQ5", [e, x, e, s, c], condition, minutes), "none")
    yield conjunction("AND3", [e, s, c], condition, minutes)
    yield disjunction("OR2SEQ2", [[e, c], [x, s]], condition, minutes)


def ratio_queries(sizes: Sequence[int], condition: Condition, *, rarest_first: bool = False) -> Iterator[Query]:
    """Sequences and negations of these sizes over the types T1 (most frequent) to Tn, in 20 minutes."""
    for size in sizes:
        types = [f"T{k + 1}" for k in range(size)]
        if rarest_first:
            types.reverse()
        suffix = " rarest first" if rarest_first else ""
        yield sequence(f"SEQ{size}{suffix}", types, condition, 20)
        if size in (3, 5):
            yield second(sequence(f"NEG SEQ{size}{suffix}", types, condition, 20), "none")
