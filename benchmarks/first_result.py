"""A process that meets a query for the first time, and ends with its first result: `first_result.py CACHE_FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

from benchmarks.measure import cut, kernel_for, run
from benchmarks.stock import stock_stream
from benchmarks.workload import Workload

FIRST = Workload("skip_till_next_match", "p2", 100)
FIRST_SEED = 3

if __name__ == "__main__":
    table = stock_stream(1000, seed=FIRST_SEED)
    _, found = run(kernel_for(FIRST, table, Path(sys.argv[1])), cut(table, 1000))
    print(found.matches, process_time())
