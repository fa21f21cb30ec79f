"""The patterns of paper 000, section 8, as values: their text is for Augury, their structure for the counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Correlated:
    """The paper's condition: the price histories of two events correlate by more than `above`."""

    above: float


@dataclass(frozen=True, slots=True)
class Rising:
    """The later variable of the pattern has the higher price, by less than `below`."""

    below: float


Condition: TypeAlias = Correlated | Rising
"""What must hold between each two events of a match."""


@dataclass(frozen=True, slots=True)
class Part:
    """A component: one event, a list of events, or none."""

    type: str
    variable: str
    kind: Literal["one", "list", "none"] = "one"

    def __str__(self) -> str:
        match self.kind:
            case "one":
                return f"{self.type} {self.variable}"
            case "list":
                return f"{self.type}+ {self.variable}[]"
            case "none":
                return f"NOT({self.type} {self.variable})"
            case _:
                assert_never(self.kind)


@dataclass(frozen=True, slots=True)
class Branch:
    """One SEQ or AND; one part may be negated, or one or two of a SEQ be lists, but not the first and not the last."""

    operator: Literal["SEQ", "AND"]
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Query:
    """A disjunction of branches with one condition between each two events of a branch.

    With `climbing`, the elements of a list rise in price as well.
    """

    name: str
    branches: tuple[Branch, ...]
    condition: Condition
    minutes: float
    climbing: bool = False

    @property
    def text(self) -> str:
        """The query as Augury reads it.

        >>> print(sequence("SEQ2", ["A", "B"], Rising(5), 20).text)
        PATTERN SEQ(A a, B b)
        WHERE skip_till_any_match { a.price < b.price AND b.price < a.price + 5 }
        WITHIN 1200 seconds
        """
        bodies = [str(b) for b in self.branches]
        pattern = bodies[0] if len(bodies) == 1 else f"OR({', '.join(bodies)})"
        conjuncts = [self._between(*pair) for b in self.branches for pair in combinations(b.parts, 2)]
        if self.climbing:
            lists = [p.variable for b in self.branches for p in b.parts if p.kind == "list"]
            conjuncts += [f"{v}[i].price > {v}[i-1].price" for v in lists]
        where = " AND ".join(conjuncts)
        return f"PATTERN {pattern}\nWHERE skip_till_any_match {{ {where} }}\nWITHIN {self.minutes * 60:g} seconds"

    def _between(self, first: Part, second: Part) -> str:
        x, y = (f"{p.variable}[i]" if p.kind == "list" else p.variable for p in (first, second))
        match self.condition:
            case Correlated(above):
                return f"corr({x}.history, {y}.history) > {above:g}"
            case Rising(below):
                return f"{x}.price < {y}.price AND {y}.price < {x}.price + {below:g}"
            case _:
                assert_never(self.condition)

    @property
    def positive(self) -> list[Part]:
        return [p for b in self.branches for p in b.parts if p.kind != "none"]

    @property
    def negates(self) -> bool:
        return any(p.kind == "none" for b in self.branches for p in b.parts)

    @property
    def runs_eagerly(self) -> bool:
        """Whether an eager automaton can run it: an AND would need one for each order of its parts."""
        return all(b.operator == "SEQ" for b in self.branches)


def sequence(name: str, types: Sequence[str], condition: Condition, minutes: float) -> Query:
    """SEQ of one event of each type, in this order."""
    return Query(name, (Branch("SEQ", _parts(types)),), condition, minutes)


def conjunction(name: str, types: Sequence[str], condition: Condition, minutes: float) -> Query:
    """AND of one event of each type."""
    return Query(name, (Branch("AND", _parts(types)),), condition, minutes)


def disjunction(name: str, branches: Sequence[Sequence[str]], condition: Condition, minutes: float) -> Query:
    """OR of sequences."""
    letters = iter("abcdefghijklmnop")
    bodies = tuple(Branch("SEQ", tuple(Part(t, next(letters)) for t in types)) for types in branches)
    return Query(name, bodies, condition, minutes)


def second(query: Query, kind: Literal["list", "none"]) -> Query:
    """The same query with the second part of its only branch negated or iterated."""
    return _with_kind(query, kind, range(1, 2))


def inner_lists(query: Query) -> Query:
    """The same query with every part of its only branch iterated but the first and the last."""
    return _with_kind(query, "list", range(1, len(query.branches[0].parts) - 1))


def _with_kind(query: Query, kind: Literal["list", "none"], which: range) -> Query:
    (branch,) = query.branches
    parts = tuple(replace(p, kind=kind) if k in which else p for k, p in enumerate(branch.parts))
    return replace(query, branches=(replace(branch, parts=parts),))


def _parts(types: Sequence[str]) -> tuple[Part, ...]:
    return tuple(Part(t, v) for t, v in zip(types, "abcdefgh", strict=False))
