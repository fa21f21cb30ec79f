"""The state of a kernel between batches, and the protocol of kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from augury.errors import HostError
from augury.nouns import per_batch
from augury.runtime.batch import EventBatch
from augury.runtime.frames import ALIGNMENT, NotAFrame, NotSavable, read_frame, read_header, write_frame
from augury.runtime.shared import FoundMatches

FOREVER = 2**63 - 1
"""The watermark of a stream that has ended."""

LONG_AGO = -(2**63)
"""The watermark of a stream that has not begun."""


MAGIC = b"AUGSTATE"

OLD_MARK = b"\xff\xff\xff\xff"
"""The first bytes of states of earlier releases, which were Arrow streams."""


@per_batch
class RunState:
    """Buffers and partial matches of one kernel as Arrow tables, with small facts as JSON.

    `oldest_row` is the smallest row that a later match may still bind: a host may drop all events before it.
    """

    family: str
    version: int
    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any]
    oldest_row: int = 0

    def to_bytes(self) -> bytes:
        """The state as bytes, readable by later releases: a header in JSON, then a frame for each table."""
        names = sorted(self.tables)
        frames = [_frame(name, self.tables[name]) for name in names]
        header = {
            "family": self.family,
            "version": self.version,
            "facts": dict(self.facts),
            "oldest_row": self.oldest_row,
            "tables": [[name, len(frame)] for name, frame in zip(names, frames, strict=True)],
        }
        stated = json.dumps(header, separators=(",", ":")).encode()
        stated += b" " * (-len(stated) % ALIGNMENT)
        return b"".join([MAGIC, len(stated).to_bytes(8, "little"), stated, *frames])

    @classmethod
    def from_bytes(cls, data: bytes | pa.Buffer) -> RunState:
        """Read what `to_bytes` wrote; anything else is a `HostError`.

        Every array is valid Arrow data. Whether its numbers make sense, the kernel that continues the state checks.
        """
        buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
        if buffer.size >= 4 and buffer.slice(0, 4).to_pybytes() == OLD_MARK:
            raise HostError("A548", "a state of an earlier release, which wrote Arrow streams, cannot be continued")
        try:
            return cls(*_parsed(buffer))
        except (NotAFrame, pa.ArrowException, ValueError, OverflowError, RecursionError) as e:
            raise HostError("A547", f"these bytes are not a saved state: {e}") from e


class Kernel(Protocol):
    """A compiled query over a stream; the state holds all it remembers.

    A step may consume the state it is given: only the state it returns can be continued, saved or restored.
    """

    def start(self) -> RunState:
        """The state before any event."""
        ...

    def restart(self, state: RunState) -> RunState:
        """The state before any event, reusing the memory of a state that is no longer needed."""
        ...

    def restore(self, state: RunState) -> RunState:
        """A state that was saved, ready to be continued; one that this kernel cannot have written is a `HostError`."""
        ...

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        """Consume `batch`, whose events follow all earlier ones, and report what has become certain.

        `watermark` promises that no event earlier than it will come; `FOREVER` ends the stream.
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """A kernel that counts what it does, and what was compiled for it."""

    @property
    def compilations(self) -> int: ...

    def counters(self, state: RunState) -> dict[str, int]:
        """The counters by name, up to this state."""
        ...


@runtime_checkable
class LooksBack(Protocol):
    """A kernel that can look up how far back the partial matches of a state reach."""

    def oldest_row(self, state: RunState) -> int:
        """The first row that a match to come may bind; `state.oldest_row` may be an earlier one."""
        ...


def _frame(name: str, table: pa.Table) -> bytes:
    try:
        return write_frame(table)
    except NotSavable as e:
        raise HostError("A596", f"a state cannot be saved: `{name}` holds {e}", "cast or drop such columns") from e


def _parsed(buffer: pa.Buffer) -> tuple[str, int, dict[str, pa.Table], dict[str, Any], int]:
    """Family, version, tables, facts and the oldest row of a state."""
    header, at = read_header(buffer, MAGIC)
    kinds = {"family": str, "version": int, "facts": dict, "oldest_row": int, "tables": list}
    if not isinstance(header, dict) or header.keys() != kinds.keys():
        raise NotAFrame("their header has other parts")
    for name, kind in kinds.items():
        if type(header[name]) is not kind:
            raise NotAFrame(f"`{name}` of their header is of another kind")
    if not LONG_AGO <= header["oldest_row"] <= FOREVER:
        raise NotAFrame("there is no such row")
    tables = {}
    for entry in header["tables"]:
        match entry:
            case [str(name), int(length)] if 0 <= length <= buffer.size - at and name not in tables:
                tables[name] = read_frame(buffer.slice(at, length))
                at += length
            case _:
                raise NotAFrame("a table in them is longer than they are, or twice there")
    if at != buffer.size:
        raise NotAFrame("they are longer than the tables in them")
    return header["family"], header["version"], tables, header["facts"], header["oldest_row"]
