"""A kernel of a query with groups, by one of the pattern written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.kernels.stream import StreamKernel
from augury.plan.folding import Folding
from augury.runtime.batch import EventBatch
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import Kernel, RunState


@dataclass(frozen=True, slots=True)
class FoldingKernel:
    """Runs `kernel` over the events, and puts the rounds that its matches bind together again."""

    kernel: StreamKernel[Any]
    folding: Folding

    def start(self) -> RunState:
        return self.kernel.start()

    def restart(self, state: RunState) -> RunState:
        return self.kernel.restart(state)

    def restore(self, state: RunState) -> RunState:
        return self.kernel.restore(state)

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, MatchSet]:
        state, found = self.kernel.step(state, batch, watermark)
        return state, folded(enumerated(found), self.folding)

    @property
    def compilations(self) -> int:
        return self.kernel.compilations

    def counters(self, state: RunState) -> dict[str, int]:
        return self.kernel.counters(state)


def stream_kernel(kernel: Kernel) -> StreamKernel[Any] | None:
    """The kernel that runs compiled functions over the events, if there is one."""
    inner = kernel.kernel if isinstance(kernel, FoldingKernel) else kernel
    return inner if isinstance(inner, StreamKernel) else None


def folded(found: MatchSet, folding: Folding) -> MatchSet:
    """Matches in the variables of the query: a group binds the events that its rounds begin with.

    >>> from augury.plan.folding import WrittenRound
    >>> from augury.runtime.matches import FoundMatch
    >>> written = MatchSet.of(("b1", "c1"), [FoundMatch(((3,), (4,)), 3, 4)])
    >>> rounds = Folding(("g", "b", "c"), (WrittenRound("g", (("b", "b1"), ("c", "c1"))),))
    >>> folded(written, rounds)[0].rows
    ((3,), (3,), (4,))
    """
    columns = dict(zip(found.variables, found.rows, strict=True))
    parts: dict[str, list[pa.ListArray]] = {v: [columns[v]] if v in columns else [] for v in folding.variables}
    for round in folding.rounds:
        own = [columns[name] for _, name in round.names]
        parts[round.group].append(_first(_joined(own, len(found))))
        for (v, _), column in zip(round.names, own, strict=True):
            parts[v].append(column)
    rows = tuple(_joined(parts[v], len(found)) for v in folding.variables)
    return _in_order(replace(found, variables=folding.variables, rows=rows), _joined(found.rows, len(found)))


def _in_order(found: MatchSet, events: pa.ListArray) -> MatchSet:
    """The matches in the order of their events by variable, where they begin and end with the same; `events` are all.

    They are in the order of their ends and starts, and otherwise in that of the variables written out.
    """
    offsets = np.concatenate([[0], np.cumsum(events.value_lengths().to_numpy(zero_copy_only=False))])
    if not len(found) or not np.diff(offsets).all():
        # OUTPUT COUNT binds nothing.
        return found
    flat = events.flatten().to_numpy(zero_copy_only=False)
    ends = np.stack([flat[offsets[:-1]], flat[offsets[1:] - 1]])
    differs = np.append(True, (ends[:, 1:] != ends[:, :-1]).any(axis=0))
    if differs.all():
        return found
    tied = np.flatnonzero(~differs | ~np.append(differs[1:], True))
    group = np.cumsum(differs)[tied]
    rows = list(zip(*(column.to_pylist() for column in found.take(tied).rows), strict=True))
    order = np.arange(len(found))
    order[tied] = tied[sorted(range(len(tied)), key=lambda k: (group[k], rows[k]))]
    return found.take(order)


def _joined(columns: Sequence[pa.ListArray], size: int) -> pa.ListArray:
    """For each match the lists of all columns, one behind the other."""
    if len(columns) == 1:
        return columns[0]
    lengths = [column.value_lengths().to_numpy(zero_copy_only=False) for column in columns]
    owners = np.concatenate([np.repeat(np.arange(size), n) for n in lengths] or [np.empty(0, dtype=np.int64)])
    flat = np.concatenate([column.flatten().to_numpy(zero_copy_only=False) for column in columns] or [owners])
    offsets = np.concatenate([[0], np.cumsum(np.sum(lengths, axis=0) if lengths else np.zeros(size))])
    # The sort is stable: what stands in an earlier column stays before what stands in a later one.
    values = flat[np.argsort(owners, kind="stable")].astype(np.int64)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values))


def _first(column: pa.ListArray) -> pa.ListArray:
    """The lists cut off behind their first element."""
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    values = column.flatten().to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    there = lengths > 0
    offsets = np.concatenate([[0], np.cumsum(there)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[starts[there]].astype(np.int64)))
