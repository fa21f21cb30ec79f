"""Progress of running streams."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from augury.engine.board import BatchProgress, RuleSpending
from augury.hosts.spark.stream.rules import METRIC

LAST_MATCH = "augury_last_match"
"""The metric under which a query reports the latest match of a micro-batch, if anybody watches it."""


class ProgressLine(StreamingQueryListener):
    """Prints a line for each micro-batch, and passes its progress on as data.

    Spark calls it from a thread of its own, some time after the micro-batch.
    """

    def __init__(self, say: Callable[[str], None], watch: Callable[[BatchProgress], None] | None = None) -> None:
        self.say, self.watch = say, watch
        self.ended: set[str] = set()
        self.changed = threading.Condition()

    def wait_for(self, runs: set[str], timeout: float) -> None:
        """Wait until Spark has reported the end of these runs, or until the timeout."""
        with self.changed:
            self.changed.wait_for(lambda: runs <= self.ended, timeout)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.say(f"{event.name}: started")

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if self.watch is not None:
            self.watch(batch_progress(event.progress, time.time()))
        self.say(progress_line(event.progress))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Print nothing: there were no new events."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Print nothing: whoever waits for the query reports how it ended."""
        with self.changed:
            self.ended.add(str(event.runId))
            self.changed.notify_all()


def progress_line(progress: StreamingQueryProgress) -> str:
    """Input, matches, late events, state and watermark of a micro-batch in one line."""
    counted = _counted(progress.observedMetrics)
    state = sum(operator.numRowsTotal for operator in progress.stateOperators)
    used = sum(operator.memoryUsedBytes for operator in progress.stateOperators)
    watermark = progress.eventTime.get("watermark", "none yet")
    parts = [
        f"{progress.name}: batch {progress.batchId}",
        f"{progress.numInputRows:,} events",
        f"{progress.processedRowsPerSecond or 0:,.0f}/s",
        f"{counted['matches']:,} matches",
        f"{counted['late_events']:,} late",
        f"state {state} ({used / 2**20:.1f} MiB)",
        f"watermark {watermark}",
    ]
    return "  ".join([*parts, *_wrong_rules(progress.observedMetrics)])


def _wrong_rules(metrics: dict[str, Any]) -> list[str]:
    """The number of diagnostics of a table of rules, and one of them."""
    told = metrics.get(METRIC)
    if told is None or not told["diagnostics"]:
        return []
    one = json.loads(told["diagnostic"])
    many = f"{told['diagnostics']:,} diagnostic{'s, one of them' if told['diagnostics'] > 1 else ''}"
    return [f"{many}: rule {one['rule']}: {one['message']}"]


def batch_progress(progress: StreamingQueryProgress, now: float) -> BatchProgress:
    """The progress of a micro-batch as data."""
    counted = _counted(progress.observedMetrics)
    watermark = progress.eventTime.get("watermark")
    seen = None if watermark is None else dt.datetime.fromisoformat(watermark).timestamp()
    last, rules = progress.observedMetrics.get(LAST_MATCH), progress.observedMetrics.get(METRIC)
    return BatchProgress(
        query=progress.name or "",
        batch=progress.batchId,
        at=now,
        seconds=progress.batchDuration / 1000,
        events=progress.numInputRows,
        matches=counted["matches"],
        late=counted["late_events"],
        state_rows=sum(operator.numRowsTotal for operator in progress.stateOperators),
        state_bytes=sum(operator.memoryUsedBytes for operator in progress.stateOperators),
        watermark=watermark,
        # Spark reports a watermark of 1970 until there are events.
        lag=None if not seen else max(0.0, now - seen),
        match=None if last is None else last["match"],
        rules=() if rules is None else _spending(rules["costliest"]),
        rule_seconds=0.0 if rules is None else rules["seconds"],
    )


def _spending(lines: str) -> tuple[RuleSpending, ...]:
    """The costliest rules of all buckets; where buckets split events by key, a rule is listed once per bucket."""
    found = dict[str, RuleSpending]()
    for row in (row for line in lines.splitlines() for row in json.loads(line)):
        del row["shape"]
        spent = RuleSpending(**row)
        known = found.get(spent.rule)
        found[spent.rule] = spent if known is None else known.beside(spent)
    return tuple(found.values())


def _counted(metrics: dict[str, Any]) -> dict[str, int]:
    rows = [row for name, row in metrics.items() if name.startswith("augury_") and name != LAST_MATCH]
    return {what: sum(row[what] or 0 for row in rows) for what in ("matches", "late_events")}
