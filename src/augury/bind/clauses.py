"""The clauses around PATTERN: WHERE, WITHIN, OUTPUT and RETURN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from augury.bind.expressions import Clause, attribute, condition, expression, parameter
from augury.bind.scope import Scope
from augury.bind.types import in_range, nanoseconds_of
from augury.errors import names
from augury.ir import predicate as ir
from augury.ir import syntax
from augury.ir.durations import duration_nanoseconds
from augury.ir.query import RESULT_COLUMNS, CountWindow, Returned, TimeWindow, Window
from augury.ir.terms import OutputMode, Strategy
from augury.schema import INT, STRING, UNITS, Kind, duration, list_of
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
    """The attributes that `[attr]` makes all events of a match agree on."""
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


def check_strategy(query: syntax.Query, scope: Scope) -> None:
    """The variables listed with the strategy are those of PATTERN, and contiguity has its partitions."""
    partitioned = any(isinstance(e, syntax.Equivalence) for e in operands(query.where))
    if query.strategy is Strategy.PARTITION_CONTIGUITY and not partitioned:
        span = query.span if query.where is None else query.where.span
        help = "say what a partition is: partition_contiguity { [symbol] AND ... }"
        scope.problems.report("A411", "partition_contiguity needs an `[attr]`", span, "no partition given", help)
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
        span = query.listed[0].span | query.listed[-1].span if query.listed else query.span
        _report_listed(f"the list of the strategy leaves out {names(missing)}", span, help, scope)


def _report_listed(message: str, span: Span, help: str, scope: Scope) -> None:
    scope.problems.report("A209", message, span, "does not agree with PATTERN", help)


# -- WITHIN ------------------------------------------------------------------------------------------------------------


def window_of(within: syntax.Duration | syntax.CountWindow | syntax.Name | None, scope: Scope) -> Window | None:
    """The window, in ticks of the stream's clock or in events."""
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
    literal = in_range(ticks, duration(scope.schema.time_unit), span, scope)
    return None if literal is None else TimeWindow(ticks)


def _report_window(message: str, span: Span, scope: Scope) -> None:
    help = "write WITHIN 5 minutes or WITHIN 100 EVENTS; a parameter is a duration or a number of ticks"
    scope.problems.report("A412", message, span, "window", help)


# -- RETURN ------------------------------------------------------------------------------------------------------------


def returns_of(query: syntax.Query, scope: Scope) -> tuple[Returned, ...]:
    """The items of RETURN, named and typed."""
    if query.into is not None and not query.returns:
        help = "say what the events of the new type hold: RETURN a.price AS price INTO ..."
        scope.problems.report("A420", f"INTO `{query.into}` needs a RETURN", query.span, "no RETURN", help)
    items: dict[str, Returned] = {}
    for item in query.returns:
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


def _item_name(item: syntax.ReturnItem, scope: Scope) -> str | None:
    if item.alias is not None:
        name = item.alias
    elif isinstance(item.expression, syntax.Attribute):
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
            # An attribute of all elements, as the whole of an item, is the list of their values.
            ref = attribute(e, scope, Clause.WHERE)
            if isinstance(ref, ir.Ref):
                return ir.Ref(ref.variable, ref.column, list_of(ref.type), ref.element, ref.default, ref.span)
            return None
    return expression(e, scope, Clause.RETURN)
