"""What a running stream tells of itself."""

from __future__ import annotations

import threading
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


class ProgressLine(StreamingQueryListener):
    """One line for each micro-batch; Spark tells of it in a thread of its own, some time afterwards."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.ended: set[str] = set()
        self.changed = threading.Condition()

    def wait_for(self, runs: set[str], timeout: float) -> None:
        """Until everything has been told of these runs, or the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: runs <= self.ended, timeout)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.say(f"{event.name}: started")

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self.say(progress_line(event.progress))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing new: nothing to say."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """How it ended is told by whoever waits for the query."""
        with self.changed:
            self.ended.add(str(event.runId))
            self.changed.notify_all()


def progress_line(progress: StreamingQueryProgress) -> str:
    """Input, matches, late events, state and watermark of a micro-batch."""
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
    return "  ".join(parts)


def _counted(metrics: dict[str, Any]) -> dict[str, int]:
    rows = [row for name, row in metrics.items() if name.startswith("augury_")]
    return {what: sum(row[what] or 0 for row in rows) for what in ("matches", "late_events")}
