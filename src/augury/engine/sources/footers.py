"""Opens the footers of Parquet files, and refuses damaged ones before they can do harm.

Arrow decodes the parts of a footer lazily. A damaged part raises a Python error, or ends the process: C++ exceptions
are not caught where Python asks for a column of a row group or for its statistics.
"""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from augury.engine.sources.readable import check_text
from augury.engine.sources.thrift import Value, decode_struct

MAGIC = b"PAR1"
ENDING_BYTES = 8
"""Bytes after a footer: its length, and `PAR1`."""

TAIL_BYTES = 64 * 1024
"""Bytes read from the end of a file at first: most footers are shorter."""

TYPE_SIZES = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Bytes of one value of BOOLEAN, INT32, INT64, INT96, FLOAT and DOUBLE; those of other types are of any length."""


def open_footer(path: str | Path, system: fs.FileSystem | None = None) -> pq.FileMetaData:
    """The footer of a file; an `OSError` or `ArrowException` if any part of it cannot be decoded."""
    data = _footer_bytes(str(path), system or fs.LocalFileSystem())
    try:
        footer = pq.read_metadata(pa.BufferReader(MAGIC + data))
        # Decodes the names of the columns, and those of Arrow's schema, which the file may hold as well.
        column_places(footer)
        check_text(footer.schema.to_arrow_schema())
    except UnicodeDecodeError as e:
        raise pa.ArrowInvalid(f"the name of a column is not UTF-8: {e}") from e
    _check_columns(footer)
    _check_statistics(data)
    return footer


def statistics(footer: pq.FileMetaData, group: int, place: int) -> pq.Statistics | None:
    """The statistics of a column in a row group; None if there are none, or if they are of another type.

    The type is compared first: Arrow compares it too, but ends the process.
    """
    column = footer.row_group(group).column(place)
    if column.physical_type != footer.schema.column(place).physical_type:
        return None
    return column.statistics


def column_places(footer: pq.FileMetaData) -> dict[str, int]:
    """The positions of columns by their paths in the schema; the paths in row groups are copies, and may be wrong."""
    return {footer.schema.column(k).path: k for k in range(footer.num_columns)}


def _footer_bytes(path: str, system: fs.FileSystem) -> bytes:
    """The bytes of a file from its footer to its end."""
    with system.open_input_file(path) as file:
        size = file.size()
        tail: bytes = file.read_at(min(size, TAIL_BYTES), max(0, size - TAIL_BYTES))
        length = int.from_bytes(tail[-ENDING_BYTES : -len(MAGIC)], "little") + ENDING_BYTES
        if not tail.endswith(MAGIC) or len(tail) < ENDING_BYTES or length + len(MAGIC) > size:
            # Not a file that Arrow can open: it says why.
            return tail[-min(len(tail), length) :]
        return tail[-length:] if length <= len(tail) else file.read_at(length, size - length)


def _check_columns(footer: pq.FileMetaData) -> None:
    """Decode the metadata of all columns in all row groups, in a call where Arrow turns damage into an error.

    A reader locates all columns before it reads the first byte of data, which is where this stops it.
    """
    if not footer.num_row_groups or not footer.num_columns:
        return
    with pq.ParquetFile(pa.PythonFile(_FileStub(), "r"), metadata=footer, pre_buffer=True) as file:
        try:
            file.read_row_groups(range(footer.num_row_groups), use_threads=False)
        except _ReadStarted:
            return


def _check_statistics(data: bytes) -> None:
    """Refuse minimum and maximum values that are shorter or longer than values of their column's type.

    The numbers are those of fields in the format's definition, `parquet.thrift`.
    """
    try:
        for group in _list(decode_struct(data).get(4)):
            for chunk in _list(_struct(group).get(1)):
                column = _struct(_struct(chunk).get(3))
                kind, told = column.get(1), _struct(column.get(12))
                size = TYPE_SIZES.get(kind) if isinstance(kind, int) else None
                ends = [told.get(field) for field in (1, 2, 5, 6)]
                if size is not None and any(isinstance(end, bytes) and len(end) != size for end in ends):
                    raise pa.ArrowInvalid("the statistics of a column are not of its type")
    except IndexError as e:
        raise pa.ArrowInvalid("the footer ends within a field") from e


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _struct(value: Value) -> dict[int, Value]:
    return value if isinstance(value, dict) else {}


class _ReadStarted(Exception):
    """A reader has decoded the footer, and starts to read data."""


class _FileStub(io.RawIOBase):
    """A file of unlimited size that raises `_ReadStarted` when it is read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def tell(self) -> int:
        # The position of the end, which gives the size; columns beyond the end of the real file fail when read.
        return 1 << 62

    def read(self, size: int = -1) -> bytes:
        raise _ReadStarted
