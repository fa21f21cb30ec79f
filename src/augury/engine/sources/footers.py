"""Opens the footers of Parquet files: one that is damaged is refused here, and does no harm later.

Arrow decodes a footer when it is asked for parts of it. A part that is damaged raises an error of Python's, or ends the
process: exceptions of C++ are not caught where Python asks for a column of a row group.
"""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from augury.engine.sources.readable import check_text


def open_footer(path: str | Path, system: fs.FileSystem | None = None) -> pq.FileMetaData:
    """The footer of a file; an `OSError` or `ArrowException` if any part of it cannot be decoded."""
    try:
        footer = pq.read_metadata(path, filesystem=system)
        # The names that the file has, and those of Arrow's schema, which it may hold besides.
        column_places(footer)
        check_text(footer.schema.to_arrow_schema())
    except UnicodeDecodeError as e:
        raise pa.ArrowInvalid(f"the name of a column is not UTF-8: {e}") from e
    _check_columns(footer)
    return footer


def statistics(footer: pq.FileMetaData, group: int, place: int) -> pq.Statistics | None:
    """What a row group tells of the values of a column; None if it tells nothing, or not of values of their type.

    The type is compared before they are asked for: Arrow does so too, but ends the process.
    """
    column = footer.row_group(group).column(place)
    if column.physical_type != footer.schema.column(place).physical_type:
        return None
    return column.statistics


def column_places(footer: pq.FileMetaData) -> dict[str, int]:
    """The columns of every row group by their paths in the schema; row groups repeat these, and may be wrong."""
    return {footer.schema.column(k).path: k for k in range(footer.num_columns)}


def _check_columns(footer: pq.FileMetaData) -> None:
    """Decode the descriptions of all columns in all row groups, where Arrow turns what is wrong into an error.

    A reader looks where each column lies before it reads the first one, which is where this ends.
    """
    if not footer.num_row_groups or not footer.num_columns:
        return
    with pq.ParquetFile(pa.PythonFile(_Unread(), "r"), metadata=footer, pre_buffer=True) as file:
        try:
            file.read_row_groups(range(footer.num_row_groups), use_threads=False)
        except _FirstRead:
            return


class _FirstRead(Exception):
    """A reader has looked at the footer, and begins to read."""


class _Unread(io.RawIOBase):
    """A file of any size whose contents are not read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def tell(self) -> int:
        # The size is where the end of the file is found; columns beyond the end of the real one are noticed when read.
        return 1 << 62

    def read(self, size: int = -1) -> bytes:
        raise _FirstRead
