"""Binding of expressions: from syntax to typed expressions over mapped rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import pyarrow as pa

from augury.errors import HostError, suggestion
from augury.ir.row_expression import (
    Aggregate,
    Classifier,
    ColumnValue,
    Constant,
    MatchNumber,
    Navigation,
    Operation,
    RowExpression,
)
from augury.ir.sql_aggregates import AGGREGATES
from augury.ir.sql_cast import castable
from augury.ir.sql_functions import FUNCTIONS
from augury.ir.sql_types import BIGINT, BOOLEAN, INTEGER, NULL, VARCHAR, Family, common, family, plain, sql_name
from augury.match_recognize.scope import Scope
from augury.match_recognize.syntax import (
    Cast,
    Expression,
    FunctionCall,
    Identifier,
    Literal,
    Name,
    Operator,
    Star,
    Subquery,
)
from augury.source import Span

PHYSICAL, LOGICAL, CLASSIFIER, MATCH_NUMBER = ("PREV", "NEXT"), ("FIRST", "LAST"), "CLASSIFIER", "MATCH_NUMBER"
NAVIGATION = (*PHYSICAL, *LOGICAL)
OPERATORS = frozenset({"negate", "in", "like", "case", "array", "subscript", "and", "or", "not"})
"""Entries of FUNCTIONS that are operators and not called by name."""

MAX_OFFSET = 2**31 - 1
"""Largest offset of PREV, NEXT, FIRST and LAST, in rows."""


@dataclass(frozen=True, slots=True)
class ExpressionSite:
    """The context of an expression.

    `define` says whether it is a condition. Inside FIRST, LAST, PREV or NEXT, `navigation` is the row that its columns
    are read from, apart from the variable; inside an aggregate, `aggregate` is its name. `call` is the innermost of
    these functions.
    """

    define: bool
    navigation: Navigation | None = None
    aggregate: str | None = None
    call: str = ""


class _InvalidExpression(Exception):
    """Raised once an error is noted and the expression has no type."""


def bind_value(written: Expression, scope: Scope, *, define: bool) -> RowExpression | None:
    """The typed expression, or None once errors are noted in the scope."""
    try:
        return _bind(written, scope, ExpressionSite(define))
    except _InvalidExpression:
        return None


def _bind(written: Expression, scope: Scope, place: ExpressionSite) -> RowExpression:
    match written:
        case Literal(value, type, span):
            return Constant(value, type, span)
        case Name():
            return _column(written, scope, place)
        case Star():
            help = "count(*) counts rows, count(A.*) those mapped to A"
            scope.error("A723", "`*` is an argument of count only", written.span, "", help)
            raise _InvalidExpression
        case FunctionCall():
            return _call(written, scope, place)
        case Operator(name, operands, span):
            return _operation(name, _all(operands, scope, place), scope, span)
        case Cast():
            return _cast(written, scope, place)
        case Subquery():
            return _subquery(written, scope, place)
        case _:
            assert_never(written)


def _all(written: tuple[Expression, ...], scope: Scope, place: ExpressionSite) -> tuple[RowExpression, ...]:
    """All operands bound, so that the errors of all are noted before the first is raised."""
    out, wrong = [], False
    for operand in written:
        try:
            out.append(_bind(operand, scope, place))
        except _InvalidExpression:
            wrong = True
    if wrong:
        raise _InvalidExpression
    return tuple(out)


def _column(name: Name, scope: Scope, place: ExpressionSite) -> RowExpression:
    *prefix, last = name.parts
    variables: frozenset[str] | None = None
    if len(prefix) > 1:
        shown = ".".join(p.text for p in name.parts)
        help = "write the column alone, or with one variable: A.x"
        scope.error("A712", f"`{shown}` is neither a column nor a variable's column", name.span, "", help)
        raise _InvalidExpression
    if prefix:
        variables = scope.variables(prefix[0])
        if variables is None:
            if prefix[0].text.lower() == scope.table.lower():
                help = f"the table's name is not visible here; write {last.text}, or A.{last.text} with a variable"
                scope.error("A712", f"`{prefix[0].text}` is the input table", prefix[0].span, "not a variable", help)
            else:
                scope.unknown_variable(prefix[0])
            raise _InvalidExpression
    column = scope.column(last)
    if column is None:
        scope.unknown_column(last)
        raise _InvalidExpression
    return ColumnValue(column, plain(scope.schema.field(column).type), _at(variables, place), name.span)


def _at(variables: frozenset[str] | None, place: ExpressionSite) -> Navigation | None:
    """The row that a value is read from; inside an aggregate, variables are kept until all of them are compared."""
    if place.aggregate is not None:
        return Navigation(variables)
    return replace(place.navigation or Navigation(), variables=variables)


def _call(call: FunctionCall, scope: Scope, place: ExpressionSite) -> RowExpression:
    # Quoted names are ordinary functions, so that a user-defined function may be called FIRST.
    word = "" if call.name.quoted else call.name.text.upper()
    if word in NAVIGATION:
        return _navigation(word, call, scope, place)
    if word == CLASSIFIER:
        return _classifier(call, scope, place)
    if word == MATCH_NUMBER:
        _plain_call(call, scope, "MATCH_NUMBER")
        if call.arguments:
            scope.error("A721", "MATCH_NUMBER takes no argument", call.arguments[0].span, "", "write MATCH_NUMBER()")
            raise _InvalidExpression
        return MatchNumber(BIGINT, call.span)
    name = call.name.text.lower()
    if name in AGGREGATES:
        return _aggregate(name, call, scope, place)
    return _scalar(name, call, scope, place)


def _plain_call(call: FunctionCall, scope: Scope, name: str, *, semantics: bool = False) -> None:
    """Refuse modifiers of a function that other parts of SQL allow."""
    if call.odd:
        what, span = call.odd[0]
        if what == "OVER":
            message, help = "a window function cannot stand in a row pattern", "aggregate over the rows of the match"
        else:
            message, help = f"{what} cannot be used with {name} in a row pattern", f"leave {what} out"
        scope.error("A720", message, span, "not allowed here", help)
        raise _InvalidExpression
    if call.semantics is not None and not semantics:
        message = f"{call.semantics} cannot stand before {name}"
        help = "RUNNING and FINAL stand before FIRST, LAST or an aggregate"
        scope.error("A722", message, call.span, "", help)
        raise _InvalidExpression


def _semantics(call: FunctionCall, scope: Scope, place: ExpressionSite) -> bool:
    """Whether a call has RUNNING semantics."""
    if call.semantics == "FINAL" and place.define:
        help = "a condition is tested while the match grows; its end is not known yet"
        scope.error("A722", "FINAL cannot be used in DEFINE", call.span, "not known yet", help)
        raise _InvalidExpression
    return call.semantics != "FINAL"


def _navigation(word: str, call: FunctionCall, scope: Scope, place: ExpressionSite) -> RowExpression:
    _plain_call(call, scope, word, semantics=word in LOGICAL)
    if place.aggregate is not None:
        message = f"{word} cannot stand inside the aggregate {place.aggregate}"
        scope.error("A724", message, call.span, "nested", "aggregates read the rows they aggregate and no others")
        raise _InvalidExpression
    if place.call and not (place.call in PHYSICAL and word in LOGICAL):
        message = f"{word} cannot stand inside {place.call}"
        help = "only FIRST or LAST stand inside PREV or NEXT: PREV(LAST(A.x), 2)"
        scope.error("A724", message, call.span, "nested wrongly", help)
        raise _InvalidExpression
    running = _semantics(call, scope, place)
    if not 1 <= len(call.arguments) <= 2:
        message = f"{word} takes a value and perhaps a number of rows, not {len(call.arguments)} arguments"
        scope.error("A721", message, call.span, "", f"{word}(x) or {word}(x, 2)")
        raise _InvalidExpression
    offset = _offset(word, call, scope)
    base = place.navigation or Navigation()
    if word in LOGICAL:
        navigation = replace(base, last=word == "LAST", offset=offset, running=running)
    else:
        navigation = replace(base, shift=-offset if word == "PREV" else offset)
    argument = call.arguments[0]
    nested = word in PHYSICAL and isinstance(argument, FunctionCall) and _is_logical(argument)
    if word in PHYSICAL and not nested and _has_logical(argument):
        help = f"write {word}(LAST(A.x + 1)) rather than {word}(LAST(A.x) + 1)"
        message = f"inside {word}, FIRST or LAST is the whole first argument"
        scope.error("A724", message, argument.span, "nested wrongly", help)
        raise _InvalidExpression
    inner = _bind(argument, scope, ExpressionSite(place.define, navigation, None, word))
    if not nested:
        _one_variable(argument, word, scope, need=True)
    return inner


def _is_logical(call: FunctionCall) -> bool:
    return not call.name.quoted and call.name.text.upper() in LOGICAL


def _is_classifier(call: FunctionCall) -> bool:
    return not call.name.quoted and call.name.text.upper() == CLASSIFIER


def _has_logical(written: Expression) -> bool:
    return any(isinstance(e, FunctionCall) and _is_logical(e) for e in _inside(written))


def _inside(written: Expression) -> list[Expression]:
    """The expression and all its subexpressions."""
    out: list[Expression] = []
    pending = [written]
    while pending:
        node = pending.pop()
        out.append(node)
        match node:
            case FunctionCall(_, arguments):
                # The argument of CLASSIFIER is a variable, not a column.
                pending.extend(() if _is_classifier(node) else arguments)
            case Operator(_, operands):
                pending.extend(operands)
            case Cast(operand):
                pending.append(operand)
            case Subquery(_, _, operand) if operand is not None:
                pending.append(operand)
            case _:
                pass
    return out


def _one_variable(written: Expression, call: str, scope: Scope, *, need: bool) -> frozenset[str] | None:
    """The variables that all columns and classifiers of an argument refer to, which must be the same ones."""
    found: dict[str | None, tuple[Span, frozenset[str] | None]] = {}
    for node in _inside(written):
        named: Identifier | None = None
        match node:
            case Name(parts):
                named = parts[0] if len(parts) > 1 else None
            case FunctionCall(_, arguments) if _is_classifier(node):
                named = arguments[0].parts[0] if arguments and isinstance(arguments[0], Name) else None
            case _:
                continue
        name, variables = (None, None) if named is None else (named.variable, scope.variables(named))
        found.setdefault(name, (node.span, variables))
    if len(found) > 1:
        spans = sorted(span for span, _ in found.values())
        message = f"all columns and classifiers inside {call} speak of the same variable"
        scope.error("A725", message, spans[-1], "another variable than before", "use one variable, or a SUBSET of both")
        raise _InvalidExpression
    if need and not found:
        message = f"{call} needs a column or CLASSIFIER() in its first argument"
        scope.error("A725", message, written.span, "speaks of no row", f"such as {call}(A.x)")
        raise _InvalidExpression
    return next((variables for _, variables in found.values()), None)


def _offset(word: str, call: FunctionCall, scope: Scope) -> int:
    if len(call.arguments) == 1:
        return 1 if word in PHYSICAL else 0
    written = call.arguments[1]
    if isinstance(written, Literal) and family(written.type) is Family.INTEGER and 0 <= written.value <= MAX_OFFSET:
        return int(written.value)
    message = f"the second argument of {word} is a whole number of rows, 0 or more"
    scope.error("A721", message, written.span, "", f"such as {word}(x, 2)")
    raise _InvalidExpression


def _classifier(call: FunctionCall, scope: Scope, place: ExpressionSite) -> RowExpression:
    _plain_call(call, scope, "CLASSIFIER")
    if len(call.arguments) > 1:
        scope.error("A721", "CLASSIFIER takes at most one variable", call.span, "", "CLASSIFIER() or CLASSIFIER(A)")
        raise _InvalidExpression
    variables: frozenset[str] | None = None
    if call.arguments:
        argument = call.arguments[0]
        if not isinstance(argument, Name) or len(argument.parts) != 1:
            help = "CLASSIFIER() or CLASSIFIER(A)"
            scope.error("A721", "the argument of CLASSIFIER is a variable of the pattern", argument.span, "", help)
            raise _InvalidExpression
        variables = scope.variables(argument.parts[0])
        if variables is None:
            scope.unknown_variable(argument.parts[0])
            raise _InvalidExpression
    return Classifier(_at(variables, place), VARCHAR, call.span)


def _aggregate(name: str, call: FunctionCall, scope: Scope, place: ExpressionSite) -> RowExpression:
    _plain_call(call, scope, name, semantics=True)
    if place.aggregate is not None or place.call:
        outer = place.aggregate or place.call
        help = "aggregate first, outside of it" if place.aggregate else f"{place.call} reads one row, {name} many"
        scope.error("A724", f"the aggregate {name} cannot stand inside {outer}", call.span, "nested", help)
        raise _InvalidExpression
    running = _semantics(call, scope, place)
    function = AGGREGATES[name]
    if name == "count" and (not call.arguments or any(isinstance(a, Star) for a in call.arguments)):
        return _count_rows(call, running, scope)
    arguments, limit = call.arguments, None
    if function.limited and len(arguments) == function.arguments + 1:
        last = arguments[-1]
        if not isinstance(last, Literal) or family(last.type) is not Family.INTEGER or last.value < 1:
            message = f"the last argument of {name} is how many values to keep"
            scope.error("A721", message, last.span, "", "a whole number, 1 or more")
            raise _InvalidExpression
        arguments, limit = arguments[:-1], int(last.value)
    if len(arguments) != function.arguments:
        count = function.arguments
        message = f"{name} takes {count} argument{'s' if count != 1 else ''}, not {len(call.arguments)}"
        scope.error("A721", message, call.span)
        raise _InvalidExpression
    inner = ExpressionSite(place.define, None, name, name)
    bound = _all(arguments, scope, inner)
    variables = _one_variable(Operator("and", arguments, call.span), name, scope, need=False)
    try:
        type = function.result([b.type for b in bound])
    except TypeError as e:
        scope.error("A732", f"{name} {e}", call.span)
        raise _InvalidExpression from e
    rows = tuple(_of_row(b) for b in bound)
    out = type if limit is None else pa.list_(type)
    return Aggregate(name, rows, variables, running, out, limit, call.span)


def _count_rows(call: FunctionCall, running: bool, scope: Scope) -> RowExpression:
    variables: frozenset[str] | None = None
    if call.arguments:
        star = call.arguments[0]
        if len(call.arguments) > 1 or not isinstance(star, Star):
            scope.error("A723", "`*` is the only argument of count", call.span, "", "count(*) or count(A.*)")
            raise _InvalidExpression
        if star.variable is not None:
            variables = scope.variables(star.variable)
            if variables is None:
                scope.unknown_variable(star.variable)
                raise _InvalidExpression
    return Aggregate("count", (), variables, running, BIGINT, None, call.span)


def _of_row(expression: RowExpression) -> RowExpression:
    """The argument of an aggregate, with columns read from the aggregated row."""
    match expression:
        case ColumnValue() | Classifier():
            return replace(expression, at=None)
        case Operation():
            return replace(expression, operands=tuple(map(_of_row, expression.operands)))
        case _:
            return expression


def _scalar(name: str, call: FunctionCall, scope: Scope, place: ExpressionSite) -> RowExpression:
    _plain_call(call, scope, name)
    function = None if name in OPERATORS or not name.isidentifier() else FUNCTIONS.get(name)
    if function is None:
        known = [
            n for n in (*FUNCTIONS, *AGGREGATES, *map(str.lower, NAVIGATION)) if n.isidentifier() and n not in OPERATORS
        ]
        help = suggestion(name, known)
        if call.name.quoted and call.name.text.upper() in (*NAVIGATION, CLASSIFIER, MATCH_NUMBER):
            help = f"write {call.name.text.upper()} without quotes"
        message = f"there is no function `{call.name.text}` in row patterns"
        scope.error("A713", message, call.name.span, "unknown function", help)
        raise _InvalidExpression
    stars = [a for a in call.arguments if isinstance(a, Star)]
    if stars:
        help = "count(*) counts rows, count(A.*) those mapped to A"
        scope.error("A723", "`*` is an argument of count only", stars[0].span, "", help)
        raise _InvalidExpression
    operands = _all(call.arguments, scope, place)
    if name == "if" and len(operands) == 2:
        operands = (*operands, Constant(None, NULL, call.span))
    if not function.least <= len(operands) <= (function.most or len(operands)):
        most = function.most
        takes = f"{function.least}" if most == function.least else f"{function.least} to {most or 'any number of'}"
        scope.error("A721", f"{name} takes {takes} arguments, not {len(operands)}", call.span)
        raise _InvalidExpression
    return _operation(name, operands, scope, call.span)


def _operation(name: str, operands: tuple[RowExpression, ...], scope: Scope, span: Span) -> RowExpression:
    function = FUNCTIONS[name]
    try:
        type = function.result([o.type for o in operands])
    except TypeError as e:
        message = str(e) if str(e).startswith("cannot compare") else f"`{name}` {e}"
        scope.error("A732", message, span, "", _type_help([o.type for o in operands]))
        raise _InvalidExpression from e
    return Operation(name, operands, type, span)


def _type_help(types: list[pa.DataType]) -> str:
    families = {family(t) for t in types}
    if Family.STRING in families and families & {Family.DATE, Family.TIMESTAMP}:
        return "write times as DATE '2026-03-14' or TIMESTAMP '2026-03-14 09:00:00'"
    return "CAST(... AS type) converts" if len(families) > 1 else ""


def _cast(cast: Cast, scope: Scope, place: ExpressionSite) -> RowExpression:
    operand = _bind(cast.operand, scope, place)
    if not castable(operand.type, cast.type):
        message = f"{sql_name(operand.type)} cannot be cast to {sql_name(cast.type)}"
        scope.error("A732", message, cast.span)
        raise _InvalidExpression
    out: RowExpression = Operation("try_cast" if cast.safe else "cast", (operand,), cast.type, cast.span)
    if cast.length is not None:
        first, length = Constant(1, INTEGER), Constant(cast.length, BIGINT)
        out = Operation("substr", (out, first, length), VARCHAR, cast.span)
    return out


def _subquery(query: Subquery, scope: Scope, place: ExpressionSite) -> RowExpression:
    operand = None
    if query.operand is not None:
        _no_pattern_functions(query.operand, scope)
        operand = _bind(query.operand, scope, place)
    try:
        values, type, columns = scope.answer(query.number)
    except HostError as e:
        help = "a subquery sees tables and WITH, not the rows of the match"
        scope.error("A729", f"the subquery cannot be run: {e.message.splitlines()[0]}", query.span, "", help)
        raise _InvalidExpression from e
    if query.kind != "exists" and columns != 1:
        message = f"the subquery gives {columns} columns where one is needed"
        scope.error("A709", message, query.span, "", "select one column")
        raise _InvalidExpression
    match query.kind:
        case "exists":
            return Constant(bool(values), BOOLEAN, query.span)
        case "value":
            if len(values) > 1:
                message = f"the subquery gives {len(values)} rows where one value is needed"
                scope.error("A709", message, query.span, "", "add LIMIT 1, or aggregate")
                raise _InvalidExpression
            return Constant(values[0] if values else None, plain(type), query.span)
        case _:
            assert operand is not None
            if common(operand.type, type) is None:
                message = f"cannot compare {sql_name(operand.type)} with {sql_name(type)}"
                scope.error("A732", message, query.span)
                raise _InvalidExpression
            if not values:
                return Constant(False, BOOLEAN, query.span)
            items = tuple(Constant(v, plain(type), query.span) for v in dict.fromkeys(values))
            return Operation("in", (operand, *items), BOOLEAN, query.span)


def _no_pattern_functions(written: Expression, scope: Scope) -> None:
    """Refuse IN with a subquery over pattern functions: it is computed for each row before matching."""
    for node in _inside(written):
        if isinstance(node, Name) and len(node.parts) > 1 and scope.variables(node.parts[0]) is not None:
            message = "a variable's column cannot stand on the left of IN with a subquery"
            help = f"put the test inside a navigation: LAST({node.parts[-1].text} IN (SELECT ...))"
            scope.error("A726", message, node.span, "not allowed here", help)
            raise _InvalidExpression
        if isinstance(node, FunctionCall):
            word = node.name.text.upper()
            special = not node.name.quoted and word in (*NAVIGATION, CLASSIFIER, MATCH_NUMBER)
            if special or node.name.text.lower() in AGGREGATES:
                message = f"{word} cannot stand on the left of IN with a subquery"
                help = "put the test inside it, such as LAST(x IN (SELECT ...)), or list the values"
                scope.error("A726", message, node.span, "not allowed here", help)
                raise _InvalidExpression


__all__ = ["Identifier", "bind_value"]
