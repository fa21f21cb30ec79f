"""Binding of aggregates: the list they read, and the type of their result."""

from __future__ import annotations

from dataclasses import dataclass

from augury.bind.rounds import references
from augury.bind.scope import Scope
from augury.errors import names
from augury.ir import syntax
from augury.schema import FLOAT, INT, NULL, ColumnType, Kind
from augury.source import Span

_TOTAL = (None, syntax.Index.ALL, syntax.Index.EACH)
_RUNNING = (syntax.Index.BEFORE, syntax.Index.THROUGH)
_READ = (*_TOTAL, *_RUNNING)


@dataclass(frozen=True, slots=True)
class ListRead:
    """The list that an aggregate reads; `whole_events` if it counts the events themselves.

    A `running` aggregate reads the elements before each one, and that one too if it is `inclusive`.
    """

    variable: str
    running: bool
    whole_events: bool
    inclusive: bool = False


def result_type(function: str, argument: ColumnType) -> ColumnType | None:
    """The type of an aggregate over values of type `argument`, or None when they do not fit.

    >>> str(result_type("avg", INT)), result_type("sum", ColumnType(Kind.STRING))
    ('float', None)
    """
    fits = argument.numeric or argument == NULL
    match function:
        case "count":
            return INT
        case "first" | "last":
            return argument
        case "sum":
            return argument if fits or argument.kind is Kind.DURATION else None
        case "min" | "max":
            return None if argument.kind in (Kind.BOOL, Kind.LIST, Kind.OTHER) else argument
        case _:
            return FLOAT if fits else None


def check_argument(call: syntax.Call, scope: Scope, *, over_matches: bool = False) -> ListRead | None:
    """The iterated variable that the argument of an aggregate reads, or None if it does not read exactly one.

    With `over_matches`, an aggregate may also read a single variable.
    """
    if len(call.arguments) != 1:
        _report_count(call, scope)
        return None
    (argument,) = call.arguments
    bare = _events_themselves(argument, scope)
    if bare is not None:
        return _check_bare(call, bare, scope, over_matches=over_matches)
    reads = [read for read in references(argument) if not isinstance(read, syntax.GroupAttribute)]
    # An unknown name is reported here once; binding the argument would report it again.
    known = [scope.variable(read.variable, read.span) is not None for read in reads]
    if not all(known):
        return None
    if not reads:
        _report_argument(call, f"`{call.function}` reads no list", argument.span, scope)
        return None
    for read in reads:
        if not _reads_list(call, read, scope, over_matches=over_matches):
            return None
    variables = list(dict.fromkeys(read.variable for read in reads))
    if len(variables) > 1:
        _report_several(call, variables, argument.span, scope, over_matches=over_matches)
        return None
    read_as = {read.index if read.index in _RUNNING else syntax.Index.ALL for read in reads}
    if len(read_as) > 1:
        both = " and ".join(f"`[{index}]`" for index in sorted(read_as))
        _report_argument(call, f"`{call.function}` cannot read both {both}", argument.span, scope)
        return None
    (index,) = read_as
    return ListRead(variables[0], index in _RUNNING, whole_events=False, inclusive=index is syntax.Index.THROUGH)


def _events_themselves(argument: syntax.Expression, scope: Scope) -> syntax.Elements | None:
    match argument:
        case syntax.Elements():
            return argument
        case syntax.Name(name) if name in scope.variables and name not in scope.parameters:
            return syntax.Elements(name, syntax.Index.ALL, span=argument.span)
        case _:
            return None


def _check_bare(call: syntax.Call, bare: syntax.Elements, scope: Scope, *, over_matches: bool) -> ListRead | None:
    known = scope.variables.get(bare.variable)
    if over_matches and known is not None and not known.iterated and bare.index is syntax.Index.ALL:
        help = f"write {call.function}({bare.variable}.x); count() is the number of matches"
        message = f"`{call.function}` needs an attribute of `{bare.variable}`"
        scope.problems.report("A423", message, bare.span, "an event", help)
        return None
    if scope.variable(bare.variable, bare.span) is None or not _reads_list(call, bare, scope):
        return None
    if call.function != "count":
        message = f"`{call.function}` needs an attribute of `{bare.variable}`"
        _report_argument(call, message, bare.span, scope)
        return None
    inclusive = bare.index is syntax.Index.THROUGH
    return ListRead(bare.variable, bare.index in _RUNNING, whole_events=True, inclusive=inclusive)


def _reads_list(
    call: syntax.Call, read: syntax.Attribute | syntax.Elements, scope: Scope, *, over_matches: bool = False
) -> bool:
    if not scope.variables[read.variable].iterated:
        if over_matches:
            # An index is reported when the argument is bound.
            return True
        help = f"use its value itself; only iterated variables, as `B+ {read.variable}[]`, hold a list"
        message = f"`{call.function}` needs a list, but `{read.variable}` is one event"
        scope.problems.report("A403", message, read.span, "a single event", help)
        return False
    length = isinstance(read, syntax.Attribute) and read.index is None and read.attribute == "len"
    if length or read.index not in _READ:
        _report_argument(call, f"`{call.function}` reads all elements of a list, not one", read.span, scope)
        return False
    return True


def _report_several(call: syntax.Call, variables: list[str], span: Span, scope: Scope, *, over_matches: bool) -> None:
    if not over_matches:
        _report_argument(call, f"`{call.function}` cannot read the lists {names(variables)} at once", span, scope)
        return
    help = f"aggregate one variable, as in {call.function}({variables[0]}.x); aggregates may be computed with"
    message = f"`{call.function}` cannot read {names(variables)} at once"
    scope.problems.report("A423", message, span, "not the events of one variable", help)


def _report_argument(call: syntax.Call, message: str, span: Span, scope: Scope) -> None:
    help = f"write {call.function}(b[].x) over all elements of `b`, or {call.function}(b[..i-1].x) over those before"
    scope.problems.report("A423", message, span, "not the elements of one list", help)


def _report_count(call: syntax.Call, scope: Scope) -> None:
    scalar = {"min": "least", "max": "greatest"}.get(call.function)
    help = f"write {call.function}(b[].x)"
    if call.function == "count" and not call.arguments:
        help += "; count() stands in RETURN of OUTPUT COUNT"
    if scalar is not None and len(call.arguments) > 1:
        help = f"write {scalar}(x, y) for the {'smaller' if scalar == 'least' else 'larger'} of several values"
    message = f"the aggregate `{call.function}` takes one argument, not {len(call.arguments)}"
    scope.problems.report("A316", message, call.span, "aggregate", help)
