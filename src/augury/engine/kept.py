"""The events of a stream that a match may still bind: batches are added at the end, and the oldest are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import pyarrow as pa

from augury.engine.arrivals import Arrivals
from augury.nouns import per_batch
from augury.runtime.batch import Integers, ascends

PARTS_JOINED = 32  # parts of equal weight that are joined: fewer copy events more often, more make the list longer


@per_batch
class Part:
    """Events joined from `weight` batches, with the least and the greatest of their rows."""

    events: Arrivals
    weight: int
    lowest: int
    highest: int


@per_batch
class KeptEvents:
    """An `EventLog` in parts, so that a step costs as much as its own batch and not as all events that are kept.

    Parts of equal weight are joined, like the levels of a log-structured merge tree: there are never many, and an event
    is copied a few times at most. Events from the row `oldest` on are concatenated only when they are asked for.

    >>> import numpy as np
    >>> kept = KeptEvents(pa.schema([("ts", pa.int64())]))
    >>> for first in (0, 2, 4):
    ...     rows = np.arange(first, first + 2)
    ...     kept = kept + Arrivals(pa.table({"ts": rows}), rows, rows, rows)
    >>> len(kept), kept.since(3).everything().rows.tolist()
    (6, [3, 4, 5])
    """

    arrow: pa.Schema
    parts: tuple[Part, ...] = ()
    oldest: int = 0
    _joined: list[Arrivals] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, events: Arrivals) -> KeptEvents:
        """A log of these events, in one part."""
        return cls(events.table.schema) + events

    def __len__(self) -> int:
        return len(self.everything())

    def __add__(self, events: Arrivals) -> KeptEvents:
        if not len(events):
            return self
        new = _part(events, 1)
        if new.lowest < self.oldest:
            # These events waited while later rows came: `oldest` holds for the others only, which are cut now.
            left = self.everything()
            return KeptEvents(self.arrow, (_part(left, 1), new) if len(left) else (new,))
        parts = (*self.parts, new)
        while len(parts) >= PARTS_JOINED and parts[-PARTS_JOINED].weight == parts[-1].weight:
            parts = (*parts[:-PARTS_JOINED], self._join(parts[-PARTS_JOINED:]))
        return KeptEvents(self.arrow, parts, self.oldest)

    def _join(self, parts: Sequence[Part]) -> Part:
        events = Arrivals.concat([part.events for part in parts], self.arrow)
        # A copy, so that the larger buffers that a batch was a slice of are freed.
        table = events.table.combine_chunks()
        return _part(replace(events, table=table), sum(part.weight for part in parts))

    def since(self, row: int) -> KeptEvents:
        """Drop the events before `row`: whole parts at once, the other parts are cut when they are read."""
        row = max(row, self.oldest)
        first = 0
        while first < len(self.parts) and self.parts[first].highest < row:
            first += 1
        if not first and row == self.oldest:
            return self
        return KeptEvents(self.arrow, self.parts[first:], row)

    def everything(self) -> Arrivals:
        """All events, in one piece."""
        if not self._joined:
            events = Arrivals.concat([part.events for part in self.parts], self.arrow)
            passed = any(part.lowest < self.oldest for part in self.parts)
            self._joined.append(events.where(events.rows >= self.oldest) if passed else events)
        return self._joined[0]

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        return self.everything().fetch(rows, names)


def _part(events: Arrivals, weight: int) -> Part:
    rows = events.rows
    if events.consecutive or ascends(rows):
        return Part(events, weight, rows.item(0), rows.item(-1))
    return Part(events, weight, int(rows.min()), int(rows.max()))
