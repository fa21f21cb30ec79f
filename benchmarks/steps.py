"""What steps that differ cost: `python -m benchmarks.steps`, the same pattern with one strategy and with three."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import augury

PATTERN = "SEQ(A a, B b, C+ c[], D d)"
WITHIN = "WITHIN 200 seconds"
QUERIES = {
    "one strategy": f"PATTERN {PATTERN} WHERE skip_till_next_match {{ [k] AND d.x > a.x }} {WITHIN}",
    "three strategies": (
        f"PATTERN {PATTERN} WHERE skip_till_next_match, partition_contiguity(c), skip_till_any_match(d) "
        f"{{ [k] AND d.x > a.x }} {WITHIN}"
    ),
}


def stream(events: int) -> pa.Table:
    """Events of five types and 10 keys, at random."""
    chance = np.random.default_rng(1)
    return pa.table(
        {
            "ts": np.arange(events),
            "type": np.array(list("ABCDE"))[chance.integers(0, 5, events)],
            "k": chance.integers(0, 10, events),
            "x": chance.random(events),
        }
    )


def measure(events: int, rounds: int) -> dict[str, tuple[float, int]]:
    """The least time of several runs in turns, and the number of matches, of each query."""
    table, best = stream(events), dict.fromkeys(QUERIES, (float("inf"), 0))
    for query in QUERIES.values():
        augury.match(table, query, plan="eager-nfa")  # compiles the kernel
    for _ in range(rounds):
        for name, query in QUERIES.items():
            began = time.perf_counter()
            found = len(augury.match(table, query, plan="eager-nfa"))
            best[name] = min(best[name], (time.perf_counter() - began, found))
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both times; 1 if the query with three strategies is less than half as fast."""
    parser = argparse.ArgumentParser(prog="benchmarks.steps", description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    best = measure(given.events, given.rounds)
    for name, (seconds, found) in best.items():
        print(f"{name:18} {1e9 * seconds / given.events:8.0f} ns an event, {found} matches")
    ratio = best["one strategy"][0] / best["three strategies"][0]
    print(f"three strategies are {ratio:.2f} times as fast as one; at least half as fast is asked for")
    return 0 if ratio >= 0.5 else 1


if __name__ == "__main__":
    raise SystemExit(main())
