"""Streams of files whose rules are edited, and what the history in their checkpoint asks for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from augury.engine.rules.versions import read_version, rule_facts
from augury.runtime.state import LONG_AGO
from tests.engine.rule_history import Batch, asked_for
from tests.engine.rule_streams import drawn_events
from tests.spark.streaming import read_files

KEEP = 15  # seconds that events are kept for rules with `backfill`

LATENESS = 5  # seconds that an event may come late, which are the ticks of the time column

COLUMNS = drawn_events(Random(0), 4).schema

COUNTED = ("rule", "labels", "start", "end", "match")


def drawn_file(rng: Random, number: int) -> pa.Table:
    """The events of a micro-batch: no two of one time in a partition whose order is not known, some late, no NaN."""
    times = [1_000 + 12 * number + k - (rng.choice([0, 0, 0, 9]) if number else 0) for k in range(16)]
    return pa.table(
        {
            "ts": times,
            "type": [rng.choice("ABC") for _ in times],
            "x": [rng.randrange(10) for _ in times],
            "y": [rng.uniform(0, 9) for _ in times],
            "k": [rng.choice("pq") for _ in times],
        },
        schema=COLUMNS,
    )


def rules_over_files(spark: SparkSession, folder: Path, rules: Any = None, **options: Any) -> augury.spark.RuleFrames:
    """Rules over the files in `events`, one a micro-batch, with their versions in `versions`."""
    frame = read_files(spark, folder / "events", COLUMNS)
    options = {"jit": False, "buckets": 2, "lateness": f"{LATENESS} seconds", "keep": KEEP, **options}
    return augury.spark.match_rules(frame, rules, versions=folder / "versions", **options)


def written(rows: Iterable[Any]) -> Counter[str]:
    """Matches that were written, as often as each was."""
    return Counter(repr((r["rule"], tuple(r["labels"]), r["start"], r["end"], r["match"])) for r in rows)


def history_asks_for(folder: Path, without: str = "", versions: Path | None = None) -> tuple[Counter[str], int]:
    """What the history in the checkpoint asks for, and how many events are late; one rule can be left out.

    Which files of events and versions a micro-batch has is in the checkpoint of Spark.
    """
    history, late, watermark, version = list[Batch](), 0, LONG_AGO, 0
    kept = folder / "versions" if versions is None else versions
    for events, published in batches(folder / "checkpoint"):
        newest = max((int(path.stem) for path in published), default=0)
        rules = None
        if newest > version:
            version = newest
            facts = [rule_facts(rule) for rule in read_version(kept, version).rules]
            rules = [fact for fact in facts if fact["id"] != without]
        table = pa.concat_tables([COLUMNS.empty_table(), *(pq.read_table(path, schema=COLUMNS) for path in events)])
        in_time = table.filter(pc.greater_equal(table["ts"], watermark))
        late += len(table) - len(in_time)
        watermark = max([watermark, *(t - LATENESS for t in table["ts"].to_pylist())])
        history.append(Batch(rules, in_time, watermark))
    return Counter(map(repr, asked_for(history, COLUMNS, KEEP))), late


def batches(checkpoint: Path) -> list[tuple[list[Path], list[Path]]]:
    """The files of events and of versions of each micro-batch that was run to its end, in order."""
    # By the order in which Spark numbers its sources, which is that of the offsets.
    sources = [source_files(folder) for folder in sorted((checkpoint / "sources").iterdir())]
    found, done = list[tuple[list[Path], list[Path]]](), [-1] * len(sources)
    for number in sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")):
        offsets = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2:]
        fresh = list[Path]()
        for k, text in enumerate(offsets):
            reached = done[k] if text == "-" else json.loads(text)["logOffset"]
            fresh += [path for entry in range(done[k] + 1, reached + 1) for path in sources[k].get(entry, [])]
            done[k] = reached
        events = [path for path in fresh if path.parent.name == "events"]
        found.append((events, [path for path in fresh if path not in events]))
    return found


def source_files(folder: Path) -> dict[int, list[Path]]:
    """The files of a source by the number of the entry that names them."""
    found: dict[int, dict[Path, None]] = {}
    for entry in folder.glob("[0-9]*"):
        for line in entry.read_text().splitlines()[1:]:
            stated = json.loads(line)
            found.setdefault(stated["batchId"], {})[Path(unquote(urlparse(stated["path"]).path))] = None
    return {number: list(paths) for number, paths in found.items()}


def run_all(found: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Run a stream to the end of its files, and write its rows; the progress of each micro-batch."""
    query = (
        found.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("path", str(folder / "matches"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [json.loads(progress.json) for progress in query.recentProgress]
