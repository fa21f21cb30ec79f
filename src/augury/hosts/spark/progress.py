"""What a running stream tells of itself."""

from __future__ import annotations

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
    """One line for each micro-batch."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.say(f"{event.name}: started")

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self.say(progress_line(event.progress))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing new: nothing to say."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Whoever waits for the query tells how it ended."""


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
