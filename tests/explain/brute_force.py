"""Every assignment of a short stream, tested one demand at a time: what `why_not` is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, pairwise, product

import pyarrow as pa

from augury.ir.branches import Branch, branches
from augury.ir.evaluate import holds
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Pattern, Repeat, Seq, event_of, variable_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode
from augury.reference.stream import StreamEvent, stream
from augury.testing.evaluate import reference_matches

Rows = dict[str, tuple[int, ...]]
Bound = Mapping[str, tuple[StreamEvent, ...]]

CHECKS = ("type", "conditions on one event", "key", "order", "window", "conditions over several events")
"""What the next event of a partial match is tested by, in this order."""


class BruteForce:
    """Every assignment of a short stream, tested one demand at a time."""

    def __init__(self, query: BoundQuery, table: pa.Table) -> None:
        self.query, self.table = query, table
        self.events = stream(query, table, range(table.num_rows))
        self.conjuncts = normal_conjuncts(query.conjuncts, query.pattern_order)
        self.branches = [b for b in branches(query.pattern) if b.components]
        self.positive = [v.name for v in query.variables if not v.negated]
        self.accepted = self._matches(query)
        self.selected = self._matches(without_negation(query))

    def _matches(self, query: BoundQuery) -> list[Rows]:
        found = reference_matches(replace(query, output=OutputMode.ALL), self.table)
        return [{v: tuple(rows) for v, rows in zip(found.variables, m.rows, strict=True) if rows} for m in found]

    # -- single demands

    def fits(self, c: Event | Repeat, e: StreamEvent) -> bool:
        types = event_of(c).types
        return not types or e.type in types

    def alone(self, v: str) -> list[Conjunct]:
        return [c for c in self.conjuncts if c.variables == (v,) and c.one_event]

    def passes(self, c: Event | Repeat, e: StreamEvent) -> bool:
        v = variable_of(c)
        return all(holds(j, {v: [e.values]}) for j in self.alone(v))

    def one_key(self, bound: Bound) -> bool:
        keys = {e.partition for events in bound.values() for e in events}
        return None not in keys and len(keys) <= 1

    def in_order(self, branch: Branch, bound: Bound) -> bool:
        lists = all(e.key < f.key for events in bound.values() for e, f in pairwise(events))
        return lists and all(
            e.key < f.key for u, v in branch.order if u in bound and v in bound for e in bound[u] for f in bound[v]
        )

    def distinct(self, bound: Bound) -> bool:
        rows = [e.row for events in bound.values() for e in events]
        return len(set(rows)) == len(rows)

    def in_window(self, bound: Bound) -> bool:
        events = [e for events in bound.values() for e in events]
        match self.query.window:
            case TimeWindow(ticks):
                return not events or max(e.time for e in events) - min(e.time for e in events) <= ticks
            case CountWindow(n):
                return not events or max(e.place for e in events) - min(e.place for e in events) < n
            case _:
                return True

    def failed(self, bound: Bound, growing: str | None = None) -> list[Conjunct]:
        """Conditions over what is bound that are not true; the list of `growing` may still get longer."""
        rows = {v: [e.values for e in events] for v, events in bound.items()}
        return [
            c
            for c in self.conjuncts
            if c.variables and set(c.variables) <= bound.keys() and growing not in c.whole and not holds(c, rows)
        ]

    def constant(self) -> bool:
        return all(holds(c, {}) for c in self.conjuncts if not c.variables)

    # -- assignments

    def lists(self, c: Event | Repeat, sizes: range) -> Iterator[tuple[StreamEvent, ...]]:
        events = [e for e in self.events if self.fits(c, e) and self.passes(c, e)]
        for size in sizes:
            yield from combinations(events, size)

    def assignments(self, branch: Branch, chosen: tuple[Event | Repeat, ...]) -> Iterator[Bound]:
        n = len(self.events)
        options = []
        for c in chosen:
            low, high = (1, 1) if isinstance(c, Event) else (c.low, c.high)
            options.append(list(self.lists(c, range(low, min(n, high or n) + 1))))
        for choice in product(*options):
            yield dict(zip(map(variable_of, chosen), choice, strict=True))

    # -- steps

    def steps(self) -> dict[str, tuple[int, dict[str, int]]]:
        """The events left after each demand, and those of each variable, in the order of the demands."""
        out: dict[str, tuple[int, dict[str, int]]] = {}

        def independent(name: str, tested: list[str]) -> list[Branch]:
            viable, counts = [], {}
            for branch in self.remaining:
                domain = {}
                for c in branch.components:
                    v = variable_of(c)
                    domain[v] = [
                        e for e in self.events if self.fits(c, e) and ("alone" not in tested or self.passes(c, e))
                    ]
                    counts[v] = len(domain[v])
                needed = {variable_of(c): c.low if isinstance(c, Repeat) else 1 for c in branch.components}
                if all(len(domain[v]) >= needed[v] for v in domain):
                    viable.append((branch, domain))
            left = {e for _, domain in viable for events in domain.values() for e in events}
            out[name] = len(left), {v: counts.get(v, 0) for v in self.positive}
            return [branch for branch, _ in viable]

        self.remaining = list(self.branches)
        self.remaining = independent("type", [])
        if not self.constant():
            out["conditions on one event"] = 0, dict.fromkeys(self.positive, 0)
            return out
        self.remaining = independent("conditions on one event", ["alone"])
        tests: dict[str, Callable[[Branch, Bound], bool]] = {
            "key": lambda _, a: self.one_key(a),
            "order": self.in_order,
            "window": lambda _, a: self.in_window(a),
            "conditions over several events": lambda _, a: self.distinct(a) and not self.failed(a),
            "strategy": lambda _, a: self.is_in(a, self.selected),
            "negation": lambda _, a: self.is_in(a, self.accepted),
        }
        every = [(b, a) for b in self.remaining for a in self.assignments(b, b.components)]
        # The key alone says nothing about order, so that it is enough if a partition has what each component needs.
        keyed = set()
        for b in self.remaining:
            for p in {e.partition for e in self.events} - {None}:
                mine = {
                    variable_of(c): [
                        e for e in self.events if e.partition == p and self.fits(c, e) and self.passes(c, e)
                    ]
                    for c in b.components
                }
                low = {variable_of(c): c.low if isinstance(c, Repeat) else 1 for c in b.components}
                if all(len(mine[v]) >= low[v] for v in mine):
                    keyed |= {(v, e) for v, events in mine.items() for e in events}
        for name, test in tests.items():
            every = [(b, a) for b, a in every if test(b, a)]
            pairs = {(v, e) for _, a in every for v, events in a.items() for e in events}
            if name == "key":
                pairs = keyed
            out[name] = len({e for _, e in pairs}), {v: sum(w == v for w, _ in pairs) for v in self.positive}
        return out

    def is_in(self, bound: Bound, matches: list[Rows]) -> bool:
        return {v: tuple(e.row for e in events) for v, events in bound.items()} in matches

    # -- the nearest miss

    def nearest(self) -> tuple[int, int, int, int]:
        """How near a partial match comes, the nearer the greater.

        Components that are missing, elements of the next list, checks passed, failed conditions.
        """
        for missing in range(1, max(len(b.components) for b in self.branches) + 1):
            scores = [s for b in self.branches for p in self.partial(b, missing) for s in self.next_scores(b, p)]
            if scores:
                return (-missing, *max(scores))
        raise AssertionError("nothing is nothing")

    def partial(self, branch: Branch, missing: int) -> Iterator[Bound]:
        size = len(branch.components) - missing
        for chosen in combinations(branch.components, size) if size >= 0 else ():
            names = {variable_of(c) for c in chosen}
            if all(u in names for u, v in branch.order if v in names):
                for bound in self.assignments(branch, chosen):
                    if self.is_partial_match(branch, bound):
                        yield bound

    def is_partial_match(self, branch: Branch, bound: Bound, growing: str | None = None) -> bool:
        good = self.one_key(bound) and self.in_order(branch, bound) and self.distinct(bound)
        return good and self.in_window(bound) and not self.failed(bound, growing)

    def next_scores(self, branch: Branch, bound: Bound) -> Iterator[tuple[int, int, int]]:
        for c in branch.components:
            v = variable_of(c)
            if v in bound or not all(u in bound for u, w in branch.order if w == v):
                continue
            low = c.low if isinstance(c, Repeat) else 1
            for held in [(), *self.lists(c, range(1, low + 1))]:
                now = {**bound, v: held} if held else bound
                if not self.is_partial_match(branch, now, v):
                    continue
                if len(held) == low:
                    failed = self.failed(now)
                    if failed:
                        yield len(held), len(CHECKS), -len(failed)
                    continue
                if not any(self.fits(c, e) and self.passes(c, e) for e in self.events):
                    fitting = [e for e in self.events if self.fits(c, e)]
                    failures = [sum(not holds(j, {v: [e.values]}) for j in self.alone(v)) for e in fitting]
                    yield (0, 1, -min(failures)) if fitting else (0, 0, 0)
                    continue
                for e in self.events:
                    if self.fits(c, e) and self.passes(c, e):
                        check, failed = self.check(branch, now, v, e)
                        yield len(held), check, -len(failed)

    def check(self, branch: Branch, bound: Bound, v: str, e: StreamEvent) -> tuple[int, list[Conjunct]]:
        """The first demand that an event fails, 6 if none, and the conditions that are not true."""
        joined = {**bound, v: (*bound.get(v, ()), e)}
        c = next(c for c in branch.components if variable_of(c) == v)
        if not self.fits(c, e):
            return 0, []
        if not self.passes(c, e):
            return 1, [j for j in self.alone(v) if not holds(j, {v: [e.values]})]
        if not self.one_key(joined):
            return 2, []
        if not (self.in_order(branch, joined) and self.distinct(joined)):
            return 3, []
        if not self.in_window(joined):
            return 4, []
        failed = [c for c in self.failed(joined, v) if v in c.variables]
        return (5, failed) if failed else (6, [])


def without_negation(query: BoundQuery) -> BoundQuery:
    negated = {v.name for v in query.variables if v.negated}

    def positive(p: Pattern) -> Pattern | None:
        match p:
            case Absent():
                return None
            case Seq(parts) | AllOf(parts) | AnyOf(parts):
                kept = tuple(q for part in parts if (q := positive(part)) is not None)
                return replace(p, parts=kept) if kept else None
            case _:
                return p

    pattern = positive(query.pattern)
    assert pattern is not None
    return replace(
        query,
        pattern=pattern,
        variables=tuple(v for v in query.variables if not v.negated),
        conjuncts=tuple(c for c in query.conjuncts if not negated & set(c.variables)),
    )
