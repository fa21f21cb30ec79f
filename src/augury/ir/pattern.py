"""The logical structure of a pattern.

Canonical after `rewrite`: no group directly inside a group of its own kind, no group of one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from augury.source import Span, span_field


@dataclass(frozen=True, slots=True)
class Event:
    """One event bound to `variable`; no types means any type.

    >>> str(Event("x", ("A", "B")))
    'A|B x'
    """

    variable: str
    types: tuple[str, ...] = ()
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class Seq:
    """A sequence: every event of an earlier part precedes every event of a later part."""

    parts: tuple[Pattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class AllOf:
    """All parts occur, in any order."""

    parts: tuple[Pattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the parts is bound, and no other."""

    parts: tuple[Pattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A list of `low` to `high` events, or with `single` one optional event.

    A `reluctant` list may end early: after any of its elements from `low` on. An event `until` ends the list: it is not
    an element, and does not lie between two elements.

    >>> str(Repeat(Event("b", ("B",)), 2, None)), str(Repeat(Event("b", ("B",)), 0, 1, single=True))
    ('B{2,} b[]', 'B? b')
    """

    body: Event
    low: int
    high: int | None
    single: bool = False
    reluctant: bool = False
    until: Event | None = None
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class Group:
    """`low` to `high` rounds of `body`, one after another: a list named `variable`, with the variables of each round.

    A `reluctant` group may end early: after any of its rounds from `low` on. Variables inside it are local, each a list
    of the events that all rounds bind to it; every round binds at least one event.

    >>> str(Group("g", Seq((Event("b", ("B",)), Event("c", ("C",)))), 1, None))
    'SEQ(B b, C c)+ g[]'
    """

    variable: str
    body: Pattern
    low: int
    high: int | None
    reluctant: bool = False
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class OptionalPart:
    """An optional part.

    >>> str(OptionalPart(Seq((Event("b", ("B",)), Event("c", ("C",))))))
    'SEQ(B b, C c)?'
    """

    body: Pattern
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, slots=True)
class BoundEvent:
    """An event of a match: the event of `variable`, or the first or the last one of its list."""

    variable: str
    last: bool = False
    iterated: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """The body must not occur at this place.

    The search starts at the event `since` if given, or spans exactly `silence` nanoseconds.
    """

    body: Pattern
    since: BoundEvent | None = None
    silence: int | None = None
    span: Span = span_field()

    def __str__(self) -> str:
        return _text(self)


Pattern: TypeAlias = "Event | Seq | AllOf | AnyOf | Repeat | Group | OptionalPart | Absent"


def map_children(f: Callable[[Pattern], Pattern], p: Pattern) -> Pattern:
    """Rebuild `p` with `f` applied to each direct child that is not the event of a `Repeat`."""
    match p:
        case Event() | Repeat():
            return p
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            return replace(p, parts=tuple(map(f, parts)))
        case Group(body=body) | OptionalPart(body) | Absent(body):
            return replace(p, body=f(body))
        case _:
            assert_never(p)


def components(p: Pattern, *, negated: bool = True) -> Iterator[Event | Repeat]:
    """The leaves of `p` in pattern order; `negated=False` leaves out those inside a NOT or an UNTIL."""
    match p:
        case Event():
            yield p
        case Repeat(until=until):
            yield p
            if negated and until is not None:
                yield until
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from components(part, negated=negated)
        case Group(body=body) | OptionalPart(body):
            yield from components(body, negated=negated)
        case Absent(body):
            if negated:
                yield from components(body)
        case _:
            assert_never(p)


def groups(p: Pattern) -> Iterator[Group]:
    """The groups of `p` in pattern order."""
    match p:
        case Event() | Repeat():
            pass
        case Group():
            yield p
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from groups(part)
        case OptionalPart(body) | Absent(body):
            yield from groups(body)
        case _:
            assert_never(p)


def event_of(component: Event | Repeat) -> Event:
    """The event declaration inside a leaf."""
    return component if isinstance(component, Event) else component.body


def variable_of(component: Event | Repeat) -> str:
    """The variable a leaf binds."""
    return event_of(component).variable


def _text(p: Pattern) -> str:
    from augury.ir.text import part_text
    from augury.ir.unbind import unbind_pattern

    return part_text(unbind_pattern(p))
