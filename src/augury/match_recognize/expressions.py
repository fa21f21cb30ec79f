"""Parser of expressions in MEASURES and DEFINE, by precedence climbing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
from sqlglot import TokenType, exp

from augury.ir.sql_cast import convert
from augury.ir.sql_scalar import BadValue
from augury.ir.sql_times import FIELDS
from augury.ir.sql_types import BIGINT, BOOLEAN, DAY_SECONDS, DOUBLE, INTEGER, INTERVAL, MONTHS, NULL, VARCHAR
from augury.match_recognize.cursor import Cursor
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

MAX_NESTED = 60
"""Nested expressions at most; each level takes a dozen Python frames to parse."""

COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

UNIT_MICROS = {
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY_SECONDS * 1_000_000,
    "WEEK": 7 * DAY_SECONDS * 1_000_000,
}
UNIT_MONTHS = {"MONTH": 1, "YEAR": 12}

RESERVED = {"AS", "AND", "OR", "THEN", "ELSE", "END", "WHEN", "FROM", "SELECT", "ON", "IN", "IS", "BETWEEN", "LIKE"}


class ExpressionReader:
    """Parses expressions and collects the subqueries in them."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.queries: list[exp.Query] = []
        self.depth = 0

    def expression(self) -> Expression:
        """Parse an expression, starting with OR, the operator of lowest precedence."""
        self.depth += 1
        if self.depth > MAX_NESTED:
            raise self.cursor.error("A704", f"the expression nests more than {MAX_NESTED} deep", self.cursor.span)
        out = self._chain("OR", self._conjunction)
        self.depth -= 1
        return out

    def _conjunction(self) -> Expression:
        return self._chain("AND", self._negation)

    def _chain(self, word: str, read: Callable[[], Expression]) -> Expression:
        operands = [read()]
        while self.cursor.accept(word):
            operands.append(read())
        if len(operands) == 1:
            return operands[0]
        return Operator(word.lower(), tuple(operands), operands[0].span | operands[-1].span)

    def _negation(self) -> Expression:
        signs = []
        while (span := self.cursor.accept("NOT")) is not None:
            signs.append(span)
        out = self._predicate()
        for span in reversed(signs):
            out = Operator("not", (out,), span | out.span)
        return out

    def _predicate(self) -> Expression:
        left = self._sum()
        while True:
            comparison = COMPARISONS.get(self.cursor.text())
            if comparison is not None:
                self.cursor.advance()
                right = self._sum()
                left = Operator(comparison, (left, right), left.span | right.span)
                continue
            if self.cursor.accept("IS"):
                left = self._is(left)
                continue
            negated = self.cursor.text() == "NOT" and self.cursor.text(1) in ("IN", "LIKE", "BETWEEN")
            if not negated and self.cursor.text() not in ("IN", "LIKE", "BETWEEN"):
                return left
            if negated:
                self.cursor.advance()
            left = self._test(left)
            if negated:
                left = Operator("not", (left,), left.span)

    def _is(self, left: Expression) -> Expression:
        cursor = self.cursor
        negated = cursor.accept("NOT") is not None
        out: Expression
        if (span := cursor.accept("NULL") or cursor.accept("UNKNOWN")) is not None:
            out = Operator("is null", (left,), left.span | span)
        elif (span := cursor.accept("TRUE")) is not None:
            out = Operator("is true", (left,), left.span | span)
        elif (span := cursor.accept("FALSE")) is not None:
            out = Operator("is false", (left,), left.span | span)
        elif cursor.accept("DISTINCT", "FROM"):
            right = self._sum()
            out = Operator("is distinct from", (left, right), left.span | right.span)
        else:
            message = f"expected NULL, TRUE, FALSE or DISTINCT FROM after IS, found {cursor.shown()}"
            raise cursor.error("A702", message, cursor.span, "here")
        return Operator("not", (out,), out.span) if negated else out

    def _test(self, left: Expression) -> Expression:
        cursor = self.cursor
        if cursor.accept("BETWEEN"):
            low = self._sum()
            cursor.expect("AND")
            high = self._sum()
            both = (
                Operator(">=", (left, low), left.span | low.span),
                Operator("<=", (left, high), left.span | high.span),
            )
            return Operator("and", both, left.span | high.span)
        if cursor.accept("LIKE"):
            pattern = self._sum()
            escape = (self._sum(),) if cursor.accept("ESCAPE") else ()
            return Operator("like", (left, pattern, *escape), left.span | cursor.last_span)
        cursor.expect("IN")
        opened = cursor.expect("(")
        if cursor.text() in ("SELECT", "WITH", "VALUES", "TABLE"):
            number = self._query(opened)
            return Subquery(number, "in", left, left.span | cursor.last_span)
        items = [self.expression()]
        while cursor.accept(","):
            items.append(self.expression())
        cursor.expect(")")
        return Operator("in", (left, *items), left.span | cursor.last_span)

    def _sum(self) -> Expression:
        left = self._product()
        while (sign := self.cursor.text()) in ("+", "-", "||"):
            self.cursor.advance()
            right = self._product()
            left = Operator(sign, (left, right), left.span | right.span)
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while (sign := self.cursor.text()) in ("*", "/", "%"):
            self.cursor.advance()
            right = self._signed()
            left = Operator(sign, (left, right), left.span | right.span)
        return left

    def _signed(self) -> Expression:
        signs: list[Span] = []
        while self.cursor.text() in ("+", "-"):
            minus = self.cursor.text() == "-"
            span = self.cursor.advance()
            if minus:
                signs.append(span)
            if len(signs) > MAX_NESTED:
                raise self.cursor.error("A704", f"more than {MAX_NESTED} signs in a row", span)
        out = self._postfix()
        for span in reversed(signs):
            out = Operator("negate", (out,), span | out.span)
        return out

    def _postfix(self) -> Expression:
        out = self._primary()
        while True:
            if self.cursor.accept("["):
                index = self.expression()
                self.cursor.expect("]")
                out = Operator("subscript", (out, index), out.span | self.cursor.last_span)
            elif self.cursor.accept("::"):
                type, length = self._type()
                out = Cast(out, type, length, False, out.span | self.cursor.last_span)
            else:
                return out

    def _primary(self) -> Expression:
        cursor = self.cursor
        match cursor.kind():
            case TokenType.NUMBER:
                return self._number()
            case TokenType.STRING:
                value = cursor.token.text
                return Literal(value, VARCHAR, cursor.advance())
        if cursor.text() == "." and cursor.kind(1) is TokenType.NUMBER:
            cursor.advance()
            return self._number("0.")
        span = cursor.span
        match cursor.text():
            case "TRUE" | "FALSE":
                return Literal(cursor.text() == "TRUE", BOOLEAN, cursor.advance())
            case "NULL":
                return Literal(None, NULL, cursor.advance())
            case "(":
                return self._parenthesis()
            case "*":
                return Star(None, cursor.advance())
            case "CASE":
                return self._case()
            case "CAST" | "TRY_CAST" if cursor.text(1) == "(":
                return self._cast()
            case "EXTRACT" if cursor.text(1) == "(":
                return self._extract()
            case "EXISTS" if cursor.text(1) == "(":
                cursor.advance()
                return Subquery(self._query(cursor.advance()), "exists", None, span | cursor.last_span)
            case "ARRAY" if cursor.text(1) == "[":
                return self._array()
            case "INTERVAL" if cursor.kind(1) in (TokenType.STRING, TokenType.NUMBER) or cursor.text(1) == "-":
                return self._interval()
            case "DATE" | "TIMESTAMP" if cursor.kind(1) is TokenType.STRING:
                return self._time()
            case "RUNNING" | "FINAL" if cursor.is_name(1) and cursor.text(2) == "(":
                semantics = cursor.text()
                cursor.advance()
                return self._call(semantics, span)
        if cursor.is_name() and (cursor.text() not in RESERVED):
            return self._call(None, span) if cursor.text(1) == "(" else self._name()
        raise cursor.error("A702", f"expected an expression, found {cursor.shown()}", cursor.span, "here")

    def _number(self, before: str = "") -> Expression:
        span, text = self.cursor.span, before + self.cursor.token.text
        self.cursor.advance()
        plain = text.replace("_", "")
        if re.fullmatch(r"\d+", plain) and len(plain) <= 19:
            value = int(plain)
            if value < 2**63:
                return Literal(value, INTEGER if value < 2**31 else BIGINT, span)
        if re.fullmatch(r"\d*\.?\d*", plain) and len(plain) <= 38:
            number = Decimal(plain)
            scale = max(0, -int(number.as_tuple().exponent))
            return Literal(number, pa.decimal128(max(1, scale, len(number.as_tuple().digits)), scale), span)
        try:
            return Literal(float(plain), DOUBLE, span)
        except ValueError:
            raise self.cursor.error("A702", f"`{text}` is not a number", span) from None

    def _parenthesis(self) -> Expression:
        cursor = self.cursor
        opened = cursor.advance()
        if cursor.text() in ("SELECT", "WITH", "VALUES"):
            return Subquery(self._query(opened), "value", None, opened | cursor.last_span)
        out = self.expression()
        return replace(out, span=opened | cursor.expect(")"))

    def _query(self, opened: Span) -> int:
        """Parse a query up to its closing parenthesis, with sqlglot; returns its number."""
        query = self.cursor.parser._parse_select()
        if not isinstance(query, exp.Query):
            raise self.cursor.error("A702", f"expected a query, found {self.cursor.shown()}", self.cursor.span)
        query = self.cursor.parser._parse_set_operations(query)
        self.cursor.expect(")")
        assert isinstance(query, exp.Query)
        self.queries.append(query)
        return len(self.queries) - 1

    def _case(self) -> Expression:
        cursor = self.cursor
        span = cursor.advance()
        subject = None if cursor.text() == "WHEN" else self.expression()
        parts: list[Expression] = []
        while cursor.accept("WHEN"):
            condition = self.expression()
            if subject is not None:
                condition = Operator("=", (subject, condition), condition.span)
            cursor.expect("THEN")
            parts += [condition, self.expression()]
        if not parts:
            cursor.expect("WHEN")
        default = self.expression() if cursor.accept("ELSE") else Literal(None, NULL, cursor.span)
        cursor.expect("END")
        return Operator("case", (*parts, default), span | cursor.last_span)

    def _cast(self) -> Expression:
        cursor = self.cursor
        safe = cursor.text() == "TRY_CAST"
        span = cursor.advance()
        cursor.advance()
        operand = self.expression()
        cursor.expect("AS")
        type, length = self._type()
        cursor.expect(")")
        return Cast(operand, type, length, safe, span | cursor.last_span)

    def _type(self) -> tuple[pa.DataType, int | None]:
        span = self.cursor.span
        read = self.cursor.parser._parse_types(check_func=False)
        span = span | self.cursor.last_span
        found = arrow_type(read) if isinstance(read, exp.DataType) else None
        if found is None:
            shown = self.cursor.source.text[span.start : span.end]
            raise self.cursor.error("A730", f"CAST to `{shown}` is not known in a row pattern", span, "this type")
        return found

    def _extract(self) -> Expression:
        cursor = self.cursor
        span = cursor.advance()
        cursor.advance()
        field = cursor.identifier("a field of a time")
        if field.text.lower() not in FIELDS:
            help = f"one of {', '.join(FIELDS)}"
            raise cursor.error("A731", f"`{field.text}` is not a field of a time", field.span, "", help)
        cursor.expect("FROM")
        operand = self.expression()
        cursor.expect(")")
        return Operator(field.text.lower(), (operand,), span | cursor.last_span)

    def _array(self) -> Expression:
        cursor = self.cursor
        span = cursor.advance()
        cursor.advance()
        items: list[Expression] = []
        while cursor.text() != "]":
            items.append(self.expression())
            if not cursor.accept(","):
                break
        cursor.expect("]")
        return Operator("array", tuple(items), span | cursor.last_span)

    def _interval(self) -> Expression:
        cursor = self.cursor
        span = cursor.advance()
        sign = -1 if cursor.accept("-") else 1
        text = cursor.token.text.strip()
        cursor.advance()
        inside = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)\s+([A-Za-z]+)", text)
        if inside is not None:
            text, unit = inside.groups()
        else:
            unit = cursor.identifier("a unit of time such as HOUR").text
        span = span | cursor.last_span
        unit = unit.upper().rstrip("S") if unit.upper() not in UNIT_MICROS else unit.upper()
        if not re.fullmatch(r"[+-]?\d{1,18}(\.\d{1,9})?", text) or (
            unit not in UNIT_MICROS and unit not in UNIT_MONTHS
        ):
            known = ", ".join([*UNIT_MICROS, *UNIT_MONTHS])
            raise cursor.error(
                "A731", "this interval cannot be read", span, "", f"INTERVAL '2' HOUR; units are {known}"
            )
        if unit in UNIT_MONTHS:
            return Literal(sign * int(Decimal(text) * UNIT_MONTHS[unit]), MONTHS, span)
        return Literal(sign * int(Decimal(text) * UNIT_MICROS[unit]), INTERVAL, span)

    def _time(self) -> Expression:
        cursor = self.cursor
        word = cursor.text()
        span = cursor.advance()
        text = cursor.token.text
        span = span | cursor.advance()
        type = pa.date32() if word == "DATE" else pa.timestamp("us")
        if word == "TIMESTAMP" and re.search(r"([+-]\d\d:?\d\d|Z|UTC)\s*$", text):
            type, text = pa.timestamp("us", "UTC"), re.sub(r"\s*(Z|UTC)\s*$", "+00:00", text)
        try:
            return Literal(convert(text, VARCHAR, type), type, span)
        except BadValue as e:
            raise cursor.error(
                "A731", f"{e}", span, "", f"{word} '2026-03-14{'' if word == 'DATE' else ' 09:00:00'}'"
            ) from e

    def _name(self) -> Expression:
        cursor = self.cursor
        parts = [cursor.identifier("a column")]
        while cursor.accept("."):
            if cursor.text() == "*":
                star = cursor.advance()
                if len(parts) > 1:
                    raise cursor.error("A702", "`*` follows one variable", parts[0].span | star, "", "such as A.*")
                return Star(parts[0], parts[0].span | star)
            parts.append(cursor.identifier("a column"))
        return Name(tuple(parts), parts[0].span | parts[-1].span)

    def _call(self, semantics: str | None, span: Span) -> Expression:
        cursor = self.cursor
        name = cursor.identifier("a function")
        cursor.expect("(")
        odd: list[tuple[str, Span]] = []
        if (place := cursor.accept("DISTINCT")) is not None:
            odd.append(("DISTINCT", place))
        arguments: list[Expression] = []
        while cursor.text() != ")" and (arguments or cursor.text() != "ORDER BY"):
            arguments.append(self.expression())
            if not cursor.accept(","):
                break
        if (place := cursor.accept("ORDER", "BY")) is not None:
            odd.append(("ORDER BY", place))
            self._skip_to_parenthesis()
        cursor.expect(")")
        for words, label in (
            (("WITHIN", "GROUP"), "ORDER BY"),
            (("FILTER",), "FILTER"),
            (("IGNORE", "NULLS"), "IGNORE NULLS"),
            (("RESPECT", "NULLS"), "RESPECT NULLS"),
            (("OVER",), "OVER"),
        ):
            if (place := cursor.accept(*words)) is not None:
                odd.append((label, place))
                if cursor.accept("("):
                    self._skip_to_parenthesis()
                    cursor.expect(")")
                elif label == "OVER":
                    cursor.identifier("a window")
        return FunctionCall(name, tuple(arguments), semantics, span | cursor.last_span, tuple(odd))

    def _skip_to_parenthesis(self) -> None:
        """Step over an unsupported part, up to its closing parenthesis."""
        open_parentheses = 0
        while not self.cursor.at_end and (open_parentheses or self.cursor.text() != ")"):
            open_parentheses += {"(": 1, ")": -1}.get(self.cursor.text(), 0)
            self.cursor.advance()


def arrow_type(read: exp.DataType) -> tuple[pa.DataType, int | None] | None:
    """The Arrow type of a SQL type, with the length of `varchar(n)`."""
    names = exp.DType
    sizes = [int(p.name) for p in read.expressions if p.name.isdigit()]
    simple = {
        names.BOOLEAN: BOOLEAN,
        names.TINYINT: pa.int8(),
        names.SMALLINT: pa.int16(),
        names.INT: INTEGER,
        names.BIGINT: BIGINT,
        names.FLOAT: pa.float32(),
        names.DOUBLE: DOUBLE,
        names.DATE: pa.date32(),
    }
    if read.this in simple:
        return simple[read.this], None
    if read.this in (names.VARCHAR, names.TEXT, names.CHAR, names.NVARCHAR, names.NCHAR):
        return VARCHAR, sizes[0] if sizes else None
    if read.this == names.DECIMAL:
        digits, scale = sizes[0] if sizes else 38, sizes[1] if len(sizes) > 1 else 0
        return (pa.decimal128(digits, scale), None) if 1 <= digits <= 38 and scale <= digits else None
    stamps = {
        names.TIMESTAMP: None,
        names.TIMESTAMPNTZ: None,
        names.DATETIME: None,
        names.TIMESTAMPTZ: "UTC",
        names.TIMESTAMPLTZ: "UTC",
    }
    if read.this in stamps:
        digits = sizes[0] if sizes else 6
        unit = "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
        return pa.timestamp(unit, stamps[read.this]), None
    return None


__all__ = ["ExpressionReader", "Identifier"]
