"""Groups whose rounds are few and known: the query with every number of them written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from augury.ir.evaluate import evaluate
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import AnyOf, Event, Group, Pattern, Repeat, components, groups, map_children, variable_of
from augury.ir.predicate import Aggregate, Conjunct, Expr, InRound, ListLength, Literal, Ref, conjunct, variables
from augury.ir.predicate import map_children as map_operands
from augury.ir.query import BoundQuery, Step, Variable
from augury.ir.rounds import written
from augury.ir.terms import OutputMode, Strategy
from augury.ir.written_out import WrittenOut, choices, up_to, write_out
from augury.plan.folding import Folding, WrittenRound
from augury.planner.components import Cannot

MAX_WRITTEN_PATTERNS = 32
"""Patterns that a query with groups is written out as, at most: each has an automaton of its own."""


def without_groups(query: BoundQuery) -> tuple[BoundQuery, Folding]:
    """An OR of the patterns that the groups stand for, with variables of their own, and how its matches are folded.

    Raises `Cannot` where their number is not known or too large, or where a group takes all the rounds it can.
    """
    if query.output not in (OutputMode.ALL, OutputMode.COUNT) or query.paced or query.totals:
        raise Cannot("a group with an output that compares matches, or adds them up", query.pattern.span)
    found = list(_written(query))
    names = [_names(query, w) for w in found]
    if set().union(*(own.values() for own in names)) & set(query.pattern_order):
        raise Cannot("a variable that is called like a round of a group", query.pattern.span)
    parts: list[Pattern] = []
    conjuncts: dict[Conjunct, None] = {}
    steps: dict[Step, None] = dict.fromkeys(s for s in query.steps if s.variable not in _of_groups(query))
    order = _order(query, found)
    for w, own in zip(found, names, strict=True):
        placed = [_plain(c, w, own, order) for c in w.conjuncts]
        if any(c is False for c in placed):
            continue
        parts.append(_renamed(w.query.pattern, own))
        conjuncts |= dict.fromkeys(c for c in placed if isinstance(c, Conjunct))
        steps |= dict.fromkeys(replace(s, variable=own[s.variable]) for s in w.query.steps if s.variable in own)
    if not parts:
        raise Cannot("conditions that no number of rounds satisfies", query.pattern.span)
    pattern = parts[0] if len(parts) == 1 else AnyOf(tuple(parts), query.pattern.span)
    bound = {variable_of(c) for c in components(pattern)}
    plain = replace(
        query,
        pattern=pattern,
        variables=tuple(v for v in order if v.name in bound),
        conjuncts=tuple(conjuncts),
        steps=tuple(s for s in steps if s.variable in bound and _differs(s, query, order)),
        returns=(),
    )
    return plain, _folding(query, bound)


def _of_groups(query: BoundQuery) -> set[str]:
    return {*query.group_names, *(v.name for v in query.variables if v.group is not None)}


def _differs(step: Step, query: BoundQuery, order: Iterable[Variable]) -> bool:
    """Whether a step has a strategy that is not the one of the whole query; a negated one has one if it is named."""
    variable = next(v for v in order if v.name == step.variable)
    return variable.negated or (step.strategy is not query.strategy and (variable.iterated or not step.inside))


def _written(query: BoundQuery) -> Iterator[WrittenOut]:
    """The query with each choice of its alternatives and each number of rounds."""
    conjuncts = normal_conjuncts(query.conjuncts, query.pattern_order)
    number = 0
    for shape in dict.fromkeys(choices(query.pattern)):
        if shape is None:
            continue
        inside = list(groups(shape))
        for rounds in product(*(_rounds(query, shape, group) for group in inside)):
            number += 1
            if number > MAX_WRITTEN_PATTERNS:
                reason = f"groups that stand for more than {MAX_WRITTEN_PATTERNS} patterns without groups"
                raise Cannot(reason, inside[0].span)
            named = {group.variable: bodies for group, bodies in zip(inside, rounds, strict=True)}
            found = write_out(query, conjuncts, shape, named)
            if found is not None:
                yield found


def _rounds(query: BoundQuery, shape: Pattern, group: Group) -> Iterator[tuple[Pattern, ...]]:
    if group.high is None:
        raise Cannot("a group with any number of rounds, each of which would need states of its own", group.span)
    free = group.reluctant or query.strategy_of(group.variable, inside=True) is Strategy.SKIP_TILL_ANY_MATCH
    if not free and group.low != group.high and _is_followed(shape, group):
        raise Cannot(
            "a group that takes all the rounds it can: whether one more fits is not known to a run", group.span
        )
    bodies = [body for body in dict.fromkeys(choices(group.body)) if body is not None]
    for number in range(group.low, group.high + 1):
        yield from product(bodies, repeat=number)


def _is_followed(shape: Pattern, group: Group) -> bool:
    before = up_to(shape, group.variable)
    assert before is not None
    return len(list(components(before, negated=False))) < len(list(components(shape, negated=False)))


def _name(group: str, number: int, of: int, variable: str) -> str:
    """The name of a variable in one of so many rounds, as explanations show it."""
    return f"{group}[{number} of {of}].{variable}"


def _names(query: BoundQuery, w: WrittenOut) -> dict[str, str]:
    """The names that the variables of the rounds get: those of another number of rounds are different."""
    return {
        written(v.name, n): _name(group, n, of, v.name)
        for group, of in w.numbers.items()
        for n in range(1, of + 1)
        for v in query.variables
        if v.group == group
    }


def _order(query: BoundQuery, found: Iterable[WrittenOut]) -> tuple[Variable, ...]:
    """The variables in the order of the pattern."""
    numbers: dict[str, dict[int, None]] = {}
    for w in found:
        for group, of in w.numbers.items():
            numbers.setdefault(group, {})[of] = None
    order: list[Variable] = []
    for v in query.variables:
        if v.name in query.group_names:
            inside = [u for u in query.variables if u.group == v.name]
            rounds = [(n, of) for of in sorted(numbers.get(v.name, {})) for n in range(1, of + 1)]
            order += [replace(u, name=_name(v.name, n, of, u.name), group=None) for n, of in rounds for u in inside]
        elif v.group is None:
            order.append(v)
    return tuple(order)


def _folding(query: BoundQuery, bound: set[str]) -> Folding:
    rounds = []
    for group in query.group_names:
        inside = [v.name for v in query.variables if v.group == group and not v.negated]
        highest = next((g.high or 1) for g in groups(query.pattern) if g.variable == group)
        for of in range(1, highest + 1):
            for n in range(1, of + 1):
                named = tuple((v, name) for v in inside if (name := _name(group, n, of, v)) in bound)
                rounds.append(WrittenRound(group, named))
    return Folding(tuple(v.name for v in query.variables if not v.negated), tuple(r for r in rounds if r.names))


def _renamed(pattern: Pattern, names: Mapping[str, str]) -> Pattern:
    """The pattern with the variables of rounds renamed."""
    match pattern:
        case Event(variable):
            return replace(pattern, variable=names.get(variable, variable))
        case Repeat(body, until=until):
            ending = None if until is None else replace(until, variable=names.get(until.variable, until.variable))
            named = replace(body, variable=names.get(body.variable, body.variable))
            return replace(pattern, body=named, until=ending)
        case _:
            return map_children(lambda part: _renamed(part, names), pattern)


def _plain(c: Conjunct, w: WrittenOut, names: Mapping[str, str], order: tuple[Variable, ...]) -> Conjunct | bool:
    """The condition as one on components; True or False where the number of rounds decides it."""
    expr = _without_rounds(c.expr, w, names)
    read = variables(expr)
    if c.variables and not read:
        return evaluate(expr, {}) is True
    wanted = {names.get(v, v) for v in c.variables}
    if read != wanted and not (w.query.declarative and read & set(names.values())):
        # It would be tested with another event, or for other numbers of rounds as well.
        raise Cannot("a condition on all rounds of a group that is tested when the last of them is complete", c.span)
    return conjunct(expr, tuple(v.name for v in order))


def _without_rounds(e: Expr, w: WrittenOut, names: Mapping[str, str]) -> Expr:
    match e:
        case InRound(_, int() as number, operand):
            return _in_round(operand, number, names)
        case ListLength(group) | Aggregate(variable=group, argument=None) if group in w.rounds:
            return Literal(w.numbers[group], e.type, e.span)
        case Aggregate(rounds=True):
            raise Cannot("an aggregate over the rounds of a group", e.span)
        case _:
            return map_operands(lambda child: _without_rounds(child, w, names), e)


def _in_round(e: Expr, number: int, names: Mapping[str, str]) -> Expr:
    match e:
        case Ref(variable) | ListLength(variable):
            return replace(e, variable=names[written(variable, number)])
        case Aggregate(variable=variable):
            named = replace(e, variable=names[written(variable, number)])
            return map_operands(lambda child: _in_round(child, number, names), named)
        case _:
            return map_operands(lambda child: _in_round(child, number, names), e)
