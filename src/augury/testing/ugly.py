"""Names and values that are legal but awkward, and that would break generated code or be executed by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from augury.loss import Exponential, LossModel
from augury.plan import FamilyName
from augury.printable import is_dangerous

EXECUTED_MARKER = "AUGURY_RAN_THIS"
"""A builtin that exists only once a payload has been executed."""

CODE = f"__builtins__.update({EXECUTED_MARKER}=True)"

LINE_BREAKS = ("\r", "\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029")

PLAIN_TROUBLE = (
    *("a.b", "low-speed", "é", "ﬁ", "速度", "می\u200cخواهم", "def", "None", "print", "lambda", "i", "q", "nums"),
    *("e_a", "v0_a", "v1_b", "c0", "c0_x", "c_x_null", "base1_v0_a", "f0", "P0", "string_rank", "part", "@full 3"),
    *("'", '"', '"""', "\\", "\\n", "#", "%s", "{x}", "{0}", "$x", ";", "--", "/*", "a b", "0", "`", "``", "<b>"),
    *("*", ".", "__init__", CODE, f"#{CODE}", f"'{CODE}#", f"){CODE}#", "x" * 300),
)
"""Names without control characters that may trip a code generator, SQL, a format string or a terminal."""


def payloads() -> st.SearchStrategy[str]:
    """Text that would become a statement if its line break ended a comment."""
    return st.builds(
        lambda before, line_break, indent, after: f"{before}{line_break}{' ' * 4 * indent}{CODE}{after}",
        st.sampled_from(("bob", "", "'", '"', "x)")),
        st.sampled_from(LINE_BREAKS),
        st.integers(0, 9),
        st.sampled_from(("#", "", "\r", ";#")),
    )


def ugly_values() -> st.SearchStrategy[str]:
    """Strings of any characters but lone surrogates, which are no text."""
    return payloads() | st.sampled_from((*PLAIN_TROUBLE, "", "\0", "\x1b[2J", "\u202e", "\x7f")) | st.text(max_size=12)


def ugly_names() -> st.SearchStrategy[str]:
    """Names that a query may hold in backquotes."""
    return st.sampled_from(PLAIN_TROUBLE) | st.text(
        st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")).filter(lambda c: not is_dangerous(c)),
        min_size=1,
        max_size=12,
    )


def refused_names() -> st.SearchStrategy[str]:
    """Names that no query may hold."""
    return payloads() | st.sampled_from(("\0", "a\tb", "\x1b[2J", "a\u202eb", "\ud800", "a\udfffb"))


def quoted(name: str) -> str:
    """A name as a query writes it."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: str) -> str:
    """A string as a query writes it."""
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class UglyCase:
    """A query with its events in which every name and value is awkward; `plans` are the families that can run it."""

    query: str
    events: pa.Table
    time: str
    type: str
    parameters: Mapping[str, Any]
    functions: Mapping[str, Any]
    plans: tuple[FamilyName, ...]
    loss: LossModel | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `augury.match` besides events, query and plan."""
        given = {"parameters": self.parameters, "functions": self.functions, "time": self.time, "type": self.type}
        return given if self.loss is None else given | {"loss": self.loss}


@st.composite
def ugly_cases(draw: st.DrawFn, plans: Sequence[str] = (), *, functions: bool = True) -> UglyCase:
    """A query for one of `plans`, or of all, that names columns, types, variables, parameters and functions."""
    shape = draw(st.sampled_from([s for s in SHAPES if not plans or set(s.plans) & set(plans)]))
    time, type_, text, number, key, beside = draw(
        st.lists(ugly_names(), min_size=6, max_size=6, unique_by=lambda name: name.lower())
    )
    a, b, c = draw(st.lists(ugly_names(), min_size=3, max_size=3, unique_by=lambda name: name.lower()))
    types = draw(st.lists(ugly_names(), min_size=3, max_size=3, unique=True))
    values = draw(st.lists(ugly_values(), min_size=3, max_size=3, unique=True))
    # A name before a parenthesis is a function, elsewhere a variable or a parameter.
    parameter, function, alias, into = (draw(ugly_names()) for _ in range(4))
    taken = {name.lower() for name in (a, b, c)}
    parameter = parameter if parameter.lower() not in taken else f"{parameter} p"
    function = f"{function} f"
    names = {
        **dict(zip(("A", "B", "C"), map(quoted, types), strict=True)),
        **dict(zip(("a", "b", "c"), map(quoted, (a, b, c)), strict=True)),
        **dict(zip(("text", "x", "k"), map(quoted, (text, number, key)), strict=True)),
        "p": quoted(parameter),
        "f": quoted(function),
        "alias": quoted(f"{alias} r"),
        "into": quoted(into),
        "value": literal(values[0]),
        "other": literal(values[1]),
    }
    query = shape.text.format(**names)
    if not functions:
        query = query.replace(f"{names['f']}({names['a']}.{names['x']})", f"{names['a']}.{names['x']}")
    size = draw(st.integers(3, 9))
    events = pa.table(
        {
            time: list(range(size)),
            type_: draw(st.lists(st.sampled_from(types), min_size=size, max_size=size)),
            text: draw(st.lists(st.sampled_from([*values, None]), min_size=size, max_size=size)),
            number: pa.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=size, max_size=size))),
            key: pa.array(draw(st.lists(st.sampled_from([1, 2]), min_size=size, max_size=size))),
            beside: draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)),
        }
    )
    called = {function: _doubled} if functions and "{f}" in shape.text else {}
    given = {parameter: draw(st.sampled_from(values))} if "{p}" in shape.text else {}
    loss = LossModel(rate=0.3, delays={v: Exponential(2.0) for v in (a, b, c)}) if "lossy" in shape.plans else None
    return UglyCase(query, events, time, type_, given, called, shape.plans, loss)


def _doubled(x: float) -> float:
    return 2.0 * x


@dataclass(frozen=True, slots=True)
class Shape:
    """A query with placeholders for names, and the families that can run it."""

    text: str
    plans: tuple[FamilyName, ...]


_ANY: tuple[FamilyName, ...] = ("lazy-chain", "lazy-tree", "eager-nfa")

SHAPES = (
    Shape(
        "PATTERN SEQ({A} {a}, {B} {b}) WHERE skip_till_any_match {{ {a}.{text} != {p} AND {b}.{text} != {value} }} "
        "WITHIN 5 seconds RETURN {a}.{x} AS {alias}, {b}.{text} AS `{{` INTO {into}",
        _ANY,
    ),
    Shape(
        "PATTERN SEQ({A} {a}, {B} {b}) WHERE skip_till_next_match {{ [{k}] AND ({a}.{text} = {p} OR {b}.{text} != {p}) "
        "AND {f}({a}.{x}) >= {b}.{x} }} WITHIN 6 seconds",
        ("eager-nfa",),
    ),
    Shape(
        "PATTERN SEQ({A} {a}, NOT({C} {c}), {B} {b}) WHERE skip_till_any_match {{ [{k}] AND {c}.{x} > {a}.{x} AND "
        "({c}.{text} = {value} OR {c}.{text} <> {b}.{text}) AND {a}.{text} <= {other} }} WITHIN 7 seconds",
        _ANY,
    ),
    Shape(
        "PATTERN SEQ({A}+ {a}[], {B} {b}) WHERE skip_till_any_match {{ {a}[i].{x} >= {a}[i-1].{x} AND "
        "avg({a}[].{x}) <= {b}.{x} + 1 AND {a}[last].{text} != {value} AND {b}.{text} IN ({value}, {other}, {p}) }} "
        "WITHIN 4 seconds",
        _ANY,
    ),
    Shape(
        "PATTERN SEQ(AND({A} {a}, {B}+ {b}[]), {C} {c}) WHERE skip_till_next_match {{ {a}.{text} != {value} AND "
        "{b}[i].{x} <= {c}.{x} AND [{k}] }} WITHIN 6 seconds",
        ("event-sets",),
    ),
    Shape(
        "PATTERN SEQ({A} {a}, {B} {b}, {C} {c}) WHERE {a}.{text} != {b}.{text} AND {b}.{text} != {value} "
        "WITHIN 6 seconds OUTPUT COVER",
        ("linked",),
    ),
    Shape(
        "PATTERN SEQ({A} {a}, {B} {b}, {C} {c}) WHERE [{k}] AND {b}.{text} != {value} WITHIN 5 seconds THRESHOLD 0.05",
        ("lossy",),
    ),
    Shape(
        "PATTERN SEQ({A} {a}, {B} {b}) WHERE strict_contiguity {{ {a}.{text} != {value} AND {b}.{x} >= {a}.{x} }}",
        ("eager-nfa",),
    ),
)
