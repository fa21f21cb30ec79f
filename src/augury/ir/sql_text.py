"""Functions on strings and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from augury.ir.sql_cast import as_text, convert
from augury.ir.sql_logic import any_true, equal
from augury.ir.sql_scalar import BadValue, ScalarFunction, Types, always, compared, expect, one_type
from augury.ir.sql_types import (
    BIGINT,
    BOOLEAN,
    NULL,
    VARCHAR,
    Family,
    family,
    plain,
)

MAX_STRING_CHARACTERS = 10_000_000
"""Characters that a string function may produce at most."""


@lru_cache(256)
def _like(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern; runs of `%` are merged, so that matching takes no exponential time."""
    out, k = [], 0
    while k < len(pattern):
        c = pattern[k]
        if escape and c == escape:
            k += 1
            if k == len(pattern) or pattern[k] not in ("%", "_", escape):
                raise BadValue("the escape character of LIKE stands before `%`, `_` or itself")
            out.append(re.escape(pattern[k]))
        elif c == "%":
            # An atomic group: the shortest text up to the next literal is as good as any longer one.
            if not out or out[-1] != ".*?":
                out.append(".*?")
        elif c == "_":
            out.append(".")
        else:
            out.append(re.escape(c))
        k += 1
    pieces = "".join(out).split(".*?")
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)


def _apply_like(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
    escape = values[2] if len(values) > 2 else None
    if escape is not None and len(escape) != 1:
        raise BadValue("the escape of LIKE is one character")
    return _like(values[1], escape).fullmatch(values[0]) is not None


def _short(text: str) -> str:
    if len(text) > MAX_STRING_CHARACTERS:
        raise BadValue(f"a string of more than {MAX_STRING_CHARACTERS} characters")
    return text


def _concat_type(types: Types) -> pa.DataType:
    if any(family(t) is Family.LIST for t in types):
        return one_type([t if family(t) is Family.LIST else pa.list_(plain(t)) for t in types])
    expect(types, Family.STRING)
    return VARCHAR


def _concat(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    if family(out) is Family.LIST:
        lists = [v if family(t) is Family.LIST else [v] for v, t in zip(values, types, strict=True)]
        return [item for part in lists for item in part]
    return _short("".join(values))


def _concat_ws_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.STRING)
    for arrow in types[1:]:
        expect([arrow.value_type if family(arrow) is Family.LIST else arrow], Family.STRING)
    return VARCHAR


def _concat_ws(values: Sequence[Any], types: Types, out: pa.DataType) -> str | None:
    """Nulls among the parts are skipped, lists are expanded; a null separator gives null."""
    if values[0] is None:
        return None
    parts = [p for v in values[1:] for p in (v if isinstance(v, list) else [v])]
    return _short(values[0].join(p for p in parts if p is not None))


def _array_join_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.LIST)
    expect(types[1:], Family.STRING)
    return VARCHAR


def _array_join(values: Sequence[Any], types: Types, out: pa.DataType) -> str:
    """Nulls are skipped, unless a third argument replaces them."""
    instead = values[2] if len(values) > 2 else None
    item = types[0].value_type if family(types[0]) is Family.LIST else VARCHAR
    parts = [instead if v is None else as_text(v, item) for v in values[0]]
    return _short(values[1].join(p for p in parts if p is not None))


def _substring(values: Sequence[Any], types: Types, out: pa.DataType) -> str:
    text, start = values[0], values[1]
    length = values[2] if len(values) > 2 else len(text)
    if start == 0 or length <= 0:
        return ""
    begin = start - 1 if start > 0 else len(text) + start
    return text[begin : begin + length] if begin >= 0 else ""


def _substring_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.STRING)
    expect(types[1:], Family.INTEGER)
    return VARCHAR


def _item_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.LIST)
    expect(types[1:2], Family.INTEGER)
    return types[0].value_type if family(types[0]) is Family.LIST else NULL


def _element_at(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    items, index = values
    if index == 0:
        raise BadValue("the first element of an array is number 1")
    at = index - 1 if index > 0 else len(items) + index
    return items[at] if 0 <= at < len(items) else None


def _subscript(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    items, index = values
    if not 1 <= index <= len(items):
        raise BadValue(f"the array of {len(items)} elements has no element {index}")
    return items[index - 1]


def _contains_type(types: Types) -> pa.DataType:
    expect(types[:1], Family.LIST)
    if family(types[0]) is Family.LIST:
        compared((types[0].value_type, types[1]))
    return BOOLEAN


def _contains(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    item = types[0].value_type
    return any_true([equal(v, values[1], (item, types[1])) for v in values[0]], types, out)


def _array_type(types: Types) -> pa.DataType:
    return pa.list_(one_type(types))


def _array(values: Sequence[Any], types: Types, out: pa.DataType) -> list[Any]:
    return [None if v is None else convert(v, t, out.value_type) for v, t in zip(values, types, strict=True)]


def _text(apply: Callable[[str], Any], type: pa.DataType = VARCHAR) -> ScalarFunction:
    return ScalarFunction(1, 1, always(type, Family.STRING), lambda values, types, out: apply(values[0]))


def _texts(count: int, apply: Callable[..., Any], type: pa.DataType = VARCHAR) -> ScalarFunction:
    return ScalarFunction(count, count, always(type, Family.STRING), lambda values, types, out: apply(*values))


TEXT_FUNCTIONS: dict[str, ScalarFunction] = {
    "like": ScalarFunction(2, 3, always(BOOLEAN, Family.STRING), _apply_like),
    "||": ScalarFunction(2, 2, _concat_type, _concat),
    "concat": ScalarFunction(2, None, _concat_type, _concat),
    "concat_ws": ScalarFunction(2, None, _concat_ws_type, _concat_ws, sees_nulls=True),
    "array_join": ScalarFunction(2, 3, _array_join_type, _array_join),
    "array": ScalarFunction(0, None, _array_type, _array, sees_nulls=True),
    "subscript": ScalarFunction(2, 2, _item_type, _subscript),
    "element_at": ScalarFunction(2, 2, _item_type, _element_at),
    "cardinality": ScalarFunction(1, 1, always(BIGINT, Family.LIST), lambda values, types, out: len(values[0])),
    "contains": ScalarFunction(2, 2, _contains_type, _contains),
    "lower": _text(str.lower),
    "upper": _text(str.upper),
    "trim": _text(lambda s: s.strip(" ")),
    "ltrim": _text(lambda s: s.lstrip(" ")),
    "rtrim": _text(lambda s: s.rstrip(" ")),
    "reverse": _text(lambda s: s[::-1]),
    "length": _text(len, BIGINT),
    "char_length": _text(len, BIGINT),
    "character_length": _text(len, BIGINT),
    "substr": ScalarFunction(2, 3, _substring_type, _substring),
    "substring": ScalarFunction(2, 3, _substring_type, _substring),
    "replace": _texts(3, lambda s, old, new: _short(s.replace(old, new)) if len(old) else s),
    "strpos": _texts(2, lambda s, part: s.find(part) + 1, BIGINT),
    "starts_with": _texts(2, str.startswith, BOOLEAN),
}
"""Functions on strings and lists."""
