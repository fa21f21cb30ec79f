"""Starts the program `augury`: fewer garbage collections, and no import of pandas where no command needs it."""

from __future__ import annotations

import gc
import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa

from augury.cli.app import app

GARBAGE_THRESHOLD = 100_000
"""Allocations between garbage collections; most early objects of a command are modules and plans, which stay."""

WITHOUT_PANDAS = ("match", "check", "explain", "why")
"""Commands that never need pandas."""


def main() -> None:
    """The program `augury`."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    if sys.argv[1:2] and sys.argv[1] in WITHOUT_PANDAS:
        keep_pandas_out()
    app()


class _NoPandas(MetaPathFinder):
    """An import hook that hides pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def keep_pandas_out() -> None:
    """Hide pandas from Arrow, which tries to import it once, with the first array.

    The import takes longer than most matches. Only for a process that runs nothing but a command.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
