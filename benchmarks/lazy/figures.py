"""What rows come to: figures with a target, and tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from benchmarks.lazy.measure import COUNTED, Row
from benchmarks.targets import Figure


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be measured here, and why; it is no failure, and no success either."""

    section: str
    what: str
    reason: str


Finding = Row | Figure | Skipped
"""What a section of the benchmark comes to, bit by bit."""


def gains(
    section: str, rows: Sequence[Row], *, least: float | None = None, fewer: float | None = None
) -> Iterator[Figure | Skipped]:
    """Throughput against eager, and how many times fewer predicates are evaluated, for the rows of one query.

    Of the two kinds of negation the better one counts.
    """
    eager, lazy = rows[0], [r for r in rows[1:] if r.measured and r.variant.startswith("chain")]
    name = f"{eager.query} {eager.condition}, {eager.stream}"
    if any(r.void for r in rows):
        void = next(r.void for r in rows if r.void)
        yield Figure(section, f"throughput against eager: {name}", 0.0, "x", least, True, void)
        return
    if not eager.measured or not lazy:
        yield Skipped(section, f"throughput against eager: {name}", next(r.missing for r in rows if r.missing) or "")
        return
    speed = {r.variant: _faster(r, eager) for r in lazy}
    yield Figure(section, f"throughput against eager: {name}", max(speed.values()), "x", least, True)
    saved = {r.variant: _ratio(eager.counters["predicates"], r.counters["predicates"]) for r in lazy}
    yield Figure(section, f"times fewer predicates than eager: {name}", max(saved.values()), "x", fewer, True)
    if any("bounds" in r.counters for r in lazy):
        # A bound costs less than the predicate that it spares, but it is not nothing.
        with_bounds = [r.counters["predicates"] + r.counters.get("bounds", 0) for r in lazy]
        saved_in_all = _ratio(eager.counters["predicates"], min(with_bounds))
        yield Figure(section, f"... times fewer predicates and bounds: {name}", saved_in_all, "x")
    if len(lazy) > 1:
        for variant, gain in speed.items():
            yield Figure(section, f"... throughput of {variant}: {name}", gain, "x")
            yield Figure(section, f"... times fewer predicates of {variant}: {name}", saved[variant], "x")
    for r in rows:
        if r.measured and r.variant == "planned":
            yield Figure(section, f"... throughput as planned: {name}", _faster(r, eager), "x")


def _faster(row: Row, than: Row) -> float:
    return row.events_per_second / than.events_per_second


def _ratio(many: int, few: int) -> float:
    return many / max(few, 1)


def _operations(row: Row) -> Iterator[str]:
    """Per event and per match; nothing for a match where there is none."""
    for counter in COUNTED:
        yield f"{row.per_event(counter):,.2f}"
        yield f"{row.per_match(counter):,.1f}" if row.matches else ""


def rows_table(title: str, rows: Iterable[Row]) -> Table:
    """The rows for people: each variant beside the first one of its query."""
    table = Table(title=title)
    for heading in ("stream", "query", "min", "variant"):
        table.add_column(heading)
    counted = [f"{what}/{each}" for what in ("pred", "bounds", "writes") for each in ("event", "match")]
    for heading in ("events/s", "x", "MiB", "instances", *counted):
        table.add_column(heading, justify="right")
    table.add_column("matches", justify="right")
    first: Row | None = None
    for r in rows:
        key = (r.stream, r.query, r.condition, r.minutes)
        if first is None or key != (first.stream, first.query, first.condition, first.minutes):
            first = r
        label = (r.stream, f"{r.query} {r.condition}", f"{r.minutes:g}", r.variant)
        if r.measured:
            gain = f"{_faster(r, first):.2f}" if first.measured else ""
            table.add_row(
                *label,
                f"{r.events_per_second:,.0f}",
                gain,
                f"{r.peak_bytes / 2**20:.1f}",
                f"{r.peak_instances:,}",
                *_operations(r),
                f"{r.matches:,}",
            )
        else:
            table.add_row(*label, f"VOID: {r.void}" if r.void else "not available")
    return table
