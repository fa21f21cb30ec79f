"""One engine in a process of its own: reads the name of a workload from standard input, answers with time and count.

`python -m benchmarks.call.engine augury FILE` answers each line `W1` with a line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections.abc import Callable
from time import perf_counter

from benchmarks.call.workloads import WORKLOADS, Workload


def _augury(path: str, workload: Workload) -> int:
    import augury

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        found = augury.match(
            path, workload.query, time="ts_us", type="typ", time_unit="us", max_matches=10**9, **_OPTIONS
        )
    if workload.all_columns:
        return int(found.to_arrow().num_rows)
    if workload.query.endswith("OUTPUT COUNT"):
        return int(sum(found.to_arrow()["count"].to_pylist()))
    return len(found)


_OPTIONS: dict[str, bool] = {}


def variants(engine: str, name: str) -> list[Callable[[str], int]]:
    """Every formulation of a workload that the engine has."""
    match engine:
        case "augury" | "augury-jit":
            return [lambda path: _augury(path, WORKLOADS[name])]
        case "polars":
            from benchmarks.call.peers import POLARS

            return list(POLARS[name])
        case "duckdb":
            from benchmarks.call.peers import DUCKDB

            return list(DUCKDB[name])
        case _:
            raise ValueError(engine)


def main() -> None:
    engine, path = sys.argv[1:]
    if engine == "augury-jit":
        _OPTIONS["jit"] = True
    for line in sys.stdin:
        times, counts = [], []
        for variant in variants(engine, line.strip()):
            began = perf_counter()
            counts.append(variant(path))
            times.append(perf_counter() - began)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": min(times), "counts": sorted(set(counts)), "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
