"""Parser of a whole MATCH_RECOGNIZE clause."""

from __future__ import annotations

from augury.ir.row_pattern import Rows, SkipTo
from augury.match_recognize.cursor import Cursor
from augury.match_recognize.expressions import ExpressionReader
from augury.match_recognize.pattern_text import read_pattern
from augury.match_recognize.syntax import Clause, Expression, Identifier, OrderItem
from augury.source import Span

CLAUSES = ("PARTITION BY", "ORDER BY", "MEASURES", "ONE ROW", "AFTER MATCH", "PATTERN", "SUBSET", "DEFINE")


def read_clause(cursor: Cursor) -> Clause:
    """The clause from the word MATCH_RECOGNIZE, which comes next, to its closing parenthesis."""
    start = cursor.advance()
    cursor.expect("(")
    expressions = ExpressionReader(cursor)
    partition = _listed(cursor, expressions) if cursor.accept("PARTITION", "BY") else []
    order = _order(cursor, expressions) if cursor.accept("ORDER", "BY") else []
    measures = _measures(cursor, expressions) if cursor.accept("MEASURES") else []
    rows_from = cursor.span
    rows = _rows(cursor)
    rows_span = rows_from if cursor.span == rows_from else rows_from | cursor.last_span
    skip, variable = _skip(cursor)
    if (modifier := cursor.accept("INITIAL") or cursor.accept("SEEK")) is not None:
        message = "INITIAL and SEEK are for windows; MATCH_RECOGNIZE always seeks"
        raise cursor.error("A706", message, modifier, "not allowed here", "leave it out")
    if cursor.text() != "PATTERN":
        raise cursor.error("A702", f"expected PATTERN, found {cursor.shown()}", cursor.span, "here", _help())
    cursor.advance()
    inside = _inside(cursor)
    pattern = read_pattern(cursor.source, inside.start, inside.end)
    within = expressions.expression() if cursor.accept("WITHIN") else None
    subsets = _subsets(cursor) if cursor.accept("SUBSET") else []
    if not cursor.accept("DEFINE"):
        help = "say at least one condition, such as DEFINE A AS true" if cursor.text() == ")" else _help()
        raise cursor.error("A702", f"expected DEFINE, found {cursor.shown()}", cursor.span, "here", help)
    define = _define(cursor, expressions)
    closed = cursor.expect(")")
    return Clause(
        partition_by=tuple(partition),
        order_by=tuple(order),
        measures=tuple(measures),
        rows=rows,
        rows_span=rows_span,
        skip=skip,
        skip_variable=variable,
        pattern=pattern,
        within=within,
        subsets=tuple(subsets),
        define=tuple(define),
        queries=tuple(expressions.queries),
        span=start | closed,
    )


def _help() -> str:
    return f"the clauses come in this order: {', '.join(CLAUSES)}"


def _listed(cursor: Cursor, expressions: ExpressionReader) -> list[Expression]:
    out = [expressions.expression()]
    while cursor.accept(","):
        out.append(expressions.expression())
    return out


def _order(cursor: Cursor, expressions: ExpressionReader) -> list[OrderItem]:
    out = []
    while True:
        column = expressions.expression()
        descending = cursor.accept("DESC") is not None
        if not descending:
            cursor.accept("ASC")
        nulls_first = False
        if cursor.accept("NULLS", "FIRST"):
            nulls_first = True
        elif cursor.text() == "NULLS":
            cursor.expect("NULLS", "LAST")
        out.append(OrderItem(column, descending, nulls_first))
        if not cursor.accept(","):
            return out


def _measures(cursor: Cursor, expressions: ExpressionReader) -> list[tuple[Expression, Identifier]]:
    out = []
    while True:
        value = expressions.expression()
        if not cursor.accept("AS"):
            help = "every measure is named: MEASURES expression AS name"
            raise cursor.error("A702", f"expected AS and a name, found {cursor.shown()}", cursor.span, "here", help)
        out.append((value, cursor.identifier("the name of a measure")))
        if not cursor.accept(","):
            return out


def _rows(cursor: Cursor) -> Rows:
    if cursor.accept("ONE", "ROW", "PER", "MATCH"):
        return Rows.ONE_ROW
    if not cursor.accept("ALL", "ROWS", "PER", "MATCH"):
        return Rows.ONE_ROW
    if cursor.accept("OMIT", "EMPTY", "MATCHES"):
        return Rows.ALL_OMIT_EMPTY
    if cursor.accept("WITH", "UNMATCHED", "ROWS"):
        return Rows.ALL_WITH_UNMATCHED
    cursor.accept("SHOW", "EMPTY", "MATCHES")
    return Rows.ALL_SHOW_EMPTY


def _skip(cursor: Cursor) -> tuple[SkipTo, Identifier | None]:
    if not cursor.accept("AFTER", "MATCH"):
        return SkipTo.PAST_LAST_ROW, None
    cursor.expect("SKIP")
    if cursor.accept("PAST", "LAST", "ROW"):
        return SkipTo.PAST_LAST_ROW, None
    cursor.expect("TO")
    if cursor.accept("NEXT", "ROW"):
        return SkipTo.NEXT_ROW, None
    if (
        cursor.text() in ("FIRST", "LAST")
        and cursor.is_name(1)
        and cursor.text(1) not in ("PATTERN", "INITIAL", "SEEK")
    ):
        to = SkipTo.FIRST if cursor.text() == "FIRST" else SkipTo.LAST
        cursor.advance()
        return to, cursor.identifier("a pattern variable")
    return SkipTo.LAST, cursor.identifier("NEXT ROW or a pattern variable")


def _inside(cursor: Cursor) -> Span:
    """The text between the parentheses of PATTERN; quoted names may hold parentheses of their own."""
    opened = cursor.expect("(")
    depth = 1
    while not cursor.at_end:
        depth += {"(": 1, ")": -1}.get(cursor.text(), 0)
        place = cursor.advance()
        if depth == 0:
            return Span(opened.end, place.start)
    raise cursor.error("A703", "`(` of PATTERN is not closed", opened, "opened here", "add `)`")


def _subsets(cursor: Cursor) -> list[tuple[Identifier, tuple[Identifier, ...]]]:
    out = []
    while True:
        name = cursor.identifier("the name of a subset")
        cursor.expect("=")
        cursor.expect("(")
        members = [cursor.identifier("a pattern variable")]
        while cursor.accept(","):
            members.append(cursor.identifier("a pattern variable"))
        cursor.expect(")")
        out.append((name, tuple(members)))
        if not cursor.accept(","):
            return out


def _define(cursor: Cursor, expressions: ExpressionReader) -> list[tuple[Identifier, Expression]]:
    out = []
    while True:
        name = cursor.identifier("a pattern variable")
        cursor.expect("AS")
        out.append((name, expressions.expression()))
        if not cursor.accept(","):
            return out
