"""The memory of OUTPUT about the matches chosen so far, besides the ends of the last ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from augury.kernels.common.expanded import Expanded
from augury.runtime.batch import Integers
from augury.runtime.checks import ArraySpec, read_arrays, require


def _no_events() -> Integers:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The earlier choices that FIRST, EVERY and ONCE depend on.

    `started` are the events, ascending, that start a match which OUTPUT FIRST has reported. `chosen` are matches that
    wait for EVERY or ONCE alone, and `paced` is when the last match that these have kept ended, by partition.
    """

    started: Integers = field(default_factory=_no_events)
    chosen: Expanded = field(default_factory=Expanded.none)
    paced: Mapping[int, int] = field(default_factory=dict)

    def shifted(self, count: int) -> Selection:
        """The same once the first `count` events are forgotten."""
        started = self.started - count
        return replace(self, started=started[started >= 0], chosen=self.chosen.shifted(count))

    def renumbered(self, partitions: Integers) -> Selection:
        """The same with new numbers of partitions, -1 for one that is forgotten."""
        paced = {int(partitions[p]): end for p, end in self.paced.items() if partitions[p] >= 0}
        return replace(self, paced=paced)

    def to_tables(self) -> dict[str, pa.Table]:
        """Tables of the parts that are not empty: a query whose OUTPUT keeps no state has none."""
        tables = {"started": pa.table({"event": self.started})} if len(self.started) else {}
        if self.paced or len(self.chosen):
            tables |= {name.replace("pending", "chosen"): table for name, table in self.chosen.to_tables().items()}
            ends = {"partition": list(self.paced), "time": list(self.paced.values())}
            tables["paced"] = pa.table({name: pa.array(numbers, pa.int64()) for name, numbers in ends.items()})
        return tables


def started_of(tables: Mapping[str, pa.Table], events: int) -> Integers:
    """The events that start a match of OUTPUT FIRST, as a state with so many events has saved them."""
    if "started" not in tables:
        return _no_events()
    spec = ArraySpec("event", low=0, refers_to="events", ascending=True)
    started = read_arrays(tables, "started", [spec], {"events": events})["event"]
    require(bool((np.diff(started) > 0).all()), "an event starts two first matches")
    return started


def paced_of(tables: Mapping[str, pa.Table], partitions: int) -> dict[int, int]:
    """The time at which the last match kept by EVERY or ONCE ended, by partition, as a state has saved it."""
    if "paced" not in tables:
        return {}
    specs = ArraySpec("partition", low=0, refers_to="partitions"), ArraySpec("time")
    arrays = read_arrays(tables, "paced", specs, {"partitions": max(1, partitions)})
    found = dict(zip(arrays["partition"].tolist(), arrays["time"].tolist(), strict=True))
    require(len(found) == len(arrays["time"]), "a partition has two last matches")
    return found
