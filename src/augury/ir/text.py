"""Printing of syntax nodes as query text, with the fewest parentheses that parse back to the same tree."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import assert_never

from augury.ir.syntax import (
    AllAttributes,
    Attribute,
    Between,
    Binary,
    Boolean,
    BoundEvent,
    Call,
    Component,
    CountWindow,
    Duration,
    Elements,
    Equivalence,
    Expression,
    Group,
    GroupAttribute,
    In,
    IsNull,
    ListedVariable,
    Logical,
    Name,
    Negation,
    Null,
    Number,
    Part,
    Quantifier,
    Query,
    ReturnItem,
    Step,
    Text,
    Unary,
)
from augury.ir.terms import Strategy

RESERVED = (
    "pattern", "where", "within", "threshold", "output", "return", "into", "as",
    "and", "or", "not", "in", "between", "is", "null", "true", "false",
)  # fmt: skip
"""Keywords, which are names only in backquotes or after a dot."""

# As in the lexer, only ASCII letters are case-insensitive. Strategies are reserved, since WHERE may start with one.
_TAKEN = re.compile(rf"(?a:{'|'.join([*RESERVED, *Strategy])})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d](?:\w|[^\x00-\x7f\s])*")

UNITS = {
    "week": 604_800_000_000_000,
    "day": 86_400_000_000_000,
    "hour": 3_600_000_000_000,
    "minute": 60_000_000_000,
    "second": 1_000_000_000,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
    "nanosecond": 1,
}
"""Nanoseconds per unit of a duration, the largest unit first."""


class _Binding(IntEnum):
    """Precedence of expressions, the lowest first."""

    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    SIGN = 7
    ATOM = 8


def word_text(word: str) -> str:
    """A name where keywords are allowed, such as an attribute after its dot.

    >>> word_text("within"), word_text("tag id")
    ('within', '`tag id`')
    """
    return word if word.isidentifier() and _WORD.fullmatch(word) else _quoted(word)


def name_text(name: str) -> str:
    """A name, in backquotes where it would be parsed as something else.

    >>> name_text("low_speed"), name_text("low-speed"), name_text("within")
    ('low_speed', '`low-speed`', '`within`')
    """
    return _quoted(name) if _TAKEN.match(name) else word_text(name)


def duration_text(nanoseconds: int) -> str:
    """A duration in the largest unit that divides it.

    >>> duration_text(5_400_000_000_000), duration_text(3_600_000_000_000)
    ('90 minutes', '1 hour')
    """
    if nanoseconds == 0:
        return "0 seconds"
    unit, size = next((u, n) for u, n in UNITS.items() if nanoseconds % n == 0)
    count = nanoseconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def expression_text(e: Expression) -> str:
    """An expression as text.

    >>> a = Attribute("a", "x")
    >>> expression_text(Binary("*", Binary("+", a, Number(1)), Unary("-", a)))
    '(a.x + 1) * -a.x'
    """
    match e:
        case Number(value):
            return repr(value)
        case Text(value):
            return "'" + value.replace("'", "''") + "'"
        case Boolean(value):
            return "TRUE" if value else "FALSE"
        case Null():
            return "NULL"
        case Duration(nanoseconds):
            return duration_text(nanoseconds)
        case Name(name):
            return name_text(name)
        case Elements(variable, index):
            return f"{name_text(variable)}[{index}]"
        case Attribute(variable, attribute, index, default):
            place = "" if index is None else f"[{index}]"
            otherwise = "" if default is None else f"[{expression_text(default)}]"
            return f"{name_text(variable)}{place}.{word_text(attribute)}{otherwise}"
        case GroupAttribute(group, variable, attribute, round, index):
            of_round = "" if round is None else f"[{round}]"
            place = "" if index is None else f"[{index}]"
            return f"{name_text(group)}{of_round}.{word_text(variable)}{place}.{word_text(attribute)}"
        case AllAttributes(variable):
            return f"{name_text(variable)}.*"
        case Unary("NOT", operand):
            return f"NOT {_at_least(_Binding.NOT, operand)}"
        case Unary(_, operand):
            # Two signs in a row would start a comment, and a sign before a number is part of the number.
            signed = _binding(operand) is _Binding.SIGN or isinstance(operand, Number)
            return f"-({expression_text(operand)})" if signed else f"-{_at_least(_Binding.SIGN, operand)}"
        case Binary(operator, left, right):
            own = _binding(e)
            # Sums and products chain to the left; comparisons do not chain.
            low = _Binding.SUM if own is _Binding.COMPARISON else own
            high = _Binding.SUM if own is _Binding.COMPARISON else _Binding(own + 1)
            return f"{_at_least(low, left)} {operator} {_at_least(high, right)}"
        case Logical(operator, operands):
            inner = _Binding(_binding(e) + 1)
            return f" {operator} ".join(_at_least(inner, o) for o in operands)
        case In(operand, items, negated):
            word = "NOT IN" if negated else "IN"
            return f"{_at_least(_Binding.SUM, operand)} {word} ({_commas(items)})"
        case Between(operand, lower, upper, negated):
            word = "NOT BETWEEN" if negated else "BETWEEN"
            x, y, z = (_at_least(_Binding.SUM, o) for o in (operand, lower, upper))
            return f"{x} {word} {y} AND {z}"
        case IsNull(operand, negated):
            return f"{_at_least(_Binding.SUM, operand)} {'IS NOT NULL' if negated else 'IS NULL'}"
        case Call(function, arguments):
            return f"{name_text(function)}({_commas(arguments)})"
        case Equivalence(attribute):
            return f"[{word_text(attribute)}]"
        case _:
            assert_never(e)


def part_text(p: Part) -> str:
    """A pattern as text.

    >>> part_text(Negation(Component("b", quantifier=Quantifier(2, 3))))
    'NOT(b{2,3})'
    """
    match p:
        case Component(variable, types, quantifier, optional, until):
            count = "?" if optional else _quantifier_text(quantifier)
            ending = "" if until is None else f" UNTIL({part_text(until)})"
            if not types:
                return f"{name_text(variable)}{count}{ending}"
            brackets = "" if quantifier is None else "[]"
            return f"{'|'.join(name_text(t.name) for t in types)}{count} {name_text(variable)}{brackets}{ending}"
        case Group(operator, parts, quantifier, variable, optional):
            count = "?" if optional else _quantifier_text(quantifier)
            named = "" if variable is None else f" {name_text(variable)}[]"
            return f"{operator}({', '.join(map(part_text, parts))}){count}{named}"
        case Negation(body, since, silence):
            behind = "" if since is None else f" SINCE {_bound_event_text(since)}"
            if silence is not None:
                behind += f" FOR {duration_text(silence.nanoseconds)}"
            return f"NOT({part_text(body)}){behind}"
        case _:
            assert_never(p)


def query_text(q: Query) -> str:
    """A query as text, with one clause per line.

    >>> print(query_text(Query(Component("a"), within=Duration(3_600_000_000_000))))
    PATTERN   a
    WITHIN    1 hour
    """
    clauses = [("PATTERN", part_text(q.pattern))]
    where = "" if q.where is None else expression_text(q.where)
    if q.strategy is not None:
        steps = ", ".join(map(_step_text, (Step(q.strategy, q.listed), *q.steps)))
        clauses.append(("WHERE", f"{steps} {{ {where} }}" if where else f"{steps} {{ }}"))
    elif where:
        clauses.append(("WHERE", where))
    windows = [] if q.within is None else [_window_text(q.within)]
    if q.each is not None:
        windows.append(f"{_window_text(q.each)} EACH")
    if windows:
        clauses.append(("WITHIN", ", ".join(windows)))
    if q.threshold is not None:
        clauses.append(("THRESHOLD", expression_text(q.threshold)))
    if q.output is not None:
        skip_to = "" if q.skip_to is None else f" {_bound_event_text(q.skip_to)}"
        every = "" if q.every is None else f" EVERY {_window_text(q.every)}"
        clauses.append(("OUTPUT", f"{q.output}{skip_to}{every}{' ONCE' if q.once else ''}"))
    if q.returns:
        into = "" if q.into is None else f" INTO {name_text(q.into)}"
        clauses.append(("RETURN", ", ".join(map(_item_text, q.returns)) + into))
    return "\n".join(f"{keyword:<9} {body}" for keyword, body in clauses)


def _window_text(window: Duration | CountWindow | Name) -> str:
    match window:
        case CountWindow(events):
            return f"{events} {'EVENT' if events == 1 else 'EVENTS'}"
        case Duration() | Name():
            return expression_text(window)
        case _:
            assert_never(window)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _binding(e: Expression) -> _Binding:
    match e:
        case Logical("OR"):
            return _Binding.OR
        case Logical():
            return _Binding.AND
        case Unary("NOT"):
            return _Binding.NOT
        case Unary():
            return _Binding.SIGN
        case Binary("+" | "-"):
            return _Binding.SUM
        case Binary("*" | "/" | "%"):
            return _Binding.PRODUCT
        case Binary() | In() | Between() | IsNull():
            return _Binding.COMPARISON
        case Number(value) | Duration(value):
            return _Binding.SIGN if value < 0 else _Binding.ATOM
        case Text() | Boolean() | Null() | Name() | Elements() | Attribute() | Call() | Equivalence():
            return _Binding.ATOM
        case AllAttributes() | GroupAttribute():
            return _Binding.ATOM
        case _:
            assert_never(e)


def _at_least(binding: _Binding, e: Expression) -> str:
    return expression_text(e) if _binding(e) >= binding else f"({expression_text(e)})"


def _commas(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(map(expression_text, expressions))


def _quantifier_text(q: Quantifier | None) -> str:
    return "" if q is None else _bounds_text(q) + ("?" if q.reluctant else "")


def _bounds_text(q: Quantifier) -> str:
    match q:
        case Quantifier(0, None):
            return "*"
        case Quantifier(1, None):
            return "+"
        case Quantifier(low, None):
            return f"{{{low},}}"
        case Quantifier(low, high) if low == high:
            return f"{{{low}}}"
        case Quantifier(low, high):
            return f"{{{low},{high}}}"


def _step_text(s: Step) -> str:
    return str(s.strategy) if s.listed is None else f"{s.strategy}({', '.join(map(_listed_text, s.listed))})"


def _bound_event_text(s: BoundEvent) -> str:
    return name_text(s.variable) + ("" if s.index is None else f"[{s.index}]")


def _listed_text(v: ListedVariable) -> str:
    return name_text(v.name) + ("[]" if v.iterated else "")


def _item_text(item: ReturnItem) -> str:
    text = expression_text(item.expression)
    return text if item.alias is None else f"{text} AS {name_text(item.alias)}"
