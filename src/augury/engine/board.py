"""Progress of a running stream, collected from its micro-batches for the live view."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

KEPT_BATCHES = 300  # last micro-batches kept per query, for plots

KEPT_MATCHES = 20  # last matches kept of all queries

SHOWN_RULES = 20  # rules shown per query, the costliest first

MIN_SHOWN_SECONDS = 0.0005  # less is shown as 0.000

KEPT_RULES = 2_000  # rules whose costs are kept per query, so that years of edits do not fill the memory


@dataclass(frozen=True, slots=True)
class RuleSpending:
    """The cost of a rule: `partial_matches` are those open at the end, `last_match` is the end of its last match."""

    rule: str
    seconds: float = 0.0
    events: int = 0
    partial_matches: int = 0
    matches: int = 0
    last_match: str | None = None

    def then(self, later: RuleSpending) -> RuleSpending:
        """The sum with its cost in a later micro-batch."""
        return self._with(later, later.partial_matches)

    def beside(self, other: RuleSpending) -> RuleSpending:
        """The sum with its cost in another bucket of the same micro-batch."""
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
    """Counters of one micro-batch of one query.

    `at` is when it was reported, in seconds since 1970; `lag` is how far the watermark is behind that, None without
    one; `match` is its latest match, as text. For a table of rules, `rules` are those that took the longest, and
    `rule_seconds` is what all of them took.
    """

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
    """Sums over the micro-batches of one query so far, and the last ones of them."""

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
        """Add the counters of one micro-batch."""
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
        """Events per second in the last micro-batch."""
        return self.last.events / self.last.seconds if self.last.seconds else 0.0

    @property
    def matches_per_second(self) -> float:
        """Matches per second in the last micro-batch."""
        return self.last.matches / self.last.seconds if self.last.seconds else 0.0


class Board:
    """The progress of all queries of a pipeline: one thread adds micro-batches, others read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: dict[str, QueryProgress] = {}
        self._matches: deque[tuple[str, str]] = deque(maxlen=KEPT_MATCHES)

    def tell(self, told: BatchProgress) -> None:
        """Add one micro-batch."""
        with self._lock:
            self._queries.setdefault(told.query, QueryProgress(told)).add(told)
            if told.match is not None:
                self._matches.appendleft((told.query, told.match))

    def rows(self) -> list[list[str]]:
        """One row per query, with the columns of `HEADER`."""
        with self._lock:
            total = sum(query.seconds for query in self._queries.values())
            return [_row(name, query, total) for name, query in self._queries.items()]

    def rules(self) -> list[list[str]]:
        """The costliest rules of each query, with the columns of `RULE_HEADER`, and one row for all others."""
        with self._lock:
            return [row for name, query in self._queries.items() for row in _rule_rows(name, query)]

    def matches(self) -> list[tuple[str, str]]:
        """The names of queries and their last matches, the newest first."""
        with self._lock:
            return list(self._matches)

    def rates(self) -> dict[str, list[tuple[float, float, float]]]:
        """For each query and micro-batch: when it was reported, and its events and matches per second."""
        with self._lock:
            return {
                name: [(b.at, b.events / (b.seconds or 1), b.matches / (b.seconds or 1)) for b in query.batches]
                for name, query in self._queries.items()
            }


HEADER = ("query", "events", "events/s", "matches", "matches/s", "late", "state", "lag", "seconds", "share")
"""Columns of the table of queries; `seconds` is the cost of a query, `share` its part of the cost of all."""


RULE_HEADER = ("query", "rule", "events", "partial matches", "matches", "last match", "seconds", "share")
"""Columns of the table of rules; `events` are those a rule was given, `share` its part of the seconds of all rules."""


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
    return [*rows, others] if rest >= MIN_SHOWN_SECONDS else rows


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
    """Seconds in the largest unit that they fill.

    >>> duration_text(4.2), duration_text(3700), duration_text(90_000_000)
    ('4.2 s', '1.0 h', '1,041.7 days')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"
