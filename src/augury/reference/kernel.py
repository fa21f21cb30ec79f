"""The reference evaluator as a kernel: every step evaluates all kept events again, and reports new matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from augury.reference.output import (
    Key,
    by_last_event,
    covers,
    first_ending,
    lateness,
    longest,
    non_overlapping,
    report_order,
    skipping_to,
    spaced,
)
from augury.reference.stream import Partition, stream
from augury.reference.timeouts import timed_out
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
class Selected:
    """The matches that OUTPUT selects in a step, the state of that selection, and the counts of COUNT."""

    kept: list[Candidate]
    ends: list[Any]
    counted: list[FoundMatch]


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """Evaluates `query` by SEMANTICS; the state holds the events that can still matter."""

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

    def restart(self, state: RunState) -> RunState:
        return self.start()

    def restore(self, state: RunState) -> RunState:
        self._refuse_another(state)
        match state.facts:
            case {"seen": list(seen), "ends": list(ends), "settled": int(settled)}:
                require(LONG_AGO <= settled <= FOREVER, "there is no such time")
                require(all(map(_is_seen, seen)), "a match that was reported is none")
                schema = self.query.schema
                # The first part of an order key is the time in ticks, whatever the type of the column.
                kinds = [Kind.INT, *(schema[name].kind for name in schema.order_by[1:])]
                require(all(_is_end(end, kinds) for end in ends), "a match that was kept has no end")
                chosen, paced = state.facts.get("chosen", []), state.facts.get("paced", [])
                require(isinstance(chosen, list) and all(map(_is_seen, chosen)), "a match that waits is none")
                require(isinstance(paced, list) and all(map(_is_pace, paced)), "a match that was kept has no end")
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
            # Earlier starts were settled by an earlier step, perhaps by events that have been dropped.
            if c.first.time >= state.facts["settled"]
        ]
        mode = self._selected(given, candidates, watermark, seen, state.facts["ends"])
        chosen, paced = {tuple(map(tuple, key)) for key in state.facts.get("chosen", [])}, state.facts.get("paced", [])
        kept, waiting, paced = self._spaced(candidates, mode.kept, chosen, watermark, seen, paced)
        found = [FoundMatch(c.rows(self.variables), c.first.time, c.last.time, c.probability) for c in kept]
        found += mode.counted
        if self.query.output.has_timeouts:
            found += self._timeouts(given, candidates, watermark, seen, state.facts["settled"])
            found.sort(key=lambda match: (match.end, match.start))
        new = MatchSet.of(self.variables, found)
        settled, keep = self._horizon(given, watermark, state.facts["settled"])
        kept_rows = rows[keep]
        retained = set(kept_rows.tolist())
        facts = {
            "seen": sorted(key for key in seen if all(r in retained for part in key for r in part)),
            "ends": mode.ends,
            "settled": settled,
        }
        if self.query.paced:
            facts |= {"chosen": sorted(waiting), "paced": paced}
        oldest = int(kept_rows.min()) if len(kept_rows) else int(rows.max(initial=state.oldest_row - 1)) + 1
        events = table.filter(pa.array(keep)).append_column("", pa.array(kept_rows))
        return RunState("reference", VERSION, {"events": events}, facts, oldest), new

    def _selected(
        self, given: Conditions, candidates: list[Candidate], watermark: int, seen: set[Rows], ends: list[Any]
    ) -> Selected:
        """The matches that OUTPUT selects now; matches dealt with are added to `seen`."""
        fresh = [c for c in candidates if c.rows(self.variables) not in seen]
        kept: list[Candidate]
        dropped: list[Candidate] = []
        counted: list[FoundMatch] = []
        marks: set[Rows] = set()
        match self.query.output:
            case OutputMode.ALL:
                kept = [c for c in fresh if c.accepted]
            case OutputMode.NONOVERLAP:
                last: dict[Partition, Key] = {tuple(partition): tuple(key) for partition, key in ends}
                kept, dropped, after = non_overlapping(fresh, self.variables, watermark, last)
                ends = [[partition, key] for partition, key in after.items()]
            case OutputMode.FIRST:
                kept, dropped = first_ending(candidates, self.variables, watermark)
            case OutputMode.LONGEST:
                kept, dropped, _ = longest(given, candidates, watermark)
            case OutputMode.LONGEST_NONOVERLAP:
                kept, shorter, open_ = longest(given, candidates, watermark)
                seen |= {c.rows(self.variables) for c in shorter}
                last = {tuple(partition): tuple(key) for partition, key in ends}
                left = [c for c in kept if c.rows(self.variables) not in seen]
                waiting = [replace(c, certain=False) for c in open_]
                kept, dropped, after = non_overlapping([*left, *waiting], self.variables, watermark, last)
                ends = [[partition, key] for partition, key in after.items()]
            case OutputMode.NONOVERLAP_FROM:
                resume: dict[Partition, tuple[Key, bool]] = {tuple(p): (tuple(key), at) for p, key, at in ends}
                kept, dropped, on = skipping_to(given, fresh, self.variables, watermark, resume)
                ends = [[partition, key, inclusive] for partition, (key, inclusive) in on.items()]
            case OutputMode.TIMEOUTS:
                kept = []
            case OutputMode.ALL_WITH_TIMEOUTS:
                kept = [c for c in fresh if c.accepted]
            case OutputMode.FIRST_WITH_TIMEOUTS:
                kept, dropped = first_ending(candidates, self.variables, watermark)
            case OutputMode.COVER:
                # A cover is the latest of all matches of its combination, so reported ones are compared as well.
                kept, dropped = covers(given, candidates, self.variables, watermark)
            case OutputMode.LATEST:
                groups = [(e, cs) for e, cs in by_last_event(candidates) if ((e.row,),) not in seen]
                marks = {((e.row,),) for e, _ in groups}
                kept = [max(cs, key=lambda c: lateness(c, self.variables)) for _, cs in groups]
                dropped = [c for _, cs in groups for c in cs if c not in kept]
            case OutputMode.COUNT:
                groups = [(e, cs) for e, cs in by_last_event(candidates) if ((e.row,),) not in seen]
                marks = {((e.row,),) for e, _ in groups}
                kept, counted = (
                    [],
                    [
                        FoundMatch((), e.time, e.time, count=len(cs), completed_by=e.row, totals=totals(given, cs))
                        for e, cs in groups
                    ],
                )
            case _:
                assert_never(self.query.output)
        new = [c for c in kept if c.rows(self.variables) not in seen]
        seen |= marks | {c.rows(self.variables) for c in (*kept, *dropped)}
        return Selected(new, ends, counted)

    def _timeouts(
        self, given: Conditions, candidates: Sequence[Candidate], watermark: int, seen: set[Rows], settled: int
    ) -> list[FoundMatch]:
        """The partial matches that have timed out; a key of `seen` that holds an event twice marks its start."""
        found = []
        for c in timed_out(given, candidates, self.variables, watermark):
            mark = ((c.first.row, c.first.row),)
            if mark not in seen and c.first.time >= settled:
                seen.add(mark)
                found.append(FoundMatch(c.rows(self.variables), c.first.time, c.last.time, count=0))
        return found

    def _spaced(
        self,
        candidates: Sequence[Candidate],
        kept: list[Candidate],
        chosen: set[Rows],
        watermark: int,
        seen: set[Rows],
        paced: list[Any],
    ) -> tuple[list[Candidate], list[Rows], list[Any]]:
        """The matches that EVERY or ONCE selects now, in report order, and those that wait for it.

        `chosen` are those that waited before, by the rows of their events.
        """
        waiting: list[Candidate] = []
        if self.query.paced:
            undecided = [c for c in candidates if (c.accepted or not c.certain) and c.rows(self.variables) not in seen]
            kept = [*kept, *(c for c in candidates if c.rows(self.variables) in chosen)]
            last: dict[Partition, int] = {tuple(partition): end for partition, end in paced}
            kept, waiting, after = spaced(self.query, kept, undecided, self.variables, watermark, last)
            paced = [[partition, end] for partition, end in after.items()]
        kept = sorted(kept, key=lambda c: report_order(c, self.variables))
        return kept, [c.rows(self.variables) for c in waiting], paced

    def _horizon(self, given: Conditions, watermark: int, settled: int) -> tuple[int, npt.NDArray[np.bool_]]:
        """The latest start up to which every match is settled, and a mask of the events that can still matter.

        A match is certain one window after its start, or with NOT ... FOR that long after its end. NONOVERLAP may delay
        it by one more window, and a leading NOT looks back one window, or as long as its FOR, before its start.
        """
        if not isinstance(self.query.window, TimeWindow) or self.query.output is OutputMode.COVER:
            return settled, np.ones(len(given.events), dtype=bool)
        window, silence = self.query.window.ticks, self.query.longest_silence or 0
        if watermark != FOREVER:
            settled = max(settled, watermark - 2 * window - silence)
        return settled, np.array([e.time >= settled - max(window, silence) for e in given.events], dtype=bool)


def _with_earlier(state: RunState, batch: EventBatch) -> tuple[pa.Table, Integers]:
    """All events that matter, and their rows in order of arrival."""
    if "events" not in state.tables:
        return _written_out(batch.table), batch.rows
    earlier = state.tables["events"]
    rows = earlier.column("").to_numpy(zero_copy_only=False)
    earlier, later = earlier.drop_columns([""]), _written_out(batch.table)
    require(bool(earlier.schema.equals(later.schema)), "its events have other columns than its stream")
    table = pa.concat_tables([earlier, later], promote_options="none")
    return table, np.concatenate([rows, batch.rows])


def _is_seen(key: Any) -> bool:
    """Whether `key` is a match: the rows of its events, variable by variable."""
    return isinstance(key, list) and all(
        isinstance(part, list) and all(type(row) is int for row in part) for part in key
    )


def _is_end(end: Any, kinds: Sequence[Kind]) -> bool:
    """Whether `end` is a partition and an order key with values of these kinds."""
    match end:
        case [list(partition), list(key)] | [list(partition), list(key), bool()] if len(key) == len(kinds):
            return _is_partition(partition) and all(
                isinstance(k, _ORDERED.get(kind, object)) for k, kind in zip(key, kinds, strict=True)
            )
        case _:
            return False


def _is_pace(pace: Any) -> bool:
    """Whether `pace` is a partition, and the time at which its last match ended."""
    match pace:
        case [list(partition), int(time)]:
            return _is_partition(partition) and LONG_AGO <= time <= FOREVER
        case _:
            return False


def _is_partition(values: list[Any]) -> bool:
    return all(value is None or isinstance(value, str | int | float) for value in values)


_ORDERED: dict[Kind, Any] = {Kind.STRING: str, Kind.BOOL: bool, Kind.FLOAT: (int, float)} | dict.fromkeys(
    (Kind.INT, Kind.TIMESTAMP, Kind.DURATION), int
)
"""The Python types of column values that can be compared with one another."""


def _written_out(table: pa.Table) -> pa.Table:
    """The table with dictionary-encoded strings decoded, as a state stores it."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, plain(table.column(i)))
    return table
