"""Heads of saved buckets: the stream that wrote a bucket, its counters, and the segments of its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.engine.state.compression import compress, decompress
from augury.engine.state.event_segments import Segment
from augury.engine.state.facts import Facts
from augury.errors import HostError
from augury.runtime.checks import MAX_COUNT, inconsistent, require
from augury.runtime.state import RunState

if TYPE_CHECKING:
    from augury.engine.host import BucketStore


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The head of a saved bucket, checked to be written by the stream that reads it.

    `ranges` are its counters, each with the least and the greatest value it may have.
    """

    tables: Mapping[str, pa.Table]
    facts: Facts
    ranges: Mapping[str, tuple[int, int]]

    @property
    def mark(self) -> str:
        """Identifies the write: no other head has the same mark."""
        return self.facts.one("mark", str)

    @property
    def name(self) -> str:
        """The name of the bucket, the same in all its heads."""
        return self.facts.one("name", str)

    def counter(self, name: str) -> int:
        """The value of one counter."""
        number, (low, high) = self.facts.one(name, int), self.ranges[name]
        require(low <= number <= high, f"`{name}` cannot be {number}")
        return number

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments that hold the events."""
        found = []
        for stated in self.facts.one("segments", list):
            match stated:
                case [int(first), int(stop), int(events)] if 0 <= first <= stop < MAX_COUNT and events >= 0:
                    found.append(Segment(first, stop, events))
                case _:
                    raise inconsistent("a segment is of no events")
        return tuple(found)


def packed_header(family: str, version: int, meaning: Mapping[str, str]) -> bytes:
    """A head without events, which says which stream writes the checkpoint."""
    return compress(RunState(family, version, {}, {"meaning": dict(meaning)}).to_bytes())


def claim(store: BucketStore, header: bytes, check: Callable[[bytes], object]) -> None:
    """Write the `header` of a new checkpoint, or `check` that an older one may be continued."""
    saved = store.head()
    if saved is None:
        store.write_header(header)
    else:
        check(saved)


def unpacked(data: bytes, family: str, version: int, meaning: Mapping[str, str], other: HostError) -> RunState:
    """Read a state saved by the same stream; `other` is raised for a checkpoint of another family."""
    state = RunState.from_bytes(decompress(data))
    if state.family != family:
        raise other
    if state.version != version:
        raise HostError("A574", f"a checkpoint of version {state.version} cannot be continued by this release")
    refuse_another(Facts(state.facts, "the head").part("meaning").stated, meaning)
    return state


def refuse_another(saved: Mapping[str, Any], now: Mapping[str, str]) -> None:
    """Raise unless a checkpoint was written by the same query over the same columns."""
    for what, value in now.items():
        if saved.get(what) != value:
            raise HostError(
                "A570",
                f"the checkpoint was written by another query: its {what} is\n{_indented(saved.get(what))}\n"
                f"and now is\n{_indented(value)}",
                "give the query a checkpoint of its own, or go back to the one that wrote this checkpoint",
            )


def _indented(text: str | None) -> str:
    return "\n".join(f"    {line}" for line in (str(text) if text else "not recorded").splitlines())
