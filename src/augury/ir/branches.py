"""A pattern as a union of branches without OR (the disjunctive normal form of paper 000, section 5.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from augury.ir.pattern import (
    Absent,
    AllOf,
    AnyOf,
    BoundEvent,
    Event,
    Group,
    OptionalPart,
    Pattern,
    Repeat,
    Seq,
    variable_of,
)

MAX_BRANCHES = 4_096
"""Branches of a pattern at most, since each is evaluated on its own."""


@dataclass(frozen=True, slots=True)
class AbsentPart:
    """A negated part at its place: after every event of the variables `after`, before every one of `before`.

    If the event `since` is bound, the search starts after it. With `silence`, the search spans that many nanoseconds
    behind the last event of `after`, and what is `before` comes later; without any `after`, it spans as long before the
    others.
    """

    body: Pattern
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    since: BoundEvent | None = None
    silence: int | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to match: components that are all bound, their order, and the parts that must be absent.

    Components are in pattern order, each variable once; every `Repeat` takes at least one event and binds a list.
    `order` holds (u, v) iff all events of u precede all of v, and is transitive. `sets` if an AND, even one of a single
    part, binds some of the components.
    """

    components: tuple[Event | Repeat, ...]
    order: frozenset[tuple[str, str]] = frozenset()
    absent: tuple[AbsentPart, ...] = ()
    sets: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(map(variable_of, self.components))

    @property
    def sequential(self) -> bool:
        """Whether the order is total, as for a SEQ of components."""
        return is_total(self.order, self.variables)

    @property
    def by_runs(self) -> bool:
        """Whether strategies that consume events one by one evaluate it by runs, not by instances of sets."""
        return self.sequential and not self.sets

    @property
    def in_sequence(self) -> tuple[Event | Repeat, ...]:
        """The components of a sequential branch, earlier ones first."""
        by_name = {variable_of(c): c for c in self.components}
        return tuple(by_name[v] for v in in_order(by_name, self.order))


def prefixes(branch: Branch) -> tuple[Branch, ...]:
    """The partial matches of a sequential branch: its first components, one more each time, up to all of them.

    The last component may be an incomplete list. Parts between bound components must be absent.

    >>> [b.variables for (whole,) in [branches(Seq((Event("a"), Event("b"))))] for b in prefixes(whole)]
    [('a',), ('a', 'b')]
    """
    found = []
    ordered = branch.in_sequence
    for size in range(1, len(ordered) + 1):
        *earlier, last = ordered[:size]
        kept = (*earlier, replace(last, low=1) if isinstance(last, Repeat) else last)
        bound = frozenset(map(variable_of, kept))
        order = frozenset((u, v) for u, v in branch.order if u in bound and v in bound)
        placed = (replace(part, after=part.after & bound, before=part.before & bound) for part in branch.absent)
        between = tuple(part for part in placed if part.after and part.before)
        found.append(Branch(kept, order, between))
    return tuple(found)


def is_total(order: Collection[tuple[str, str]], variables: Collection[object]) -> bool:
    """Whether a transitive order among `variables` is total."""
    return len(order) == len(variables) * (len(variables) - 1) // 2


def in_order(variables: Iterable[str], order: Collection[tuple[str, str]]) -> list[str]:
    """Variables sorted by the number of variables before them, which follows a total order.

    >>> in_order("ba", {("a", "b")})
    ['a', 'b']
    """
    return sorted(variables, key=lambda v: sum(1 for _, later in order if later == v))


def branches(pattern: Pattern) -> tuple[Branch, ...]:
    """Every branch of `pattern`, without repeats.

    A group is in a branch as the list of its rounds: `ir.rounds` names what they bind.

    >>> [b.variables for b in branches(Seq((Event("a"), AnyOf((Event("b"), Event("c"))), Event("d"))))]
    [('a', 'b', 'd'), ('a', 'c', 'd')]
    """
    match pattern:
        case Event():
            return (Branch((pattern,)),)
        case Repeat(body, low, _, single):
            present = Branch((body if single else replace(pattern, low=max(low, 1)),))
            return (present,) if low > 0 else (present, Branch(()))
        case Group(variable, _, low, high, reluctant):
            rounds = Branch((Repeat(Event(variable), max(low, 1), high, reluctant=reluctant, span=pattern.span),))
            return (rounds,) if low > 0 else (rounds, Branch(()))
        case OptionalPart(body):
            return tuple(dict.fromkeys((*branches(body), Branch(()))))
        case Absent(body, since, silence):
            return (Branch((), absent=(AbsentPart(body, since=since, silence=silence),)),)
        case AnyOf(parts):
            return tuple(dict.fromkeys(b for part in parts for b in branches(part)))
        case AllOf(parts):
            together = (_combined(_unordered, choice) for choice in product(*map(branches, parts)))
            return _without_cycles(replace(b, sets=bool(b.components)) for b in together)
        case Seq(parts):
            combined = (_combined(_sequenced, choice) for choice in product(*map(branches, parts)))
            return _without_cycles(combined)
        case _:
            assert_never(pattern)


def branch_count(pattern: Pattern) -> int:
    """An upper bound of the number of branches, without building them."""
    match pattern:
        case Event() | Absent():
            return 1
        case Repeat(low=low) | Group(low=low):
            return 1 if low > 0 else 2
        case OptionalPart(body):
            return branch_count(body) + 1
        case AnyOf(parts):
            return sum(map(branch_count, parts))
        case AllOf(parts) | Seq(parts):
            return math.prod(map(branch_count, parts))
        case _:
            assert_never(pattern)


def _combined(combine: Callable[[Branch, Branch], Branch], parts: Sequence[Branch]) -> Branch:
    """The parts combined pairwise: the order of n variables has n^2 pairs, which should not be copied n times."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return combine(_combined(combine, parts[:half]), _combined(combine, parts[half:]))


def _unordered(left: Branch, right: Branch) -> Branch:
    """Join two branches in no order; a variable of both is the same event."""
    known = set(left.variables)
    new = tuple(c for c in right.components if variable_of(c) not in known)
    order = left.order | right.order
    if len(new) < len(right.components):
        order = _transitive(order)
    return Branch(
        left.components + new, order, tuple(dict.fromkeys(left.absent + right.absent)), left.sets or right.sets
    )


def _sequenced(left: Branch, right: Branch) -> Branch:
    """`left` followed by `right`."""
    earlier, later = frozenset(left.variables), frozenset(right.variables)
    both = _unordered(left, right)
    order = both.order | set(product(earlier, later))
    return Branch(
        both.components,
        _transitive(order) if earlier & later else order,
        (
            *(replace(part, before=part.before | later) for part in left.absent),
            *(replace(part, after=part.after | earlier) for part in right.absent),
        ),
        both.sets,
    )


def _transitive(order: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    closed = set(order)
    while True:
        more = {(a, d) for a, b in closed for c, d in closed if b == c} - closed
        if not more:
            return frozenset(closed)
        closed |= more


def _without_cycles(found: Iterable[Branch]) -> tuple[Branch, ...]:
    """The branches without those in which an event would have to precede itself."""
    return tuple(dict.fromkeys(b for b in found if not any(u == v for u, v in b.order)))
