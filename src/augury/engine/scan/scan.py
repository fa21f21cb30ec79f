"""What the engine asks of a source of events that are all there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

import pyarrow as pa

from augury.engine.arrivals import Arrivals, EventLog
from augury.engine.host import Totals
from augury.ir.query import BoundQuery
from augury.schema import EventSchema


class Scan(Protocol):
    """Events of known columns that can be read more than once, as a whole or the part that a query needs."""

    @property
    def arrow(self) -> pa.Schema:
        """The columns of the events."""

    @property
    def schema(self) -> EventSchema:
        """What the columns mean."""

    @property
    def rows(self) -> int:
        """How many events there are."""

    @property
    def identity(self) -> Hashable:
        """What is the same for the same events: a plan that was chosen for them is good for these."""

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order, with the columns that its kernel reads."""

    def sample(self, query: BoundQuery) -> tuple[Arrivals, Totals] | None:
        """Some of these events, and how many there are in all; None where they are few enough to be read as a whole."""

    @property
    def is_long(self) -> bool:
        """Whether the events are too many to be read as a whole."""

    @property
    def has_pieces(self) -> bool:
        """Whether the events can be read a piece at a time."""

    def pieces(self, query: BoundQuery, *, encode: bool = False) -> Iterator[Arrivals] | None:
        """These events as they come, a piece at a time; None of a source that has them all at once.

        With `encode` the strings of a piece are told apart by the thread that reads it, for a kernel that takes whole
        pieces.
        """

    def memory(self, query: BoundQuery) -> int:
        """About how many bytes these events take that are read a piece at a time."""

    def types(self) -> frozenset[str]:
        """The type names that occur."""

    @property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""

    @property
    def log(self) -> EventLog:
        """The events for matches to show."""


class ReadAsAWhole:
    """The answers of a source whose events are in memory anyway, or come from elsewhere all at once."""

    def sample(self, query: BoundQuery) -> None:
        return None

    @property
    def is_long(self) -> bool:
        return False

    @property
    def has_pieces(self) -> bool:
        return False

    def pieces(self, query: BoundQuery, *, encode: bool = False) -> None:
        return None

    def memory(self, query: BoundQuery) -> int:
        return 0
