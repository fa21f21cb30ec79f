"""Programs that were compiled in this process, kept for calls that ask for the same again."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields

from augury.compiler import CompiledProgram
from augury.options import Options

MAX_PROGRAMS = 128  # that are kept, those used last

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
        "progress",
    }
    | {"parameters", "functions", "loss", "statistics"}
)
"""Options that no compiled program depends on, and those that are looked at one by one."""

PLAIN_VALUES = (str, bool, int, float, dt.date, dt.time, dt.timedelta, type(None))
"""Types of parameters that are compared; of others a program is compiled for every call."""

_programs: OrderedDict[Hashable, CompiledProgram] = OrderedDict()
_lock = threading.Lock()


def kept(asked: tuple[Hashable, ...], options: Options, build: Callable[[], CompiledProgram]) -> CompiledProgram:
    """The program for what is `asked`, which is its text, its schema and the events it was planned for.

    It is built if these options have not been given for them before, or if they hold what cannot be compared.
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
    """The options that decide about a program; None where two of them could look alike and differ."""
    if options.functions or options.loss is not None or options.statistics is not None:
        return None
    if not all(type(value) in PLAIN_VALUES for value in options.parameters.values()):
        return None
    others = (getattr(options, field.name) for field in fields(options) if field.name not in NOT_COMPARED)
    return tuple(others), tuple((name, _told_apart(value)) for name, value in sorted(options.parameters.items()))


def _told_apart(value: Hashable) -> Hashable:
    """What differs between values that are equal: 1 and True, or 0.0 and -0.0."""
    return type(value), repr(value) if isinstance(value, float) else value
