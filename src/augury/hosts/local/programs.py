"""A cache of the programs compiled in this process, for calls with the same query, schema and options."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields

from augury.compiler import CompiledProgram
from augury.options import Options

MAX_PROGRAMS = 128  # programs in the cache, those used last

NOT_COMPARED = frozenset(
    {
        "budget",
        "clock",
        "max_matches",
        "max_partial_matches",
        "max_memory",
        "timeout",
        "cache_dir",
        "threads",
        "live",
        "rows_only",
        "progress",
    }
    | {"parameters", "functions", "loss", "statistics"}
)
"""Options that no compiled program depends on, and those that `_settings` handles one by one."""

PLAIN_VALUES = (str, bool, int, float, dt.date, dt.time, dt.timedelta, type(None))
"""Types of parameters that can be compared; with others a program is compiled for every call."""

_programs: OrderedDict[Hashable, CompiledProgram] = OrderedDict()
_lock = threading.Lock()


def cached_program(
    asked: tuple[Hashable, ...], options: Options, build: Callable[[], CompiledProgram]
) -> CompiledProgram:
    """The program for `asked`, which is its text, its schema and the identity of the events it is planned for.

    It is built unless it is cached for these options, or if the options hold something that cannot be compared.
    """
    settings = _settings(options)
    if settings is None:
        return build()
    key = (asked, settings)
    with _lock:
        known = _programs.get(key)
        if known is not None:
            _programs.move_to_end(key)
            return known
    program = build()
    with _lock:
        _programs[key] = program
        while len(_programs) > MAX_PROGRAMS:
            _programs.popitem(last=False)
    return program


def _settings(options: Options) -> Hashable | None:
    """The part of the cache key for options; None if they hold something that cannot be compared."""
    if options.functions or options.loss is not None or options.statistics is not None:
        return None
    if not all(type(value) in PLAIN_VALUES for value in options.parameters.values()):
        return None
    others = (getattr(options, field.name) for field in fields(options) if field.name not in NOT_COMPARED)
    return tuple(others), tuple((name, _told_apart(value)) for name, value in sorted(options.parameters.items()))


def _told_apart(value: Hashable) -> Hashable:
    """A key that differs for equal values of different meaning: 1 and True, or 0.0 and -0.0."""
    return type(value), repr(value) if isinstance(value, float) else value
