"""What a kernel remembers between batches, and the contract it keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from augury.errors import HostError
from augury.runtime.batch import EventBatch
from augury.runtime.shared import FoundMatches

FOREVER = 2**63 - 1
"""The watermark of a stream that has ended."""

LONG_AGO = -(2**63)
"""The watermark of a stream that has not begun."""


@dataclass(frozen=True, slots=True, eq=False)
class RunState:
    """Buffers and partial matches of one kernel as Arrow tables, with small facts as JSON.

    `oldest_row` is the smallest row that a later match may still bind: a host may forget what came before it.
    """

    family: str
    version: int
    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any]
    oldest_row: int = 0

    def to_bytes(self) -> bytes:
        """The state as one Arrow IPC stream, readable by later releases."""
        names = sorted(self.tables)
        header = {
            "family": self.family,
            "version": self.version,
            "facts": dict(self.facts),
            "oldest_row": self.oldest_row,
            "tables": names,
        }
        blobs = [json.dumps(header).encode(), *(_table_bytes(self.tables[n]) for n in names)]
        return _table_bytes(pa.table({"blob": pa.array(blobs, type=pa.large_binary())}))

    @classmethod
    def from_bytes(cls, data: bytes) -> RunState:
        """Read what `to_bytes` wrote; anything else is a `HostError`."""
        try:
            blobs = _read_table(data).column("blob").to_pylist()
            header = json.loads(blobs[0])
            tables = {n: _read_table(b) for n, b in zip(header["tables"], blobs[1:], strict=True)}
            return cls(header["family"], header["version"], tables, header["facts"], header["oldest_row"])
        except (pa.ArrowInvalid, KeyError, ValueError, IndexError, UnicodeDecodeError, TypeError) as e:
            raise HostError("A547", f"these bytes are not a saved state: {e}") from e


class Kernel(Protocol):
    """A compiled query over a stream; all it remembers is in the state.

    A step may use up the state it is given: only the one it returns can be continued, or saved and restored.
    """

    def start(self) -> RunState:
        """The state before any event."""
        ...

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        """Consume `batch`, whose events follow all earlier ones, and report what has become certain.

        `watermark` promises that no event earlier than it will come; `FOREVER` ends the stream.
        """
        ...


def _table_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read_table(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()
