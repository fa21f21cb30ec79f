"""Paths, globs and lists of them -> the files that hold events."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from augury.arguments import path
from augury.errors import HostError


def named_paths(events: Any) -> tuple[Path, ...] | None:
    """The paths that events are given as: one, those that a glob matches, in order, or those of a list; else None.

    A glob is a path that does not exist and has `*`, `?` or `[` in it; `**` stands for any folders.

    >>> named_paths(["monday.csv", "tuesday.csv"]) == (Path("monday.csv"), Path("tuesday.csv"))
    True
    >>> named_paths([{"ts": 1}])
    """
    if isinstance(events, str | os.PathLike):
        return _matching(path("events", events))
    if isinstance(events, list | tuple) and events and all(isinstance(item, str | os.PathLike) for item in events):
        return tuple(found for item in events for found in _matching(path("events", item)))
    return None


def _matching(named: Path) -> tuple[Path, ...]:
    if not glob.has_magic(str(named)) or named.exists():
        return (named,)
    found = sorted(glob.glob(str(named), recursive=True))
    if not found:
        raise HostError("A530", f"there is no file `{named}`, and no file that matches it")
    return tuple(map(Path, found))
