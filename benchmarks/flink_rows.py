"""MATCH_RECOGNIZE of Flink SQL over a CSV file, run by a Python that has the apache-flink wheel, in batch mode.

    python benchmarks/flink_rows.py CSV COLUMNS QUERY ROUNDS

It prints a line of JSON: how many rows the query has, and the best seconds for it and for reading the file alone.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from pyflink.table import EnvironmentSettings, TableEnvironment


def count(tables: TableEnvironment, query: str) -> int:
    """The number that a query of one row and one column gives."""
    with tables.execute_sql(query).collect() as rows:
        return int(next(iter(rows))[0])


def main() -> None:
    path, columns, query, rounds = sys.argv[1:]
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    source = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'"
    tables.execute_sql(f"CREATE TABLE t ({columns}) WITH ({source})")
    best: dict[str, float] = {}
    for _ in range(int(rounds)):
        for what, text in (("scan", "SELECT count(*) FROM t"), ("query", f"SELECT count(*) FROM t {query}")):
            began = perf_counter()
            found = count(tables, text)
            seconds = perf_counter() - began
            best[what] = min(seconds, best.get(what, seconds))
    print(json.dumps({"matches": found, **best}))


if __name__ == "__main__":
    main()
