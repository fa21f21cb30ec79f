"""Values of command-line arguments: queries, events, files and parameters."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from augury.engine.sources.files import read_csv, read_json
from augury.engine.sources.paths import near_name
from augury.engine.sources.query_text import query_source
from augury.errors import HostError
from augury.loss import LossModel
from augury.plan.statistics import unusable_statistics
from augury.source import Source

STDIN = "-"


def read_query(query: str) -> Source:
    """The text of a query: from the file of that name, from standard input for `-`, else the argument itself."""
    if query == STDIN:
        try:
            return Source(sys.stdin.buffer.read().decode("utf-8-sig"), "stdin")
        except UnicodeDecodeError as e:
            raise HostError("A561", f"the query of `stdin` cannot be read: {e}") from e
    if os.path.isfile(query):
        return query_source(Path(query))
    if "(" not in query and not re.search(r"\bpattern\b", query, re.IGNORECASE) and re.search(r"\.\w{1,10}$", query):
        raise HostError("A560", f"there is no query file `{query}`", near_name(Path(query)))
    return Source(query)


def read_input(events: str) -> Path | pa.Table:
    """The events in a file, or on standard input for `-`: JSON lines, or CSV if it does not begin like JSON."""
    if events != STDIN:
        return Path(events)
    data = sys.stdin.buffer.read()
    is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    return read_json(data, "stdin") if is_json else read_csv(data, "stdin")


def named_files(stated: list[str]) -> dict[str, Path]:
    """The tables named by `NAME=FILE` options."""
    out: dict[str, Path] = {}
    for text in stated:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise typer.BadParameter(f"`{text}` is not NAME=FILE", param_hint="--table")
        if name in out:
            raise typer.BadParameter(f"`{name}` is given twice", param_hint="--table")
        out[name] = Path(path)
    return out


def row_numbers(stated: list[str]) -> dict[str, list[int]]:
    """Rows by variable from options `NAME=ROW`.

    >>> row_numbers(["a=17", "b=18", "b=20"])
    {'a': [17], 'b': [18, 20]}
    """
    rows: dict[str, list[int]] = {}
    for item in stated:
        name, equals, text = item.partition("=")
        if not equals or not name.strip() or not text.strip().isdecimal():
            raise typer.BadParameter(f"`{item}` is not of the form NAME=ROW", param_hint="--row")
        rows.setdefault(name.strip(), []).append(int(text))
    return rows


def read_loss(path: Path) -> LossModel:
    """The loss model in a JSON file."""
    try:
        stated = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as e:
        raise HostError("A554", f"the loss model of `{path}` cannot be read: {e}") from e
    return LossModel.from_json(stated)


def read_statistics(path: Path) -> dict[str, Any]:
    """The statistics in a JSON file."""
    try:
        stated: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as e:
        raise unusable_statistics(f"`{path}` cannot be read: {e}") from e
    return stated


def order_columns(given: list[str]) -> list[str] | None:
    """Column names of `--order-by` or `--order`, which may be repeated or separated by commas.

    >>> order_columns(["ts,seq", "n"]), order_columns([])
    (['ts', 'seq', 'n'], None)
    """
    return [name.strip() for item in given for name in item.split(",") if name.strip()] or None


def parameter_values(given: list[str]) -> dict[str, Any]:
    """Parameters of `--param NAME=VALUE`; a value that is not JSON is a string.

    >>> parameter_values(["T=5", "name=x y"])
    {'T': 5, 'name': 'x y'}
    """
    values: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"`{item}` is not of the form NAME=VALUE", param_hint="--param")
        try:
            values[name.strip()] = json.loads(text)
        except ValueError:
            values[name.strip()] = text
    return values


def not_both_stdin(query: str, events: str | None) -> None:
    """Refuse to read both the query and the events from standard input."""
    if query == STDIN and events == STDIN:
        raise typer.BadParameter("the query and the events cannot both come from standard input", param_hint="QUERY")
