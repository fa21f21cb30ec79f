"""One engine in a process of its own: reads the name of a workload from standard input, answers with time and count.

`python -m benchmarks.call.engine augury FILE` answers each line `W1` with a line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow.parquet as pq

from benchmarks.call.workloads import WORKLOADS, Workload

ROLES: dict[str, Any] = {"time": "ts_us", "type": "typ", "time_unit": "us", "max_matches": 10**9}


def _augury(path: str, workload: Workload, **options: Any) -> int:
    import augury

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        found = augury.match(path, workload.query, **ROLES, **options)
    if workload.all_columns:
        return int(found.to_arrow().num_rows)
    if workload.query.endswith("OUTPUT COUNT"):
        return int(sum(found.to_arrow()["count"].to_pylist()))
    return len(found)


def _sunk(path: str, workload: Workload) -> int:
    import augury

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", augury.AuguryWarning)
        out = Path(folder) / "matches.parquet"
        count = augury.compile(workload.query, path, **ROLES).sink_parquet(path, out)
        written = pq.read_metadata(out).num_rows
        return count if written == count else written


def variants(engine: str, name: str) -> list[Callable[[str], int]]:
    """Every formulation of a workload that the engine has."""
    match engine:
        case "augury":
            return [lambda path: _augury(path, WORKLOADS[name])]
        case "augury-jit":
            return [lambda path: _augury(path, WORKLOADS[name], jit=True)]
        case "augury-1":
            return [lambda path: _augury(path, WORKLOADS[name], threads=1)]
        case "augury-sink":
            return [lambda path: _sunk(path, WORKLOADS[name])]
        case "polars":
            from benchmarks.call.peers import POLARS

            return list(POLARS[name])
        case "duckdb":
            from benchmarks.call.peers import DUCKDB

            return list(DUCKDB[name])
        case _:
            raise ValueError(engine)


def peak_memory() -> int:
    """The most bytes this process has held at once; `getrusage` would tell those of its parent before it, if more."""
    status = Path("/proc/self/status")
    if status.exists():
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    engine, path = sys.argv[1:]
    for line in sys.stdin:
        times, counts = [], []
        for variant in variants(engine, line.strip()):
            began = perf_counter()
            counts.append(variant(path))
            times.append(perf_counter() - began)
        print(json.dumps({"seconds": min(times), "counts": sorted(set(counts)), "peak": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
