"""Syntax nodes from what the parser has read: one function for each rule (or alias) of grammar.lark, under its name.

The parser calls them bottom-up while it reads. A function gets everything its rule matched, punctuation included:
tokens as they stand, rules as the nodes built from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, TypeVar

from lark import Token

from augury.errors import names
from augury.ir import syntax
from augury.ir.syntax import Expression, Part
from augury.ir.terms import Operator, OutputMode, Strategy
from augury.lang.literals import (
    Rejected,
    read_duration,
    read_index,
    read_integer,
    read_name,
    read_number,
    read_string,
    span_of,
    with_sign,
)
from augury.source import Span

Read = list[Any]
T = TypeVar("T")

CLAUSES = ("PATTERN", "WHERE", "WITHIN", "THRESHOLD", "OUTPUT", "RETURN")
"""The clauses in the order they are written."""

_OPERATORS = {"SEQUENCE": Operator.SEQ, "PERMUTE": Operator.AND}
_SPELLINGS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "−": "-"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause on its way into the query: its keyword and the fields of `syntax.Query` it fills."""

    keyword: str
    place: Span
    fields: dict[str, Any]
    span: Span


@dataclass(frozen=True, slots=True)
class Piece:
    """What a rule read for one field of the node above it."""

    field: str
    value: Any
    span: Span


def program(read: Read) -> syntax.Program:
    return syntax.Program(_only(syntax.Query, read), _span(read))


def query(read: Read) -> syntax.Query:
    clauses = _only(Clause, read)
    _check_order(clauses)
    (pattern,) = _parts(read)
    fields = {field: value for clause in clauses for field, value in clause.fields.items()}
    return syntax.Query(pattern, span=_span(read), **fields)


def _check_order(clauses: tuple[Clause, ...]) -> None:
    for before, after in pairwise(clauses):
        if any(c.keyword == after.keyword and c.place < after.place for c in clauses):
            raise Rejected(
                "A107",
                f"{after.keyword} is given twice",
                after.place,
                "the second one",
                "keep one of them, or end the query before it with `;`",
            )
        if CLAUSES.index(after.keyword) < CLAUSES.index(before.keyword):
            raise Rejected(
                "A107",
                f"{after.keyword} stands behind {before.keyword}",
                after.place,
                "out of order",
                f"the order of the clauses is {', '.join(CLAUSES)}",
            )


# -- patterns ----------------------------------------------------------------------------------------------------------


def group(read: Read) -> syntax.Group:
    word = read[0].upper()
    return syntax.Group(_OPERATORS.get(word) or Operator(word), _parts(read), _span(read))


def sequence(read: Read) -> syntax.Group:
    """A list of parts with no operator before it, as in the template of paper 001, section 6."""
    return syntax.Group(Operator.SEQ, _parts(read), _span(read))


def negation(read: Read) -> syntax.Negation:
    return syntax.Negation(_parts(read)[0], _span(read))


def component(read: Read) -> syntax.Component:
    words = iter(read)
    types = [next(words)]
    rest = next(words, None)
    while _is(rest, "VBAR"):
        types.append(next(words))
        rest = next(words, None)
    quantifier, optional = None, _is(rest, "QMARK")
    if optional or isinstance(rest, syntax.Quantifier):
        quantifier = None if optional else rest
        rest = next(words, None)
    variable = rest if _is(rest, "NAME") else None
    brackets = _is(read[-1], "BRACKETS")
    _check_brackets(read, variable, types, quantifier, brackets)
    return syntax.Component(
        read_name(types[0] if variable is None else variable),
        () if variable is None else tuple(syntax.TypeName(read_name(t), span_of(t)) for t in types),
        quantifier,
        optional,
        _span(read),
    )


def _check_brackets(
    read: Read, variable: Token | None, types: list[Token], quantifier: syntax.Quantifier | None, brackets: bool
) -> None:
    """Only and every typed iterated component carries `[]` behind its variable."""
    written = "|".join(types)
    if variable is None and len(types) > 1:
        raise Rejected(
            "A101", f"`{written}` binds no variable", _span(read), "no variable", f"give it a name: {written} x"
        )
    name = types[0] if variable is None else variable
    if brackets and quantifier is None:
        single = written if variable is None else f"{written} {variable}"
        iterated = f"{written}+[]" if variable is None else f"{written}+ {variable}[]"
        raise Rejected(
            "A101",
            f"`{name}[]` is a list, but its component is not iterated",
            span_of(read[-1]),
            "not iterated",
            f"write {iterated} for a list, or {single} for one event",
        )
    if variable is not None and quantifier is not None and not brackets:
        raise Rejected(
            "A101",
            f"`{variable}` is iterated and needs `[]`",
            span_of(variable),
            "a list of events",
            f"write {variable}[]",
        )


def quantifier(read: Read) -> syntax.Quantifier:
    span = _span(read)
    bounds = [read_integer(r, "a bound") for r in read if _is(r, "NUMBER")]
    if not bounds:
        return syntax.Quantifier(1 if _is(read[0], "PLUS") else 0, None, span)
    open_ended = len(bounds) == 1 and _is(read[2], "COMMA")
    return syntax.Quantifier(bounds[0], None if open_ended else bounds[-1], span)


# -- clauses -----------------------------------------------------------------------------------------------------------


def where(read: Read) -> Clause:
    fields = {piece.field: piece.value for piece in _only(Piece, read)}
    return _clause(read, where=next(iter(_expressions(read)), None), **fields)


def strategy(read: Read) -> Piece:
    (token,) = read
    word = token.lower().replace("-", "_")
    if token.type == "UNKNOWN_STRATEGY":
        near = get_close_matches(word, list(Strategy), n=1, cutoff=0.7)
        raise Rejected(
            "A105",
            f"`{token}` is not a strategy",
            span_of(token),
            f"did you mean `{near[0]}`?" if near else "unknown strategy",
            f"the strategies are {', '.join(Strategy)}",
        )
    return Piece("strategy", Strategy(word), span_of(token))


def listed(read: Read) -> Piece:
    return Piece("listed", _only(syntax.ListedVariable, read), _span(read))


def listed_variable(read: Read) -> syntax.ListedVariable:
    return syntax.ListedVariable(read_name(read[0]), len(read) > 1, _span(read))


def within(read: Read) -> Clause:
    _, amount, *unit = read
    if _is(amount, "NAME"):
        return _clause(read, within=name([amount]))
    if not unit:
        raise Rejected(
            "A106",
            f"the window `{amount}` has no unit",
            span_of(amount),
            "of what?",
            f"write {amount} seconds (or another unit of time), or {amount} EVENTS",
        )
    if _is(unit[0], "EVENTS"):
        return _clause(read, within=syntax.CountWindow(read_integer(amount, "a number of events"), _span(read[1:])))
    return _clause(read, within=read_duration(amount, unit[0]))


def threshold(read: Read) -> Clause:
    (token,) = read[1:]
    value = name([token]) if token.type == "NAME" else with_sign(number([token]), 1, span_of(token))
    return _clause(read, threshold=value)


def output(read: Read) -> Clause:
    mode = read_name(read[1])
    if mode.upper() not in list(OutputMode):
        raise Rejected(
            "A105",
            f"`{mode}` is not an output mode",
            span_of(read[1]),
            "unknown mode",
            f"the modes are {names(OutputMode)}",
        )
    return _clause(read, output=OutputMode(mode.upper()))


def returns(read: Read) -> Clause:
    into = read_name(read[-1]) if _is(read[-1], "NAME") else None
    return _clause(read, returns=_only(syntax.ReturnItem, read), into=into)


def return_item(read: Read) -> syntax.ReturnItem:
    alias = read_name(read[2]) if len(read) > 1 else None
    return syntax.ReturnItem(read[0], alias, _span(read))


# -- expressions -------------------------------------------------------------------------------------------------------


def expression(read: Read) -> syntax.Logical:
    return syntax.Logical("OR", _expressions(read), _span(read))


def conjunction(read: Read) -> syntax.Logical:
    return syntax.Logical("AND", _expressions(read), _span(read))


def unary(read: Read) -> syntax.Unary:
    sign, operand = read
    return syntax.Unary("NOT" if sign.type == "NOT" else "-", operand, _span(read))


def binary(read: Read) -> syntax.Binary:
    left, operator, right = read
    return syntax.Binary(_SPELLINGS.get(operator, str(operator)), left, right, _span(read))


def membership(read: Read) -> syntax.In:
    operand, *items = _expressions(read)
    return syntax.In(operand, tuple(items), _is(read[1], "NOT"), _span(read))


def between(read: Read) -> syntax.Between:
    operand, low, high = _expressions(read)
    return syntax.Between(operand, low, high, _is(read[1], "NOT"), _span(read))


def is_null(read: Read) -> syntax.IsNull:
    return syntax.IsNull(read[0], _is(read[2], "NOT"), _span(read))


def number(read: Read) -> syntax.Number:
    """A number before its sign is known; `positive_number` and `negative_number` check that it fits."""
    return syntax.Number(read_number(read[0]), span_of(read[0]))


def positive_number(read: Read) -> syntax.Number:
    return with_sign(read[0], 1, _span(read))


def negative_number(read: Read) -> syntax.Number:
    return with_sign(read[1], -1, _span(read))


def duration(read: Read) -> syntax.Duration:
    return read_duration(read[0], read[1])


def text(read: Read) -> syntax.Text:
    return syntax.Text(read_string(read[0]), span_of(read[0]))


def boolean(read: Read) -> syntax.Boolean:
    return syntax.Boolean(_is(read[0], "TRUE"), span_of(read[0]))


def null(read: Read) -> syntax.Null:
    return syntax.Null(span_of(read[0]))


def name(read: Read) -> syntax.Name:
    return syntax.Name(read_name(read[0]), span_of(read[0]))


def elements(read: Read) -> syntax.Elements:
    variable = read_name(read[0])
    return syntax.Elements(variable, read_index(read[1], variable), _span(read))


def attribute(read: Read) -> syntax.Attribute:
    variable = read_name(read[0])
    index = read_index(read[1], variable) if _is(read[1], "INDEX") else None
    word = next(r for r in read if _is(r, "WORD"))
    missing = next((piece.value for piece in _only(Piece, read)), None)
    return syntax.Attribute(variable, read_name(word), index, missing, _span(read))


def default(read: Read) -> Piece:
    return Piece("default", read[1], _span(read))


def call(read: Read) -> syntax.Call:
    return syntax.Call(read_name(read[0]).lower(), _expressions(read), _span(read))


def equivalence(read: Read) -> syntax.Equivalence:
    return syntax.Equivalence(read_name(read[1]), _span(read))


def parenthesised(read: Read) -> Expression:
    inner: Expression = read[1]
    return replace(inner, span=_span(read))


# -- what rules have in common -----------------------------------------------------------------------------------------


def _clause(read: Read, **fields: Any) -> Clause:
    keyword = read[0]
    return Clause(keyword.upper(), span_of(keyword), fields, _span(read))


def _span(read: Read) -> Span:
    first, last = (span_of(r) if isinstance(r, Token) else r.span for r in (read[0], read[-1]))
    return first | last


def _is(read: object, kind: str) -> bool:
    return isinstance(read, Token) and read.type == kind


def _only(kind: type[T], read: Read) -> tuple[T, ...]:
    return tuple(r for r in read if isinstance(r, kind))


def _parts(read: Read) -> tuple[Part, ...]:
    return tuple(r for r in read if isinstance(r, syntax.Component | syntax.Group | syntax.Negation))


def _expressions(read: Read) -> tuple[Expression, ...]:
    return tuple(r for r in read if not isinstance(r, Token | Piece))
