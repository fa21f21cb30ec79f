"""Matches that still share their events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from augury.runtime.matches import Found, MatchSet


@dataclass(frozen=True, slots=True, eq=False)
class SharedMatches:
    """A set of matches kept as the buffer they were found in (the compressed output of paper 001, section 4.2).

    It is counted without being written out, and written out a batch at a time, in the order of the events that
    complete the matches.
    """

    variables: tuple[str, ...]
    count: Callable[[], int]
    batches: Callable[[], Iterator[MatchSet]]

    def __len__(self) -> int:
        return self.count()

    def __iter__(self) -> Iterator[Found]:
        for batch in self.batches():
            yield from batch

    def enumerate(self) -> MatchSet:
        """All of them at once."""
        result = MatchSet.of(self.variables, ())
        for batch in self.batches():
            result = result + batch
        return result
