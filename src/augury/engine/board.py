"""How a running stream is doing: what its micro-batches told, for whoever looks at it."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

KEPT_BATCHES = 300  # of a query, for plots

KEPT_MATCHES = 20
"""The last matches that are shown."""


SHOWN_RULES = 20
"""The costliest rules that are shown."""

SHOWN_SECONDS = 0.0005  # that are shown as more than nothing

KEPT_RULES = 2_000  # of a query, whose costs are added up: edits of years do not add up


@dataclass(frozen=True, slots=True)
class RuleSpending:
    """What a rule has cost: `partial_matches` are those that are open at the end, `last_match` is when one ended."""

    rule: str
    seconds: float = 0.0
    events: int = 0
    partial_matches: int = 0
    matches: int = 0
    last_match: str | None = None

    def then(self, later: RuleSpending) -> RuleSpending:
        """Together with what it cost in a later micro-batch."""
        return self._with(later, later.partial_matches)

    def beside(self, other: RuleSpending) -> RuleSpending:
        """Together with what it cost in another bucket of the same micro-batch."""
        return self._with(other, self.partial_matches + other.partial_matches)

    def _with(self, other: RuleSpending, partial_matches: int) -> RuleSpending:
        return RuleSpending(
            self.rule,
            self.seconds + other.seconds,
            self.events + other.events,
            partial_matches,
            self.matches + other.matches,
            self.last_match if other.last_match is None else other.last_match,
        )


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch of one query. `at` is when it was told, in seconds since 1970; `lag` is how far the watermark is
    behind that, None before there is one; `match` is its latest match, as text. Of a table of rules, `rules` are those
    that took the longest, and all of them took `rule_seconds`."""

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
    rules: tuple[RuleSpending, ...] = ()
    rule_seconds: float = 0.0


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
    rules: dict[str, RuleSpending] = field(default_factory=dict)
    rule_seconds: float = 0.0

    def add(self, told: BatchProgress) -> None:
        """Count one more."""
        self.last = told
        self.batches.append(told)
        self.seconds += told.seconds
        self.events += told.events
        self.matches += told.matches
        self.late += told.late
        self.last_match = told.at if told.matches else self.last_match
        self.rule_seconds += told.rule_seconds
        for spent in told.rules:
            self.rules[spent.rule] = self.rules.get(spent.rule, RuleSpending(spent.rule)).then(spent)
        if len(self.rules) > KEPT_RULES:
            self.rules = {spent.rule: spent for spent in _costliest(self.rules.values(), KEPT_RULES // 2)}

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

    def rules(self) -> list[list[str]]:
        """A table of the costliest rules of each query under `RULE_HEADER`, and a row for what all others took."""
        with self._lock:
            return [row for name, query in self._queries.items() for row in _rule_rows(name, query)]

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


RULE_HEADER = ("query", "rule", "events", "partial matches", "matches", "last match", "seconds", "share")
"""What rules cost: `events` are those that a rule was given, `share` is its part of the seconds of all rules."""


def _rule_rows(name: str, query: QueryProgress) -> list[list[str]]:
    if not query.rules:
        return []
    shown = _costliest(query.rules.values(), SHOWN_RULES)
    rows = [
        [
            name,
            spent.rule,
            f"{spent.events:,}",
            f"{spent.partial_matches:,}",
            f"{spent.matches:,}",
            spent.last_match or "",
            *_spent(spent.seconds, query.rule_seconds),
        ]
        for spent in shown
    ]
    rest = query.rule_seconds - sum(spent.seconds for spent in shown)
    others = [name, "all others", "", "", "", "", *_spent(rest, query.rule_seconds)]
    return [*rows, others] if rest >= SHOWN_SECONDS else rows


def _costliest(rules: Iterable[RuleSpending], count: int) -> list[RuleSpending]:
    return heapq.nlargest(count, rules, key=lambda spent: spent.seconds)


def _spent(seconds: float, total: float) -> tuple[str, str]:
    return f"{seconds:.3f}", f"{seconds / total:.1%}" if total else ""


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
