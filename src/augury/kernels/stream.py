"""The part of all kernels that is independent of the family: encode, append, advance, report, forget, save, restore.

A family says how its matches are found (`advance`), which events it still needs (`find_horizon`) and how it lets go of
the others (`expire`, `renumbered`); the rest of a step is here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa

from augury.budget import Account, too_many_matches
from augury.errors import TooManyMatches
from augury.ir.predicate import Ref
from augury.ir.query import BoundQuery, CountWindow
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import KeyNumbers, key_words
from augury.kernels.common.live import LiveTables, in_use
from augury.kernels.common.preparing import standardising
from augury.kernels.common.restoring import ENCODING, restore_stream
from augury.kernels.common.selection import Selection, paced_of, started_of
from augury.native.cells import Cell
from augury.native.support import support_source
from augury.options import Options
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.checks import ends_of
from augury.runtime.columns import ColumnSpec, EncodedBatch, Encoder, Encoding
from augury.runtime.dictionary import StringDictionary
from augury.runtime.events import EventStore
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, SharedMatches, enumerated
from augury.runtime.state import FOREVER, RunState
from augury.schema import Kind
from augury.timing import CallStage

MIN_EVENTS_TO_DROP = 1 << 14
"""Fewer events that nothing can come of are not worth moving the others."""

MIN_KEYS_TO_FORGET = 1 << 15
"""Up to so many keys, or strings, all are remembered: those that come back need not be numbered again."""

MIN_KEYS_TO_LEAVE_OUT = 1 << 7
"""Up to so many keys, or strings, all are saved: numbering them anew would cost more than writing them."""


class FoundSoFar(Protocol):
    """Matches that were found and are not reported yet: `Expanded`, or `Scored`."""

    def __len__(self) -> int: ...

    def __add__(self, other: Self) -> Self: ...

    def shifted(self, count: int) -> Self:
        """The same matches once the first `count` events, none of which is theirs, are forgotten."""
        ...

    def to_tables(self) -> dict[str, pa.Table]: ...


@dataclass(slots=True, eq=False, kw_only=True)
class StreamState:
    """The state that all families keep between two batches, as arrays that are changed in place."""

    encoding: Encoding
    events: EventStore
    keys: KeyNumbers
    """The partitions, numbered."""
    nums: Integers
    pending: Any
    """Matches that wait until they are certain; `FoundSoFar`, of the kind that the family finds."""
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Per partition, rank and time of the end of the last match kept (NONOVERLAP)."""
    selection: Selection = field(default_factory=Selection)
    """What OUTPUT remembers of the matches it has chosen."""
    horizon: int = 0
    """The first event that a match to come can still hold, or that can decide about one."""
    broken: bool = False
    """Whether an error interrupted a step halfway."""
    memory: Account | None = None

    @property
    def counts(self) -> Integers:
        """How many events each partition has had."""
        return self.keys.counts

    def to_tables(self) -> dict[str, pa.Table]:
        """The state as Arrow tables; a family adds what does not follow from the events."""
        return {
            "partitions": self.keys.to_table(),
            **self.pending.to_tables(),
            **self.selection.to_tables(),
            "ends": pa.table(
                {
                    "partition": pa.array(list(self.ends), pa.int64()),
                    "rank": pa.array([r for r, _ in self.ends.values()], pa.int64()),
                    "time": pa.array([t for _, t in self.ends.values()], pa.int64()),
                }
            ),
            **{f"{ENCODING}{name}": table for name, table in self.encoding.to_tables().items()},
            **self.events.to_tables(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Renumbering:
    """New numbers of events after the first `count` were forgotten.

    `partitions` and `strings` are by old number the new one, -1 for one that is forgotten; None where all are as they
    were. `kept` are the old numbers of the partitions that are left, in their order.
    """

    count: int
    partitions: Integers | None = None
    kept: Integers | None = None
    strings: Integers | None = None


S = TypeVar("S", bound=StreamState)


class StreamKernel(ABC, Generic[S]):
    """A plan over a stream; all that it remembers of the events is in the state, whose kind is `state_type`."""

    family: ClassVar[str]
    version: ClassVar[int]
    """Of what it saves: a state of another version is refused."""
    state_type: type[S]
    counted: ClassVar[tuple[str, ...]] = ()
    """What the cells of `nums` from `Cell.PREDICATES` on count."""
    fewer_matches: ClassVar[str] = "ask for OUTPUT NONOVERLAP, shorten WITHIN, or add predicates"
    """What to do about too many matches."""

    def __init__(self, query: BoundQuery, options: Options, keys: Sequence[str]) -> None:
        """`keys` are the columns that partition the stream."""
        options = options.with_budget()
        assert options.budget is not None
        self.query, self.options, self.budget = query, options, options.budget
        self.memory = self.budget.account()
        self.support = Tier(support_source(), options)
        self._encoder: Encoder | None = None
        schema = query.schema
        self.keys = tuple(ColumnSpec(f"key_{k}", schema[c].kind, Ref("e", c, schema[c])) for k, c in enumerate(keys))

    @property
    def counts_events(self) -> bool:
        """Whether the window is a number of events."""
        return isinstance(self.query.window, CountWindow)

    # -- what a family supplies ---------------------------------------------------------------------------------------

    @abstractmethod
    def new_state(self, used_up: S | None = None) -> S:
        """The state before any event; it may take over memory from one that is `used_up`."""

    @abstractmethod
    def columns(self, live: S) -> tuple[ColumnSpec, ...]:
        """The columns that are read of each event, without those of the key."""

    @property
    @abstractmethod
    def codes(self) -> Sequence[Tier]:
        """The generated functions, as they are compiled."""

    @abstractmethod
    def advance(self, live: S, first: int, watermark: int) -> Any:
        """Consume the events from `first` on; the matches that they complete, as `FoundSoFar`."""

    @abstractmethod
    def report(self, live: S, found: Any, watermark: int) -> FoundMatches:
        """The matches of `found` that are certain now; the others wait in the state."""

    @abstractmethod
    def find_horizon(self, live: S, watermark: int) -> int:
        """The first event that a match to come can still hold, or that can decide about one."""

    def expire(self, live: S) -> int:
        """Let go of runs and partial matches that nothing can come of; how many events, the oldest, can go as well."""
        return live.horizon

    @abstractmethod
    def renumbered(self, live: S, by: Renumbering) -> None:
        """Events, and perhaps partitions and strings, have new numbers: bring what the family keeps in line."""

    def strings_held(self, live: S) -> Sequence[Integers]:
        """The codes of strings that the family keeps beside the events."""
        return ()

    @abstractmethod
    def restore_pending(self, live: S, tables: Mapping[str, pa.Table]) -> Any:
        """The matches that wait, as a saved state has them."""

    @abstractmethod
    def restore_family(self, live: S, tables: Mapping[str, pa.Table]) -> None:
        """Take over, or build from the events, what the family keeps beside them."""

    def taken_together(self, live: S, encoded: EncodedBatch, first: int) -> int:
        """The end of the events that are taken together from `first` on: as a rule that of the batch."""
        return encoded.length

    def after_batch(self, live: S, encoded: EncodedBatch, watermark: int) -> None:
        """A hook of the family, called between two batches."""

    # -- the contract of a kernel -------------------------------------------------------------------------------------

    def start(self) -> RunState:
        return self._saved(self.new_state())

    def restart(self, state: RunState) -> RunState:
        return self._saved(self.new_state(self.live(state)))

    def restore(self, state: RunState) -> RunState:
        return self._saved(self.live(state))

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        live = self.live(state)
        # The arrays are changed in place: after an error halfway through, there is no way back.
        live.broken = True
        self.budget.watch(live.nums)
        with self.options.clock.stage(CallStage.ENCODING, len(batch)):
            encoded, encoding = self._encoder_of(live).encode(batch, live.encoding)
        parts: list[MatchSet] = []
        lo, hi = 0, self.taken_together(live, encoded, 0)
        while hi < encoded.length:
            live.encoding = replace(encoding, next_event=encoded.first + hi)
            # Whatever is still to come is not before the next event.
            mark = min(watermark, int(encoded.time[hi]))
            some = self._take(live, encoded.part(lo, hi), mark)
            assert not isinstance(some, SharedMatches), "a batch is cut only where matches are written out"
            parts.append(enumerated(some))
            # The rest of the batch is coded already: no string may be coded anew before that has been taken.
            self._forget(live, mark, strings=False)
            if sum(map(len, parts)) > self.options.max_matches:
                raise self.too_many()
            lo, hi = hi, self.taken_together(live, encoded, hi)
        live.encoding = encoding
        matches = self._take(live, encoded.part(lo, hi) if lo else encoded, watermark)
        if parts:
            matches = MatchSet.concat(matches.variables, [*parts, enumerated(matches)])
            if len(matches) > self.options.max_matches:
                raise self.too_many()
        self._forget(live, watermark)
        self.after_batch(live, encoded, watermark)
        live.broken = False
        return self._saved(live), matches

    def counters(self, state: RunState) -> dict[str, int]:
        """The measures of the papers, if the options asked for them."""
        live = self.live(state)
        return {name: int(live.nums[Cell.PREDICATES + k]) for k, name in enumerate(self.counted)}

    @property
    def compilations(self) -> int:
        """How many functions were compiled for it, and not loaded from a cache or known from a query of its shape."""
        return sum(tier.compilations for tier in (*self.codes, self.support))

    def remembered(self, state: RunState) -> dict[str, int]:
        """How many events, keys and strings the state holds.

        All three follow the window, not the length of the stream, where there is a window in time.
        """
        live = self.live(state)
        return {"events": live.events.length, "keys": len(live.keys), "strings": len(live.encoding.dictionary)}

    def oldest_row(self, state: RunState) -> int:
        """The first row that a match to come may bind; `state.oldest_row` may be an earlier one."""
        live = self.live(state)
        live.horizon = max(live.horizon, self.find_oldest(live))
        oldest = live.events.least_row(live.horizon)
        return live.encoding.next_event if oldest is None else oldest

    def find_oldest(self, live: S) -> int:
        """The first event that a match to come may hold, whatever it takes to find it."""
        return live.horizon

    def partial_matches(self, state: RunState, key: str) -> Integers:
        """The value of an integer column of the key, for each partial match: a run, or an event that waits."""
        live = self.live(state)
        place = [spec.expr.column for spec in self.keys if isinstance(spec.expr, Ref)].index(key)
        return live.keys.words(place)[self.waiting(live)]

    def waiting(self, live: S) -> Integers:
        """The partition of each partial match: as a rule, of each event that a match to come may hold."""
        partition = live.events.view("partition")[live.horizon :]
        return partition[partition >= 0]

    def live(self, state: RunState) -> S:
        """The state behind `state`, restored if it was saved."""
        live = in_use(state, self.state_type, self.family, self.version)
        if live is not None:
            return live
        live = self.new_state()
        literals = live.encoding.dictionary.strings
        live.encoding = restore_stream(state.tables, self.support, literals, live.events, live.keys)
        live.pending = self.restore_pending(live, state.tables)
        live.ends = ends_of(state.tables, len(live.keys))
        live.selection = self._restore_selection(live, state.tables)
        self.restore_family(live, state.tables)
        return live

    def _restore_selection(self, live: S, tables: Mapping[str, pa.Table]) -> Selection:
        waiting = {name.replace("chosen", "pending"): table for name, table in tables.items() if "chosen" in name}
        chosen = self.restore_pending(live, waiting) if waiting else Expanded.none()
        return Selection(started_of(tables, live.events.length), chosen, paced_of(tables, len(live.keys)))

    def too_many(self) -> TooManyMatches:
        return too_many_matches(self.options.max_matches, self.fewer_matches)

    # -- a step -------------------------------------------------------------------------------------------------------

    def _encoder_of(self, live: S) -> Encoder:
        """The encoder of the columns that are read now; they change only with the plan."""
        specs, found = (*self.columns(live), *self.keys), self._encoder
        if found is None or found.specs != specs:
            found = self._encoder = Encoder.of(
                self.query.schema,
                specs,
                typed=self.query.names_types,
                functions=self.options.callables,
                standardise=standardising(self.support),
            )
        return found

    def _take(self, live: S, encoded: EncodedBatch, watermark: int) -> FoundMatches:
        """Consume events that follow all others; the matches that are certain with them."""
        first = live.events.length
        live.events.append(encoded)
        self.memory.hold("events", live.events.nbytes)
        self._number(live, first, encoded)
        found = live.pending + self.advance(live, first, watermark)
        return self.report(live, found, watermark)

    def _number(self, live: S, first: int, encoded: EncodedBatch) -> None:
        """Number the partitions of the events from `first` on, and their places in them."""
        partition, place = live.events.view("partition")[first:], live.events.view("place")[first:]
        if not self.keys:
            live.keys.number_all(partition, place)
            return
        words, null = key_words(encoded.arrays, encoded.length, self.keys)
        live.keys.number(self.support, words, self.without_partition(encoded, null), partition, place)

    def without_partition(self, encoded: EncodedBatch, null: Any) -> Any:
        """A mask of the events in no partition: those whose key is null."""
        return null

    def _saved(self, live: S) -> RunState:
        oldest = live.events.least_row(live.horizon)
        return RunState(
            self.family,
            self.version,
            LiveTables(live, lambda: self.compact(live, beyond=MIN_KEYS_TO_LEAVE_OUT)),
            {},
            live.encoding.next_event if oldest is None else oldest,
        )

    # -- forgetting ---------------------------------------------------------------------------------------------------

    def _forget(self, live: S, watermark: int, *, strings: bool = True) -> None:
        live.horizon = self.find_horizon(live, watermark)
        if len(live.selection.chosen):
            live.horizon = min(live.horizon, int(live.selection.chosen.events.min()))
        # After the last events there is nothing to make room for.
        if watermark != FOREVER and 2 * live.horizon > live.events.length and live.horizon > MIN_EVENTS_TO_DROP:
            self.compact(live, strings=strings, beyond=MIN_KEYS_TO_FORGET)

    def compact(self, live: S, *, beyond: int, strings: bool = True) -> None:
        """Throw away every event that nothing can come of, and the keys, and `strings`, that were theirs alone.

        Keys and strings go where there are more than `beyond`, and most of them are of no use.
        """
        count = self.expire(live)
        if not count:
            return
        live.events.drop(count)
        live.horizon -= count
        live.pending = live.pending.shifted(count)
        live.selection = live.selection.shifted(count)
        kept = self._partitions_in_use(live, beyond)
        partitions = None
        if kept is not None:
            partitions = np.full(len(live.keys), -1, dtype=np.int64)
            partitions[kept] = np.arange(len(kept))
            part = live.events.view("partition")
            part[part >= 0] = partitions[part[part >= 0]]
            live.ends = {int(partitions[p]): end for p, end in live.ends.items() if partitions[p] >= 0}
            live.selection = live.selection.renumbered(partitions)
            live.keys = live.keys.take(self.support, kept)
        codes = self._forget_strings(live, beyond) if strings else None
        self.renumbered(live, Renumbering(count, partitions, kept, codes))

    def _partitions_in_use(self, live: S, beyond: int) -> Integers | None:
        """The partitions that an event or the end of a match is in, None if those are most or all of them."""
        known = len(live.keys)
        if not self.keys or known <= beyond:
            return None
        used = np.zeros(known, dtype=bool)
        part = live.events.view("partition")
        used[part[part >= 0]] = True
        # An end matters as long as an event may come that is not after it: one that is concurrent with the last.
        latest = -1 if live.encoding.last is None else live.encoding.last[0]
        used[[p for p, (rank, _) in live.ends.items() if rank >= latest]] = True
        if self.query.once:
            used[list(live.selection.paced)] = True
        elif self.query.every is not None and live.events.length:
            now = int(live.events.view("time")[-1])
            used[[p for p, end in live.selection.paced.items() if now - end < self.query.every]] = True
        return np.flatnonzero(used) if 2 * np.count_nonzero(used) <= known else None

    def _forget_strings(self, live: S, beyond: int) -> Integers | None:
        """Code strings anew if most are of events that are gone; the new code of each old one, -1 for none."""
        dictionary = live.encoding.dictionary
        known = len(dictionary)
        if known <= beyond:
            return None
        # The literals of the query have the first codes; code -1, null, is marked at the end and not looked at.
        used = np.zeros(known + 1, dtype=bool)
        used[: len(self.literals(live))] = True
        columns = [live.events.view(name) for name in live.events.coded]
        coded = [k for k, spec in enumerate(self.keys) if spec.kind is Kind.STRING]
        for codes in (*columns, *(live.keys.words(k) for k in coded), *self.strings_held(live)):
            used[codes] = True
        kept = np.flatnonzero(used[:known])
        if 2 * len(kept) > known:
            return None
        codes = np.full(known + 1, -1, dtype=np.int64)
        codes[kept] = np.arange(len(kept))
        for column in columns:
            column[:] = codes[column]
        live.keys.recode(self.support, coded, codes)
        strings = dictionary.strings
        live.encoding = replace(live.encoding, dictionary=StringDictionary.of(strings[k] for k in kept.tolist()))
        return codes

    @abstractmethod
    def literals(self, live: S) -> Sequence[str]:
        """The strings whose codes are written into the kernel."""
