"""Binding of the strategies in WHERE: one for the whole query, or one per step (SEMANTICS section 9)."""

from __future__ import annotations

from collections.abc import Iterator

from augury.bind.clauses import operands
from augury.bind.scope import Scope
from augury.errors import names
from augury.ir import syntax
from augury.ir.branches import branches
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq, groups
from augury.ir.query import Step
from augury.ir.terms import Strategy
from augury.source import Span

CONTIGUOUS = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)


def steps_of(query: syntax.Query, pattern: Pattern, scope: Scope) -> tuple[Step, ...]:
    """The steps whose strategy differs from that of the query, in pattern order."""
    _check_partition(query, scope)
    if not query.steps:
        _check_listed(query, scope)
        return ()
    if query.listed is not None:
        help = "write the strategy of all other steps first, without a list: skip_till_next_match, strict_contiguity(b)"
        span = _place(query.listed, query.span)
        scope.problems.report("A425", "the first of several strategies has a list", span, "for which steps?", help)
    _check_sets(query, pattern, scope)
    default = query.strategy or Strategy.SKIP_TILL_ANY_MATCH
    single = {body.variable for body in _negated_bodies(pattern) if isinstance(body, Event)}
    leading = {v: group.variable for group in groups(pattern) for v in _leading(group)}
    found: dict[tuple[str, bool], Step] = {}
    for step in query.steps:
        if not step.listed:
            help = f"name the variables before which it holds, such as {step.strategy}({next(iter(scope.variables))})"
            scope.problems.report("A425", f"{step.strategy} names no step", step.span, "for which steps?", help)
        for listed in step.listed or ():
            if listed.name in leading and not listed.iterated:
                group = leading[listed.name]
                help = f"write {step.strategy}({group}) for the first round, {step.strategy}({group}[]) for the others"
                message = f"the gap before `{listed.name}` is the one before a round of `{group}`"
                scope.problems.report("A425", message, listed.span, "begins each round", help)
            elif _is_step(listed, step.strategy, single, scope):
                place = (listed.name, listed.iterated)
                if place in found:
                    message = f"the step `{_written(listed)}` is given two strategies"
                    scope.problems.report("A425", message, listed.span, "named again", "name each step once")
                found[place] = Step(*place, step.strategy)
    order = list(scope.variables)
    kept = (s for s in found.values() if s.strategy is not default or scope.variables[s.variable].negated)
    return tuple(sorted(kept, key=lambda s: (order.index(s.variable), s.inside)))


def check_reluctant(query: syntax.Query, pattern: Pattern, scope: Scope) -> None:
    """Report lists of a set that may end early: they are maximal by definition."""
    if (query.strategy or Strategy.SKIP_TILL_ANY_MATCH) is Strategy.SKIP_TILL_ANY_MATCH:
        return
    for component in _reluctant(pattern):
        if any(b.sets and component.body.variable in b.variables for b in branches(pattern)):
            help = "leave out the `?`, or use skip_till_any_match"
            message = f"`{component.body.variable}` is a list of a set, which takes all that it can"
            scope.problems.report("A426", message, component.span, "cannot end early", help)


def _leading(group: Group) -> Iterator[str]:
    """The variables that come first in every round that binds them."""
    inside = branches(group.body)
    for v in dict.fromkeys(v for b in inside for v in b.variables):
        if not any((u, v) in b.order for b in inside for u in b.variables):
            yield v


def _check_partition(query: syntax.Query, scope: Scope) -> None:
    """Check that contiguity within a partition has a partition key."""
    partitioned = any(isinstance(e, syntax.Equivalence) for e in operands(query.where))
    written = [step.span for step in query.steps if step.strategy is Strategy.PARTITION_CONTIGUITY]
    if query.strategy is Strategy.PARTITION_CONTIGUITY:
        written.append(query.span if query.where is None else query.where.span)
    if written and not partitioned:
        help = "say what a partition is: partition_contiguity { [symbol] AND ... }"
        scope.problems.report("A411", "partition_contiguity needs an `[attr]`", written[0], "no partition given", help)


def _check_listed(query: syntax.Query, scope: Scope) -> None:
    """Check that variables listed with the strategy are those of PATTERN."""
    if query.listed is None:
        return
    expected = ", ".join(f"{v.name}[]" if v.iterated else v.name for v in scope.variables.values())
    help = f"the variables of PATTERN are ({expected}); the list may also be left out"
    seen = set[str]()
    for listed in query.listed:
        if listed.name not in scope.variables:
            _report_listed(f"`{listed.name}` is listed but not bound by PATTERN", listed.span, help, scope)
        elif listed.name in seen:
            _report_listed(f"`{listed.name}` is listed twice", listed.span, help, scope)
        elif listed.iterated != scope.variables[listed.name].iterated:
            wanted = f"{listed.name}" if listed.iterated else f"{listed.name}[]"
            _report_listed(f"`{listed.name}` must be listed as `{wanted}`", listed.span, help, scope)
        seen.add(listed.name)
    missing = [name for name in scope.variables if name not in seen]
    if missing:
        span = _place(query.listed, query.span)
        _report_listed(f"the list of the strategy leaves out {names(missing)}", span, help, scope)


def _is_step(listed: syntax.ListedVariable, strategy: Strategy, single: set[str], scope: Scope) -> bool:
    """Whether the step exists and can have the strategy."""
    variable = scope.variables.get(listed.name)
    if variable is None:
        help = f"the variables of PATTERN are {names(scope.variables)}"
        _report_listed(f"`{listed.name}` is listed but not bound by PATTERN", listed.span, help, scope)
        return False
    if listed.iterated and not variable.iterated:
        help = f"write {listed.name} for the gap before it"
        _report_listed(f"`{listed.name}` is one event, with no gaps inside", listed.span, help, scope)
        return False
    if not variable.negated:
        return True
    if strategy not in CONTIGUOUS:
        help = f"leave it out, or look at the next event alone with strict_contiguity({listed.name})"
        message = f"`{listed.name}` is negated, and is looked for everywhere without {strategy}"
    elif listed.name not in single:
        message = f"the NOT around `{listed.name}` is not of one event, so it is not next to another"
        help = f"only NOT(Type {listed.name}) can have a strategy of its own"
    else:
        return True
    scope.problems.report("A425", message, listed.span, "negated", help)
    return False


def _check_sets(query: syntax.Query, pattern: Pattern, scope: Scope) -> None:
    """Report strategies of steps in sets, where the pattern does not say which gap precedes which event."""
    group = next(_sets(pattern), None)
    if group is not None:
        help = "use one strategy for the whole query, or write the orders as an OR of SEQs"
        label = "in any order"
        scope.problems.report("A425", "the parts of an AND have no steps of their own", group.span, label, help)
    if query.threshold is not None:
        help = "leave out the strategies: a lossy stream is matched under skip_till_any_match"
        span = _place(query.steps, query.span)
        scope.problems.report("A425", "THRESHOLD and several strategies exclude one another", span, "", help)


def _sets(pattern: Pattern) -> Iterator[AllOf]:
    match pattern:
        case AllOf():
            yield pattern
        case Seq(parts) | AnyOf(parts):
            for part in parts:
                yield from _sets(part)
        case Group(body=body) | OptionalPart(body):
            yield from _sets(body)
        case Event() | Repeat() | Absent():
            pass


def _reluctant(pattern: Pattern) -> Iterator[Repeat]:
    match pattern:
        case Repeat(reluctant=True):
            yield pattern
        case Seq(parts) | AnyOf(parts) | AllOf(parts):
            for part in parts:
                yield from _reluctant(part)
        case Group(body=body) | OptionalPart(body):
            yield from _reluctant(body)
        case Event() | Repeat() | Absent():
            pass


def _negated_bodies(pattern: Pattern) -> Iterator[Pattern]:
    match pattern:
        case Absent(body):
            yield body
        case Seq(parts) | AnyOf(parts) | AllOf(parts):
            for part in parts:
                yield from _negated_bodies(part)
        case Group(body=body) | OptionalPart(body):
            yield from _negated_bodies(body)
        case Event() | Repeat():
            pass


def _written(listed: syntax.ListedVariable) -> str:
    return f"{listed.name}[]" if listed.iterated else listed.name


def _place(items: tuple[syntax.ListedVariable, ...] | tuple[syntax.Step, ...], otherwise: Span) -> Span:
    return items[0].span | items[-1].span if items else otherwise


def _report_listed(message: str, span: Span, help: str, scope: Scope) -> None:
    scope.problems.report("A209", message, span, "does not agree with PATTERN", help)
