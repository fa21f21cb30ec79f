"""Binding of the clauses around PATTERN: WHERE, WITHIN, OUTPUT and RETURN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from augury.bind.expressions import Clause, attribute, condition, expression, in_group, parameter
from augury.bind.scope import Scope
from augury.bind.types import in_range, nanoseconds_of
from augury.errors import names
from augury.ir import predicate as ir
from augury.ir import syntax
from augury.ir.durations import duration_nanoseconds
from augury.ir.pattern import Absent, AllOf, AnyOf, BoundEvent, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.query import RESULT_COLUMNS, TIMEOUT_COLUMNS, CountWindow, Returned, TimeWindow, Window
from augury.ir.terms import AGGREGATES, OutputMode
from augury.schema import INT, MAX_TICKS, STRING, UNITS, Kind, duration, list_of
from augury.source import Span

# -- WHERE -------------------------------------------------------------------------------------------------------------


def operands(where: syntax.Expression | None) -> Iterator[syntax.Expression]:
    """The conditions that WHERE joins by AND."""
    match where:
        case None:
            return
        case syntax.Logical("AND", parts):
            for part in parts:
                yield from operands(part)
        case _:
            yield where


def conjuncts_of(where: syntax.Expression | None, scope: Scope) -> tuple[ir.Conjunct, ...]:
    """The conditions of WHERE, each with the variables it reads."""
    order = tuple(scope.variables)
    bound = [condition(e, scope, Clause.WHERE) for e in operands(where) if not isinstance(e, syntax.Equivalence)]
    return tuple(ir.conjunct(e, order) for e in bound if e is not None)


def partition_of(where: syntax.Expression | None, scope: Scope) -> tuple[str, ...]:
    """The attributes of `[attr]`, on which all events of a match agree."""
    attributes = []
    for e in operands(where):
        if isinstance(e, syntax.Equivalence) and _is_key(e, scope):
            attributes.append(e.attribute)
    return tuple(dict.fromkeys(attributes))


def _is_key(e: syntax.Equivalence, scope: Scope) -> bool:
    type = scope.column(e.attribute, e.span)
    if type is None:
        return False
    if type.kind in (Kind.LIST, Kind.OTHER):
        help = "use an attribute that holds a number, a string, a boolean or a time"
        scope.problems.report("A317", f"events cannot agree on a value of type {type}", e.span, "cannot be equal", help)
        return False
    return True


# -- WITHIN ------------------------------------------------------------------------------------------------------------


def window_of(within: syntax.Duration | syntax.CountWindow | syntax.Name | None, scope: Scope) -> Window | None:
    """The window, in ticks of the time column or in events."""
    match within:
        case None:
            return None
        case syntax.CountWindow(events):
            if events < 1:
                _report_window("a window of no events holds no match", within.span, scope)
                return None
            return CountWindow(events)
        case syntax.Duration(nanoseconds):
            return _time_window(nanoseconds // UNITS[scope.schema.time_unit], within.span, scope)
        case syntax.Name(name):
            literal = parameter(name, within.span, scope)
            return None if literal is None else _window_parameter(literal, scope)
        case _:
            assert_never(within)


def each_of(each: syntax.Duration | syntax.Name | None, scope: Scope) -> int | None:
    """The largest distance of consecutive events in ticks (EACH)."""
    if each is not None and scope.lossy:
        _report_window("EACH goes with no THRESHOLD", each.span, scope)
        return None
    match window_of(each, scope):
        case TimeWindow(ticks):
            return ticks
        case _:
            return None


def every_of(query: syntax.Query, scope: Scope) -> int | None:
    """The smallest distance between the ends of reported matches in ticks (EVERY)."""
    mode = query.output
    if mode is not None and (mode is OutputMode.COUNT or mode.has_timeouts) and (query.every or query.once):
        word = "ONCE" if query.once else "EVERY"
        help = "write it behind a mode that reports matches alone, such as ALL or FIRST"
        span = query.span if query.every is None else query.every.span
        scope.problems.report("A435", f"OUTPUT {mode} has no {word}", span, "not every row is a match", help)
    match window_of(query.every, scope):
        case TimeWindow(ticks):
            return ticks
        case _:
            return None


def check_timeouts(query: syntax.Query, pattern: Pattern, scope: Scope) -> None:
    """Check that timeouts are used with a SEQ and a window, and that no result column has the name of one of theirs."""
    if query.output is None or not query.output.has_timeouts:
        return
    if query.within is None and query.each is None:
        help = "add WITHIN 30 minutes: a run that has led to no match by then is reported"
        scope.problems.report("A436", f"OUTPUT {query.output} needs a window", query.span, "no WITHIN", help)
    for part in groups_of(pattern):
        help = "write a SEQ, and ask for the alternatives in queries of their own"
        scope.problems.report("A436", f"OUTPUT {query.output} is for a SEQ", part.span, "no SEQ", help)
    for variable in scope.variables.values():
        if variable.name in TIMEOUT_COLUMNS and not query.returns:
            message = f"`{variable.name}` is a column of the result of OUTPUT {query.output}"
            scope.problems.report("A436", message, query.span, "a variable has its name", "rename the variable")
    for item in query.returns:
        if item.alias in TIMEOUT_COLUMNS:
            message = f"`{item.alias}` is a column of the result of OUTPUT {query.output}"
            scope.problems.report("A436", message, item.span, "name is taken", "choose another name with AS")


def groups_of(pattern: Pattern) -> Iterator[Pattern]:
    """Every AND and OR of the positive pattern."""
    match pattern:
        case AllOf() | AnyOf():
            yield pattern
        case Seq(parts):
            for part in parts:
                yield from groups_of(part)
        case Group(body=body) | OptionalPart(body):
            yield from groups_of(body)
        case Event() | Repeat() | Absent():
            pass
        case _:
            assert_never(pattern)


def _window_parameter(literal: ir.Literal, scope: Scope) -> Window | None:
    if literal.type.kind is Kind.DURATION:
        return _time_window(nanoseconds_of(literal) // UNITS[scope.schema.time_unit], literal.span, scope)
    if literal.type == INT and isinstance(literal.value, int):
        return _time_window(literal.value, literal.span, scope)
    if literal.type == STRING:
        length = duration_nanoseconds(str(literal.value))
        if length is not None:
            return _time_window(length // UNITS[scope.schema.time_unit], literal.span, scope)
    _report_window(f"a window cannot be of type {literal.type}", literal.span, scope)
    return None


def _time_window(ticks: int, span: Span, scope: Scope) -> Window | None:
    if ticks < 0:
        _report_window("a window cannot be negative", span, scope)
        return None
    literal = in_range(ticks, duration(scope.schema.time_unit), span, scope, MAX_TICKS)
    return None if literal is None else TimeWindow(ticks)


def _report_window(message: str, span: Span, scope: Scope) -> None:
    help = "write WITHIN 5 minutes or WITHIN 100 EVENTS; a parameter is a duration or a number of ticks"
    scope.problems.report("A412", message, span, "window", help)


# -- OUTPUT ------------------------------------------------------------------------------------------------------------


def event_named(written: syntax.BoundEvent | None, scope: Scope) -> BoundEvent | None:
    """The event from which NONOVERLAP FROM resumes, or to which NOT ... SINCE looks back."""
    variable = None if written is None else scope.variable(written.variable, written.span)
    if written is None or variable is None:
        return None
    if variable.negated:
        message, help = f"`{variable.name}` is negated, so no match binds it", "name a positive component"
    elif variable.iterated and written.index not in (syntax.Index.FIRST, syntax.Index.LAST):
        message, help = f"`{variable.name}` is a list", f"write {variable.name}[first] or {variable.name}[last]"
    elif not variable.iterated and written.index is not None:
        message, help = f"`{variable.name}` is one event, not a list", f"write {variable.name}"
    else:
        return BoundEvent(variable.name, written.index is syntax.Index.LAST, variable.iterated)
    scope.problems.report("A427", message, written.span, "names no event", help)
    return None


# -- RETURN ------------------------------------------------------------------------------------------------------------


def returns_of(query: syntax.Query, scope: Scope) -> tuple[Returned, ...]:
    """The items of RETURN, named and typed."""
    if query.into is not None and not query.returns:
        help = "say what the events of the new type hold: RETURN a.price AS price INTO ..."
        scope.problems.report("A420", f"INTO `{query.into}` needs a RETURN", query.span, "no RETURN", help)
    items: dict[str, Returned] = {}
    for item in _items(query, scope):
        name = _item_name(item, scope)
        counted = query.output is OutputMode.COUNT
        expr = expression(item.expression, scope, Clause.COUNTED) if counted else _item_value(item.expression, scope)
        if name is None:
            continue
        if name in items:
            help = "give it a name of its own with AS"
            scope.problems.report("A210", f"RETURN names two items `{name}`", item.span, "named again", help)
        elif expr is not None:
            items[name] = Returned(name, expr, expr.type)
    return tuple(items.values())


def _items(query: syntax.Query, scope: Scope) -> Iterator[syntax.ReturnItem]:
    """The items of RETURN, with `v.*` expanded to one item per attribute."""
    for item in query.returns:
        if not isinstance(item.expression, syntax.AllAttributes):
            yield item
            continue
        variable = scope.variable(item.expression.variable, item.span)
        if variable is not None and variable.negated:
            help = f"return attributes of positive components; a match has no `{variable.name}`"
            scope.problems.report("A418", f"`{variable.name}` is never bound", item.span, "never bound", help)
        elif variable is not None and variable.iterated:
            help = f"name the attributes: `{variable.name}.x` is the list of their values"
            message = f"`{variable.name}` holds many events, and `.*` stands for the attributes of one"
            scope.problems.report("A419", message, item.span, "many values", help)
        elif variable is not None:
            for name in scope.schema.names:
                yield syntax.ReturnItem(syntax.Attribute(variable.name, name, span=item.span), span=item.span)


def _item_name(item: syntax.ReturnItem, scope: Scope) -> str | None:
    if item.alias is not None:
        name = item.alias
    elif isinstance(item.expression, syntax.Attribute | syntax.GroupAttribute):
        name = item.expression.attribute
    else:
        scope.problems.report("A211", "this item of RETURN has no name", item.span, "unnamed", "add AS and a name")
        return None
    if name in RESULT_COLUMNS:
        help = f"choose another name with AS; the result's own columns are {names(RESULT_COLUMNS)}"
        scope.problems.report("A212", f"`{name}` is a column of every result", item.span, "name is taken", help)
        return None
    return name


def _item_value(e: syntax.Expression, scope: Scope) -> ir.Expr | None:
    if isinstance(e, syntax.Attribute) and e.index in (None, syntax.Index.EACH):
        variable = scope.variables.get(e.variable)
        if variable is not None and variable.iterated and not variable.negated and (e.index or e.attribute != "len"):
            # An attribute of all elements, as a whole item, is the list of their values.
            ref = attribute(e, scope, Clause.WHERE)
            if isinstance(ref, ir.Ref):
                return ir.Ref(ref.variable, ref.column, list_of(ref.type), ref.element, ref.default, ref.span)
            return None
    if isinstance(e, syntax.GroupAttribute) and e.round in (None, syntax.Index.EACH):
        # An attribute in every round is a list as well.
        read = in_group(e, scope, Clause.LISTED)
        return replace(read, type=list_of(read.type)) if isinstance(read, ir.InRound) else None
    if isinstance(e, syntax.Call) and e.function in AGGREGATES:
        bound = expression(e, scope, Clause.LISTED)
        match bound:
            case ir.Aggregate(running=True) | ir.InRound(round=ir.Element.EACH):
                return replace(bound, type=list_of(bound.type))
            case _:
                return bound
    return expression(e, scope, Clause.RETURN)
