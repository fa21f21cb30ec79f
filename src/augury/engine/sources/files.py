"""Reads files of events into tables."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from augury.engine.sources.json_lines import native_table
from augury.engine.sources.paths import near_name
from augury.engine.sources.readable import check_text, unreadable
from augury.engine.sources.rows import not_an_event, rows_to_table, too_large
from augury.errors import HostError
from augury.runtime.arrow_numbers import to_numpy
from augury.schema import INT_MAX, INT_MIN

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
ARROW_SUFFIXES = (".arrow", ".arrows", ".ipc", ".feather")
PARQUET_SUFFIXES = (".parquet", ".pq")
SUFFIXES = (*PARQUET_SUFFIXES, ".csv", *JSON_SUFFIXES, *ARROW_SUFFIXES, ".csv.gz", *(s + ".gz" for s in JSON_SUFFIXES))
"""Suffixes of the files that can be read."""


def read_path(path: Path) -> pa.Table:
    """The events of a file, whose suffix gives its format; a directory holds Parquet files."""
    if not path.exists():
        raise HostError("A530", f"there is no file `{path}`", near_name(path))
    name = path.name.lower()
    try:
        if path.is_dir() or name.endswith(PARQUET_SUFFIXES):
            return validated(pa.parquet.read_table(path))
        if name.endswith(ARROW_SUFFIXES):
            return validated(_read_arrow(path))
        if name.endswith((".csv", ".csv.gz")):
            return read_csv(_contents(path), path.name)
        if name.endswith((*JSON_SUFFIXES, *(s + ".gz" for s in JSON_SUFFIXES))):
            return read_json(_contents(path), path.name)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, zlib.error) as e:
        raise unreadable(f"`{path}`", e) from e
    raise HostError("A539", f"events cannot be read from a file such as `{path}`", f"give one of {', '.join(SUFFIXES)}")


def validated(table: pa.Table) -> pa.Table:
    """Validate a table and return it: Arrow reads strings that are not UTF-8, and dictionary codes out of range."""
    check_text(table.schema)
    # Checks that the columns are of one length; their contents are checked below.
    table.validate()
    for column in table.columns:
        for array in column.chunks:
            _validate(array)
    return table


def _validate(array: pa.Array) -> None:
    if not pa.types.is_dictionary(array.type) or array.null_count or not len(array):
        array.validate(full=True)
        return
    # Checking the minimum and maximum code is enough, and five times faster than Arrow's check of each code.
    array.validate()
    array.dictionary.validate(full=True)
    codes = to_numpy(array.indices)
    if codes.min() < 0 or codes.max() >= len(array.dictionary):
        raise pa.ArrowInvalid(f"a dictionary code is not below {len(array.dictionary)}")


def _contents(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.lower().endswith(".gz") else data


def _read_arrow(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


def read_csv(data: bytes, name: str) -> pa.Table:
    """A CSV file with a header; an empty field is null unless it is quoted, times are in microseconds if they fit.

    >>> read_csv(b"ts,tag\\n1,x\\n2,\\n", "events.csv").to_pylist()
    [{'ts': 1, 'tag': 'x'}, {'ts': 2, 'tag': None}]
    """
    if not data.strip():
        return pa.table({})
    # Not at the top: most files are Parquet.
    from pyarrow import csv

    # The types of a column are inferred from one block, so that the whole file has to be one.
    read = csv.ReadOptions(block_size=min(len(data) + 1, 2**31 - 1))
    convert = csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = csv.ParseOptions(newlines_in_values=True)
    try:
        table = csv.read_csv(pa.BufferReader(data), read, parse, convert)
    except pa.ArrowInvalid as e:
        raise unreadable(f"`{name}`", f"it is not a table of comma-separated values: {e}") from e
    for field in table.schema:
        if pa.types.is_float64(field.type) and (pc.max(pc.abs(table[field.name])).as_py() or 0) >= 2.0**63:
            convert = csv.ConvertOptions(include_columns=[field.name], column_types={field.name: pa.string()})
            texts = csv.read_csv(pa.BufferReader(data), read, parse, convert)[field.name].to_pylist()
            _reject_huge(field.name, texts)
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(i, field.name, _in_microseconds(table.column(i)))
    return table


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast timestamps, which Arrow reads as seconds or nanoseconds, to microseconds unless that loses digits."""
    try:
        return column.cast(pa.timestamp("us", column.type.tz))
    except pa.ArrowInvalid:
        return column


def _reject_huge(column: str, texts: list[str | None]) -> None:
    """Refuse integers beyond 64 bits, which Arrow would read as floats and round."""
    for row, text in enumerate(texts):
        if text is not None and re.fullmatch(r"\s*[+-]?\d+\s*", text) and not INT_MIN <= int(text) <= INT_MAX:
            raise too_large(column, f"row {row}", text.strip())


def read_json(data: bytes, name: str) -> pa.Table:
    """One JSON object per line, or one JSON array of objects.

    >>> read_json(b'{"ts": 1}\\n\\n{"ts": 2}\\n', "events.jsonl").to_pylist()
    [{'ts': 1}, {'ts': 2}]
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise unreadable(f"`{name}`", f"it is not UTF-8 text: {e}") from e
    if text.lstrip()[:1] == "[":
        items = _json(text, f"`{name}`")
        return rows_to_table(items, lambda row: f"item {row} of `{name}`")
    table = native_table(data)
    return read_line_by_line(text, name) if table is None else table


def read_line_by_line(text: str, name: str) -> pa.Table:
    """The events of JSON lines, parsed by Python; a line that is wrong is an error with its number."""
    lines: list[int] = []
    return rows_to_table(_json_lines(text, name, lines), lambda row: f"line {lines[row]} of `{name}`")


def _json_lines(text: str, name: str, lines: list[int]) -> Iterator[Any]:
    """The objects of the lines that are not blank; their line numbers are appended to `lines`."""
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        lines.append(number)
        value = _json(line, f"line {number} of `{name}`")
        if not isinstance(value, dict):
            raise not_an_event(f"line {number} of `{name}` is not a JSON object", "give one object per line")
        yield value


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        raise not_an_event(f"{place} is not a JSON object: {e}", "give one object per line") from e
    except (ValueError, RecursionError) as e:
        raise not_an_event(f"{place} cannot be read: {e}") from e
