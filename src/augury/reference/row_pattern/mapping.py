"""The mapping of a partial match: its rows, their variables, and lookups for expressions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Mapping:
    """Variables of consecutive rows from `start` on; rows are appended, and cut off when the search backtracks.

    Positions count from 0 at `start`. Positions are indexed for each set of variables that expressions read.
    """

    def __init__(self, start: int, wanted: Iterable[frozenset[str]]) -> None:
        self.start = start
        self.variables: list[str] = []
        self.excluded: list[bool] = []
        self.versions: list[int] = []
        self._places: dict[frozenset[str], list[int]] = {variables: [] for variables in wanted}
        self._containing: dict[str, list[list[int]]] = {}
        self._next_version = 0

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def version(self) -> int:
        """A number that no other mapping of this search has; 0 for an empty one."""
        return self.versions[-1] if self.versions else 0

    def append(self, variable: str, excluded: bool) -> None:
        """Map the next row."""
        containing = self._containing.get(variable)
        if containing is None:
            containing = [places for names, places in self._places.items() if variable in names]
            self._containing[variable] = containing
        for places in containing:
            places.append(len(self.variables))
        self.variables.append(variable)
        self.excluded.append(excluded)
        self._next_version += 1
        self.versions.append(self._next_version)

    def cut(self, length: int) -> None:
        """Drop all but the first `length` rows."""
        while len(self.variables) > length:
            for places in self._containing[self.variables.pop()]:
                places.pop()
        del self.excluded[length:], self.versions[length:]

    def places(self, variables: frozenset[str]) -> list[int]:
        """Positions mapped to one of these variables, in order."""
        return self._places[variables]

    def count(self, variables: frozenset[str] | None, length: int) -> int:
        """Number of the first `length` rows that are mapped to these variables."""
        return length if variables is None else bisect_right(self._places[variables], length - 1)

    def position(self, variables: frozenset[str] | None, number: int) -> int:
        """The position of the row mapped to these variables as number `number`, from 0."""
        return number if variables is None else self._places[variables][number]
