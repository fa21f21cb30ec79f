"""The cell magics `%%augury` and `%%match_recognize`; `%load_ext augury` brings them.

The only module that imports IPython.
"""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError

from augury.engine.sources.query_text import query_source
from augury.errors import AuguryError, HostError
from augury.hosts.local.match import match
from augury.hosts.local.sql import SqlResult, run_sql
from augury.view.page import page

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from augury.engine.results.matches import Matches
    from augury.view.page import Page


class _Parser(argparse.ArgumentParser):
    """Reports what it cannot read to the notebook, instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}")


def _sql_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="%%match_recognize", description="Run the SQL of this cell, with MATCH_RECOGNIZE in it.", add_help=False
    )
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE[=EVENTS]", help="a variable, or a table's name and its variable or path"
    )
    parser.add_argument("-o", "--out", metavar="NAME", help="keep the rows in this variable too")
    parser.add_argument("--dialect", default="trino", help="the dialect of the SQL")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%augury", description="Find the matches of the query in this cell.", add_help=False)
    parser.add_argument("events", help="a variable that holds events, or the path of a file")
    parser.add_argument("-o", "--out", metavar="NAME", help="keep the matches in this variable too")
    parser.add_argument("--view", action="store_true", help="draw the matches instead of listing them")
    parser.add_argument("--time", default="ts", help="the time column")
    parser.add_argument("--type", default="type", help="the type column")
    parser.add_argument("--time-unit", default="s", help="the unit of an integer time: ns, us, ms, s or D")
    return parser


def run_cell(shell: InteractiveShell, line: str, cell: str) -> Matches | Page:
    """Run the query of a `%%augury EVENTS` cell; errors are shown without a traceback."""
    given = _parser().parse_args(shlex.split(line))
    try:
        events = _events(given.events, shell.user_ns)
        found = match(events, cell, time=given.time, type=given.type, time_unit=given.time_unit)
        shown = page(found) if given.view else found
    except AuguryError as e:
        raise UsageError(f"\n{e}") from e
    if given.out is not None:
        shell.user_ns[given.out] = found
    return shown


def run_sql_cell(shell: InteractiveShell, line: str, cell: str) -> SqlResult:
    """Run the SQL of a `%%match_recognize TABLES` cell; errors are shown without a traceback."""
    given = _sql_parser().parse_args(shlex.split(line))
    try:
        named = (table.split("=", 1) if "=" in table else (table, table) for table in given.tables)
        tables = {name: _events(events, shell.user_ns) for name, events in named}
        found = SqlResult(run_sql(query_source(cell), tables, dialect=given.dialect))
    except AuguryError as e:
        raise UsageError(f"\n{e}") from e
    if given.out is not None:
        shell.user_ns[given.out] = found
    return found


def _events(name: str, namespace: dict[str, Any]) -> Any:
    if name in namespace:
        return namespace[name]
    if os.path.exists(name):
        return name
    raise HostError(
        "A644",
        f"no variable and no file is named `{name}`",
        "write %%augury EVENTS or %%match_recognize TABLE=EVENTS, with a name or path",
    )


def register(shell: InteractiveShell) -> None:
    """Make `%%augury` and `%%match_recognize` known to a shell."""

    def augury(line: str, cell: str) -> Matches | Page:
        return run_cell(shell, line, cell)

    def match_recognize(line: str, cell: str) -> SqlResult:
        return run_sql_cell(shell, line, cell)

    register_function: Any = shell.register_magic_function  # its annotations leave out that it is a method
    for magic, parser in ((augury, _parser()), (match_recognize, _sql_parser())):
        magic.__doc__ = parser.format_help()
        register_function(magic, magic_kind="cell", magic_name=magic.__name__)
