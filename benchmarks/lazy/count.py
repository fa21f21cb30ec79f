"""The answers of the queries, found without Augury: a join around each event of the rarest part, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.lazy.queries import Branch, Correlated, Part, Query, Rising
from benchmarks.workload import Tally

Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


def expected(query: Query, table: pa.Table) -> Tally:
    """How many matches, of how many events, and the sum of their rows; no two branches may find the same match."""
    events = _Events.of(table)
    return sum((_branch(b, query, events) for b in query.branches), Tally(0, 0, 0))


def times_over(answer: Tally, times: int, events: int) -> Tally:
    """The answer for the stream of so many events `times` over, where no match reaches from one into the next."""
    shifted = events * answer.length * (times * (times - 1) // 2)
    return Tally(answer.matches * times, answer.length * times, answer.rows * times + shifted)


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """The columns of a stream; rows of `unit` are histories less their mean, scaled to length 1."""

    ts: Integers
    ticks_a_minute: int
    rows: dict[str, Integers]
    price: npt.NDArray[np.float64]
    unit: npt.NDArray[np.float64]

    @classmethod
    def of(cls, table: pa.Table) -> _Events:
        ts = table["ts"].cast(pa.int64()).to_numpy()
        milliseconds = pa.types.is_timestamp(table.schema.field("ts").type)
        types = np.asarray(table["type"].to_pylist())
        rows = {str(t): np.flatnonzero(types == t) for t in np.unique(types)}
        history = table["history"].combine_chunks().flatten().to_numpy().reshape(len(ts), -1)
        centred = history - history.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            # A price that never changed has no correlation: NaN, which is above nothing.
            unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        return cls(ts, 60_000 if milliseconds else 60, rows, table["price"].to_numpy(), unit)

    def near(self, part: Part, first: int, last: int) -> Integers:
        """The events of a part with times in first..last."""
        rows = self.rows.get(part.type, np.empty(0, dtype=np.int64))
        ts = self.ts[rows]
        return rows[np.searchsorted(ts, first, side="left") : np.searchsorted(ts, last, side="right")]


def _branch(branch: Branch, query: Query, events: _Events) -> Tally:
    window = int(query.minutes * events.ticks_a_minute)
    place = {p.variable: k for k, p in enumerate(branch.parts)}
    singles = sorted((p for p in branch.parts if p.kind == "one"), key=lambda p: len(events.rows.get(p.type, ())))
    special = [p for p in branch.parts if p.kind != "one"]
    total = Tally(0, 0, 0)
    for anchor in events.rows.get(singles[0].type, np.empty(0, dtype=np.int64)).tolist():
        now = int(events.ts[anchor])
        bound: dict[Part, Integers] = {singles[0]: np.array([anchor])}
        for part in singles[1:]:
            candidates = events.near(part, now - window, now + window)
            left, right = np.nonzero(_fits(bound, part, candidates, branch, query, place, events, window))
            bound = {p: rows[left] for p, rows in bound.items()} | {part: candidates[right]}
            if not len(left):
                break
        else:
            total += _completed(bound, special, branch, query, place, events, window)
    return total


def _fits(
    bound: dict[Part, Integers],
    part: Part,
    candidates: Integers,
    branch: Branch,
    query: Query,
    place: dict[str, int],
    events: _Events,
    window: int,
) -> Truth:
    """Which candidate of `part` goes with which of the partial matches: order, window and conditions."""
    ts = events.ts[candidates][None, :]
    times = np.array([events.ts[rows] for rows in bound.values()])
    fits: Truth = np.maximum(times.max(axis=0)[:, None], ts) - np.minimum(times.min(axis=0)[:, None], ts) <= window
    for other, rows in bound.items():
        before = place[other.variable] < place[part.variable]
        if branch.operator == "SEQ":
            fits &= events.ts[rows][:, None] < ts if before else ts < events.ts[rows][:, None]
        match query.condition:
            case Correlated(above):
                fits &= events.unit[rows] @ events.unit[candidates].T > above
            case Rising(below):
                mine, theirs = events.price[candidates][None, :], events.price[rows][:, None]
                low, high = (theirs, mine) if before else (mine, theirs)
                fits &= (low < high) & (high < low + below)
            case _:
                assert_never(query.condition)
    return fits


def _completed(
    bound: dict[Part, Integers],
    special: list[Part],
    branch: Branch,
    query: Query,
    place: dict[str, int],
    events: _Events,
    window: int,
) -> Tally:
    """The matches that come of complete sets of single events, once the list or the negated part is looked at."""
    rows = np.array(list(bound.values())).sum(axis=0)
    if not special:
        return Tally(len(rows), len(bound) * len(rows), int(rows.sum()))
    times = np.concatenate([events.ts[r] for r in bound.values()])
    candidates = [events.near(p, int(times.min()) - window, int(times.max()) + window) for p in special]
    fits = [
        _fits(bound, part, rows_of, branch, query, place, events, window)
        for part, rows_of in zip(special, candidates, strict=True)
    ]
    if special[0].kind == "none":
        kept = rows[~fits[0].any(axis=1)]
        return Tally(len(kept), len(bound) * len(kept), int(kept.sum()))
    total = Tally(0, 0, 0)
    for k, row in enumerate(rows.tolist()):
        parts = {p: rows_of[fit[k]] for p, rows_of, fit in zip(special, candidates, fits, strict=True)}
        lists = _in_turn(parts, branch, query, place, events, window)
        total += Tally(lists.matches, lists.length + len(bound) * lists.matches, lists.rows + row * lists.matches)
    return total


def _in_turn(
    parts: dict[Part, Integers], branch: Branch, query: Query, place: dict[str, int], events: _Events, window: int
) -> Tally:
    """All ways to take a list of the events of each part; those of all parts but the last one are gone through."""
    first, *later = parts
    if not later:
        return _lists(parts[first], events, query.climbing)
    total = Tally(0, 0, 0)

    def longer(taken: list[int], begin: int, rest: dict[Part, Integers]) -> None:
        nonlocal total
        for k in range(begin, len(parts[first])):
            row = int(parts[first][k])
            if taken and not _follows(taken[-1], row, events, query.climbing):
                continue
            left = {
                p: rows[_fits({first: np.array([row])}, p, rows, branch, query, place, events, window)[0]]
                for p, rows in rest.items()
            }
            if all(len(rows) for rows in left.values()):
                whole = [*taken, row]
                found = _in_turn(left, branch, query, place, events, window)
                n = found.matches
                total += Tally(n, found.length + len(whole) * n, found.rows + sum(whole) * n)
                longer(whole, k + 1, left)

    longer([], 0, {p: parts[p] for p in later})
    return total


def _follows(row: int, following: int, events: _Events, climbing: bool) -> bool:
    """Whether an event may come after another in a list."""
    return bool(events.ts[row] < events.ts[following] and (not climbing or events.price[row] < events.price[following]))


def _lists(elements: Integers, events: _Events, climbing: bool) -> Tally:
    """All lists of these events: counted one by one as the last of a list, which goes on from every list before it."""
    ends: list[tuple[int, float, Tally]] = []
    for row in elements.tolist():
        ts, price = int(events.ts[row]), float(events.price[row])
        before = (t for s, p, t in ends if s < ts and (p < price or not climbing))
        longer = sum(before, Tally(0, 0, 0))
        ways = longer.matches + 1
        ends.append((ts, price, Tally(ways, longer.length + ways, longer.rows + row * ways)))
    return sum((t for _, _, t in ends), Tally(0, 0, 0))
