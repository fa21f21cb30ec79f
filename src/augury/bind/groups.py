"""Binding of groups: where a repeated part is allowed, and how its rounds are read (SEMANTICS section 10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from augury.bind.scope import Scope
from augury.ir import syntax
from augury.ir.branches import branches
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq, groups
from augury.ir.predicate import Aggregate, Conjunct, Element, Expr, InRound, inner_variables, walk
from augury.ir.terms import OutputMode, Strategy

_REFUSED = (
    OutputMode.COVER,
    OutputMode.LATEST,
    OutputMode.TIMEOUTS,
    OutputMode.ALL_WITH_TIMEOUTS,
    OutputMode.FIRST_WITH_TIMEOUTS,
)


def check_groups(query: syntax.Query, pattern: Pattern, scope: Scope) -> None:
    """Report groups that cannot be evaluated, because of their name, the parts around them, or other clauses."""
    found = list(groups(pattern))
    _check_names(query.pattern, scope)
    for group in found:
        _check_outputs(query, group, scope)
        for inner in groups(group.body):
            help = "write the inner part out, or repeat one of its components, as in `C+ c[]`"
            scope.problems.report("A440", "a group inside a group", inner.span, "repeated in each round", help)
        for absent in _since(group.body):
            help = "leave it out: a NOT of a group looks into its round"
            scope.problems.report("A428", "SINCE has no meaning inside a group", absent.span, "in each round", help)
    for group in _negated(pattern):
        help = "look for one round of it: the NOT without the quantifier"
        scope.problems.report("A440", "a group inside a NOT", group.span, "negated", help)
    strategies = {query.strategy or Strategy.SKIP_TILL_ANY_MATCH, *(step.strategy for step in query.steps)}
    if strategies != {Strategy.SKIP_TILL_ANY_MATCH}:
        for group in _unordered(pattern):
            help = "use skip_till_any_match, or write the orders as an OR of SEQs"
            message = "a group and an AND go together under skip_till_any_match only"
            scope.problems.report("A440", message, group.span, "rounds of a set", help)


def _check_names(part: syntax.Part, scope: Scope) -> None:
    """Check that the name of a group is not used for anything else."""
    seen = set[str]()
    declared = [c.variable for c in _components(part)]
    for group in _named(part):
        assert group.variable is not None
        if group.variable in seen or group.variable in declared:
            help = "give each group and each component a name of its own"
            message = f"`{group.variable}` is the name of a group and of something else"
            scope.problems.report("A207", message, group.span, "declared again", help)
        seen.add(group.variable)
        bounds = group.quantifier
        if bounds is not None and bounds.high is not None and bounds.high < max(1, bounds.low):
            label = "the upper bound is 0" if bounds.high == 0 else "the upper bound is below the lower one"
            help = "write {l,m} with 0 <= l <= m and m >= 1"
            message = f"the bounds of `{group.variable}` can never be met"
            scope.problems.report("A405", message, group.span, label, help)


def _check_outputs(query: syntax.Query, group: Group, scope: Scope) -> None:
    if query.output in _REFUSED:
        help = "use ALL, FIRST, LONGEST or NONOVERLAP, or write the rounds out"
        scope.problems.report("A440", f"OUTPUT {query.output} goes with no group", group.span, "repeated", help)


def check_read_in_rounds(conjuncts: Iterable[Conjunct], pattern: Pattern, scope: Scope) -> None:
    """Report conditions on a NOT or an UNTIL of a group that read more than one round."""
    for c in conjuncts:
        for name in sorted(inner_variables(c.expr)):
            if scope.variables[name].negated and not _in_one_round(c.expr, name):
                message = f"`{name}` stands inside a NOT or an UNTIL, which is looked for in one round alone"
                help = f"compare it with events of its own round: `{scope.variables[name].group}[i].{name}.x`"
                scope.problems.report("A441", message, c.span, "more than one round", help)
    for group in groups(pattern):
        for repeat in _ending(group.body):
            _check_ending(group, repeat, conjuncts, pattern, scope)


def _in_one_round(e: Expr, name: str) -> bool:
    """Whether `e` reads the variable only as `g[i]`."""
    rounds = {x.round for x in walk(e) if isinstance(x, InRound) and name in inner_variables(x)}
    folded = any(isinstance(x, Aggregate) and x.rounds and name in inner_variables(x) for x in walk(e))
    return rounds == {Element.EACH} and not folded


def _check_ending(group: Group, repeat: Repeat, conjuncts: Iterable[Conjunct], pattern: Pattern, scope: Scope) -> None:
    """Check that conditions on the event that ends a list read only variables bound while the list grows."""
    assert repeat.until is not None
    u, v = repeat.until.variable, repeat.body.variable
    around = [b for b in branches(pattern) if group.variable in b.variables]
    inside = [b for b in branches(group.body) if v in b.variables]
    for c in conjuncts:
        read = inner_variables(c.expr)
        if u not in read:
            continue
        before = all((w, v) in b.order for w in read - {u} for b in inside if w in b.variables)
        outside = [w for w in c.variables if w != group.variable]
        known = all((w, group.variable) in b.order for w in outside for b in around if w in b.variables)
        if not (before and known):
            message = f"a condition on `{u}` cannot name what is not bound while `{v}` grows"
            help = f"name variables that stand before `{v}`, in its round or before the group"
            scope.problems.report("A429", message, c.span, "not known by then", help)


# -- walks over patterns -----------------------------------------------------------------------------------------------


def _components(part: syntax.Part) -> Iterator[syntax.Component]:
    match part:
        case syntax.Component(until=until):
            yield part
            if until is not None:
                yield until
        case syntax.Group(_, parts):
            for child in parts:
                yield from _components(child)
        case syntax.Negation(body):
            yield from _components(body)
        case _:
            assert_never(part)


def _named(part: syntax.Part) -> Iterator[syntax.Group]:
    match part:
        case syntax.Component():
            pass
        case syntax.Group(_, parts, _, variable):
            if variable is not None:
                yield part
            for child in parts:
                yield from _named(child)
        case syntax.Negation(body):
            yield from _named(body)
        case _:
            assert_never(part)


def _negated(pattern: Pattern) -> Iterator[Group]:
    """Groups inside a NOT."""
    match pattern:
        case Event() | Repeat():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _negated(part)
        case Group(body=body) | OptionalPart(body):
            yield from _negated(body)
        case Absent(body):
            yield from groups(body)
        case _:
            assert_never(pattern)


def _unordered(pattern: Pattern, *, within: bool = False) -> Iterator[Group]:
    """Groups inside an AND, and those that contain one."""
    match pattern:
        case Event() | Repeat() | Absent():
            pass
        case Seq(parts) | AnyOf(parts):
            for part in parts:
                yield from _unordered(part, within=within)
        case AllOf(parts):
            for part in parts:
                yield from _unordered(part, within=True)
        case OptionalPart(body):
            yield from _unordered(body, within=within)
        case Group(body=body):
            if within or has_sets(body):
                yield pattern
        case _:
            assert_never(pattern)


def has_sets(pattern: Pattern) -> bool:
    """Whether an AND binds part of the pattern."""
    match pattern:
        case Event() | Repeat() | Absent():
            return False
        case AllOf():
            return True
        case Seq(parts) | AnyOf(parts):
            return any(map(has_sets, parts))
        case Group(body=body) | OptionalPart(body):
            return has_sets(body)
        case _:
            assert_never(pattern)


def _since(pattern: Pattern) -> Iterator[Absent]:
    """Every NOT ... SINCE."""
    match pattern:
        case Event() | Repeat():
            pass
        case Absent(since=since):
            if since is not None:
                yield pattern
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _since(part)
        case Group(body=body) | OptionalPart(body):
            yield from _since(body)
        case _:
            assert_never(pattern)


def _ending(pattern: Pattern) -> Iterator[Repeat]:
    """Lists with an UNTIL."""
    match pattern:
        case Event() | Absent():
            pass
        case Repeat(until=until):
            if until is not None:
                yield pattern
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _ending(part)
        case Group(body=body) | OptionalPart(body):
            yield from _ending(body)
        case _:
            assert_never(pattern)
