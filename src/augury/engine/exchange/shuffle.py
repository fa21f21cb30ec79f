"""Finite events on their way through the shuffle: a table a row, instead of an event a row.

Spark moves a few large values instead of many small rows, and need not sort them: each blob is sorted where it is
written, and blobs are merged where they are read.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from augury.engine.batches import PIECE, joined
from augury.engine.cut.chunks import Chunks
from augury.engine.cut.shares import shares_of
from augury.engine.exchange.blobs import BLOB, blobs_by, from_blob
from augury.engine.exchange.codes import where_small, with_codes
from augury.engine.group import Group
from augury.engine.matching import matches_of
from augury.engine.merging import ticks_of
from augury.runtime.batch import Integers
from augury.schema import EventSchema

PLACE = "__augury_place"

PACKED = pa.schema([(PLACE, pa.int32()), (BLOB, pa.binary())])

ROWS, ROWS_A_PLACE, MOST_ROWS = 1 << 17, 1 << 12, 1 << 20
"""Events that are packed at a time: so many, more where they go to many places, and never more than the last."""

BYTES = 1 << 26
"""Nor more than so many bytes."""

WORTH = 8
"""A blob brings the strings that its codes stand for: there are to be so many events in it for each of them."""

HELD = 1 << 28
"""Bytes of blobs that a task keeps in memory; more go to a file."""


@dataclass(frozen=True, slots=True, eq=False)
class PackTask:
    """Events -> blobs, each for one place, sorted by time.

    A place is a share of the keys, or with `chunks` a range of time of a share. Strings of the columns `coded` may
    travel as codes.
    """

    schema: EventSchema
    key: tuple[str, ...]
    shares: int
    chunks: Chunks | None
    coded: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in joined(batches, min(MOST_ROWS, max(ROWS, ROWS_A_PLACE * self.places)), BYTES):
            yield self._packed(table)

    @property
    def places(self) -> int:
        return self.shares * (1 if self.chunks is None else len(self.chunks))

    def _packed(self, events: pa.Table) -> pa.RecordBatch:
        encoded = with_codes(events, self.coded)
        share = shares_of(encoded, self.key, self.shares)
        events = where_small(events, encoded, self.coded, len(events) // (self.places * WORTH))
        time = ticks_of(events, self.schema)
        row, place = np.arange(len(time)), share
        if self.chunks is not None:
            row, chunk = self.chunks.seen_in(time)
            place = share[row] * np.int32(len(self.chunks)) + chunk
        if not (time[1:] >= time[:-1]).all():
            order = np.argsort(time[row], kind="stable")
            row, place = row[order], place[order]
        # Numbers of 16 bits are sorted in linear time.
        narrow = place.astype(np.int16) if self.places < 1 << 15 else place
        order = np.argsort(narrow, kind="stable")
        there, blobs = blobs_by(place[order], events.take(pa.array(row[order])).combine_chunks())
        return pa.record_batch([pa.array(there, pa.int32()), pa.array(blobs, pa.binary())], schema=PACKED)


def default_folder() -> None:
    """The machine's own folder for temporary files."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaceTask:
    """The blobs of one place -> the matches in it; blobs that do not fit into memory go to the folder `scratch`."""

    group: Group
    chunks: Chunks | None
    scratch: Callable[[], str | None] = default_folder

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryFile(dir=self.scratch()) as file:
            place, pieces = _pieces(batches, self.group.schema, file)
            chunk = None if self.chunks is None else place % len(self.chunks)
            for table in matches_of(self.group, pieces, self.chunks, chunk):
                yield from table.to_batches(max_chunksize=PIECE)


def _pieces(
    batches: Iterable[pa.RecordBatch], schema: EventSchema, file: BinaryIO
) -> tuple[int, list[tuple[pa.Table, Integers]]]:
    """The blobs as tables with their times, and the place they are for; what is too much is left in the file."""
    place, held = 0, 0
    blobs: list[pa.Buffer] = []
    lengths: list[int] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        place = batch[PLACE][0].as_py()
        for blob in batch[BLOB]:
            buffer = blob.as_buffer()
            held += buffer.size
            if held <= HELD:
                blobs.append(buffer)
            else:
                lengths.append(file.write(buffer))
    if lengths:
        file.flush()
        data = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        ends = np.cumsum(lengths).tolist()
        blobs += [data.slice(end - length, length) for end, length in zip(ends, lengths, strict=True)]
    tables = [from_blob(blob) for blob in blobs]
    return place, [(table, ticks_of(table, schema)) for table in tables]
