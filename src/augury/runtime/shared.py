"""Matches that are not one set of columns: they still share their events, or were found in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from augury.runtime.batch import Integers
from augury.runtime.matches import FoundMatch, MatchSet


@dataclass(frozen=True, slots=True, eq=False)
class SharedMatches:
    """A set of matches kept in the form they were found in (as the compressed output of paper 001, section 4.2).

    It is counted without being written out, and written out a batch at a time, in the order of the events that
    complete the matches. `sample` chooses some uniformly, by a seed if there is one, without writing out the others.
    """

    variables: tuple[str, ...]
    count: Callable[[], int]
    batches: Callable[[], Iterator[MatchSet]]
    sample: Callable[[int, int | None], MatchSet]
    claim: Callable[[str, int], None] = lambda _what, _more: None
    """Refuses to write out more than there is memory for."""

    def __iter__(self) -> Iterator[FoundMatch]:
        for batch in self.batches():
            yield from batch

    def take(self, positions: Integers) -> MatchSet:
        """The matches at `positions`; those after the last of them are not looked for."""
        chosen: dict[int, FoundMatch] = {}
        wanted = np.unique(positions)
        first = 0
        for batch in self.batches():
            inside = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, first + len(batch))]
            chosen |= {int(k): batch[int(k) - first] for k in inside}
            first += len(batch)
            if not len(wanted) or first > wanted[-1]:
                break
        return MatchSet.of(self.variables, [chosen[int(k)] for k in positions])

    def enumerate(self) -> MatchSet:
        """All of them at once."""
        parts, held = [], 0
        for batch in self.batches():
            held += batch.nbytes
            # Once as they were written out, once more together.
            self.claim("matches", 2 * held)
            parts.append(batch)
        return MatchSet.concat(self.variables, parts)


@dataclass(frozen=True, slots=True, eq=False)
class MatchParts:
    """Matches in sets that follow one another; they are brought together when somebody needs them so."""

    variables: tuple[str, ...]
    parts: tuple[MatchSet, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[FoundMatch]:
        for part in self.parts:
            yield from part

    def batches(self) -> Iterator[MatchSet]:
        """The matches of each part."""
        return iter(self.parts)

    def take(self, positions: Integers) -> MatchSet:
        """The matches at `positions`, in that order."""
        ends = np.cumsum([len(part) for part in self.parts])
        wanted, places = np.unique(positions, return_inverse=True)
        some = []
        for part, end in zip(self.parts, ends.tolist(), strict=True):
            low, high = np.searchsorted(wanted, [end - len(part), end])
            some.append(part.take(wanted[low:high] - (end - len(part))))
        return MatchSet.concat(self.variables, some).take(places.reshape(-1))

    def enumerate(self) -> MatchSet:
        """All of them in one set."""
        return MatchSet.concat(self.variables, self.parts)


FoundMatches: TypeAlias = "MatchSet | SharedMatches"
"""What a kernel reports."""

QueryMatches: TypeAlias = "FoundMatches | MatchParts"
"""What a query finds in all events."""


def matches_in(found: QueryMatches) -> int:
    """How many matches there are, of shared ones exact whatever the number, which `len` could not say."""
    return found.count() if isinstance(found, SharedMatches) else len(found)


def enumerated(found: QueryMatches) -> MatchSet:
    """The matches written out."""
    return found if isinstance(found, MatchSet) else found.enumerate()
