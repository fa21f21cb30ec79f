"""Columns of results: what they ask of the log of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

import augury
from augury.engine.arrivals import Arrivals, EventLog
from augury.runtime.batch import Integers


@dataclass(frozen=True, slots=True)
class CountedLog:
    """A log that notes how many rows each fetch asks for."""

    log: EventLog
    fetched: list[int] = field(default_factory=list)

    @property
    def arrow(self) -> pa.Schema:
        return self.log.arrow

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        self.fetched.append(len(rows))
        return self.log.fetch(rows, names)

    def everything(self) -> Arrivals:
        return self.log.everything()


def test_the_events_of_all_variables_are_fetched_at_once() -> None:
    events = [{"ts": k, "type": "ABC"[k % 3], "x": k} for k in range(9)]
    found = augury.match(events, "PATTERN SEQ(A a, B+ b[], C c) WITHIN 5 seconds")
    counted = CountedLog(found.log)
    table = replace(found, log=counted).to_arrow()
    assert table == found.to_arrow()
    assert len(table) > 1
    # One for the columns of no matches, which have the types of all, and one for the matches.
    assert [rows > 0 for rows in counted.fetched] == [False, True]
