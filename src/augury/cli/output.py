"""Output of matches as JSON lines, CSV, Parquet or a table."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO, assert_never

import pyarrow as pa
import pyarrow.parquet

from augury.engine.results.files import unwritable
from augury.engine.results.render import cell, text_table
from augury.engine.results.values import to_json, to_shown

MAX_CELL_CHARACTERS = 80
"""Characters of a table cell after which it is cut off."""


class Format(StrEnum):
    """The formats that matches are written in."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    TABLE = "table"


def write_file(table: pa.Table, format: Format, path: Path, noun: str = "match") -> None:
    """Write matches, or rows of another `noun`, to a file."""
    try:
        if format is Format.PARQUET:
            pa.parquet.write_table(table, path)
            return
        with path.open("w", encoding="utf-8", newline="") as file:
            write_text(table, format, file, noun)
    except OSError as e:
        raise unwritable(path, e) from e


def write_text(table: pa.Table, format: Format, file: TextIO, noun: str = "match") -> None:
    """Write matches, or rows of another `noun`, as text."""
    match format:
        case Format.JSONL:
            for row in _records(table):
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
        case Format.CSV:
            flat = _flat(table)
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(flat)
            writer.writerows(zip(*([_field(v) for v in column] for column in flat.values()), strict=True))
        case Format.TABLE:
            file.write(_table_text(table, noun) + "\n")
        case Format.PARQUET:
            raise AssertionError("Parquet is not text")
        case _:
            assert_never(format)


def print_query(text: str) -> None:
    """Print query text, in colours on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
        return
    # Importing the highlighter takes time, so it is not done without colours.
    from rich.console import Console
    from rich.syntax import Syntax

    from augury.lang.lexer import AuguryLexer

    Console().print(Syntax("", AuguryLexer(), background_color="default").highlight(text), soft_wrap=True, end="")


def _records(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [to_json(column.combine_chunks()) for column in table.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(table.column_names, row, strict=True))


def _flat(table: pa.Table) -> dict[str, list[Any]]:
    """The columns, with the attributes of single events as columns of their own, such as `s.tag`."""
    out: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = to_json(column.combine_chunks())
        if pa.types.is_struct(column.type):
            for k in range(column.type.num_fields):
                field = column.type.field(k).name
                out[f"{name}.{field}"] = [None if v is None else v[field] for v in values]
        else:
            out[name] = values
    return out


def _field(value: Any) -> Any:
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        case _:
            return value


def _table_text(table: pa.Table, noun: str) -> str:
    plural = "es" if noun == "match" else "s"
    count = f"1 {noun}" if table.num_rows == 1 else f"{table.num_rows} {noun}{plural}"
    if not table.num_rows:
        return count
    columns = [[cell(v, MAX_CELL_CHARACTERS) for v in to_shown(column.combine_chunks())] for column in table.columns]
    return text_table(table.column_names, list(zip(*columns, strict=True))) + "\n\n" + count
