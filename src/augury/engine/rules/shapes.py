"""The shape of a rule: its query with the values and type names that rules differ in replaced by columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import assert_never

from augury.ir.pattern import (
    Absent,
    AllOf,
    AnyOf,
    Event,
    Group,
    OptionalPart,
    Pattern,
    Repeat,
    Seq,
    components,
    event_of,
    map_children,
)
from augury.ir.predicate import And, Arithmetic, Compare, Element, Expr, Literal, Negate, Not, Or, Ref, conjunct, walk
from augury.ir.predicate import map_children as map_operands
from augury.ir.query import BoundQuery, CountWindow
from augury.ir.terms import OutputMode, Strategy
from augury.schema import FLOAT, INT, STRING, Column, ColumnType, EventSchema, Kind
from augury.source import Source, Span

MAX_EXACT = 2**53  # largest integer up to which floats are exact

GROUPED_STRATEGIES = frozenset({Strategy.SKIP_TILL_ANY_MATCH, Strategy.SKIP_TILL_NEXT_MATCH})
"""Strategies under which events that no component can bind make no difference, so that a rule need not see them."""

UNDERSTOOD = {
    BoundQuery: frozenset(
        [
            "source",
            "schema",
            "pattern",
            "variables",
            "conjuncts",
            "strategy",
            "window",
            "partition_by",
            "output",
            "threshold",
            "returns",
            "into",
            "key",
            "steps",
            "each",
        ]
    ),
    Event: frozenset(["variable", "types", "span"]),
    Repeat: frozenset(["body", "low", "high", "single", "reluctant", "span"]),
    Seq: frozenset(["parts", "span"]),
    AllOf: frozenset(["parts", "span"]),
    AnyOf: frozenset(["parts", "span"]),
    Group: frozenset(),
    OptionalPart: frozenset(["body", "span"]),
    Absent: frozenset(["body", "since", "silence", "span"]),
}
"""Fields that a grouped query and its pattern may use; a query that uses any other field stands alone."""

NO_SOURCE = Source("", "rules")


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """Names of the columns that are added to events, which no column of the events has."""

    rule: str
    value: str

    def of_value(self, k: int) -> str:
        """The column of the k-th value of a rule."""
        return f"{self.value}{k}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A query whose constants are replaced by columns of the events; rules of one shape share it.

    `query` reads columns of the `value_types`, and is partitioned by the number of the rule. If `typed`, type names are
    replaced by those of `role`, and each rule has a list of its own type names.
    """

    query: BoundQuery
    columns: RuleColumns
    value_types: tuple[ColumnType, ...]
    typed: bool


@dataclass(frozen=True, slots=True)
class ShapedRule:
    """A rule as its shape, the values of its columns, and the names of its types by role.

    `spans` are the places of the values in its text.
    """

    shape: Shape
    values: tuple[float | str, ...]
    types: tuple[str, ...]
    spans: tuple[Span, ...] = ()


def role(k: int) -> str:
    """The name that stands for the k-th type of each rule."""
    return f"type {k}"


def shaped(bound: BoundQuery) -> ShapedRule | None:
    """Split a query into its shape and its own values; None for a query that cannot be matched with others.

    It can if it finds all matches, and if events that no component can bind make no difference.
    """
    if why_alone(bound) is not None:
        return None
    columns = _columns(bound.schema)
    lifting = _ConstantLifter(columns)
    order = bound.pattern_order
    conjuncts = tuple(conjunct(lifting.lifted(c.expr), order) for c in bound.conjuncts)
    typed = bound.schema.type is not None and not any(
        isinstance(e, Ref) and e.column == bound.schema.type for c in bound.conjuncts for e in walk(c.expr)
    )
    typed = typed and bound.schema.type not in bound.partition_by
    names = list(dict.fromkeys(name for c in components(bound.pattern) for name in event_of(c).types)) if typed else []
    roles = {name: role(k) for k, name in enumerate(names)}
    added = (Column(columns.rule, INT), *(Column(columns.of_value(k), t) for k, t in enumerate(lifting.types)))
    query = replace(
        bound,
        source=NO_SOURCE,
        schema=replace(bound.schema, columns=(*bound.schema.columns, *added), types=None),
        pattern=_renamed(bound.pattern, roles) if typed else bound.pattern,
        variables=tuple(replace(v, types=tuple(roles.get(t, t) for t in v.types)) for v in bound.variables),
        conjuncts=conjuncts,
        partition_by=(columns.rule, *bound.partition_by),
    )
    shape = Shape(query, columns, tuple(lifting.types), typed)
    return ShapedRule(shape, tuple(lifting.values), tuple(names), tuple(lifting.spans))


def why_alone(bound: BoundQuery) -> str | None:
    """Why a query is not matched together with others; None if it is."""
    consuming = sorted(bound.strategies - GROUPED_STRATEGIES)
    if consuming:
        return f"{consuming[0]} is about all events, not only about those that a rule can bind"
    if bound.output is not OutputMode.ALL:
        return "its OUTPUT is not ALL"
    if bound.threshold is not None:
        return "it has a THRESHOLD"
    if bound.into is not None:
        return "it derives events with INTO"
    if isinstance(bound.window, CountWindow):
        return "WITHIN counts all events, not only those that a rule can bind"
    if not bound.declarative and _has_sets(bound.pattern):
        return "it has an AND under skip_till_next_match"
    return "it has a clause that rules of one shape do not share" if says_more(bound) else None


def says_more(node: BoundQuery | Pattern) -> bool:
    """Whether a query, or a part of its pattern, has a clause that is not `UNDERSTOOD`."""
    known = UNDERSTOOD[type(node)]
    if any(getattr(node, f.name) != f.default for f in fields(node) if f.name not in known):
        return True
    match node:
        case BoundQuery(pattern=pattern):
            return says_more(pattern)
        case Event():
            return False
        case Repeat(body) | Absent(body):
            return says_more(body)
        case Group():
            return True
        case OptionalPart(body):
            return says_more(body)
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            return any(map(says_more, parts))
        case _:
            assert_never(node)


def _has_sets(pattern: Pattern) -> bool:
    match pattern:
        case AllOf():
            return True
        case Event() | Repeat():
            return False
        case Seq(parts) | AnyOf(parts):
            return any(map(_has_sets, parts))
        case Group(body=body) | OptionalPart(body) | Absent(body):
            return _has_sets(body)
        case _:
            assert_never(pattern)


def _columns(schema: EventSchema) -> RuleColumns:
    """Names with a prefix that no column of the events begins with."""
    prefix = "rule"
    while any(name.startswith(prefix) for name in schema.names):
        prefix += "_"
    return RuleColumns(prefix, f"{prefix} value ")


def _renamed(pattern: Pattern, roles: dict[str, str]) -> Pattern:
    """The pattern with types named by their roles."""
    match pattern:
        case Event(types=types):
            return replace(pattern, types=tuple(roles[name] for name in types))
        case Repeat(body):
            return replace(pattern, body=replace(body, types=tuple(roles[name] for name in body.types)))
        case _:
            return map_children(lambda part: _renamed(part, roles), pattern)


class _ConstantLifter:
    """Replaces constants in comparisons by columns, and collects the constants."""

    def __init__(self, columns: RuleColumns) -> None:
        self.columns = columns
        self.values: list[float | str] = []
        self.types: list[ColumnType] = []
        self.spans: list[Span] = []

    def lifted(self, e: Expr) -> Expr:
        match e:
            case And() | Or() | Not():
                return map_operands(self.lifted, e)
            case Compare(_, left, right):
                beside = _event_read(e)
                if beside is None:
                    return e
                as_float = Kind.FLOAT in (left.type.kind, right.type.kind)
                return map_operands(lambda side: self._in_side(side, beside, as_float=as_float), e)
            case _:
                return e

    def _in_side(self, e: Expr, beside: Ref, *, as_float: bool) -> Expr:
        match e:
            case Literal(value, type):
                own = _own_type(value, type, as_float=as_float)
                if own is None:
                    return e
                k = len(self.values)
                self.values.append(float(value) if own is FLOAT else value)  # type: ignore[arg-type]
                self.types.append(own)
                self.spans.append(e.span)
                return Ref(beside.variable, self.columns.of_value(k), own, beside.element, span=e.span)
            case Arithmetic() | Negate():
                # An integer in a sum of floats becomes one anyway; elsewhere it decides what the result is.
                as_float = e.type.kind is Kind.FLOAT and isinstance(e, Arithmetic) and e.operator in ("+", "-", "*")
                return map_operands(lambda part: self._in_side(part, beside, as_float=as_float), e)
            case _:
                return e


def _own_type(value: object, type: ColumnType, *, as_float: bool) -> ColumnType | None:
    """The column type of a constant; None for a constant that stays in the query."""
    match value:
        case bool():
            return None
        case int() if type.kind is Kind.INT and abs(value) <= MAX_EXACT:
            return FLOAT if as_float else INT
        case float() if type.kind is Kind.FLOAT and math.isfinite(value):
            return FLOAT
        case str() if type.kind is Kind.STRING:
            return STRING
        case _:
            return None


def _event_read(comparison: Compare) -> Ref | None:
    """A reference in a comparison to a single event, or to each element of a list: its event has the lifted value."""
    pending: list[Expr] = [comparison.left, comparison.right]
    while pending:
        e = pending.pop()
        match e:
            case Ref(element=Element.SINGLE | Element.EACH, default=None):
                return e
            case Arithmetic(_, left, right):
                pending += [right, left]
            case Negate(operand):
                pending.append(operand)
            case _:
                pass
    return None
