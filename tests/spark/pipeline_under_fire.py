"""A stream of files in a process of its own, to be killed: `python -m ... FOLDER files|foreach`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame

import augury.spark
from tests.spark.comparing import rows_of
from tests.spark.conftest import SETTINGS
from tests.spark.streaming import read_files, run_to_end
from tests.spark.test_exactly_once import EVENTS, OPTIONS, QUERY


def write_once(folder: Path) -> Callable[[DataFrame, int], None]:
    """A sink that keeps the matches of each micro-batch under its number, in place of what was there."""
    folder.mkdir(exist_ok=True)

    def write(found: DataFrame, batch: int) -> None:
        partial = folder / f"{batch}.tmp"
        partial.write_text(json.dumps(rows_of(found)))
        os.replace(partial, folder / f"{batch}.json")
        with (folder / "log").open("a") as log:
            log.write(f"{batch}\n")
        # Between the write and its commit a kill does most harm: time for one.
        time.sleep(0.3)

    return write


if __name__ == "__main__":
    place, sink = Path(sys.argv[1]), sys.argv[2]
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    matches = augury.spark.match(read_files(session, place / "events", EVENTS.schema), QUERY, **OPTIONS)
    if sink == "files":
        run_to_end(matches, place)
    else:
        writer = matches.writeStream.foreachBatch(write_once(place / "written")).trigger(availableNow=True)
        writer.option("checkpointLocation", str(place / "checkpoint")).start().awaitTermination()
    session.stop()
