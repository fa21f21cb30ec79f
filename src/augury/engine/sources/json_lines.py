"""Reads JSON lines with Arrow, where that gives the same table as parsing each line in Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.schema import INT_MAX

MAX_BLOCK_BYTES = 2**31 - 2  # in one block, the largest that Arrow can read
SAMPLE_BYTES = 1 << 16  # bytes sampled to find columns of strings that look like times
MAX_BRACKETS = 100  # brackets in a line, which limits its nesting: Arrow recurses without a limit

_OPEN, _CLOSE, _NEWLINE, _RETURN = b"{}\n\r"


def native_table(data: bytes) -> pa.Table | None:
    """The table of lines that hold one JSON object each, in UTF-8; None if Arrow refuses them or would change a value.

    Then the lines have to be parsed one by one, which also finds the line with an error.

    >>> native_table(b'{"ts": 1}\\n{"ts": 2, "at": "2026-03-14"}\\n').to_pylist()
    [{'ts': 1, 'at': None}, {'ts': 2, 'at': '2026-03-14'}]
    >>> native_table(b'{"ts": 36893488147419103232}')
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    if len(data) > MAX_BLOCK_BYTES:
        return None
    lines = _objects(data)
    if not lines:
        return None
    end = data.rfind(b"\n", 0, SAMPLE_BYTES)
    texts: dict[str, pa.DataType] = {}
    order: list[str] = []
    try:
        # Most strings that look like times do so from the first line on.
        for part in ([data[:end]] if 0 <= end < len(data) // 4 else []) + [data] * 2:
            table = _read(part, texts, order)
            order = table.column_names
            looking = {field.name: _as_text(field.type) for field in table.schema if _has_times(field.type)}
            if part is data and not looking:
                break
            texts |= looking
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != lines or not table.num_columns or any(not _same(column) for column in table.columns):
        return None
    return table


def _read(data: bytes, texts: dict[str, pa.DataType], order: list[str]) -> pa.Table:
    """Read a table; `texts` are types of columns that Arrow must not infer, the columns in `order` come first."""
    # Not at the top: most files are Parquet.
    import pyarrow.json as pj

    table = pj.read_json(
        pa.BufferReader(data),
        # One block and one thread: Arrow may crash over columns whose type is another one in a later block.
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema(list(texts.items())), unexpected_field_behavior="infer", newlines_in_values=False
        ),
    )
    return table.select([*order, *(name for name in table.column_names if name not in order)])


def _objects(data: bytes) -> int | None:
    """Count the lines that are not blank; None unless each begins and ends with a brace and is not deeply nested.

    Then no object continues on the next line. A line may still hold two objects.
    """
    if not data:
        return 0
    cells = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(cells == _NEWLINE)
    if not len(ends) or ends[-1] != len(cells) - 1:
        ends = np.append(ends, len(cells))
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = ends - 1
    # Windows line ends have two characters.
    last = np.where((last > starts) & (cells[last] == _RETURN), last - 1, last)
    if (starts < ends).all() and (cells[starts] == _OPEN).all() and (cells[last] == _CLOSE).all():
        lines = len(ends)
    else:
        full = [stripped for line in data.split(b"\n") if (stripped := line.strip(b" \t\r"))]
        if not all(line.startswith(b"{") and line.endswith(b"}") for line in full):
            return None
        lines = len(full)
    objects, lists = data.count(b"{"), data.count(b"[")
    if objects + lists > lines + MAX_BRACKETS:
        opened = np.cumsum((cells == _OPEN) | (cells == ord("[")))
        in_line = np.diff(opened[ends - 1], prepend=0)
        if in_line.max() > MAX_BRACKETS:
            return None
    return lines


def _has_times(arrow: pa.DataType) -> bool:
    if pa.types.is_list(arrow):
        return _has_times(arrow.value_type)
    return bool(pa.types.is_timestamp(arrow))


def _as_text(arrow: pa.DataType) -> pa.DataType:
    return pa.list_(_as_text(arrow.value_type)) if pa.types.is_list(arrow) else pa.string()


def _same(column: pa.ChunkedArray) -> bool:
    """Whether a column is the same as one made of Python values.

    Arrow may have read a large integer as a float, and reorders the fields of objects.
    """
    while pa.types.is_list(column.type):
        column = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    if pa.types.is_struct(column.type):
        return False
    if not pa.types.is_float64(column.type):
        return True
    largest = pc.max(pc.abs(column), skip_nulls=True).as_py()
    return largest is None or not largest >= INT_MAX
