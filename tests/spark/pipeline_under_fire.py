"""A stream of files to files in a process of its own, to be killed: `python -m ... FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import augury.spark
from tests.spark.conftest import SETTINGS
from tests.spark.streaming import read_files, run_to_end
from tests.spark.test_exactly_once import EVENTS, OPTIONS, QUERY

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    run_to_end(augury.spark.match(read_files(session, folder / "events", EVENTS.schema), QUERY, **OPTIONS), folder)
    session.stop()
