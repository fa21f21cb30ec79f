"""Checks for patterns and conditions that are well formed but can have no meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TypeAlias, assert_never

from augury.bind.patterns import Declaration, parting
from augury.bind.scope import Problems
from augury.errors import names
from augury.ir.branches import MAX_BRANCHES, branch_count
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
    variable_of,
)
from augury.ir.predicate import Conjunct, inner_variables
from augury.ir.terms import Operator

Order: TypeAlias = "frozenset[tuple[str, str]]"
"""Pairs of variables of which the first must precede the second."""


def check_bounds(declared: Iterable[Declaration], problems: Problems) -> None:
    """Report bounds of lists that do not exist, such as `{3,2}` and `{0}`."""
    for declaration in declared:
        quantifier = declaration.component.quantifier
        if quantifier is None or quantifier.high is None or quantifier.high >= max(1, quantifier.low):
            continue
        label = "the upper bound is 0" if quantifier.high == 0 else "the upper bound is below the lower one"
        help = "write {l,m} with 0 <= l <= m and m >= 1"
        span = declaration.component.span
        problems.report("A405", f"the bounds of `{declaration.component.variable}` can never be met", span, label, help)


def check_branches(pattern: Pattern, problems: Problems) -> bool:
    """Whether the pattern and each NOT have few enough branches, by the choices of OR, `?` and `*`."""
    before = len(problems.found)
    for root in (pattern, *(absent.body for absent in _negations(pattern))):
        count = branch_count(root)
        if count > MAX_BRANCHES:
            problems.report(
                "A424",
                f"this pattern stands for {count if count < 10**12 else 'more than 10^12'} patterns without choices, "
                f"more than {MAX_BRANCHES}",
                root.span,
                "too many combinations of OR, `?` and `*`",
                "split it into several queries, or replace alternatives by types, as in `A|B x`",
            )
            break
    return len(problems.found) == before


def _negations(pattern: Pattern) -> Iterator[Absent]:
    match pattern:
        case Event() | Repeat():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _negations(part)
        case Group(body=body) | OptionalPart(body):
            yield from _negations(body)
        case Absent(body):
            yield pattern
            yield from _negations(body)
        case _:
            assert_never(pattern)


def always_binds(pattern: Pattern) -> bool:
    """Whether every match of `pattern` holds at least one event."""
    match pattern:
        case Event():
            return True
        case Repeat(low=low) | Group(low=low):
            return low > 0
        case OptionalPart():
            return False
        case Seq(parts) | AllOf(parts):
            return any(map(always_binds, parts))
        case AnyOf(parts):
            return all(map(always_binds, parts))
        case Absent():
            return False
        case _:
            assert_never(pattern)


def check_presence(pattern: Pattern, problems: Problems) -> None:
    """Check that each NOT has a sibling that places it, and that each match, or body of a NOT, has an event."""
    before = len(problems.found)
    _check_negations(pattern, None, problems)
    # A NOT without siblings also binds nothing: one error is enough.
    if len(problems.found) == before and not always_binds(pattern):
        _report_nothing_bound(pattern, "PATTERN", problems)


def _check_negations(pattern: Pattern, parent: Pattern | None, problems: Problems) -> None:
    match pattern:
        case Event() | Repeat():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                _check_negations(part, pattern, problems)
        case OptionalPart(body):
            _check_negations(body, pattern, problems)
        case Group(body=body):
            before = len(problems.found)
            _check_negations(body, pattern, problems)
            if len(problems.found) == before and not always_binds(body):
                _report_nothing_bound(body, "group", problems)
        case Absent(body):
            if not isinstance(parent, Seq | AllOf) or not always_binds(parent):
                problems.report(
                    "A406",
                    "a NOT needs a positive part beside it",
                    pattern.span,
                    "nothing places it in time",
                    "put it into a SEQ or an AND with a component that is always there, as in SEQ(A a, NOT(B b))",
                )
            before = len(problems.found)
            _check_negations(body, pattern, problems)
            if len(problems.found) == before and not always_binds(body):
                _report_nothing_bound(body, "NOT", problems)
        case _:
            assert_never(pattern)


def _report_nothing_bound(pattern: Pattern, where: str, problems: Problems) -> None:
    problems.report(
        "A407",
        f"every component of this {where} may be left out",
        pattern.span,
        "would be met by no event at all",
        "make one of them always present: `+` for `*`, or no `?`",
    )


def check_order(pattern: Pattern, problems: Problems) -> None:
    """Check that a variable shared by several SEQs of an AND does not have to precede itself."""
    bound = list(map(variable_of, components(pattern, negated=False)))
    if len(set(bound)) == len(bound):
        return
    contradiction: Order | None = None
    for _, order in _alternatives(pattern):
        if not _cyclic(order):
            return
        contradiction = contradiction or order
    assert contradiction is not None
    loop = names(sorted({first for first, second in _closure(contradiction) if first == second}))
    problems.report(
        "A409",
        "this pattern can never match: its SEQs contradict one another",
        pattern.span,
        f"{loop} would have to precede themselves",
        "order the shared variables alike in every SEQ",
    )


def _alternatives(pattern: Pattern) -> Iterator[tuple[frozenset[str], Order]]:
    """The components that are always bound, and their order, for each choice of OR branches."""
    match pattern:
        case Event(variable):
            yield frozenset((variable,)), frozenset()
        case Repeat(Event(variable), low):
            yield frozenset((variable,)) if low > 0 else frozenset(), frozenset()
        case Group(variable, _, low):
            # Names inside a group are local to it.
            yield frozenset((variable,)) if low > 0 else frozenset(), frozenset()
        case OptionalPart(body):
            yield frozenset(), frozenset()
            yield from _alternatives(body)
        case AnyOf(parts):
            for part in parts:
                yield from _alternatives(part)
        case AllOf(parts) | Seq(parts):
            for choice in product(*map(_alternatives, parts)):
                bound = frozenset[str]().union(*(variables for variables, _ in choice))
                order = frozenset[tuple[str, str]]().union(*(pairs for _, pairs in choice))
                if isinstance(pattern, Seq):
                    order |= _across([variables for variables, _ in choice])
                yield bound, order
        case Absent():
            yield frozenset(), frozenset()
        case _:
            assert_never(pattern)


def _across(parts: list[frozenset[str]]) -> Order:
    pairs = ((earlier, later) for i, later in enumerate(parts) for earlier in parts[:i])
    return frozenset(pair for earlier, later in pairs for pair in product(earlier, later))


def _closure(order: Order) -> Order:
    closed = order
    while True:
        further = closed | {(a, d) for a, b in closed for c, d in order if b == c}
        if further == closed:
            return closed
        closed = further


def _cyclic(order: Order) -> bool:
    after: dict[str, set[str]] = {}
    for first, second in order:
        after.setdefault(first, set()).add(second)
    # Remove what has no predecessor until nothing is left, or only cycles.
    left = set(after) | {second for _, second in order}
    while left:
        free = left - {second for first in left for second in after.get(first, ())}
        if not free:
            return True
        left -= free
    return False


def check_negated_together(conjuncts: Iterable[Conjunct], declared: Iterable[Declaration], problems: Problems) -> None:
    """Report conditions between events of two NOTs: each NOT is searched for without the other."""
    places = [d for d in declared if d.negations]
    for conjunct in conjuncts:
        read = {*conjunct.variables, *inner_variables(conjunct.expr)}
        used = [d for d in places if d.component.variable in read]
        apart = next(((a, b) for i, b in enumerate(used) for a in used[:i] if _in_different_nots(a, b)), None)
        if apart is not None:
            one, other = (d.component.variable for d in apart)
            problems.report(
                "A408",
                f"a condition cannot join `{one}` and `{other}`, which stand in two different NOTs",
                conjunct.span,
                "each NOT is looked for on its own",
                "compare each of them with a positive component",
            )


def _in_different_nots(one: Declaration, other: Declaration) -> bool:
    if one.component.variable == other.component.variable:
        return False
    # The event that ends a list belongs where the list is.
    if other.component is one.component.until or one.component is other.component.until:
        return False
    depth, group = parting(one, other)
    if group.operator is Operator.OR:
        return False
    return any(n > depth for n in one.negations) and any(n > depth for n in other.negations)
