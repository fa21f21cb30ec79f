"""Parser of the text between the parentheses of PATTERN."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from augury.errors import Diagnostic, QueryError
from augury.ir.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)
from augury.source import Source, Span

MAX_NESTED = 100
"""Nested groups at most; each level takes a few Python frames to parse."""

MAX_BOUND = 2**31 - 1

TOKEN = re.compile(
    r"""\s+ | /\*.*?\*/ | --(?!\})[^\n]*
      | (?P<name>[^\W\d]\w*) | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`) | (?P<number>\d+)
      | (?P<sign>\{-|-\}|[(){}|*+?,^$])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    span: Span


@dataclass(slots=True)
class _Reader:
    source: Source
    tokens: list[Token]
    end: int
    at: int = 0
    depth: int = field(default=0)

    def peek(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "", Span(self.end, self.end + 1))

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def next_is(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "sign" and token.text in texts

    def expect(self, text: str, opened: Token) -> Token:
        if not self.next_is(text):
            raise self.error("A703", f"`{opened.text}` is not closed", opened.span, "opened here", f"add `{text}`")
        return self.take()

    def error(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> QueryError:
        return QueryError([Diagnostic(code, message, span, label, help)], self.source)


def read_pattern(source: Source, start: int, end: int) -> RowPattern:
    """The row pattern that `source` holds between two offsets.

    >>> str(read_pattern(Source("a b+? | {- PERMUTE(c, d) -}"), 0, 27))
    'A B+? | {- PERMUTE(C, D) -}'
    """
    tokens, at = [], start
    while at < end:
        found = TOKEN.match(source.text, at, end)
        if found is None:
            message = f"`{source.text[at]}` does not belong in a row pattern"
            raise QueryError([Diagnostic("A703", message, Span(at, at + 1), "unexpected")], source)
        if found.lastgroup is not None:
            tokens.append(Token(found.lastgroup, found.group(), Span(at, found.end())))
        at = found.end()
    reader = _Reader(source, tokens, end)
    if not tokens:
        message, help = "PATTERN is empty", "write `()` for the pattern that maps no row"
        raise reader.error("A703", message, Span(start, max(end, start + 1)), "", help)
    pattern = _alternation(reader)
    left = reader.peek()
    if left.kind != "end":
        raise reader.error("A703", f"`{left.text}` is not expected here", left.span, "unexpected")
    return pattern


def _alternation(reader: _Reader) -> RowPattern:
    reader.depth += 1
    if reader.depth > MAX_NESTED:
        place = reader.peek().span
        raise reader.error("A704", f"the row pattern nests more than {MAX_NESTED} groups", place)
    first = reader.peek().span
    options = [_concatenation(reader)]
    while reader.next_is("|"):
        reader.take()
        options.append(_concatenation(reader))
    reader.depth -= 1
    if len(options) == 1:
        return options[0]
    return Alternation(tuple(options), first | options[-1].span)


def _concatenation(reader: _Reader) -> RowPattern:
    parts = []
    while (part := _quantified(reader)) is not None:
        parts.append(part)
    if not parts:
        token = reader.peek()
        message = (
            "a row pattern is missing here"
            if token.kind == "end"
            else f"a row pattern is missing before `{token.text}`"
        )
        raise reader.error("A703", message, token.span, "", "write `()` for the pattern that maps no row")
    if len(parts) == 1:
        return parts[0]
    return Concatenation(tuple(parts), parts[0].span | parts[-1].span)


def _quantified(reader: _Reader) -> RowPattern | None:
    body = _primary(reader)
    if body is None or not reader.next_is("*", "+", "?", "{"):
        return body
    sign = reader.take()
    match sign.text:
        case "*":
            least, most = 0, None
        case "+":
            least, most = 1, None
        case "?":
            least, most = 0, 1
        case _:
            least, most = _bounds(reader, sign)
    reluctant = reader.next_is("?")
    last = reader.take() if reluctant else reader.tokens[reader.at - 1]
    span = body.span | last.span
    if most is not None and most < 1:
        raise reader.error(
            "A705", "the upper bound of a quantifier is at least 1", sign.span | last.span, f"it is {most}"
        )
    if most is not None and least > most:
        place = sign.span | last.span
        raise reader.error("A705", f"the lower bound {least} is greater than the upper bound {most}", place)
    if reader.next_is("*", "+", "?"):
        extra = reader.peek()
        help = f"write ({reader.source.text[span.start : span.end]}){extra.text} for a quantifier of a quantifier"
        raise reader.error("A703", "a quantifier follows a quantifier", extra.span, "unexpected", help)
    return Quantified(body, least, most, reluctant, span)


def _bounds(reader: _Reader, opened: Token) -> tuple[int, int | None]:
    least = _bound(reader)
    if not reader.next_is(","):
        reader.expect("}", opened)
        if least is None:
            raise reader.error(
                "A703", "a quantifier in braces has a bound", opened.span, "", "such as {2}, {2,} or {,5}"
            )
        return least, least
    reader.take()
    most = _bound(reader)
    reader.expect("}", opened)
    return least or 0, most


def _bound(reader: _Reader) -> int | None:
    if reader.peek().kind != "number":
        return None
    token = reader.take()
    if len(token.text) > 10 or int(token.text) > MAX_BOUND:
        raise reader.error("A705", f"a quantifier is at most {MAX_BOUND}", token.span)
    return int(token.text)


def _primary(reader: _Reader) -> RowPattern | None:
    token = reader.peek()
    match token.kind, token.text:
        case "name", text:
            reader.take()
            if text.upper() == "PERMUTE" and reader.next_is("("):
                return _permutation(reader, token)
            return Variable(text.upper(), token.span)
        case "quoted", text:
            reader.take()
            quote = text[0]
            return Variable(text[1:-1].replace(quote * 2, quote), token.span)
        case "sign", "^" | "$":
            reader.take()
            return Anchor(token.text == "$", token.span)
        case "sign", "(":
            reader.take()
            if reader.next_is(")"):
                return Empty(token.span | reader.take().span)
            inner = _alternation(reader)
            reader.expect(")", token)
            return inner
        case "sign", "{-":
            reader.take()
            inner = _alternation(reader)
            closed = reader.expect("-}", token)
            return Exclusion(inner, token.span | closed.span)
        case _:
            return None


def _permutation(reader: _Reader, word: Token) -> RowPattern:
    opened = reader.take()
    parts = [_alternation(reader)]
    while reader.next_is(","):
        reader.take()
        parts.append(_alternation(reader))
    closed = reader.expect(")", opened)
    return parts[0] if len(parts) == 1 else Permutation(tuple(parts), word.span | closed.span)
