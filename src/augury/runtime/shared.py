"""Matches in other forms than one `MatchSet`: compressed ones that share events, and ones found in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from augury.runtime.batch import Integers
from augury.runtime.matches import FoundMatch, MatchSet
from augury.runtime.row_matches import RowMatches


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
    """Raises if there is not enough memory to write out this many bytes."""

    def __iter__(self) -> Iterator[FoundMatch]:
        for batch in self.batches():
            yield from batch

    def take(self, positions: Integers) -> MatchSet:
        """The matches at `positions`; batches after the last of them are not written out."""
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
        """All matches in one set."""
        parts, held = [], 0
        for batch in self.batches():
            held += batch.nbytes
            # Memory for the batches, and once more for the set they are joined to.
            self.claim("matches", 2 * held)
            parts.append(batch)
        return MatchSet.concat(self.variables, parts)


@dataclass(frozen=True, slots=True, eq=False)
class MatchParts:
    """Matches in consecutive sets, which are concatenated only if one set is needed."""

    variables: tuple[str, ...]
    parts: tuple[MatchSet | RowMatches, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[FoundMatch]:
        for part in self.batches():
            yield from part

    def batches(self) -> Iterator[MatchSet]:
        """The parts, one set each."""
        return map(enumerated, self.parts)

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
        """All matches in one set."""
        return MatchSet.concat(self.variables, self.batches())


FoundMatches: TypeAlias = "MatchSet | RowMatches | SharedMatches"
"""Matches as a kernel reports them."""

QueryMatches: TypeAlias = "FoundMatches | MatchParts"
"""The matches of a query in all events."""


def matches_in(found: QueryMatches) -> int:
    """The number of matches, exact also where it is too large for `len`."""
    return found.count() if isinstance(found, SharedMatches) else len(found)


def enumerated(found: QueryMatches) -> MatchSet:
    """The matches written out, in one set."""
    return found if isinstance(found, MatchSet) else found.enumerate()
