"""Memory of a `Matcher` over a stream in which no key ever comes back: `python -m benchmarks.ever_new_keys [EVENTS]`.

Every item has a key and a name of its own and is seen twice within two seconds. After the first windows, memory is to
be flat however long the stream is: kernels forget the keys and strings of events that are gone.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa

import augury
from augury.plan import FamilyName

QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND b.name = a.name WITHIN 2 seconds"
COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("name", pa.string())])
BATCH = 100_000
ITEMS_PER_SECOND = 10_000


def batch(number: int) -> pa.Table:
    """The events of a batch, in order of time: half of them begin an item, the others end those of a second before."""
    begun = np.arange(number * BATCH // 2, (number + 1) * BATCH // 2)
    ended = np.maximum(begun - ITEMS_PER_SECOND, 0)
    items = np.stack([begun, ended], axis=1).reshape(-1)
    text = pa.array(items).cast(pa.string())
    types = pa.array(np.tile(["A", "B"], len(begun)))
    ts = np.repeat(begun // ITEMS_PER_SECOND, 2)
    return pa.table([pa.array(ts), types, text, text], schema=COLUMNS)


def resident() -> int:
    """Megabytes that the process has in memory now, or at its peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() >> 20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def run(events: int, plan: FamilyName) -> list[tuple[int, int, int]]:
    """Events fed, megabytes in memory and matches so far, ten times along the stream."""
    stream = augury.compile(QUERY, COLUMNS, plan=plan).stream()
    batches, found, told = max(10, events // BATCH), 0, []
    for number in range(batches):
        found += len(stream.feed(batch(number)))
        if (number + 1) % (batches // 10) == 0:
            told.append(((number + 1) * BATCH, resident(), found))
            print(f"{told[-1][0]:>12,} events  {told[-1][1]:>6,} MB  {found:>12,} matches", flush=True)
    return told


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.ever_new_keys", description=__doc__.splitlines()[0])
    parser.add_argument("events", nargs="?", type=int, default=20_000_000)
    parser.add_argument(
        "--plan", default="eager-nfa", choices=get_args(FamilyName), help="the plan family (default eager-nfa)"
    )
    options = parser.parse_args()
    told = run(options.events, options.plan)
    early, late = max(mb for _, mb, _ in told[1:3]), max(mb for _, mb, _ in told[3:])
    print(f"at most {early:,} MB after the first windows, {late:,} MB later")
    return 0 if late <= 1.1 * early else 1


if __name__ == "__main__":
    sys.exit(main())
