"""How a running stream is doing: what its micro-batches told, for whoever looks at it."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

KEPT_BATCHES = 300  # of a query, for plots

KEPT_MATCHES = 20
"""The last matches that are shown."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch of one query. `at` is when it was told, in seconds since 1970; `lag` is how far the watermark is
    behind that, None before there is one; `match` is its latest match, as text."""

    query: str
    batch: int
    at: float
    seconds: float
    events: int
    matches: int
    late: int
    state_rows: int
    state_bytes: int
    watermark: str | None = None
    lag: float | None = None
    match: str | None = None


@dataclass(slots=True)
class QueryProgress:
    """What the micro-batches of one query told so far."""

    last: BatchProgress
    batches: deque[BatchProgress] = field(default_factory=lambda: deque(maxlen=KEPT_BATCHES))
    seconds: float = 0.0
    events: int = 0
    matches: int = 0
    late: int = 0
    last_match: float | None = None

    def add(self, told: BatchProgress) -> None:
        """Count one more."""
        self.last = told
        self.batches.append(told)
        self.seconds += told.seconds
        self.events += told.events
        self.matches += told.matches
        self.late += told.late
        self.last_match = told.at if told.matches else self.last_match

    @property
    def events_per_second(self) -> float:
        """Of the last micro-batch."""
        return self.last.events / self.last.seconds if self.last.seconds else 0.0

    @property
    def matches_per_second(self) -> float:
        """Of the last micro-batch."""
        return self.last.matches / self.last.seconds if self.last.seconds else 0.0


class Board:
    """What the queries of a pipeline told so far; told by one thread, looked at by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: dict[str, QueryProgress] = {}
        self._matches: deque[tuple[str, str]] = deque(maxlen=KEPT_MATCHES)

    def tell(self, told: BatchProgress) -> None:
        """Add a micro-batch."""
        with self._lock:
            self._queries.setdefault(told.query, QueryProgress(told)).add(told)
            if told.match is not None:
                self._matches.appendleft((told.query, told.match))

    def rows(self) -> list[list[str]]:
        """A table of the queries under `HEADER`."""
        with self._lock:
            total = sum(query.seconds for query in self._queries.values())
            return [_row(name, query, total) for name, query in self._queries.items()]

    def matches(self) -> list[tuple[str, str]]:
        """The last matches with their queries, the newest first."""
        with self._lock:
            return list(self._matches)

    def rates(self) -> dict[str, list[tuple[float, float, float]]]:
        """For each query when its micro-batches were told, and their events and matches a second."""
        with self._lock:
            return {
                name: [(b.at, b.events / (b.seconds or 1), b.matches / (b.seconds or 1)) for b in query.batches]
                for name, query in self._queries.items()
            }


HEADER = ("query", "events", "events/s", "matches", "matches/s", "late", "state", "lag", "seconds", "share")
"""`seconds` and `share` are what a query has cost, and its part of what all have cost."""


def _row(name: str, query: QueryProgress, total: float) -> list[str]:
    last = query.last
    return [
        name,
        f"{query.events:,}",
        f"{query.events_per_second:,.0f}",
        f"{query.matches:,}",
        f"{query.matches_per_second:,.0f}",
        f"{query.late:,}",
        f"{last.state_rows:,} ({last.state_bytes / 2**20:.1f} MiB)",
        "" if last.lag is None else duration_text(last.lag),
        f"{query.seconds:.1f}",
        f"{query.seconds / total:.0%}" if total else "",
    ]


def duration_text(seconds: float) -> str:
    """
    >>> duration_text(4.2), duration_text(3700), duration_text(90_000_000)
    ('4.2 s', '1.0 h', '1,041.7 days')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"
