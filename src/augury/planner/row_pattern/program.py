"""A row pattern -> its positions, and the positions that may follow each, in order of preference.

Empty moves are followed here once, instead of while rows are read. A place reached a second time without mapping a row
is given up, which ends loops over empty matches.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias, assert_never

from augury.ir.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
    parts_of,
)
from augury.plan.row_pattern import ACCEPT, FIRST_POSITION, MAX_POSITIONS, Position, Program

MAX_PLACES = 20_000
"""Places of a pattern, including choices; a larger pattern has no program."""


class TooLarge(Exception):
    """The pattern has more positions than a plan may have."""


@dataclass(frozen=True, slots=True)
class _Take:
    label: int
    excluded: bool
    next: int


@dataclass(frozen=True, slots=True)
class _Assert:
    end: bool
    next: int


_Place: TypeAlias = _Take | _Assert | tuple[int, ...] | None
"""A row to map, an anchor, a choice among places, or None at the end of the pattern."""

_DONE = 0


def program_of(pattern: RowPattern) -> Program | None:
    """The program of a pattern, None if it would be too large.

    >>> a, b = Variable("A"), Variable("B")
    >>> program_of(Concatenation((Quantified(a, 1, None), Quantified(b, 0, 1)))).follow
    ((2,), (2,), (2, 3, 0), (0,))
    """
    try:
        return _Builder(pattern).program()
    except TooLarge:
        return None


class _Builder:
    """Numbers the places of a pattern; equal places share a number."""

    def __init__(self, pattern: RowPattern) -> None:
        names = dict.fromkeys(p.name for p in parts_of(pattern) if isinstance(p, Variable))
        self.labels = {name: k for k, name in enumerate(names)}
        self.places: list[_Place] = [None]
        self.numbers: dict[Hashable, int] = {}
        self.start = self._before(pattern, _DONE, False)

    # -- places -------------------------------------------------------------------------------------------------------

    def _add(self, place: _Place) -> int:
        if len(self.places) >= MAX_PLACES:
            raise TooLarge
        self.places.append(place)
        return len(self.places) - 1

    def _number(self, place: _Place) -> int:
        found = self.numbers.get(place)
        if found is None:
            found = self.numbers[place] = self._add(place)
        return found

    def _before(self, pattern: RowPattern, next: int, excluded: bool) -> int:
        """The place that matches `pattern`, and `next` after it."""
        match pattern:
            case Variable(name):
                return self._number(_Take(self.labels[name], excluded, next))
            case Empty():
                return next
            case Anchor(end):
                return self._number(_Assert(end, next))
            case Exclusion(body):
                return self._before(body, next, True)
            case Concatenation(parts):
                for part in reversed(parts):
                    next = self._before(part, next, excluded)
                return next
            case Alternation(options):
                return self._number(tuple(self._before(o, next, excluded) for o in options))
            case Quantified():
                return self._rounds(pattern, next, excluded)
            case Permutation(parts):
                if all(map(_has_one_way, parts)):
                    return self._any_order(pattern, tuple(range(len(parts))), next, excluded)
                return self._orders(pattern, next, excluded)
            case _:
                assert_never(pattern)

    def _rounds(self, pattern: Quantified, next: int, excluded: bool) -> int:
        """The place of all rounds of a quantifier; without an upper bound, the optional rounds share one place.

        The choices before the first round and after a round are different places: an empty round comes back to the
        body, is given up there, and the loop ends.
        """
        key = ("rounds", pattern, next, excluded)
        if key in self.numbers:
            return self.numbers[key]
        body, least, most = pattern.body, pattern.least, pattern.most
        if least > MAX_PLACES or (most or 0) > MAX_PLACES:
            raise TooLarge

        def choice(more: int) -> tuple[int, ...]:
            return (next, more) if pattern.reluctant else (more, next)

        if most is None:
            again = self._add(None)
            round = self._before(body, again, excluded)
            self.places[again] = choice(round)
            place = self._add(choice(round)) if least == 0 else round
            done = max(least - 1, 0)
        else:
            place = next
            for _ in range(most - least):
                place = self._add(choice(self._before(body, place, excluded)))
            done = least
        for _ in range(done):
            place = self._before(body, place, excluded)
        self.numbers[key] = place
        return place

    def _any_order(self, pattern: Permutation, left: tuple[int, ...], next: int, excluded: bool) -> int:
        """One of the remaining parts, then the others in any order; places are shared by the set of remaining parts."""
        if not left:
            return next
        key = ("parts", pattern, left, next, excluded)
        if key not in self.numbers:
            options = []
            for chosen in left:
                others = self._any_order(pattern, tuple(k for k in left if k != chosen), next, excluded)
                options.append(self._before(pattern.parts[chosen], others, excluded))
            self.numbers[key] = self._number(tuple(options))
        return self.numbers[key]

    def _orders(self, pattern: Permutation, next: int, excluded: bool) -> int:
        """All orders, earlier ones preferred however their parts are matched."""
        options = []
        for order in permutations(pattern.parts):
            place = next
            for part in reversed(order):
                place = self._before(part, place, excluded)
            options.append(place)
            if len(options) > MAX_PLACES:
                raise TooLarge
        return self._number(tuple(options))

    # -- states -------------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Every reachable position, and the positions that may follow it."""
        states: dict[int, int] = {}
        takes: list[_Take] = []

        def listed(place: int, *, first: bool) -> tuple[int, ...]:
            out = []
            for reached in self._closure(place, first=first, end=False):
                if reached == _DONE:
                    out.append(ACCEPT)
                    break
                if reached not in states:
                    if len(states) >= MAX_POSITIONS:
                        raise TooLarge
                    states[reached] = FIRST_POSITION + len(states)
                    take = self.places[reached]
                    assert isinstance(take, _Take)
                    takes.append(take)
                out.append(states[reached])
            return tuple(out)

        follow = [listed(self.start, first=True), listed(self.start, first=False)]
        ends = [self._done_at_end(self.start)] * 2
        at = 0
        while at < len(takes):
            follow.append(listed(takes[at].next, first=False))
            ends.append(self._done_at_end(takes[at].next))
            at += 1
        positions = tuple(Position(t.label, t.excluded) for t in takes)
        return Program(tuple(self.labels), positions, tuple(follow), tuple(ends))

    def _done_at_end(self, place: int) -> bool:
        return _DONE in self._closure(place, first=False, end=True)

    def _closure(self, place: int, *, first: bool, end: bool) -> list[int]:
        """Rows to map, or the end of the pattern, that are reached without mapping a row; preferred ones first."""
        out, seen, pending = [], set(), [place]
        while pending:
            here = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            match self.places[here]:
                case None | _Take():
                    out.append(here)
                case _Assert(at_end, next):
                    if end if at_end else first:
                        pending.append(next)
                case options:
                    pending.extend(reversed(options))
        return out


def _has_one_way(pattern: RowPattern) -> bool:
    """Whether a pattern has no choices, so that the first row alone decides which order is preferred."""
    match pattern:
        case Variable() | Empty() | Anchor():
            return True
        case Exclusion(body):
            return _has_one_way(body)
        case Concatenation(parts):
            return all(map(_has_one_way, parts))
        case Quantified(body, least, most):
            return least == most and _has_one_way(body)
        case Alternation() | Permutation():
            return False
        case _:
            assert_never(pattern)
