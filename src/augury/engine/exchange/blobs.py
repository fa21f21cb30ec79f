"""Arrow tables as blobs of bytes, so that a host shuffles one row for many events."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engine.state.compression import damaged
from augury.runtime.frames import NotAFrame, read_frame, write_frame

BLOB = "blob"
"""The column of blobs in a shuffled frame."""

ARRIVAL = "__augury_arrival"
"""The column that numbers events in the order they arrived."""


def to_blob(table: pa.Table) -> bytes:
    """A table as bytes that are safe to read."""
    return write_frame(table)


def blobs_by(place: npt.NDArray[Any], events: pa.Table) -> tuple[npt.NDArray[Any], list[bytes]]:
    """The distinct partitions, and a blob of the events of each; `place` gives their partitions, in ascending order."""
    present, first = np.unique(place, return_index=True)
    ends = [*first[1:].tolist(), len(place)]
    return present, [to_blob(events.slice(a, b - a)) for a, b in zip(first.tolist(), ends, strict=True)]


def from_blob(data: bytes | pa.Buffer) -> pa.Table:
    """Read what `to_blob` wrote; anything else is a `HostError`."""
    try:
        return read_frame(data)
    except (NotAFrame, pa.ArrowException, OverflowError) as e:
        raise damaged(str(e)) from e
