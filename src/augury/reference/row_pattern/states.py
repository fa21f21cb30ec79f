"""States of a row pattern: what is still to be matched.

States are created when the search first reaches them, so that a bound of a million rounds or a permutation of ten parts
costs only as much as is searched.
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
)


@dataclass(frozen=True, slots=True)
class Take:
    """Map the next row to a variable, then go on at `next`."""

    variable: str
    excluded: bool
    next: int


@dataclass(frozen=True, slots=True)
class Choose:
    """Continue with the first of these states that leads to a match."""

    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assert:
    """Continue at `next` if the next row is the first of the partition, or if there is none."""

    end: bool
    next: int


@dataclass(frozen=True, slots=True)
class Done:
    """The final state: nothing is left to match."""


State: TypeAlias = Take | Choose | Assert | Done


@dataclass(frozen=True, slots=True)
class _LazyChoice:
    """A choice whose options are created on first use."""

    pattern: Quantified | Permutation
    kind: str
    done: int | tuple[int, ...]
    next: int
    excluded: bool


DONE = 0


class States:
    """The states of a pattern reached so far, by number; equal states share a number."""

    def __init__(self, pattern: RowPattern) -> None:
        self._states: list[State | _LazyChoice] = [Done()]
        self._numbers: dict[Hashable, int] = {}
        self.start = self._after(pattern, DONE, False)

    def __getitem__(self, number: int) -> State:
        state = self._states[number]
        if isinstance(state, _LazyChoice):
            state = self._states[number] = Choose(self._options(state))
        return state

    def __len__(self) -> int:
        return len(self._states)

    def _number(self, state: State | _LazyChoice) -> int:
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self._states)
            self._states.append(state)
        return found

    def _after(self, pattern: RowPattern, next: int, excluded: bool) -> int:
        """The state that matches `pattern`, then continues at `next`."""
        match pattern:
            case Variable(name):
                return self._number(Take(name, excluded, next))
            case Empty():
                return next
            case Anchor(end):
                return self._number(Assert(end, next))
            case Exclusion(body):
                return self._after(body, next, True)
            case Concatenation(parts):
                for part in reversed(parts):
                    next = self._after(part, next, excluded)
                return next
            case Alternation(options):
                return self._number(Choose(tuple(self._after(o, next, excluded) for o in options)))
            case Quantified():
                return self._rounds(pattern, 0, next, excluded)
            case Permutation(parts):
                if all(map(_has_one_way, parts)):
                    return self._number(_LazyChoice(pattern, "parts left", tuple(range(len(parts))), next, excluded))
                return self._number(_LazyChoice(pattern, "order", 0, next, excluded))
            case _:
                assert_never(pattern)

    def _rounds(self, pattern: Quantified, done: int, next: int, excluded: bool) -> int:
        """The state in which `done` rounds have been matched.

        Without an upper bound, the choice before the first round and the one after a round are different places: an
        empty round comes back to the body, is given up there, and the loop ends.
        """
        if done < pattern.least:
            last = pattern.most is None and done == pattern.least - 1
            following = self._again(pattern, next, excluded) if last else None
            if following is None:
                return self._number(_LazyChoice(pattern, "round", done, next, excluded))
            return self._after(pattern.body, following, excluded)
        if pattern.most is None:
            return self._number(_LazyChoice(pattern, "first", 0, next, excluded))
        if done == pattern.most:
            return next
        return self._number(_LazyChoice(pattern, "more", done, next, excluded))

    def _again(self, pattern: Quantified, next: int, excluded: bool) -> int:
        return self._number(_LazyChoice(pattern, "again", 0, next, excluded))

    def _options(self, state: _LazyChoice) -> tuple[int, ...]:
        pattern, next, excluded, done = state.pattern, state.next, state.excluded, state.done
        match pattern, done:
            case Permutation(), tuple(left):
                # One part first, then any order of the others: orders are expanded only when they are tried.
                return tuple(self._part(pattern, k, left, next, excluded) for k in left)
            case Permutation(), int():
                return self._orders(pattern, next, excluded)
            case Quantified(), int():
                if state.kind == "round":
                    return (self._after(pattern.body, self._rounds(pattern, done + 1, next, excluded), excluded),)
                if state.kind == "more":
                    one_more = self._after(pattern.body, self._rounds(pattern, done + 1, next, excluded), excluded)
                else:
                    one_more = self._after(pattern.body, self._again(pattern, next, excluded), excluded)
                return (next, one_more) if pattern.reluctant else (one_more, next)
            case _:
                raise AssertionError(state)

    def _part(self, pattern: Permutation, chosen: int, left: tuple[int, ...], next: int, excluded: bool) -> int:
        others = tuple(k for k in left if k != chosen)
        following = next if not others else self._number(_LazyChoice(pattern, "parts left", others, next, excluded))
        return self._after(pattern.parts[chosen], following, excluded)

    def _orders(self, pattern: Permutation, next: int, excluded: bool) -> tuple[int, ...]:
        """All orders, earlier ones preferred however their parts are matched."""
        out = []
        for order in permutations(pattern.parts):
            following = next
            for part in reversed(order):
                following = self._after(part, following, excluded)
            out.append(following)
        return tuple(out)


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
