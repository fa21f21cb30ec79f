"""Expansion of groups into rounds: `SEQ(B b, C c){2} g[]` as `SEQ(B b1, C c1, B b2, C c2)`.

This is what a group means (SEMANTICS section 10), so evaluators of expanded queries need no groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias, assert_never

from augury.ir.branches import Branch, branches
from augury.ir.pattern import (
    Absent,
    AllOf,
    AnyOf,
    Event,
    Group,
    OptionalPart,
    Pattern,
    Repeat,
    Seq,
    components,
    map_children,
    variable_of,
)
from augury.ir.predicate import (
    Aggregate,
    Conjunct,
    Element,
    Expr,
    InRound,
    ListLength,
    Ref,
    children,
    variables,
    walk,
)
from augury.ir.predicate import map_children as map_operands
from augury.ir.query import BoundQuery, Step
from augury.ir.rounds import name_in_round

Rounds: TypeAlias = "Mapping[str, tuple[Pattern, ...]]"
"""The rounds of each group, each without alternatives; empty for a group that is left out."""


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A query whose groups are expanded to `rounds`, as one branch without groups.

    `query` has the strategies of its steps, `conjuncts` the conditions on the variables of rounds. `numbers` is the
    number of rounds of each group.
    """

    query: BoundQuery
    branch: Branch
    conjuncts: tuple[Conjunct, ...]
    rounds: Rounds

    @property
    def numbers(self) -> dict[str, int]:
        return {group: len(patterns) for group, patterns in self.rounds.items()}


def choices(pattern: Pattern) -> Iterator[Pattern | None]:
    """`pattern` without alternatives, for each choice at OR, `?` and `*`; None if nothing is left of it.

    >>> print(*choices(Seq((Event("a"), AnyOf((Event("b"), OptionalPart(Event("c"))))))), sep="; ")
    SEQ(a, b); SEQ(a, c); SEQ(a)
    """
    match pattern:
        case Event() | Absent():
            yield pattern
        case Repeat(body, low, _, single):
            yield body if single else replace(pattern, low=max(low, 1))
            if low == 0:
                yield None
        case Group(low=low):
            yield replace(pattern, low=max(low, 1))
            if low == 0:
                yield None
        case OptionalPart(body):
            yield from choices(body)
            yield None
        case AnyOf(parts):
            for part in parts:
                yield from choices(part)
        case Seq(parts) | AllOf(parts):
            for choice in product(*(tuple(choices(part)) for part in parts)):
                left = tuple(part for part in choice if part is not None)
                yield replace(pattern, parts=left) if left else None
        case _:
            assert_never(pattern)


def write_out(query: BoundQuery, conjuncts: Iterable[Conjunct], shape: Pattern, rounds: Rounds) -> WrittenOut | None:
    """The query with one choice of its alternatives and these rounds; None if its SEQs contradict one another.

    A condition is repeated for each round that it holds in, and dropped if it reads an unbound variable.
    """
    pattern = with_rounds(shape, rounds)
    found = branches(pattern)
    if not found:
        return None
    (branch,) = found
    bound = frozenset(map(variable_of, components(pattern)))
    placed = tuple(c for conjunct in conjuncts for c in _in_rounds(conjunct, query, rounds, bound, branch))
    steps = tuple(_steps(query, rounds))
    return WrittenOut(replace(query, pattern=pattern, steps=steps), branch, placed, rounds)


def with_rounds(shape: Pattern, rounds: Rounds) -> Pattern:
    """The pattern with expanded groups."""
    if isinstance(shape, Group):
        return Seq(tuple(_renamed(body, n) for n, body in enumerate(rounds[shape.variable], start=1)), shape.span)
    return map_children(lambda part: with_rounds(part, rounds), shape)


def up_to(shape: Pattern, group: str) -> Pattern | None:
    """The pattern up to and including a group, without other parts of an AND around it. None if it lacks the group."""
    match shape:
        case Group(variable):
            return shape if variable == group else None
        case Seq(parts):
            for k, part in enumerate(parts):
                last = up_to(part, group)
                if last is not None:
                    return replace(shape, parts=(*parts[:k], last))
            return None
        case AllOf(parts):
            return next((found for part in parts if (found := up_to(part, group)) is not None), None)
        case Event() | Repeat() | Absent() | AnyOf() | OptionalPart():
            # After a choice, no alternatives are left.
            return None
        case _:
            assert_never(shape)


def _renamed(pattern: Pattern, number: int) -> Pattern:
    """A round with variables renamed for its number."""
    match pattern:
        case Event(variable):
            return replace(pattern, variable=name_in_round(variable, number))
        case Repeat(body, until=until):
            named = replace(body, variable=name_in_round(body.variable, number))
            ending = None if until is None else replace(until, variable=name_in_round(until.variable, number))
            return replace(pattern, body=named, until=ending)
        case _:
            return map_children(lambda part: _renamed(part, number), pattern)


def _steps(query: BoundQuery, rounds: Rounds) -> Iterator[Step]:
    """The strategy of every step; the gap before the first event of a round is a step of its group."""
    yield from query.steps
    for group, bodies in rounds.items():
        for n, body in enumerate(bodies, start=1):
            (inside,) = branches(body) or (Branch(()),)
            first = inside.in_sequence[0] if inside.by_runs and inside.components else None
            for c in components(body, negated=False):
                v = variable_of(c)
                before = query.strategy_of(group, inside=n > 1) if c == first else query.strategy_of(v)
                yield Step(name_in_round(v, n), False, before)
                yield Step(name_in_round(v, n), True, query.strategy_of(v, inside=True))
            for c in components(body):
                strategy = query.strategy_of_negated(variable_of(c))
                if query[variable_of(c)].negated and strategy is not None:
                    yield Step(name_in_round(variable_of(c), n), False, strategy)


def _in_rounds(
    c: Conjunct, query: BoundQuery, rounds: Rounds, bound: frozenset[str], branch: Branch
) -> Iterator[Conjunct]:
    """A condition for each choice of rounds that it holds in."""
    named = frozenset(query.group_names)
    read = [v for v in c.variables if v in named]
    if not read:
        yield c
        return
    if any(group not in rounds for group in read):
        return
    each = [group for group in read if group in c.each]
    numbers = [range(2 if group in c.from_second else 1, len(rounds[group]) + 1) for group in each]
    for chosen in product(*numbers):
        expr = _numbered(c.expr, dict(zip(each, chosen, strict=True)), rounds)
        of_rounds = _bound_in_rounds(expr, rounds, bound)
        if of_rounds is None:
            continue
        used, lists = of_rounds
        if not c.whole.isdisjoint(read):
            # Conditions that wait for all rounds are tested when the last one is complete.
            ends = {name_in_round(v, len(rounds[g])) for g in c.whole.intersection(read) for v in _inside(query, g)}
            used |= ends.intersection(branch.variables)
        outside = [v for v in c.variables if v not in named]
        yield Conjunct(
            expr, (*outside, *sorted(used)), c.each - named, c.from_second - named, (c.whole - named) | lists
        )


def _inside(query: BoundQuery, group: str) -> list[str]:
    return [v.name for v in query.variables if v.group == group]


def _numbered(e: Expr, current: Mapping[str, int], rounds: Rounds) -> Expr:
    """The expression with every round that it reads given by number."""
    match e:
        case InRound(group, Element.EACH):
            return replace(e, round=current[group])
        case InRound(group, Element.PREVIOUS):
            return replace(e, round=current[group] - 1)
        case InRound(group, Element.LAST):
            return replace(e, round=len(rounds[group]))
        case InRound():
            return replace(e, round=1)
        case _:
            return map_operands(lambda child: _numbered(child, current, rounds), e)


def _bound_in_rounds(e: Expr, rounds: Rounds, bound: frozenset[str]) -> tuple[set[str], frozenset[str]] | None:
    """The round variables that `e` reads, and the lists it needs completely; None if some of them are unbound."""
    used: set[str] = set()
    lists: set[str] = set()
    pending = [e]
    while pending:
        one = pending.pop()
        match one:
            case InRound(_, int() as number, operand):
                own = {name_in_round(v, number) for v in variables(operand)}
                if not own <= bound:
                    return None
                if any(_needs_whole(x) for x in walk(operand)):
                    lists |= own
                used |= own
            case Aggregate(variable=group, argument=argument, rounds=True) if argument is not None:
                numbers = range(1, len(rounds[group]) + 1)
                own = {name_in_round(v, n) for v in variables(argument) for n in numbers} & bound
                if not own:
                    return None
                # An aggregate reads all elements of a list, whatever index is written.
                lists |= own
                used |= own
            case _:
                pending += children(one)
    return used, frozenset(lists)


def _needs_whole(e: Expr) -> bool:
    match e:
        case ListLength() | Aggregate() | Ref(element=Element.LAST):
            return True
        case _:
            return False
