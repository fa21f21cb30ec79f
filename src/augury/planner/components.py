"""Components, negated parts and computed columns, as the builders of several families need them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from augury.ir.branches import AbsentPart, branches
from augury.ir.functions import BUILTINS
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Event, Repeat, event_of, variable_of
from augury.ir.predicate import (
    Aggregate,
    Call,
    Conjunct,
    Element,
    Expr,
    ListLength,
    Nth,
    Ref,
    conjunct,
    map_children,
    walk,
)
from augury.ir.query import BoundQuery
from augury.ir.text import expression_text
from augury.ir.unbind import unbind
from augury.plan import Absence, Component, Computed, Unsupported
from augury.schema import Kind
from augury.source import Span

HOST_FUNCTIONS = frozenset({"lower", "upper", "length", "standardise"})
"""Built-in functions of one event whose values do not fit a register: the host computes them as columns."""


class UnsupportedQuery(Exception):
    """Raised by a builder whose family cannot run the query, with the reason and the place."""

    def __init__(self, reason: str, span: Span | None = None, *, too_large: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.span, self.too_large = reason, span, too_large

    def of(self, family: str) -> Unsupported:
        """The reason as a value, for the family `family`."""
        return Unsupported(family, self.reason, self.span, self.too_large)


MAX_NESTED_ELEMENTS = 6
"""Nested loops over elements of lists in one condition; they add to those over components, and CPython allows 20."""


def check_nesting(conjuncts: Sequence[Conjunct], span: Span) -> None:
    """Refuse a condition that nests more loops over elements of lists than a kernel can."""
    lists = max((len(j.each) for j in conjuncts), default=0)
    if lists > MAX_NESTED_ELEMENTS:
        reason = f"a condition over the elements of {lists} lists, and a kernel can nest the loops of"
        raise UnsupportedQuery(f"{reason} {MAX_NESTED_ELEMENTS}", span, too_large=True)


def compiled_conjuncts(query: BoundQuery) -> tuple[list[Conjunct], tuple[Computed, ...]]:
    """The conjuncts of a query as a kernel tests them, and the columns that the host computes for them."""
    columns = _Columns()
    conjuncts = [
        conjunct(columns.extract(c.expr), query.pattern_order)
        for c in normal_conjuncts(query.conjuncts, query.pattern_order)
    ]
    for c in conjuncts:
        _check(c)
    return conjuncts, columns.computed


def component(c: Event | Repeat, known: Collection[str], conjuncts: Sequence[Conjunct]) -> Component:
    """The component with the conjuncts that its variable is the last to bind."""
    v = variable_of(c)
    mine = [j for j in conjuncts if v in j.variables and set(j.variables) <= set(known)]
    alone = tuple(j for j in mine if j.variables == (v,) and j.one_event)
    low, high = (c.low, c.high) if isinstance(c, Repeat) else (1, 1)
    # A conjunct on numbered elements is decided when the last of them is taken, or when the list ends before it.
    whole = tuple(j for j in mine if v in j.whole or j.decided_at.get(v, 1) > low)
    take = tuple(j for j in mine if v not in j.whole and id(j) not in map(id, alone))
    for j in (*take, *whole):
        for e in walk(j.expr):
            if isinstance(e, Aggregate) and e.running and (e.variable != v or v in j.whole):
                raise UnsupportedQuery("a running aggregate of a list that is already complete", e.span)
            if isinstance(e, Aggregate) and e.running and v in j.decided_at:
                raise UnsupportedQuery("a running aggregate beside an element by its number", e.span)
    until = None
    if isinstance(c, Repeat) and c.until is not None:
        until = component(c.until, [*(u for u in known if u != v), c.until.variable], conjuncts)
    return Component(v, event_of(c).types, low, high, isinstance(c, Repeat), alone, take, whole, until)


def absence(part: AbsentPart, known: Sequence[str], conjuncts: Sequence[Conjunct]) -> Absence:
    inside = branches(part.body)
    if len(inside) != 1:
        raise UnsupportedQuery("a NOT over alternatives that no rule could take apart", part.body.span)
    (body,) = inside
    check_nesting(conjuncts, part.body.span)
    lists = {variable_of(c) for c in body.components if isinstance(c, Repeat)}
    components, names = [], list(known)
    for c in body.components:
        names.append(variable_of(c))
        components.append(_one_of(component(c, names, conjuncts), lists, part))
    for j in (j for c in components for j in c.take):
        if any(isinstance(e, Aggregate) for e in walk(j.expr)):
            raise UnsupportedQuery("an aggregate in a condition on a negated event", j.span)
    inner = tuple(
        absence(replace(p, after=p.after | part.after, before=p.before | part.before), names, conjuncts)
        for p in body.absent
    )
    return Absence(tuple(components), body.order, part.after, part.before, inner, open=not part.before & set(known))


def placed_absence(query: BoundQuery, part: AbsentPart, known: Sequence[str], conjuncts: Sequence[Conjunct]) -> Absence:
    """A negated part, with SINCE, FOR and its own strategy added."""
    found = absence(part, known, conjuncts)
    since = part.since if part.since is not None and part.since.variable in known else None
    silence = None if part.silence is None else query.ticks(part.silence)
    if found.inner and (since is not None or silence is not None):
        raise UnsupportedQuery("a NOT inside one with SINCE or FOR", part.body.span)
    beside = query.strategy_of_negated(part.body.variable) if isinstance(part.body, Event) else None
    return replace(found, beside=beside, since=since, silence=silence)


def _one_of(c: Component, lists: Collection[str], part: AbsentPart) -> Component:
    """A negated list as a single event: where a list of several occurs, so does a list of one."""
    if c.low > 1 or any((j.whole | j.decided_at.keys()) & set(lists) for j in (*c.take, *c.whole)):
        raise UnsupportedQuery("a NOT over a list that one event does not decide", part.body.span)
    take = tuple(j for j in c.take if not j.from_second & set(lists))
    return replace(c, iterated=False, take=take)


def _check(c: Conjunct) -> None:
    for e in walk(c.expr):
        match e:
            case Ref(element=Nth(), type=t) if t.kind is Kind.LIST:
                raise UnsupportedQuery("a list that is an attribute of an element by its number", e.span)
            case Aggregate(inclusive=True):
                raise UnsupportedQuery("an aggregate of the elements up to this one (`b[..i]`)", e.span)
            case Aggregate(function="min" | "max", type=t) if t.kind is Kind.STRING:
                raise UnsupportedQuery("the least or greatest of strings", e.span)
            case Call(function=name, arguments=arguments) if name not in BUILTINS:
                if not all(x.type.numeric or x.type.kind is Kind.BOOL for x in (e, *arguments)):
                    raise UnsupportedQuery(
                        f"the registered function `{name}` over several events, and not of numbers", e.span
                    )
            case Call(function="least" | "greatest", type=t) if t.kind is Kind.STRING:
                raise UnsupportedQuery("the least or greatest of strings", e.span)
            case Call(function=name) if name in HOST_FUNCTIONS:
                raise UnsupportedQuery(f"`{name}` over several events", e.span)
            case _:
                pass


class _Columns:
    """Collects the calls that the host computes, and replaces them by references to columns."""

    def __init__(self) -> None:
        self._found: dict[str, Computed] = {}

    @property
    def computed(self) -> tuple[Computed, ...]:
        return tuple(self._found.values())

    def extract(self, e: Expr) -> Expr:
        if isinstance(e, Call) and (e.function in HOST_FUNCTIONS or e.function not in BUILTINS):
            event = _only_event(e)
            if event is not None:
                variable, element = event
                canonical = _as_event(e)
                name = expression_text(unbind(canonical))
                self._found.setdefault(name, Computed(name, canonical))
                return Ref(variable, name, e.type, element, span=e.span)
        return map_children(self.extract, e)


def _only_event(e: Expr) -> tuple[str, Element | Nth] | None:
    """The one event that `e` reads, None if it reads several, a list or none."""
    read = {(r.variable, r.element) for r in walk(e) if isinstance(r, Ref)}
    if len(read) != 1 or any(isinstance(x, Aggregate | ListLength) for x in walk(e)):
        return None
    return next(iter(read))


def _as_event(e: Expr) -> Expr:
    """`e` over a single event named `e`."""
    if isinstance(e, Ref):
        return Ref("e", e.column, e.type)
    return map_children(_as_event, e)
