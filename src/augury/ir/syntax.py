"""The syntax tree of a query.

Every node carries the `Span` it was read from. Spans do not take part in equality, so `parse(print(q)) == q`.
Spelling variants are gone: SEQUENCE is SEQ, PERMUTE is AND, `~X` and `!X` are NOT(X), `80%` is 0.8, `<>` is `!=`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from augury.ir.terms import Operator, OutputMode, Strategy
from augury.source import Span, span_field

if TYPE_CHECKING:
    from collections.abc import Iterator


# -- patterns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quantifier:
    """The number of events of an iterated component: `+` is (1, None), `*` is (0, None), `{2,3}` is (2, 3).

    `reluctant` if a `?` follows: the list may end early.
    """

    low: int
    high: int | None
    reluctant: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TypeName:
    """One event type of a component."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Component:
    """`Type var`, `A|B var`, `Type+ var[]`, `Type? var`, or `var` alone.

    `quantifier` is None for a single event and for `?`; `optional` is True only for `?`. No types: any type. A list
    may end with the event `until`.
    """

    variable: str
    types: tuple[TypeName, ...] = ()
    quantifier: Quantifier | None = None
    optional: bool = False
    until: Component | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Group:
    """`SEQ(...)`, `AND(...)` or `OR(...)`; `SEQ(...)+ g[]` repeats it, `SEQ(...)?` may leave it out.

    `quantifier` and `variable` are None unless it is repeated; `optional` is True only for `?`.
    """

    operator: Operator
    parts: tuple[Part, ...]
    quantifier: Quantifier | None = None
    variable: str | None = None
    optional: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT(...)`: its body must not occur, optionally `SINCE` an earlier event or `FOR` a duration."""

    body: Part
    since: BoundEvent | None = None
    silence: Duration | None = None
    span: Span = span_field()


Part: TypeAlias = "Component | Group | Negation"


# -- expressions -------------------------------------------------------------------------------------------------------


class Index(StrEnum):
    """The elements of an iterated variable that are read; the value is the text between the brackets."""

    EACH = "i"
    PREVIOUS = "i-1"
    BEFORE = "..i-1"
    THROUGH = "..i"
    FIRST = "1"
    LAST = "last"
    ALL = ""


@dataclass(frozen=True, slots=True)
class NthIndex:
    """`b[3]`: an element by number, counted from one; `b[1]` is `Index.FIRST`."""

    number: int

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float; percentages are already divided by 100."""

    value: int | float
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Boolean:
    """TRUE or FALSE."""

    value: bool
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Null:
    """NULL."""

    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Duration:
    """`5 minutes`, in nanoseconds."""

    nanoseconds: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name: a parameter, or a variable inside `count(b)`."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Elements:
    """`b[]` without an attribute, as in `count(b[])`."""

    variable: str
    index: Index | NthIndex
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`x.price`, `b[i].price`, `b.len`, or `x.id[y.id]` with the default for a missing x."""

    variable: str
    attribute: str
    index: Index | NthIndex | None = None
    default: Expression | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class GroupAttribute:
    """`g[i].b.price`, `g[].c[].price` or `g[last].c.len`: an attribute of a variable in rounds of a group."""

    group: str
    variable: str
    attribute: str
    round: Index | None = None
    index: Index | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class AllAttributes:
    """`v.*`: every attribute of a single variable, as items of RETURN."""

    variable: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `NOT p`; `operator` is `-` or `NOT`."""

    operator: str
    operand: Expression
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic (`+ - * / %`) or a comparison (`= != < <= > >=`)."""

    operator: str
    left: Expression
    right: Expression
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Logical:
    """`p AND q AND r` or `p OR q`: two or more operands; nested ones of the same operator are in parentheses."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class In:
    """`x IN (1, 2)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Between:
    """`x BETWEEN low AND high`, both ends included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x IS NULL`."""

    operand: Expression
    negated: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an aggregate; the name is lower case."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[attr]`: all events of the match have equal `attr`."""

    attribute: str
    span: Span = span_field()


Expression: TypeAlias = (
    "Number | Text | Boolean | Null | Duration | Name | Elements | Attribute | GroupAttribute | AllAttributes "
    "| Unary | Binary | Logical | In | Between | IsNull | Call | Equivalence"
)


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedVariable:
    """One entry of `skip_till_next_match(a, b[], c)`."""

    name: str
    iterated: bool = False
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Step:
    """`strict_contiguity(b, c[])`: a strategy and the steps it applies to; without a list if none was written."""

    strategy: Strategy
    listed: tuple[ListedVariable, ...] | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class CountWindow:
    """`WITHIN 100 EVENTS`."""

    events: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class BoundEvent:
    """The event of a variable, or the first or last of its list: `NONOVERLAP FROM v`, `NOT(...) SINCE b[first]`."""

    variable: str
    index: Index | NthIndex | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """`a.price - b.price AS gain`."""

    expression: Expression
    alias: str | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Query:
    """One query. Clauses that were not written are None (or empty), not their defaults.

    `strategy` and `listed` belong to the first strategy; `steps` are the further ones.
    """

    pattern: Part
    strategy: Strategy | None = None
    listed: tuple[ListedVariable, ...] | None = None
    where: Expression | None = None
    within: Duration | CountWindow | Name | None = None
    threshold: Number | Name | None = None
    output: OutputMode | None = None
    returns: tuple[ReturnItem, ...] = ()
    into: str | None = None
    steps: tuple[Step, ...] = ()
    skip_to: BoundEvent | None = None
    each: Duration | Name | None = None
    every: Duration | Name | None = None
    once: bool = False
    span: Span = span_field()

    def __str__(self) -> str:
        from augury.ir.text import query_text

        return query_text(self)


@dataclass(frozen=True, slots=True)
class Program:
    """Queries in the order they run; a later one may use the events an earlier one returns INTO a type."""

    queries: tuple[Query, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return ";\n\n".join(map(str, self.queries))


Node: TypeAlias = "Part | Expression | Query | Program | ReturnItem"


def children(node: Node) -> Iterator[Part | Expression]:
    """The direct children of a node, in the order written."""
    match node:
        case Component() | Number() | Text() | Boolean() | Null() | Duration() | Name() | Elements() | Equivalence():
            return
        case AllAttributes() | GroupAttribute():
            return
        case Group(_, parts):
            yield from parts
        case Negation(body):
            yield body
        case Attribute(default=default):
            if default is not None:
                yield default
        case Unary(_, operand) | IsNull(operand):
            yield operand
        case Binary(_, left, right):
            yield left
            yield right
        case Logical(_, operands):
            yield from operands
        case In(operand, items):
            yield operand
            yield from items
        case Between(operand, low, high):
            yield from (operand, low, high)
        case Call(_, arguments):
            yield from arguments
        case ReturnItem(expression):
            yield expression
        case Query():
            yield node.pattern
            if node.where is not None:
                yield node.where
            for item in node.returns:
                yield item.expression
        case Program(queries):
            for query in queries:
                yield from children(query)
