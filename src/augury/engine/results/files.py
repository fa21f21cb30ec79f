"""Writes results to files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

import pyarrow as pa
import pyarrow.parquet as pq

from augury.arguments import path as path_argument
from augury.errors import HostError

ROW_GROUP_BYTES = 1 << 26  # bytes of a row group before compression, which the writer keeps in memory


def write_parquet(rows: pa.RecordBatchReader, path: str | os.PathLike[str]) -> None:
    """Write rows to a Parquet file as they are read."""
    with whole_file(path_argument("path", path)) as unfinished, pq.ParquetWriter(unfinished, rows.schema) as writer:
        waiting: list[pa.RecordBatch] = []
        for batch in rows:
            waiting.append(batch)
            if sum(one.nbytes for one in waiting) >= ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
                # What was freed on another thread stays with it otherwise, and adds up over a long file.
                pa.default_memory_pool().release_unused()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` to write to, which is renamed to `path` on success and deleted on failure."""
    try:
        handle, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        unfinished = Path(name)
        try:
            yield unfinished
            unfinished.chmod(0o666 & ~_umask())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as e:
        raise unwritable(path, e) from e


def unwritable(path: Path, e: OSError) -> HostError:
    """The error for a result file that cannot be written."""
    return HostError("A562", f"`{path}` cannot be written: {e.strerror or e}")


def _umask() -> int:
    """The umask of this process: the permissions that its new files do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
