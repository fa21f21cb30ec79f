"""A stream of files under a SQL query, in a process of its own, to be killed: `python -m ... FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import augury.spark
from tests.spark.conftest import SETTINGS
from tests.spark.streaming import read_files, run_to_end
from tests.spark.test_row_pattern_streams import ticks

if __name__ == "__main__":
    place = Path(sys.argv[1])
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    read_files(session, place / "events", ticks(0).schema).createOrReplaceTempView("ticks")
    run_to_end(augury.spark.sql(session, place / "query.sql", lateness="10 seconds", buckets=3), place)
    session.stop()
