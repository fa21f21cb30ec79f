"""Typed expressions over the events of a match, and the conjuncts of WHERE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from augury.schema import BOOL, INT, ColumnType
from augury.source import Span, span_field

Value: TypeAlias = "bool | int | float | str | list[Value] | tuple[Value, ...] | None"
"""The value of an expression; times and durations are integers in ticks of their type's unit."""


class Element(StrEnum):
    """The event of its variable that a `Ref` reads."""

    SINGLE = "single"
    EACH = "each"
    PREVIOUS = "previous"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Nth:
    """`b[3]`: a `Ref` to an element by number, two or more; null if the complete list is shorter."""

    number: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; bound parameters are constants as well."""

    value: Value
    type: ColumnType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Ref:
    """An attribute of an event of the match; `default` is its value when the event is missing (lossy streams)."""

    variable: str
    column: str
    type: ColumnType
    element: Element | Nth = Element.SINGLE
    default: Expr | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ListLength:
    """`b.len`: the number of events of an iterated variable."""

    variable: str
    type: ColumnType = INT
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class InRound:
    """`g[i].b.x`: the value of `operand`, a `Ref`, `ListLength` or `Aggregate`, in one round of a group.

    A number stands for that round, counted from 1.
    """

    group: str
    round: Element | int
    operand: Expr
    type: ColumnType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`avg(b[].x)`, or with `running` `avg(b[..i-1].x)`, which is `inclusive` as `avg(b[..i].x)`.

    The argument reads the elements as `Element.EACH`; None counts the events themselves. Over the `rounds`
    of a group, as `avg(g[].b.x)`, the argument is read in each round, and for each element where it reads a list of it.

    In RETURN of OUTPUT COUNT it is taken over all matches that an event completes: the argument is read from every
    event that they bind to the variable, which may be a single one. With an empty variable it counts the matches.
    """

    function: str
    variable: str
    argument: Expr | None
    running: bool
    type: ColumnType
    span: Span = span_field()
    inclusive: bool = False
    rounds: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`+ - * / %`. Integers stay integers except under `/`; the result is null if it cannot be computed."""

    operator: str
    left: Expr
    right: Expr
    type: ColumnType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Negate:
    """`-x`."""

    operand: Expr
    type: ColumnType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Compare:
    """`= != < <= > >=` between two values of one family; null when either is."""

    operator: str
    left: Expr
    right: Expr
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class And:
    """Three-valued conjunction."""

    operands: tuple[Expr, ...]
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Or:
    """Three-valued disjunction."""

    operands: tuple[Expr, ...]
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Not:
    """Three-valued negation."""

    operand: Expr
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Member:
    """`x IN (...)`.

    Constants of a long list are in `listed`, apart from the other items: walks over expressions skip them, so that they
    do not take longer with every value.
    """

    operand: Expr
    items: tuple[Expr, ...]
    listed: tuple[Literal, ...] = ()
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x IS NULL`."""

    operand: Expr
    type: ColumnType = BOOL
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in function of `ir.functions`, or a Python function that the caller registered."""

    function: str
    arguments: tuple[Expr, ...]
    type: ColumnType
    span: Span = span_field()


Expr: TypeAlias = (
    "Literal | Ref | ListLength | InRound | Aggregate "
    "| Arithmetic | Negate | Compare | And | Or | Not | Member | IsNull | Call"
)


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order they were written."""
    match e:
        case Literal() | ListLength():
            return ()
        case Ref(default=default):
            return () if default is None else (default,)
        case Aggregate(argument=argument):
            return () if argument is None else (argument,)
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Negate(operand) | Not(operand) | IsNull(operand) | InRound(operand=operand):
            return (operand,)
        case And(operands) | Or(operands):
            return operands
        case Member(operand, items):
            return (operand, *items)
        case Call(_, arguments):
            return arguments
        case _:
            assert_never(e)


def map_children(f: Callable[[Expr], Expr], e: Expr) -> Expr:
    """Rebuild `e` with `f` applied to each direct subexpression."""
    match e:
        case Literal() | ListLength():
            return e
        case Ref(default=default):
            return e if default is None else replace(e, default=f(default))
        case Aggregate(argument=argument):
            return e if argument is None else replace(e, argument=f(argument))
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return replace(e, left=f(left), right=f(right))
        case Negate(operand) | Not(operand) | IsNull(operand) | InRound(operand=operand):
            return replace(e, operand=f(operand))
        case And(operands) | Or(operands):
            return replace(e, operands=tuple(map(f, operands)))
        case Member(operand, items):
            return replace(e, operand=f(operand), items=tuple(map(f, items)))
        case Call(_, arguments):
            return replace(e, arguments=tuple(map(f, arguments)))
        case _:
            assert_never(e)


def walk(e: Expr) -> Iterator[Expr]:
    """`e` and all its subexpressions, outermost first."""
    pending = [e]
    while pending:
        e = pending.pop()
        yield e
        if below := children(e):
            pending.extend(reversed(below))


def variables(e: Expr) -> frozenset[str]:
    """The variables that `e` reads; defaults of missing events do not count.

    A variable read in rounds of a group counts as the group.
    """
    match e:
        case InRound(group):
            return frozenset((group,))
        case Aggregate(variable=""):
            return frozenset()
        case Ref(variable) | ListLength(variable) | Aggregate(variable=variable):
            return frozenset((variable,))
        case _:
            return frozenset().union(*map(variables, children(e)))


def inner_variables(e: Expr) -> frozenset[str]:
    """The variables of groups that `e` reads in their rounds."""
    match e:
        case InRound(operand=operand):
            return variables(operand)
        case Aggregate(argument=argument, rounds=True):
            return frozenset() if argument is None else variables(argument)
        case _:
            return frozenset().union(*map(inner_variables, children(e)))


def reads_each(e: Expr) -> bool:
    """Whether `e` reads events one by one, rather than a certain one of a list or the whole list."""
    return all(
        x.element in (Element.SINGLE, Element.EACH)
        if isinstance(x, Ref)
        else not isinstance(x, Aggregate | ListLength | InRound)
        for x in walk(e)
    )


BRIEF_VALUES = 8
"""Values of a list that `Conjunct.brief` shows."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One predicate of WHERE that must be true, with its variables in pattern order.

    How it reads iterated variables decides when it is tested: `each` are the variables it must hold for every element
    of, `from_second` those of them where it starts at the second element (it reads the one before), `whole` those whose
    complete list it needs, and `decided_at` has the greatest number of an element (`b[3]`) for each variable with
    numbered elements.
    """

    expr: Expr
    variables: tuple[str, ...]
    each: frozenset[str]
    from_second: frozenset[str]
    whole: frozenset[str]
    decided_at: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def span(self) -> Span:
        return self.expr.span

    @property
    def one_event(self) -> bool:
        """Whether the conjunct reads a single event, or each element of a list on its own."""
        return reads_each(self.expr)

    def __str__(self) -> str:
        from augury.ir.text import expression_text
        from augury.ir.unbind import unbind

        return expression_text(unbind(self.expr))

    @property
    def brief(self) -> str:
        """The text, with only the first values of a long list."""
        return str(replace(self, expr=_brief(self.expr)))


def _brief(e: Expr) -> Expr:
    if isinstance(e, Member) and len(e.listed) > BRIEF_VALUES:
        e = replace(e, listed=e.listed[:BRIEF_VALUES])
    return map_children(_brief, e)


def conjunct(expr: Expr, pattern_order: tuple[str, ...]) -> Conjunct:
    """Classify `expr` by the variables it reads and how it reads them."""
    used = variables(expr)
    each, from_second, whole = set(), set(), set()
    decided_at: dict[str, int] = {}
    # Aggregates read the elements of their argument themselves, so their inner references do not quantify the conjunct.
    pending = [expr]
    while pending:
        e = pending.pop()
        match e:
            case Ref(variable, element=Element.EACH) | InRound(variable, Element.EACH):
                each.add(variable)
            case Ref(variable, element=Element.PREVIOUS) | InRound(variable, Element.PREVIOUS):
                each.add(variable)
                from_second.add(variable)
            case Ref(variable, element=Element.LAST) | ListLength(variable) | InRound(variable, Element.LAST):
                whole.add(variable)
            case Ref(variable, element=Nth(number)):
                decided_at[variable] = max(number, decided_at.get(variable, 1))
            case InRound():
                pass
            case Aggregate(variable=variable, running=running, inclusive=inclusive):
                if running:
                    each.add(variable)
                    if not inclusive:
                        from_second.add(variable)
                else:
                    whole.add(variable)
            case _:
                pending += children(e)
    ordered = tuple(sorted(used, key=pattern_order.index))
    return Conjunct(expr, ordered, frozenset(each), frozenset(from_second), frozenset(whole), decided_at)
