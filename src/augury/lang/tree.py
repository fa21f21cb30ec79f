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
    """The value that a rule read for one field of the node above it."""

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
    operator, parts = _OPERATORS.get(word) or Operator(word), _parts(read)
    closing = max(k for k, r in enumerate(read) if _is(r, "RPAR"))
    quantifier, *named = read[closing + 1 :] or [None]
    if _is(quantifier, "QMARK"):
        if named:
            help = "leave the name out: the variables inside are those of single components that may be left out"
            raise Rejected("A101", "an optional part takes no name", _span(named), "a name", help)
        return syntax.Group(operator, parts, optional=True, span=_span(read))
    if quantifier is None:
        return syntax.Group(operator, parts, span=_span(read))
    if [token.type for token in named] != ["NAME", "BRACKETS"]:
        help = f"write {operator}(...)+ g[]: each round of it is an element of the list `g`"
        raise Rejected("A101", "a part that is repeated needs a name and `[]`", _span(read), "repeated", help)
    return syntax.Group(operator, parts, quantifier, read_name(named[0]), span=_span(read))


def sequence(read: Read) -> syntax.Group:
    """A list of parts with no operator before it, as in the template of paper 001, section 6."""
    return syntax.Group(Operator.SEQ, _parts(read), span=_span(read))


def negation(read: Read) -> syntax.Negation:
    behind = {piece.field: piece.value for piece in _only(Piece, read)}
    return syntax.Negation(_parts(read)[0], **behind, span=_span(read))


def since(read: Read) -> Piece:
    return Piece("since", _bound_event(read[1:]), _span(read))


def silence(read: Read) -> Piece:
    return Piece("silence", read_duration(read[1], read[2]), _span(read))


def component(read: Read) -> syntax.Component:
    whole, until = read, None
    if isinstance(read[-1], Piece):
        *read, piece = read
        until = piece.value
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
    if until is not None:
        _check_until(until, quantifier, whole)
    return syntax.Component(
        read_name(types[0] if variable is None else variable),
        () if variable is None else tuple(syntax.TypeName(read_name(t), span_of(t)) for t in types),
        quantifier,
        optional,
        until,
        _span(whole),
    )


def until(read: Read) -> Piece:
    return Piece("until", read[2], _span(read))


def _check_until(until: syntax.Component, quantifier: syntax.Quantifier | None, read: Read) -> None:
    """Refuse UNTIL of a component that is no list, and an end that is not one event."""
    if quantifier is None:
        help = "write A+ a[] UNTIL(U u)"
        raise Rejected("A101", "UNTIL ends a list, and this component is one event", _span(read), "not iterated", help)
    if until.quantifier is not None or until.optional or until.until is not None:
        help = "name one event: UNTIL(U u)"
        raise Rejected("A101", "a list ends with one event", until.span, "not one event", help)


def _check_brackets(
    read: Read, variable: Token | None, types: list[Token], quantifier: syntax.Quantifier | None, brackets: bool
) -> None:
    """Refuse a typed iterated component without `[]` behind its variable, and any other one with it."""
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
    reluctant = _is(read[-1], "QMARK")
    bounds = [read_integer(r, "a bound") for r in read if _is(r, "NUMBER")]
    if not bounds:
        return syntax.Quantifier(1 if _is(read[0], "PLUS") else 0, None, reluctant, span)
    open_ended = len(bounds) == 1 and _is(read[2], "COMMA")
    return syntax.Quantifier(bounds[0], None if open_ended else bounds[-1], reluctant, span)


# -- clauses -----------------------------------------------------------------------------------------------------------


def where(read: Read) -> Clause:
    condition = next(iter(_expressions(read)), None)
    written = _only(syntax.Step, read)
    if not written:
        return _clause(read, where=condition)
    first, *others = written
    return _clause(read, where=condition, strategy=first.strategy, listed=first.listed, steps=tuple(others))


def step(read: Read) -> syntax.Step:
    fields = {piece.field: piece.value for piece in _only(Piece, read)}
    return syntax.Step(**fields, span=_span(read))


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
    fields: dict[str, Any] = {}
    for piece in _only(Piece, read):
        if piece.field in fields:
            help = "write WITHIN 1 hour, 5 minutes EACH: a window, and how far apart consecutive events are at most"
            raise Rejected("A107", "WITHIN says the same thing twice", piece.span, "again", help)
        fields[piece.field] = piece.value
    return _clause(read, **fields)


def span(read: Read) -> Piece:
    each = _is(read[-1], "EACH")
    if each and _is(read[-2], "EVENTS"):
        help = "write WITHIN 5 minutes EACH"
        raise Rejected("A106", "EACH is about time, not about a number of events", _span(read), "not a time", help)
    return Piece("each" if each else "within", _length(read[:-1] if each else read), _span(read))


def _length(read: Read) -> syntax.Duration | syntax.CountWindow | syntax.Name:
    amount, *unit = read
    if _is(amount, "NAME"):
        return name([amount])
    if not unit:
        raise Rejected(
            "A106",
            f"the window `{amount}` has no unit",
            span_of(amount),
            "of what?",
            f"write {amount} seconds (or another unit of time), or {amount} EVENTS",
        )
    if _is(unit[0], "EVENTS"):
        return syntax.CountWindow(read_integer(amount, "a number of events"), _span(read))
    return read_duration(amount, unit[0])


def threshold(read: Read) -> Clause:
    (token,) = read[1:]
    value = name([token]) if token.type == "NAME" else with_sign(number([token]), 1, span_of(token))
    return _clause(read, threshold=value)


def output(read: Read) -> Clause:
    words = read[1:]
    size = next((n for n in (3, 2, 1) if _mode(words[:n]) is not None), None)
    if size is None:
        named = words[: 2 if len(words) > 1 and _is(words[1], "NAME") else 1]
        written, place = " ".join(map(read_name, named)), span_of(named[0]) | span_of(named[-1])
        raise Rejected(
            "A105", f"`{written}` is not an output mode", place, "unknown mode", f"the modes are {names(OutputMode)}"
        )
    mode, rest = _mode(words[:size]), words[size:]
    skip_to = None
    if mode is OutputMode.NONOVERLAP_FROM:
        if not rest or not _is(rest[0], "NAME"):
            help = "write OUTPUT NONOVERLAP FROM v: the next match may start with the event of v"
            raise Rejected("A105", f"OUTPUT {mode} needs a variable", _span(read), "from where?", help)
        of_variable = 2 if len(rest) > 1 and _is(rest[1], "INDEX") else 1
        skip_to, rest = _bound_event(rest[:of_variable]), rest[of_variable:]
    return _clause(read, output=mode, skip_to=skip_to, **_pace(rest))


def _mode(words: Read) -> OutputMode | None:
    """The mode that some words name; None if they name none."""
    named = " ".join(read_name(w).upper() if _is(w, "NAME") else "" for w in words)
    return OutputMode(named) if named in list(OutputMode) else None


def _pace(words: Read) -> dict[str, Any]:
    """Read EVERY and a duration, or ONCE, behind the mode: how often a match is reported."""
    if not words:
        return {}
    first = read_name(words[0]).upper() if _is(words[0], "NAME") else ""
    if first == "ONCE" and len(words) == 1:
        return {"once": True}
    if first == "EVERY" and len(words) > 1 and not _is(words[1], "INDEX"):
        amount = words[1:3] if _is(words[1], "NUMBER") else words[1:2]
        if len(words) == 1 + len(amount) and (len(amount) == 1 or _is(amount[1], "UNIT")):
            return {"every": _length(amount)}
    unexpected = words[0] if first not in ("ONCE", "EVERY") or len(words) == 1 else words[-1]
    raise Rejected(
        "A105",
        "OUTPUT has something behind its mode that is neither EVERY and a duration nor ONCE",
        span_of(unexpected),
        "unexpected",
        "write OUTPUT ALL EVERY 1 hour, or OUTPUT ALL ONCE",
    )


def _bound_event(read: Read) -> syntax.BoundEvent:
    variable = read_name(read[0])
    return syntax.BoundEvent(variable, read_index(read[1], variable) if len(read) > 1 else None, _span(read))


def returns(read: Read) -> Clause:
    into = read_name(read[-1]) if _is(read[-1], "NAME") else None
    return _clause(read, returns=_only(syntax.ReturnItem, read), into=into)


def all_attributes(read: Read) -> syntax.AllAttributes:
    return syntax.AllAttributes(read_name(read[0]), _span(read))


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


def attribute_in_group(read: Read) -> syntax.GroupAttribute:
    group = read_name(read[0])
    round_index = _index_in_group(read[1], group) if _is(read[1], "INDEX") else None
    variable, attribute = (read_name(r) for r in read if _is(r, "WORD"))
    index = next((_index_in_group(r, variable) for r in read if _is(r, "INNER_INDEX")), None)
    return syntax.GroupAttribute(group, variable, attribute, round_index, index, _span(read))


def _index_in_group(token: Token, variable: str) -> syntax.Index:
    index = read_index(token, variable)
    if isinstance(index, syntax.NthIndex):
        help = "the rounds of a group, and the lists in it, have [i], [i-1], [first], [last] and aggregates"
        raise Rejected("A103", "a group has no elements by number", span_of(token), "by number", help)
    return index


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
    return tuple(r for r in read if not isinstance(r, Token | Piece | syntax.Step))
