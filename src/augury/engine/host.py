"""Protocols that a host implements for the engine: types of results, samples of the events, and a store for state.

A host says where events are, which process matches which part of them, and where bytes are kept. The engine cuts,
matches, merges and saves the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from augury.schema import EventSchema

if TYPE_CHECKING:
    from augury.engine.state.checkpoint import SavedBucket


class Host(Protocol):
    """The system that runs tasks, such as Spark. It is pickled with them, so it holds no connection."""

    def result_types(self, arrow: pa.Schema) -> pa.Schema:
        """The columns of a result with the types that this host knows."""

    def scratch_folder(self) -> str | None:
        """The folder for temporary files of a task, or None for that of the machine."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How many events there are, and how many ticks from the first to the last."""

    events: int
    ticks: int


class FiniteStream(Protocol):
    """A finite stream that the planner may look into before it is matched."""

    def sample(self, names: Sequence[str]) -> pa.Table:
        """A sample of the events, with these columns."""

    def totals(self, schema: EventSchema) -> Totals | None:
        """The number of events and ticks, or None where counting would be expensive."""


class BucketStore(Protocol):
    """The store in which a host keeps the state of one bucket of one query between micro-batches.

    A host that runs a micro-batch again hands out the state from before it.
    """

    def head(self) -> bytes | None:
        """The head that was written last; None for a new bucket."""

    def segment(self, number: int) -> bytes:
        """The segment of this number, which the head names."""

    def write_header(self, head: bytes) -> None:
        """Keep a head without events, which says which queries the checkpoint belongs to."""

    def write(self, saved: SavedBucket) -> None:
        """Keep a head and new segments, and remove those that are gone."""

    def clear(self) -> None:
        """Forget the bucket."""

    def wake(self, after: int | None) -> None:
        """Advance the bucket again once the watermark passes this tick, or with None once it moves at all."""


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """A host that matches in the calling process: results keep the types they are made with."""

    def result_types(self, arrow: pa.Schema) -> pa.Schema:
        return arrow

    def scratch_folder(self) -> str | None:
        return None


THIS_PROCESS = ThisProcess()
