"""Binding of references to rounds of a group: `g[i].b.x`, `g[last].c.len`, `sum(g[].b.x)` (SEMANTICS section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from augury.bind.scope import Scope
from augury.errors import names
from augury.ir import predicate as ir
from augury.ir import syntax
from augury.ir.query import Variable

_ROUNDS = {
    None: ir.Element.EACH,
    syntax.Index.EACH: ir.Element.EACH,
    syntax.Index.PREVIOUS: ir.Element.PREVIOUS,
    syntax.Index.FIRST: ir.Element.FIRST,
    syntax.Index.LAST: ir.Element.LAST,
}

_ELEMENTS = (None, syntax.Index.ALL, syntax.Index.EACH)
"""Indexes by which an aggregate reads all elements of a list inside a group."""


@dataclass(frozen=True, slots=True)
class RoundsRead:
    """The values that an aggregate reads from a group: `elements` in one `round`, or in all rounds without one."""

    group: str
    round: ir.Element | None
    elements: str | None


def value_in_round(e: syntax.GroupAttribute, scope: Scope, *, aggregated: bool) -> ir.Expr | None:
    """The value of `e` in any round; `aggregated` inside an aggregate."""
    variable = _variable(e, scope)
    if variable is None:
        return None
    if variable.iterated and e.index is None and e.attribute == "len":
        return ir.ListLength(variable.name, span=e.span)
    element = _element(e, variable, scope, aggregated=aggregated)
    type = scope.column(e.attribute, e.span)
    return None if element is None or type is None else ir.Ref(variable.name, e.attribute, type, element, span=e.span)


def round_of(e: syntax.GroupAttribute, scope: Scope) -> ir.Element | None:
    """The round that `e` reads."""
    if e.round in _ROUNDS:
        return _ROUNDS[e.round]
    help = (
        f"write `{e.group}[i].{e.variable}.x` for each round, or an aggregate such as avg({e.group}[].{e.variable}.x)"
    )
    scope.problems.report("A402", "all rounds together stand only inside an aggregate", e.span, "many values", help)
    return None


def references(e: syntax.Expression) -> Iterator[syntax.GroupAttribute | syntax.Attribute | syntax.Elements]:
    """The references to events in an expression, in the order written."""
    if isinstance(e, syntax.GroupAttribute | syntax.Attribute | syntax.Elements):
        yield e
    for child in syntax.children(e):
        assert not isinstance(child, syntax.Component | syntax.Group | syntax.Negation)
        yield from references(child)


def check_rounds(call: syntax.Call, scope: Scope) -> RoundsRead | None:
    """The rounds that an aggregate reads, or None if it does not read those of exactly one group."""
    (argument,) = call.arguments
    found = list(references(argument))
    reads = [read for read in found if isinstance(read, syntax.GroupAttribute)]
    group = reads[0].group
    if len(reads) < len(found) or any(read.group != group for read in reads):
        _report(call, f"`{call.function}` reads more than the rounds of `{group}`", scope)
        return None
    variables = [_variable(read, scope) for read in reads]
    if None in variables:
        return None
    every = all(read.round in (None, syntax.Index.ALL) for read in reads)
    rounds = {_ROUNDS.get(read.round) for read in reads if read.round is not syntax.Index.ALL}
    if not every and (len(rounds) > 1 or None in rounds or any(read.round is syntax.Index.ALL for read in reads)):
        _report(call, f"`{call.function}` reads all rounds of `{group}`, or one", scope)
        return None
    lists = {v.name for v, read in zip(variables, reads, strict=True) if v is not None and _by_elements(v, read)}
    if len(lists) > 1:
        _report(call, f"`{call.function}` cannot read the lists {names(sorted(lists))} at once", scope)
        return None
    if every:
        return RoundsRead(group, None, next(iter(lists), None))
    if not lists or any(read.variable not in lists or read.index not in _ELEMENTS for read in reads):
        _report(call, f"`{call.function}` needs a list, and in one round this is one value", scope)
        return None
    return RoundsRead(group, rounds.pop(), lists.pop())


def _report(call: syntax.Call, message: str, scope: Scope) -> None:
    help = f"write {call.function}(g[].b.x) over all rounds of `g`, or {call.function}(g[i].c[].x) over a list in each"
    scope.problems.report("A423", message, call.arguments[0].span, "not the values of one list", help)


def _by_elements(variable: Variable, read: syntax.GroupAttribute) -> bool:
    length = read.index is None and read.attribute == "len"
    return variable.iterated and read.index in _ELEMENTS and not length


def _variable(e: syntax.GroupAttribute, scope: Scope) -> Variable | None:
    """The variable inside its group that `e` reads."""
    if scope.variable(e.group, e.span) is None:
        return None
    if not scope.is_group(e.group):
        help = f"write `{e.group}.{e.attribute}`, or `{e.group}[i].{e.attribute}` of a list"
        scope.problems.report("A441", f"`{e.group}` is no group, so it has no `{e.variable}`", e.span, "no group", help)
        return None
    inside = scope.inside(e.group)
    if e.variable not in inside:
        help = f"the variables of `{e.group}` are {names(inside)}"
        scope.problems.report("A441", f"`{e.group}` binds no `{e.variable}`", e.span, "unknown variable", help)
        return None
    return scope.variables[e.variable]


def _element(e: syntax.GroupAttribute, variable: Variable, scope: Scope, *, aggregated: bool) -> ir.Element | None:
    """The element of its variable that `e` reads in a round."""
    if not variable.iterated:
        if e.index is None:
            return ir.Element.SINGLE
        help = f"write `{e.group}[i].{e.variable}.{e.attribute}`"
        message = f"`{e.variable}` is one event in each round, so it has no index"
        scope.problems.report("A401", message, e.span, "index", help)
        return None
    if aggregated and e.index in _ELEMENTS:
        return ir.Element.EACH
    if e.index in (syntax.Index.FIRST, syntax.Index.LAST):
        return _ROUNDS[e.index]
    help = (
        f"write `{e.group}[i].{e.variable}[first].x`, `[last]`, `{e.group}[i].{e.variable}.len`, "
        f"or an aggregate such as avg({e.group}[i].{e.variable}[].x)"
    )
    message = f"`{e.variable}` is a list in each round, which is read by an aggregate, `first`, `last` or `len`"
    scope.problems.report("A441", message, e.span, "many values", help)
    return None
