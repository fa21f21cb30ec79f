"""Binding of patterns: from PATTERN to its logical structure and its variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import assert_never

from augury.bind.scope import Problems
from augury.errors import names, suggestion
from augury.ir import syntax
from augury.ir.pattern import Absent, AllOf, AnyOf, BoundEvent, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.query import Variable
from augury.ir.terms import Operator
from augury.schema import EventSchema

_GROUPS: dict[Operator, type[Seq | AllOf | AnyOf]] = {Operator.SEQ: Seq, Operator.AND: AllOf, Operator.OR: AnyOf}


@dataclass(frozen=True, slots=True)
class Step:
    """One level of the path from the root of a pattern to a component: the node, and the number of the next child."""

    node: syntax.Group | syntax.Negation
    child: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A component with its path in the pattern."""

    component: syntax.Component
    path: tuple[Step, ...]

    @property
    def iterated(self) -> bool:
        return self.component.quantifier is not None

    @property
    def group(self) -> str | None:
        """The group in which the component is repeated."""
        nodes = (step.node for step in self.path)
        return next((n.variable for n in nodes if isinstance(n, syntax.Group) and n.variable is not None), None)

    @property
    def negations(self) -> tuple[int, ...]:
        """The positions of the NOTs around the component, outermost first, which tell them apart."""
        return tuple(i for i, step in enumerate(self.path) if isinstance(step.node, syntax.Negation))


def parting(one: Declaration, other: Declaration) -> tuple[int, syntax.Group]:
    """The depth and the group at which the paths to two components of one pattern diverge."""
    for depth, (a, b) in enumerate(zip(one.path, other.path, strict=False)):
        if a.child != b.child:
            assert isinstance(a.node, syntax.Group)
            return depth, a.node
    raise AssertionError("two components share one place")


def declarations(part: syntax.Part, path: tuple[Step, ...] = ()) -> Iterator[Declaration]:
    """The components of a pattern, in the order written."""
    match part:
        case syntax.Component(until=until):
            yield Declaration(part, path)
            if until is not None:
                # The event that ends a list is searched for like a negated event: no match binds it.
                yield Declaration(until, (*path, Step(syntax.Negation(until, span=until.span), 0)))
        case syntax.Group(_, parts):
            for i, child in enumerate(parts):
                yield from declarations(child, (*path, Step(part, i)))
        case syntax.Negation(body):
            yield from declarations(body, (*path, Step(part, 0)))
        case _:
            assert_never(part)


def pattern_of(part: syntax.Part) -> Pattern:
    """The logical structure of the pattern as written."""
    match part:
        case syntax.Component():
            return _component(part)
        case syntax.Group(operator, parts, quantifier, variable, optional):
            body = _GROUPS[operator](tuple(map(pattern_of, parts)), part.span)
            if optional:
                return OptionalPart(body, part.span)
            if quantifier is None or variable is None:
                return body
            return Group(variable, body, quantifier.low, quantifier.high, quantifier.reluctant, part.span)
        case syntax.Negation(body):
            since = None if part.since is None else _since(part.since)
            silence = None if part.silence is None else part.silence.nanoseconds
            return Absent(pattern_of(body), since, silence, part.span)
        case _:
            assert_never(part)


def _since(written: syntax.BoundEvent) -> BoundEvent:
    """The event of a SINCE; whether it exists is checked once all variables are known."""
    return BoundEvent(written.variable, written.index is syntax.Index.LAST, written.index is not None)


def _component(part: syntax.Component) -> Pattern:
    event = Event(part.variable, _types([part]), part.span)
    if part.optional:
        return Repeat(event, 0, 1, single=True, span=part.span)
    if part.quantifier is not None:
        bounds = part.quantifier
        until = None if part.until is None else Event(part.until.variable, _types([part.until]), part.until.span)
        return Repeat(event, bounds.low, bounds.high, reluctant=bounds.reluctant, until=until, span=part.span)
    return event


def _types(parts: Iterable[syntax.Component]) -> tuple[str, ...]:
    """The types of one variable in all its components; empty for every type if one of them has no types."""
    parts = list(parts)
    if not all(part.types for part in parts):
        return ()
    return tuple(dict.fromkeys(type.name for part in parts for type in part.types))


def variables_of(declared: Iterable[Declaration]) -> dict[str, Variable]:
    """The variables of PATTERN, in order of first appearance; a group comes before the variables inside it."""
    by_name: dict[str, list[Declaration]] = {}
    for declaration in declared:
        by_name.setdefault(declaration.component.variable, []).append(declaration)
    found: dict[str, Variable] = {}
    for name, (first, *others) in by_name.items():
        if first.group is not None:
            found.setdefault(first.group, Variable(first.group, (), iterated=True, negated=False))
        types = _types(d.component for d in (first, *others))
        found[name] = Variable(name, types, first.iterated, bool(first.negations), first.group)
    return found


def check_types(declared: Iterable[Declaration], schema: EventSchema, problems: Problems) -> None:
    """Check that events can have the types that PATTERN names."""
    written = [type for d in declared for type in d.component.types]
    if schema.type is None:
        distinct = list(dict.fromkeys(type.name for type in written))
        other = next((type for type in written if type.name != distinct[0]), None)
        if other is not None:
            problems.report(
                "A213",
                f"the events have no type column, so they cannot be of the types {names(distinct)}",
                other.span,
                "second type",
                f"say which column holds the type, with type=... or --type; columns are {names(schema.names)}",
            )
    elif schema.types is not None:
        for type in written:
            if type.name not in schema.types:
                problems.report(
                    "A203",
                    f"there are no events of type `{type.name}`",
                    type.span,
                    "unknown type",
                    suggestion(type.name, sorted(schema.types)),
                )


def check_repeated(declared: Iterable[Declaration], problems: Problems) -> bool:
    """Whether variables are repeated only where allowed: across an AND or an OR (paper 000, sections 4.3 and 5)."""
    before = len(problems.found)
    by_name: dict[str, list[Declaration]] = {}
    for declaration in declared:
        by_name.setdefault(declaration.component.variable, []).append(declaration)
    for all_of in by_name.values():
        for first, again in combinations(all_of, 2):
            if _check_pair(first, again, problems):
                break
    return len(problems.found) == before


def _check_pair(first: Declaration, again: Declaration, problems: Problems) -> bool:
    """Report errors in declaring one variable at two places; whether there are none."""
    name, span = again.component.variable, again.component.span
    if again.component is first.component.until:
        problems.report("A207", f"`{name}` is declared both as a list and as what ends it", span, "declared again", "")
        return True
    if first.group is not None or again.group is not None:
        help = "give each component of a group a name that nothing else has"
        problems.report("A207", f"`{name}` is declared twice, once in a group", span, "declared again", help)
        return True
    depth, group = parting(first, again)
    # A NOT between the fork and the component is searched for by itself, so it cannot be the same event.
    apart = any(n > depth for n in (*first.negations, *again.negations))
    if bool(first.negations) != bool(again.negations):
        message = f"`{name}` is declared both inside and outside a NOT"
    elif group.operator is Operator.SEQ:
        message = f"`{name}` is declared twice in one SEQ"
    elif group.operator is Operator.AND and apart:
        message = f"`{name}` is declared in two NOTs"
    else:
        return _check_agreement(first, again, group.operator, problems)
    problems.report("A207", message, span, "declared again", "give each component a variable of its own")
    return True


def _check_agreement(first: Declaration, again: Declaration, operator: Operator, problems: Problems) -> bool:
    one, two = first.component, again.component
    if (one.quantifier, one.optional) != (two.quantifier, two.optional):
        message = f"`{one.variable}` is declared with two different quantifiers"
    elif operator is Operator.AND and {t.name for t in one.types} != {t.name for t in two.types}:
        message = f"`{one.variable}` is one event in both parts of the AND, but is given two different types"
    else:
        return False
    help = "declare it alike each time, or give each component a variable of its own"
    problems.report("A208", message, two.span, "differs from the first", help)
    return True
