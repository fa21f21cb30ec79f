"""Binding of a clause to the columns of its input; all errors of the clause are reported together."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from augury.errors import Diagnostic, QueryError
from augury.ir.row_expression import Constant, RowExpression
from augury.ir.row_pattern import (
    BoundRowPattern,
    Exclusion,
    Measure,
    Order,
    Rows,
    Skip,
    SkipTo,
    Variable,
    Within,
    parts_of,
)
from augury.ir.sql_types import DAY_SECONDS, NUMERIC, TICKS, Family, family, sql_name
from augury.match_recognize.scope import Answer, Scope
from augury.match_recognize.syntax import Clause, Expression, Identifier, Name
from augury.match_recognize.values import bind_value
from augury.source import Source, Span


def bind_clause(
    clause: Clause, schema: pa.Schema, table: str, source: Source, answer: Callable[[int], Answer]
) -> BoundRowPattern:
    """The bound row pattern of a clause for an input with these columns; `table` is a valid prefix in PARTITION BY.

    `answer` returns the result of a subquery by its number; subqueries are uncorrelated.
    """
    word = Span(clause.span.start, clause.span.start + len("MATCH_RECOGNIZE"))
    lowered = [name.lower() for name in schema.names]
    for name in schema.names:
        if lowered.count(name.lower()) > 1:
            message = f"the input has two columns named `{name.lower()}`"
            raise QueryError(
                [Diagnostic("A714", message, word, "", "rename one of them; names differ in more than their case")],
                source,
            )
    primary = tuple(dict.fromkeys(p.name for p in parts_of(clause.pattern) if isinstance(p, Variable)))
    scope = Scope(schema, table, primary, answer, source)
    _subsets(clause, scope)
    partition = tuple(_column(item, scope, "PARTITION BY") for item in clause.partition_by)
    order = tuple(
        Order(_column(item.column, scope, "ORDER BY"), item.descending, item.nulls_first) for item in clause.order_by
    )
    skip = _skip(clause, scope)
    _exclusions(clause, scope)
    conditions = _conditions(clause, scope)
    measures = _measures(clause, scope)
    within = _within(clause, order, scope)
    if not scope.diagnostics and clause.rows is Rows.ONE_ROW and not partition and not measures:
        help = "add MEASURES, PARTITION BY or ALL ROWS PER MATCH"
        scope.error("A715", "the result would have no columns", word, "", help)
    if scope.diagnostics:
        raise QueryError(scope.diagnostics, source)
    return BoundRowPattern(
        schema=schema,
        partition_by=partition,
        order_by=order,
        measures=measures,
        rows=clause.rows,
        skip=skip,
        pattern=clause.pattern,
        within=within,
        conditions=conditions,
        source=source,
    )


def _subsets(clause: Clause, scope: Scope) -> None:
    for name, members in clause.subsets:
        if name.variable in scope.primary:
            message = f"`{name.text}` is a variable of the pattern already"
            scope.error("A716", message, name.span, "cannot be a subset", "give the subset another name")
        elif name.variable in scope.unions:
            scope.error("A716", f"the subset `{name.text}` is declared twice", name.span, "declared again")
        found = set()
        for member in members:
            if member.variable in scope.primary:
                found.add(member.variable)
            else:
                scope.unknown_variable(member)
        scope.unions.setdefault(name.variable, frozenset(found))


def _column(written: Expression, scope: Scope, where: str) -> int:
    if not isinstance(written, Name) or len(written.parts) > 2:
        help = "compute it in the input: FROM (SELECT *, x + 1 AS y FROM t) MATCH_RECOGNIZE (...)"
        scope.error("A717", f"{where} takes columns of the input only", written.span, "not a column", help)
        return 0
    *prefix, name = written.parts
    if prefix and prefix[0].text.lower() != scope.table.lower():
        message = f"`{prefix[0].text}` is not the name of the input"
        scope.error("A711", message, prefix[0].span, "unknown table", f"the input is `{scope.table}`")
        return 0
    column = scope.column(name)
    if column is None:
        scope.unknown_column(name)
        return 0
    type = scope.schema.field(column).type
    if pa.types.is_nested(type):
        scope.error("A717", f"{where} cannot use `{name.text}`, which is {sql_name(type)}", written.span)
    return column


def _skip(clause: Clause, scope: Scope) -> Skip:
    if clause.skip_variable is None:
        return Skip(clause.skip)
    variables = scope.variables(clause.skip_variable)
    if variables is None:
        scope.unknown_variable(clause.skip_variable)
        return Skip()
    if clause.skip is SkipTo.FIRST or clause.skip is SkipTo.LAST:
        return Skip(clause.skip, variables, clause.skip_variable.span)
    return Skip(clause.skip)


def _exclusions(clause: Clause, scope: Scope) -> None:
    if clause.rows is not Rows.ALL_WITH_UNMATCHED:
        return
    for part in parts_of(clause.pattern):
        if isinstance(part, Exclusion):
            message = "exclusions cannot be used with ALL ROWS PER MATCH WITH UNMATCHED ROWS"
            help = "an excluded row is neither shown nor unmatched; leave out WITH UNMATCHED ROWS or the exclusion"
            scope.error("A718", message, part.span, "excluded here", help)


def _conditions(clause: Clause, scope: Scope) -> dict[str, RowExpression]:
    seen: dict[str, Identifier] = {}
    out: dict[str, RowExpression] = {}
    for name, written in clause.define:
        if name.variable in seen:
            scope.error("A716", f"`{name.text}` is defined twice", name.span, "defined again")
        elif name.variable in scope.unions:
            help = "define its members instead"
            scope.error("A716", f"`{name.text}` is a subset, which has no condition of its own", name.span, "", help)
        elif name.variable not in scope.primary:
            scope.unknown_variable(name)
        seen.setdefault(name.variable, name)
        value = bind_value(written, scope, define=True)
        if value is None:
            continue
        if family(value.type) not in (Family.BOOLEAN, Family.NULL):
            message = f"the condition of `{name.text}` is a boolean, not {sql_name(value.type)}"
            scope.error("A733", message, written.span, "not a condition")
            continue
        out[name.variable] = value
    return out


def _measures(clause: Clause, scope: Scope) -> tuple[Measure, ...]:
    out, names = [], set[str]()
    for written, name in clause.measures:
        if name.text.lower() in names:
            scope.error("A716", f"two measures are named `{name.text}`", name.span, "named again", "rename one of them")
        names.add(name.text.lower())
        value = bind_value(written, scope, define=False)
        if value is not None:
            out.append(Measure(name.text, value))
    return tuple(out)


def _within(clause: Clause, order: tuple[Order, ...], scope: Scope) -> Within | None:
    if clause.within is None:
        return None
    span = clause.within.span
    if not order:
        help = "WITHIN bounds the distance of rows in the first ORDER BY column"
        scope.error("A719", "WITHIN needs ORDER BY", span, "", help)
        return None
    value = bind_value(clause.within, scope, define=False)
    if value is None:
        return None
    column = scope.schema.field(order[0].column).type
    kind = family(column)
    distance = _distance(value, column)
    if distance is None or distance < 0:
        wants = "an interval such as INTERVAL '10' MINUTE" if kind in (Family.TIMESTAMP, Family.DATE) else "a number"
        message = f"WITHIN is {wants} here, 0 or more, since ORDER BY starts with {sql_name(column)}"
        scope.error("A719", message, span)
        return None
    return Within(distance, span)


def _distance(value: RowExpression, column: pa.DataType) -> int | float | None:
    """The distance in ticks of the column, if both fit together."""
    if not isinstance(value, Constant) or value.value is None:
        return None
    of_value, of_column = family(value.type), family(column)
    if of_value in NUMERIC and of_column in NUMERIC:
        return float(value.value) if of_value is not Family.INTEGER else int(value.value)
    if of_value is not Family.INTERVAL:
        return None
    seconds_in_ticks = TICKS[value.type.unit]
    if of_column is Family.DATE:
        return int(value.value // (seconds_in_ticks * DAY_SECONDS))
    if of_column is Family.TIMESTAMP:
        return int(value.value * TICKS[column.unit] // seconds_in_ticks)
    return None
