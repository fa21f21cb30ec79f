"""The reference evaluator as a kernel: at every step it looks at all events again, and reports what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.errors import HostError
from augury.ir.lossy import check_model
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.reference.conditions import Conditions
from augury.reference.find import Candidate, find
from augury.reference.output import Key, by_last_event, covers, lateness, non_overlapping, report_order
from augury.reference.stream import Partition, stream
from augury.reference.totals import totals
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.checks import inconsistent, require
from augury.runtime.matches import FoundMatch, MatchSet
from augury.runtime.state import FOREVER, LONG_AGO, RunState
from augury.runtime.values import plain
from augury.schema import Kind

VERSION = 1

Rows: TypeAlias = "tuple[tuple[int, ...], ...]"


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """Evaluates `query` as SEMANTICS states it; the state holds the events that can still matter."""

    query: BoundQuery
    options: Options

    def __post_init__(self) -> None:
        if self.query.threshold is not None:
            check_model(self.query, self.options.loss)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.query.variables if not v.negated)

    def start(self) -> RunState:
        return RunState("reference", VERSION, {}, {"seen": [], "ends": [], "settled": LONG_AGO})

    def restore(self, state: RunState) -> RunState:
        self._refuse_another(state)
        match state.facts:
            case {"seen": list(seen), "ends": list(ends), "settled": int(settled)}:
                require(LONG_AGO <= settled <= FOREVER, "there is no such time")
                require(all(map(_is_seen, seen)), "a match that was reported is none")
                schema = self.query.schema
                # The first of an order key is the time in ticks, whatever the column holds.
                kinds = [Kind.INT, *(schema[name].kind for name in schema.order_by[1:])]
                require(all(_is_end(end, kinds) for end in ends), "a match that was kept has no end")
            case _:
                raise inconsistent("it does not say what was reported")
        if "events" in state.tables:
            events = state.tables["events"]
            require(events.column_names[-1:] == [""] and "" not in events.column_names[:-1], "its events have no rows")
            rows = events.column(events.num_columns - 1)
            require(rows.type == pa.int64() and not rows.null_count, "its events have no rows")
        return state

    def _refuse_another(self, state: RunState) -> None:
        if (state.family, state.version) != ("reference", VERSION):
            raise HostError(
                "A548", f"a state of `{state.family}` version {state.version} cannot be continued by the reference"
            )

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, MatchSet]:
        self._refuse_another(state)
        table, rows = _with_earlier(state, batch)
        given = Conditions.of(self.query, stream(self.query, table, rows.tolist()), self.options)
        seen: set[Rows] = {tuple(map(tuple, key)) for key in state.facts["seen"]}
        candidates = [
            c
            for c in find(given, self.variables, watermark)
            # What started earlier was settled by an earlier step, perhaps by events that are forgotten now.
            if c.first.time >= state.facts["settled"]
        ]
        new, ends = self._new(given, candidates, watermark, seen, state.facts["ends"])
        settled, keep = self._horizon(given, watermark, state.facts["settled"])
        kept_rows = rows[keep]
        retained = set(kept_rows.tolist())
        facts = {
            "seen": sorted(key for key in seen if all(r in retained for part in key for r in part)),
            "ends": ends,
            "settled": settled,
        }
        oldest = int(kept_rows.min()) if len(kept_rows) else int(rows.max(initial=state.oldest_row - 1)) + 1
        events = table.filter(pa.array(keep)).append_column("", pa.array(kept_rows))
        return RunState("reference", VERSION, {"events": events}, facts, oldest), new

    def _new(
        self, given: Conditions, candidates: list[Candidate], watermark: int, seen: set[Rows], ends: list[Any]
    ) -> tuple[MatchSet, list[Any]]:
        """The matches to report now; `seen` grows by what has been dealt with."""
        fresh = [c for c in candidates if c.rows(self.variables) not in seen]
        match self.query.output:
            case OutputMode.ALL:
                found = self._found((c for c in fresh if c.accepted), seen)
            case OutputMode.NONOVERLAP:
                last: dict[Partition, Key] = {tuple(partition): tuple(key) for partition, key in ends}
                kept, dropped, after = non_overlapping(fresh, self.variables, watermark, last)
                seen |= {c.rows(self.variables) for c in dropped}
                ends = [[partition, key] for partition, key in after.items()]
                found = self._found(kept, seen)
            case OutputMode.COVER:
                # A cover is the latest of all matches of its combination, so those reported before take part again.
                latest = covers(given, candidates, self.variables, watermark)
                found = self._found((c for c in latest if c.rows(self.variables) not in seen), seen)
            case OutputMode.LATEST:
                groups = [(e, cs) for e, cs in by_last_event(candidates) if ((e.row,),) not in seen]
                seen |= {((e.row,),) for e, _ in groups}
                found = self._found((max(cs, key=lambda c: lateness(c, self.variables)) for _, cs in groups), set())
            case OutputMode.COUNT:
                groups = [(e, cs) for e, cs in by_last_event(candidates) if ((e.row,),) not in seen]
                seen |= {((e.row,),) for e, _ in groups}
                found = [
                    FoundMatch((), e.time, e.time, count=len(cs), completed_by=e.row, totals=totals(given, cs))
                    for e, cs in groups
                ]
            case _:
                assert_never(self.query.output)
        return MatchSet.of(self.variables, found), ends

    def _found(self, accepted: Iterable[Candidate], seen: set[Rows]) -> list[FoundMatch]:
        """The matches in the order they are reported."""
        found = []
        for c in sorted(accepted, key=lambda c: report_order(c, self.variables)):
            rows = c.rows(self.variables)
            seen.add(rows)
            found.append(FoundMatch(rows, c.first.time, c.last.time, c.probability))
        return found

    def _horizon(self, given: Conditions, watermark: int, settled: int) -> tuple[int, npt.NDArray[np.bool_]]:
        """Up to which start every match is settled, and which events can still matter.

        A match is certain one window after its start, NONOVERLAP may hold it back by one more, and a leading NOT looks
        back by one before its start.
        """
        if not isinstance(self.query.window, TimeWindow) or self.query.output is OutputMode.COVER:
            return settled, np.ones(len(given.events), dtype=bool)
        if watermark != FOREVER:
            settled = max(settled, watermark - 2 * self.query.window.ticks)
        return settled, np.array([e.time >= settled - self.query.window.ticks for e in given.events], dtype=bool)


def _with_earlier(state: RunState, batch: EventBatch) -> tuple[pa.Table, Integers]:
    """All events that matter, and the rows at which they arrived."""
    if "events" not in state.tables:
        return _written_out(batch.table), batch.rows
    earlier = state.tables["events"]
    rows = earlier.column("").to_numpy(zero_copy_only=False)
    earlier, later = earlier.drop_columns([""]), _written_out(batch.table)
    require(bool(earlier.schema.equals(later.schema)), "its events have other columns than its stream")
    table = pa.concat_tables([earlier, later], promote_options="none")
    return table, np.concatenate([rows, batch.rows])


def _is_seen(key: Any) -> bool:
    """Whether this is a match by the rows of its events, variable by variable."""
    return isinstance(key, list) and all(
        isinstance(part, list) and all(type(row) is int for row in part) for part in key
    )


def _is_end(end: Any, kinds: Sequence[Kind]) -> bool:
    """Whether these are the values of a partition, and an order key of columns of these kinds."""
    match end:
        case [list(partition), list(key)] if len(key) == len(kinds):
            values = all(value is None or isinstance(value, str | int | float) for value in partition)
            return values and all(isinstance(k, _ORDERED.get(kind, object)) for k, kind in zip(key, kinds, strict=True))
        case _:
            return False


_ORDERED: dict[Kind, Any] = {Kind.STRING: str, Kind.BOOL: bool, Kind.FLOAT: (int, float)} | dict.fromkeys(
    (Kind.INT, Kind.TIMESTAMP, Kind.DURATION), int
)
"""What the values of a column are that can be compared with one another."""


def _written_out(table: pa.Table) -> pa.Table:
    """The table with every string written out, as a state keeps it."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, plain(table.column(i)))
    return table
