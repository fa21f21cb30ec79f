"""Tokens that stand for values: names, numbers, strings, durations, list indexes."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from lark import Token

from augury.errors import Diagnostic
from augury.ir.durations import SHORT_UNITS
from augury.ir.syntax import Duration, Index, NthIndex, Number
from augury.ir.text import UNITS, name_text
from augury.printable import is_dangerous, lone_surrogate
from augury.schema import INT_MAX, INT_MIN
from augury.source import Span


class Rejected(Exception):
    """An illegal token or node; carries the diagnostic out of the parser."""

    def __init__(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> None:
        self.diagnostic = Diagnostic(code, message, span, label, help)
        super().__init__(message)


INDEX_HELP = "an index is `[i]`, `[i-1]`, `[..i-1]`, `[..i]`, `[1]`, `[2]`, `[first]`, `[last]`, `[b.len]` or `[]`"
UNIT_HELP = "units of time are ns, us, ms, seconds, minutes, hours, days and weeks"

_INDEX_TOKEN = re.compile(r"`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|\s+|.", re.DOTALL)
_INDEXES = {
    "": Index.ALL,
    "i": Index.EACH,
    "i-1": Index.PREVIOUS,
    "..i-1": Index.BEFORE,
    "..i": Index.THROUGH,
    "1": Index.FIRST,
    "first": Index.FIRST,
    "last": Index.LAST,
}


def span_of(token: Token) -> Span:
    """The span of a token."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def read_name(token: Token) -> str:
    """The name a word stands for, without its backquotes."""
    text = str(token)
    if text.startswith("`"):
        if text == "``":
            raise Rejected("A102", "a name has at least one character", span_of(token), "empty", "write `name`")
        odd = next((i for i, c in enumerate(text) if is_dangerous(c)), None)
        if odd is not None:
            start = span_of(token).start + odd
            raise Rejected(
                "A290",
                f"a name cannot hold the character U+{ord(text[odd]):04X}",
                Span(start, start + 1),
                "not in a name",
                "line breaks, control characters, marks of direction and lone surrogates stand in no name; rename it",
            )
        return text[1:-1].replace("``", "`")
    if not text.isidentifier():
        first = next(c for i, c in enumerate(text) if not ("a" * (i > 0) + c).isidentifier())
        raise Rejected(
            "A102",
            f"`{first}` cannot stand in a plain name",
            span_of(token),
            "not a plain name",
            f"write the name in backquotes: `{text}`",
        )
    return text


def read_string(token: Token) -> str:
    """The value of a string in single or double quotes."""
    odd = lone_surrogate(token)
    if odd is not None:
        start = span_of(token).start + odd
        raise Rejected(
            "A291",
            f"a string cannot hold U+{ord(token[odd]):04X}, half of a surrogate pair",
            Span(start, start + 1),
            "no character",
            "no text has it; was the query decoded as UTF-8?",
        )
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def read_number(token: Token) -> int | float:
    """The value of a number or a percentage; 2**63 passes, since a minus sign may stand before it."""
    text = str(token)
    if text.isdigit():
        # Python refuses to convert thousands of digits, so what is too long is not converted at all.
        digits = text.lstrip("0") or "0"
        if len(digits) > len(str(INT_MAX)) or int(digits) > -INT_MIN:
            raise too_large(span_of(token))
        return int(digits)
    value = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    if not isfinite(value):
        raise Rejected(
            "A102", "this number is too large", span_of(token), "too large for a float", "the largest is about 1.8e308"
        )
    return value


def read_integer(token: Token, what: str) -> int:
    """The value of a number that counts something."""
    value = read_number(token)
    if not isinstance(value, int):
        raise Rejected("A102", f"{what} is a whole number", span_of(token), "not a whole number", "write 1, 2, 3, ...")
    if value > INT_MAX:
        raise too_large(span_of(token))
    return value


def with_sign(number: Number, sign: int, span: Span) -> Number:
    """A number with its sign, once it is known to fit."""
    value = sign * number.value
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise too_large(span)
    return Number(value, span)


def too_large(span: Span) -> Rejected:
    return Rejected(
        "A102",
        "this integer does not fit in 64 bits",
        span,
        "too large",
        "the largest is 9223372036854775807; write a float such as 1e20 for larger numbers",
    )


def read_duration(number: Token, unit: Token) -> Duration:
    """`1.5 hours`, exactly; it must be a whole number of nanoseconds."""
    span = span_of(number) | span_of(unit)
    word = unit.lower()
    size = UNITS[SHORT_UNITS.get(word) or word.removesuffix("s")]
    # As a float first: an exact value may ask for more digits than there is memory.
    rough = float(number)
    if rough > 2 * INT_MAX:
        raise _too_long(span)
    if rough == 0.0:
        nanoseconds = Fraction(0) if set(re.split("[eE]", number)[0]) <= set("0.") else Fraction(1, 2)
    else:
        nanoseconds = Fraction(Decimal(number)) * size
    if nanoseconds > INT_MAX:
        raise _too_long(span)
    if nanoseconds.denominator != 1:
        raise Rejected(
            "A102", "a duration is a whole number of nanoseconds", span, "not a whole number", "round it to nanoseconds"
        )
    return Duration(int(nanoseconds), span)


def _too_long(span: Span) -> Rejected:
    return Rejected("A102", "this duration is too long", span, "too long", "durations reach up to 292 years")


def read_index(token: Token, variable: str) -> Index | NthIndex:
    """The index between the brackets behind `variable`."""
    tokens = [t if t.strip() and not t.startswith(("--", "/*")) else " " for t in _INDEX_TOKEN.findall(token[1:-1])]
    inner = "".join(t for t in tokens if t != " ")
    index = _INDEXES.get(inner.lower().replace("−", "-"))
    if index is not None:
        return index
    # Blank space is no part of a number: `[1 2]` is no index.
    if re.fullmatch("0*[1-9][0-9]{0,17}", "".join(tokens).strip()):
        number = int(inner)
        return NthIndex(number) if number > 1 else Index.FIRST
    length = re.fullmatch(r"(.+)\.len", inner, re.IGNORECASE | re.DOTALL)
    if length is None:
        raise Rejected("A103", f"`{token}` is not an index", span_of(token), "not an index", INDEX_HELP)
    if length[1] not in (variable, name_text(variable)):
        raise Rejected(
            "A103",
            f"`{token}` is an index into another variable than `{variable}`",
            span_of(token),
            "another variable",
            f"the last element is {name_text(variable)}[last]",
        )
    return Index.LAST
