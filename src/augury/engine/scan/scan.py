"""The protocol of a scan: how the engine reads a finite stream."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from augury.engine.arrivals import Arrivals, EventLog
from augury.engine.host import Totals
from augury.ir.query import BoundQuery
from augury.schema import EventSchema

if TYPE_CHECKING:
    # Threads match portions, and stages of programs narrow what they match as scans do.
    from augury.engine.threads import Workers


class Scan(Protocol):
    """A finite stream of known columns, which can be read as a whole or narrowed to what a query needs."""

    @property
    def arrow(self) -> pa.Schema:
        """The columns of the events."""

    @property
    def schema(self) -> EventSchema:
        """The roles and types of the columns."""

    @property
    def rows(self) -> int:
        """How many events there are."""

    @property
    def identity(self) -> Hashable:
        """A value that is equal for the same events, so that a plan chosen for them can be used again."""

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order, with the columns that its kernel reads."""

    def sample(self, query: BoundQuery) -> tuple[Arrivals, Totals] | None:
        """A sample of the events that a query reads, and their totals; None if they are few enough to read all."""

    @property
    def is_long(self) -> bool:
        """Whether there are too many events to read them as a whole."""

    @property
    def has_pieces(self) -> bool:
        """Whether the events can be read a piece at a time."""

    def has_read(self, query: BoundQuery) -> bool:
        """Whether the events that a query reads are in memory already."""

    def pieces(self, query: BoundQuery, workers: Workers, *, encode: bool = False) -> Iterator[Arrivals] | None:
        """The events that a query reads, in arrival order, a piece at a time; None if they come all at once.

        With `encode` the worker that reads a piece also encodes its strings, for a kernel that takes whole pieces.
        """

    def memory(self, query: BoundQuery) -> int:
        """About how many bytes the events of a query take in memory; 0 if they do not come in pieces."""

    def types(self) -> frozenset[str]:
        """The type names that occur."""

    @property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""

    @property
    def log(self) -> EventLog:
        """The events for matches to show."""


class SinglePieceScan:
    """Defaults for a scan whose events are in memory, or are read all at once."""

    def sample(self, query: BoundQuery) -> None:
        return None

    @property
    def is_long(self) -> bool:
        return False

    @property
    def has_pieces(self) -> bool:
        return False

    def has_read(self, query: BoundQuery) -> bool:
        return True

    def pieces(self, query: BoundQuery, workers: Workers, *, encode: bool = False) -> None:
        return None

    def memory(self, query: BoundQuery) -> int:
        return 0
