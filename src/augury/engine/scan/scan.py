"""What the engine asks of a source of events that are all there."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from augury.engine.arrivals import Arrivals, EventLog
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

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order, with the columns that its kernel reads."""

    def types(self) -> frozenset[str]:
        """The type names that occur."""

    @property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""

    @property
    def log(self) -> EventLog:
        """The events for matches to show."""
