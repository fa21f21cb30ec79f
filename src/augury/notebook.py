"""The cell magic `%%augury`; `%load_ext augury` brings it. The only module that imports IPython."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError

from augury.errors import AuguryError, HostError
from augury.hosts.local.match import match
from augury.view.page import page

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from augury.engine.results.matches import Matches
    from augury.view.page import Page


class _Parser(argparse.ArgumentParser):
    """Reports what it cannot read to the notebook, instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}")


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
    """What `%%augury EVENTS` does with the query of its cell; errors are shown without a traceback."""
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


def _events(name: str, namespace: dict[str, Any]) -> Any:
    if name in namespace:
        return namespace[name]
    if os.path.exists(name):
        return name
    raise HostError("A644", f"no variable and no file is named `{name}`", "write %%augury EVENTS, one name or path")


def register(shell: InteractiveShell) -> None:
    """Make `%%augury` known to a shell."""

    def augury(line: str, cell: str) -> Matches | Page:
        return run_cell(shell, line, cell)

    augury.__doc__ = _parser().format_help()
    register_function: Any = shell.register_magic_function  # its annotations leave out that it is a method
    register_function(augury, magic_kind="cell", magic_name="augury")
