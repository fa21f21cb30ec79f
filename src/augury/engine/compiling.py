"""Whether the kernel of a query is compiled before it runs over a known number of events."""

from __future__ import annotations

from augury.compiler import CompiledQuery
from augury.jit.compile import compiled_before
from augury.options import Options

MIN_EVENTS_TO_COMPILE = 20_000
"""Events from which on a kernel is compiled first: as plain Python it would take about as long."""

MIN_EVENTS_TO_LOAD = 1_000
"""Events from which on a kernel that was compiled before is loaded."""


def worth_compiling(query: CompiledQuery, events: int, options: Options) -> bool:
    """Whether a kernel should be compiled, or loaded, before it runs, given the number of events."""
    if query.kernel is None or events < MIN_EVENTS_TO_LOAD:
        return False
    return events >= MIN_EVENTS_TO_COMPILE or compiled_before(query.kernel.source, options.cache_dir)


def compiled_if_worth(query: CompiledQuery, events: int, options: Options) -> Options:
    """The options for a kernel over this number of events: it is compiled at once if there are many."""
    return options.compiled() if options.jit is None and worth_compiling(query, events, options) else options
