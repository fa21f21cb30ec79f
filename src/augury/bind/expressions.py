"""Binding of expressions: names are resolved, operands are typed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import assert_never

from augury.arguments import shown
from augury.bind.aggregates import check_argument, result_type
from augury.bind.counted import completes, is_over_matches
from augury.bind.rounds import check_rounds, references, round_of, value_in_round
from augury.bind.scope import Scope
from augury.bind.types import aligned_to_finest, comparable, compared, computed, in_range, is_condition, negated
from augury.bind.values import coarsest, parameter_literal
from augury.errors import names, suggestion
from augury.ir import predicate as ir
from augury.ir import syntax
from augury.ir.functions import BUILTINS, INTERNAL
from augury.ir.query import Variable
from augury.ir.terms import AGGREGATES
from augury.printable import lone_surrogate
from augury.schema import BOOL, FLOAT, INT, NULL, STRING, duration
from augury.source import Span

MAX_COMPARED_VALUES = 16
"""Values of an IN up to which each is compared, which is faster than a search among few."""


class Clause(Enum):
    """The clause around an expression, which decides what it may refer to."""

    WHERE = auto()
    RETURN = auto()
    LISTED = auto()
    """An item of RETURN that is a running aggregate, whose result is a list."""
    COUNTED = auto()
    """RETURN of OUTPUT COUNT, which reads all matches of an event."""
    AGGREGATE = auto()


_ELEMENTS = {
    None: ir.Element.EACH,
    syntax.Index.EACH: ir.Element.EACH,
    syntax.Index.PREVIOUS: ir.Element.PREVIOUS,
    syntax.Index.FIRST: ir.Element.FIRST,
    syntax.Index.LAST: ir.Element.LAST,
}


def expression(e: syntax.Expression, scope: Scope, place: Clause) -> ir.Expr | None:
    """The bound form of `e`, or None after an error has been reported."""
    span = e.span
    match e:
        case syntax.Number(value):
            return ir.Literal(value, INT if isinstance(value, int) else FLOAT, span)
        case syntax.Text(text):
            return ir.Literal(text, STRING, span)
        case syntax.Boolean(truth):
            return ir.Literal(truth, BOOL, span)
        case syntax.Null():
            return ir.Literal(None, NULL, span)
        case syntax.Duration(nanoseconds):
            ticks, unit = coarsest(nanoseconds)
            return in_range(ticks, duration(unit), span, scope)
        case syntax.Name(name):
            return parameter(name, span, scope)
        case syntax.Elements(variable):
            _report_elements(variable, span, scope)
            return None
        case syntax.AllAttributes(variable):
            # The grammar allows it as an item of RETURN only, where it is expanded to one item per attribute.
            _report_elements(variable, span, scope)
            return None
        case syntax.Attribute():
            ref = attribute(e, scope, place)
            return ref if ref is None or place is not Clause.COUNTED or completes(ref, scope) else None
        case syntax.GroupAttribute():
            return in_group(e, scope, place)
        case syntax.Unary("NOT", operand):
            inner = condition(operand, scope, place)
            return None if inner is None else ir.Not(inner, span=span)
        case syntax.Unary(_, operand):
            inner = expression(operand, scope, place)
            return None if inner is None else negated(inner, span, scope)
        case syntax.Binary(operator, left, right):
            first, second = expression(left, scope, place), expression(right, scope, place)
            if first is None or second is None:
                return None
            return (computed if operator in "+-*/%" else compared)(operator, first, second, span, scope)
        case syntax.Logical(operator, operands):
            conditions = _all([condition(o, scope, place) for o in operands])
            if conditions is None:
                return None
            return ir.And(conditions, span=span) if operator == "AND" else ir.Or(conditions, span=span)
        case syntax.In():
            return _negated_if(e.negated, _member(e, scope, place))
        case syntax.Between():
            return _negated_if(e.negated, _between(e, scope, place))
        case syntax.IsNull(operand, is_negated):
            inner = expression(operand, scope, place)
            return _negated_if(is_negated, None if inner is None else ir.IsNull(inner, span=span))
        case syntax.Call(function, _) if function in AGGREGATES:
            return _aggregate(e, scope, place)
        case syntax.Call():
            return _call(e, scope, place)
        case syntax.Equivalence(name):
            help = f"put `[{name}]` beside the other conditions, joined by AND"
            message = f"`[{name}]` holds for the whole match, so it cannot be part of another condition"
            scope.problems.report("A410", message, span, "not on its own", help)
            return None
        case _:
            assert_never(e)


def condition(e: syntax.Expression, scope: Scope, place: Clause) -> ir.Expr | None:
    """The bound form of `e` where a boolean is needed."""
    bound = expression(e, scope, place)
    return bound if bound is not None and is_condition(bound, scope) else None


def _all(bound: Iterable[ir.Expr | None]) -> tuple[ir.Expr, ...] | None:
    """Every expression, or None if one could not be bound."""
    bound = list(bound)
    known = tuple(e for e in bound if e is not None)
    return known if len(known) == len(bound) else None


def _negated_if(negate: bool, e: ir.Expr | None) -> ir.Expr | None:
    return ir.Not(e, span=e.span) if negate and e is not None else e


# -- names -------------------------------------------------------------------------------------------------------------


def parameter(name: str, span: Span, scope: Scope) -> ir.Literal | None:
    """The value that the caller gave the parameter `name`."""
    if name in scope.parameters:
        literal = parameter_literal(scope.parameters[name], span)
        if literal is not None and isinstance(literal.value, str) and lone_surrogate(literal.value) is not None:
            message = f"the parameter `{name}` holds half of a surrogate pair, which is no character"
            scope.problems.report("A291", message, span, "parameter", "was its value decoded as UTF-8?")
            return None
        if literal is None:
            help = "a parameter is a boolean, a number, a string, a timedelta, a datetime or a list of numbers"
            message = f"the parameter `{name}` cannot be {shown(scope.parameters[name])}"
            scope.problems.report("A309", message, span, "parameter", help)
        return literal
    if name in scope.variables:
        help = f"write `{name}.attribute`"
        scope.problems.report("A206", f"`{name}` is an event, not a value", span, "needs an attribute", help)
        return None
    given = f"; given are {names(scope.parameters)}" if scope.parameters else ""
    help = f"give its value: parameters={{{name!r}: ...}}{given}"
    scope.problems.report("A205", f"the parameter `{name}` has no value", span, "unknown parameter", help)
    return None


def attribute(e: syntax.Attribute, scope: Scope, place: Clause) -> ir.Expr | None:
    """The bound form of `x.price`, `b[i].price`, `b.len` or `x.id[y.id]`."""
    variable = scope.variable(e.variable, e.span)
    if variable is None:
        return None
    if not _is_in_match(variable, e.span, scope, place):
        return None
    if variable.iterated and e.index is None and e.attribute == "len":
        return ir.ListLength(variable.name, span=e.span)
    if scope.is_group(variable.name):
        _report_group(variable.name, e.span, scope)
        return None
    element = _element(e, variable, scope, place)
    type = scope.column(e.attribute, e.span)
    if element is None or type is None:
        return None
    ref = ir.Ref(variable.name, e.attribute, type, element, span=e.span)
    return ref if e.default is None else _with_default(ref, e.default, scope, place)


def in_group(e: syntax.GroupAttribute, scope: Scope, place: Clause) -> ir.Expr | None:
    """The bound form of `g[i].b.price`; an aggregate around it decides which rounds are read."""
    value = value_in_round(e, scope, aggregated=place is Clause.AGGREGATE)
    if value is None or not _is_in_match(scope.variables[e.variable], e.span, scope, place):
        return None
    if place is Clause.AGGREGATE:
        return value
    round = round_of(e, scope)
    return None if round is None else _of_round(ir.InRound(e.group, round, value, value.type, e.span), scope, place)


def _of_round(read: ir.InRound, scope: Scope, place: Clause) -> ir.InRound | None:
    """The value read in a round, if there is exactly one per round."""
    if place is Clause.COUNTED:
        completes(read, scope)
        return None
    many = (ir.Element.PREVIOUS,) if place is Clause.LISTED else (ir.Element.EACH, ir.Element.PREVIOUS)
    if place is not Clause.WHERE and read.round in many:
        message = f"RETURN computes one value a match, but `{read.group}` has many rounds"
        help = f"return it alone as a list, an aggregate over `{read.group}[]`, or the value of `{read.group}[last]`"
        scope.problems.report("A419", message, read.span, "many values", help)
        return None
    return read


def _report_group(group: str, span: Span, scope: Scope) -> None:
    inside = scope.inside(group)
    help = f"name a variable of a round: `{group}[i].{inside[0]}.x`; the variables of `{group}` are {names(inside)}"
    scope.problems.report("A441", f"`{group}` is a group, and its rounds hold several events", span, "a group", help)


def _is_in_match(variable: Variable, span: Span, scope: Scope, place: Clause) -> bool:
    if place not in (Clause.RETURN, Clause.LISTED, Clause.COUNTED) or not variable.negated:
        return True
    help = f"return attributes of positive components; a match has no `{variable.name}`"
    scope.problems.report("A418", f"`{variable.name}` stands inside a NOT", span, "never bound", help)
    return False


def _element(e: syntax.Attribute, variable: Variable, scope: Scope, place: Clause) -> ir.Element | ir.Nth | None:
    """The element of its variable that `e` reads, or None if it is not allowed."""
    if not variable.iterated:
        if e.index is None:
            return ir.Element.SINGLE
        _report_index(e.variable, e.attribute, e.span, scope)
        return None
    if place is Clause.AGGREGATE:
        return ir.Element.EACH
    if isinstance(e.index, syntax.NthIndex):
        return ir.Nth(e.index.number)
    if e.index not in _ELEMENTS:
        _report_list(e.variable, e.span, scope)
        return None
    element = _ELEMENTS[e.index]
    if place is Clause.RETURN and element in (ir.Element.EACH, ir.Element.PREVIOUS):
        scope.problems.report(
            "A419",
            f"RETURN computes one value a match, but `{variable.name}` holds many events",
            e.span,
            "many values",
            f"return `{variable.name}.{e.attribute}` alone as a list, or an aggregate such as "
            f"avg({variable.name}[].{e.attribute})",
        )
        return None
    return element


def _report_index(variable: str, attribute: str | None, span: Span, scope: Scope) -> None:
    help = f"write `{variable}.{attribute}`" if attribute else f"write `{variable}.attribute`"
    scope.problems.report("A401", f"`{variable}` is one event, so it has no index", span, "index", help)


def _report_list(variable: str, span: Span, scope: Scope) -> None:
    help = f"write `{variable}[i].x` for each element, or an aggregate such as avg({variable}[].x)"
    scope.problems.report("A402", "a list of elements stands only inside an aggregate", span, "many values", help)


def _report_elements(variable: str, span: Span, scope: Scope) -> None:
    """Report `b[]` without an attribute: it is a value only inside count, which handles it earlier."""
    known = scope.variable(variable, span)
    if known is not None:
        if known.iterated:
            _report_list(variable, span, scope)
        else:
            _report_index(variable, None, span, scope)


def _with_default(ref: ir.Ref, default: syntax.Expression, scope: Scope, place: Clause) -> ir.Expr | None:
    if not scope.lossy:
        help = f"write `{ref.variable}.{ref.column}`, or add a THRESHOLD"
        message = "a value for a missing event has a meaning only with THRESHOLD"
        scope.problems.report("A415", message, ref.span, "no event can be missing", help)
        return None
    value = expression(default, scope, place)
    if value is None:
        return None
    pair = comparable(ref, value, ref.span, scope)
    if pair is None:
        return None
    if pair[0] != ref:
        message = f"the value for a missing event is finer than {ref.type}"
        help = "give a value in the unit of the attribute"
        scope.problems.report("A314", message, ref.span, "does not fit the attribute", help)
        return None
    return ir.Ref(ref.variable, ref.column, ref.type, ref.element, pair[1], ref.span)


# -- conditions --------------------------------------------------------------------------------------------------------


def _listed(operand: ir.Expr, items: list[ir.Expr], span: Span) -> ir.Member:
    """The test for one of `items`, whose constants are kept apart if there are many."""
    listed = tuple(i for i in items if isinstance(i, ir.Literal))
    if len(listed) <= MAX_COMPARED_VALUES:
        return ir.Member(operand, tuple(items), span=span)
    return ir.Member(operand, tuple(i for i in items if not isinstance(i, ir.Literal)), listed, span=span)


def _member(e: syntax.In, scope: Scope, place: Clause) -> ir.Expr | None:
    operand = expression(e.operand, scope, place)
    items = _all([expression(item, scope, place) for item in e.items])
    if operand is None or items is None:
        return None
    pairs = [comparable(operand, item, item.span, scope) for item in items]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    if all(left == known[0][0] for left, _ in known):
        return _listed(known[0][0], [right for _, right in known], e.span)
    # The items require the operand in different units.
    return ir.Or(tuple(ir.Compare("=", left, right, span=e.span) for left, right in known), span=e.span)


def _between(e: syntax.Between, scope: Scope, place: Clause) -> ir.Expr | None:
    bound = _all([expression(part, scope, place) for part in (e.operand, e.low, e.high)])
    if bound is None:
        return None
    operand, low, high = bound
    ends = _all([compared(">=", operand, low, e.span, scope), compared("<=", operand, high, e.span, scope)])
    return None if ends is None else ir.And(ends, span=e.span)


# -- calls -------------------------------------------------------------------------------------------------------------


def _aggregate(e: syntax.Call, scope: Scope, place: Clause) -> ir.Expr | None:
    if place is Clause.AGGREGATE:
        help = "aggregate the elements themselves"
        scope.problems.report("A404", "an aggregate inside an aggregate", e.span, "nested", help)
        return None
    counted = place is Clause.COUNTED
    if counted and not is_over_matches(e, scope):
        return None
    if counted and e.function == "count" and not e.arguments:
        return ir.Aggregate("count", "", None, False, INT, e.span)
    if len(e.arguments) == 1 and any(isinstance(r, syntax.GroupAttribute) for r in references(e.arguments[0])):
        return _aggregate_in_group(e, scope, place)
    read = check_argument(e, scope, over_matches=counted)
    if read is None:
        return None
    if read.running and scope.is_group(read.variable):
        help = f"aggregate all rounds, as in {e.function}({read.variable}[]...)"
        scope.problems.report("A441", "a running aggregate is not taken over rounds", e.span, "running aggregate", help)
        return None
    if read.running and place in (Clause.RETURN, Clause.COUNTED):
        help = f"return it alone, as a list, or aggregate the whole list: {e.function}({read.variable}[]...)"
        message = "a running aggregate has a value for each element, and cannot be computed with in RETURN"
        scope.problems.report("A422", message, e.span, "running aggregate", help)
        return None
    if not _is_in_match(scope.variables[read.variable], e.arguments[0].span, scope, place):
        return None
    if read.whole_events:
        return ir.Aggregate(e.function, read.variable, None, read.running, INT, e.span, read.inclusive)
    argument = expression(e.arguments[0], scope, Clause.AGGREGATE)
    if argument is None:
        return None
    type = result_type(e.function, argument.type)
    if type is None:
        _report_not_aggregated(e, argument, scope)
        return None
    return ir.Aggregate(e.function, read.variable, argument, read.running, type, e.span, read.inclusive)


def _aggregate_in_group(e: syntax.Call, scope: Scope, place: Clause) -> ir.Expr | None:
    """The bound form of `sum(g[].b.x)`, over all rounds, or `sum(g[i].c[].x)`, over a list in each."""
    read = check_rounds(e, scope)
    argument = None if read is None else expression(e.arguments[0], scope, Clause.AGGREGATE)
    if read is None or argument is None:
        return None
    inside = ir.variables(argument)
    if not all(_is_in_match(scope.variables[v], e.span, scope, place) for v in sorted(inside)):
        return None
    if place is Clause.COUNTED and (len(inside) > 1 or read.round is not None or not ir.reads_each(argument)):
        help = f"aggregate the events of one variable, as in {e.function}({read.group}[].{min(inside)}.x)"
        message = "over all matches of an event an aggregate reads the events of one variable"
        scope.problems.report("A421", message, e.span, "OUTPUT COUNT", help)
        return None
    type = result_type(e.function, argument.type)
    if type is None:
        _report_not_aggregated(e, argument, scope)
        return None
    if read.round is None:
        return ir.Aggregate(e.function, read.group, argument, False, type, e.span, rounds=True)
    assert read.elements is not None
    over_list = ir.Aggregate(e.function, read.elements, argument, False, type, e.span)
    return _of_round(ir.InRound(read.group, read.round, over_list, type, e.span), scope, place)


def _report_not_aggregated(e: syntax.Call, argument: ir.Expr, scope: Scope) -> None:
    help = "sum, avg and stddev take numbers (sum also durations); min and max take what has an order"
    message = f"`{e.function}` does not take {argument.type}"
    scope.problems.report("A315", message, argument.span, "cannot be aggregated", help)


def _call(e: syntax.Call, scope: Scope, place: Clause) -> ir.Expr | None:
    arguments = _all([expression(a, scope, place) for a in e.arguments])
    count = len(e.arguments)
    if e.function in scope.functions:
        registered = scope.functions[e.function]
        if not registered.takes(count):
            report_count(e, f"{registered.name}{registered.signature}", scope)
            return None
        if registered.result is None:
            help = f"annotate it: def {registered.name}(...) -> float, or bool, int, str"
            message = f"the result of `{registered.name}` has no known type"
            scope.problems.report("A310", message, e.span, "registered function", help)
            return None
        return None if arguments is None else ir.Call(e.function, arguments, registered.result, e.span)
    builtin = BUILTINS.get(e.function)
    if builtin is None:
        known = [*(f for f in BUILTINS if f not in INTERNAL), *AGGREGATES, *scope.functions]
        help = suggestion(e.function, known)
        place_of_name = scope.word(e.function, e.span)
        scope.problems.report("A204", f"there is no function `{e.function}`", place_of_name, "unknown function", help)
        return None
    if count < builtin.least or (builtin.most is not None and count > builtin.most):
        report_count(e, builtin.usage, scope)
        return None
    if arguments is None:
        return None
    aligned = aligned_to_finest(list(arguments), scope)
    if aligned is None:
        return None
    type = builtin.result(tuple(a.type for a in aligned))
    if type is None:
        given = ", ".join(str(a.type) for a in aligned)
        message = f"`{e.function}` does not take ({given})"
        scope.problems.report("A304", message, e.span, "wrong types", f"write {builtin.usage}")
        return None
    return ir.Call(e.function, tuple(aligned), type, e.span)


def report_count(e: syntax.Call, usage: str, scope: Scope) -> None:
    """Report a call with too few or too many arguments."""
    noun = "argument" if len(e.arguments) == 1 else "arguments"
    message = f"`{e.function}` does not take {len(e.arguments)} {noun}"
    scope.problems.report("A305", message, e.span, "wrong number of arguments", f"write {usage}")
