"""Paths, globs and lists of them -> the files that hold events."""

from __future__ import annotations

import glob
import os
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from augury.arguments import path
from augury.errors import HostError

MAX_NAMES = 1_000  # names of files that are compared with a misspelled one


def named_paths(events: Any) -> tuple[Path, ...] | None:
    """The paths in an argument for events: a path, a glob, sorted, or a list of those; None for anything else.

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


def near_name(missing: Path) -> str:
    """The help line for a file that does not exist: the file beside it whose name is nearest, or nothing."""
    try:
        with os.scandir(missing.parent) as entries:
            beside = [entry.name for entry in islice(entries, MAX_NAMES)]
    except OSError:
        # The folder does not exist either, or is not readable: there is nothing to suggest.
        return ""
    near = get_close_matches(missing.name, beside, n=1, cutoff=0.7)
    return f"did you mean `{missing.with_name(near[0])}`?" if near else ""


def _matching(named: Path) -> tuple[Path, ...]:
    if not glob.has_magic(str(named)) or named.exists():
        return (named,)
    found = sorted(glob.glob(str(named), recursive=True))
    if not found:
        raise HostError("A530", f"there is no file `{named}`, and no file that matches it")
    return tuple(map(Path, found))
