"""Decides when a kernel is compiled: it runs as plain Python until that has taken long enough."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial, wraps
from operator import itemgetter
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from augury.budget import STOP
from augury.errors import AuguryError, FunctionFailed
from augury.ir.evaluate import function_failed
from augury.jit.compile import (
    Entries,
    compilations,
    compile_entry,
    compiled_forms,
    compiles,
    entry_is_cached,
    is_compiled,
    load,
    loaded_before,
    seconds_spent,
)
from augury.options import Options
from augury.runtime.identifiers import function_identifiers
from augury.runtime.kernel_source import KernelSource
from augury.timing import CallStage


def reporting_calls(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a registered function so that an exception it raises names the function and its arguments."""

    @wraps(function, updated=())
    def call(*values: Any) -> Any:
        try:
            return function(*values)
        except AuguryError:
            raise
        except Exception as e:
            raise function_failed(name, values, e) from e

    return call


MAX_PLAIN_SECONDS = 0.3
"""Seconds that a kernel may run as plain Python before it is compiled, which takes about a second."""

MAX_STOOD_IN_MATCHES = 1 << 18
"""Matches that NumPy takes in place of a function of the library, which it does in some ten milliseconds, before the
function is compiled, which takes ten times as long."""

Result = TypeVar("Result")

_stood_in: Counter[tuple[str, str, Path | None]] = Counter()
"""Matches that NumPy has taken in place of a function in this process, by fingerprint, entry and cache folder."""

_on_disk: dict[tuple[str, str, Path | None], bool] = {}
"""Whether such a function was in the cache when this process first asked, which takes half a millisecond."""

_UNWATCHED_CELLS = np.zeros(STOP + 1, dtype=np.int64)
"""The cells of a kernel without a budget: nothing stops it."""


class Tier:
    """The entries of a kernel: plain Python at first, compiled once they have run for `MAX_PLAIN_SECONDS`.

    Both are the same text over the same arrays, so they can be swapped between any two calls. `Options.jit` decides
    beforehand if it is not None.
    """

    def __init__(
        self, source: KernelSource, options: Options, calls: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """`calls` are the registered functions that the kernel calls, with the kinds of their arguments."""
        self._source, self._options = source, options
        # An entry takes more than one argument: of one alone, `itemgetter` would not make a tuple.
        self._taken = {entry: itemgetter(*positions) for entry, positions in source.taken.items()}
        self.budget = options.budget
        known = function_identifiers(calls or ())
        self._functions = {known[name]: options.callables[name] for name in calls or ()}
        self._reporting = {known[name]: reporting_calls(name, options.callables[name]) for name in calls or ()}
        self._registered = tuple(calls or ())
        # A function that Numba cannot compile keeps its kernel plain.
        self.compilable = options.jit is not False and all(
            self._in_thread(compiles, options.callables[name], kinds) for name, kinds in (calls or {}).items()
        )
        self._entries = self._load(bool(options.jit))
        self._spent = 0.0
        self._compiled_before = compilations(source)

    def _load(self, jit: bool) -> Entries:
        self._direct: dict[str, Callable[..., Any]] = {}
        """Entries that are called as they are from now on: nothing has to be compiled, timed or told of them."""
        self.plain = not (jit and self.compilable)
        options: dict[str, Any] = {
            "jit": not self.plain,
            "cache_dir": self._options.cache_dir,
            "functions": self._reporting if self.plain else self._functions,
        }
        with self._options.clock.stage(CallStage.LOADING):
            known = not self._functions and loaded_before(self._source, self._options.cache_dir)
            if self.plain or known:
                return load(self._source, **options)
            return self._in_thread(partial(load, self._source, **options))

    def _in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function that may compile, in a thread where Ctrl-C cannot hit the compiler halfway."""
        return function(*arguments) if self.budget is None else self.budget.in_thread(function, *arguments)

    @property
    def warming_up(self) -> bool:
        """Whether calls should be short, because the next one may be compiled."""
        return self._options.jit is None and self.compilable and self._spent <= MAX_PLAIN_SECONDS

    def __call__(self, entry: str, *arguments: Any) -> Any:
        direct = self._direct.get(entry)
        taken = self._taken.get(entry)
        if taken is not None:
            arguments = taken(arguments)
        result = self._call(entry, *arguments) if direct is None else direct(*arguments)
        # The result of a kernel that was told to stop means nothing.
        if self.budget is not None:
            self.budget.check()
        return result

    def _call(self, entry: str, *arguments: Any) -> Any:
        if not self.plain and not is_compiled(self._entries[entry]):
            return self._first_call(entry, *arguments)
        if self._registered and not self.plain:
            return self._run(entry, *arguments)
        if self.warming_up:
            return self.timed_call(self._entries[entry], *arguments)
        self._direct[entry] = self._entries[entry]
        return self._entries[entry](*arguments)

    def stands_in(self, entry: str, matches: int) -> bool:
        """Whether NumPy is to take `matches` in place of an entry that would have to be compiled for them.

        It does until it has taken `MAX_STOOD_IN_MATCHES`, unless the caller has asked for compiled code.
        """
        if not self._options.stand_ins or self.plain or is_compiled(self._entries[entry]):
            return False
        place = self._source.fingerprint, entry, self._options.cache_dir
        if place not in _on_disk:
            _on_disk[place] = entry_is_cached(*place)
        if _on_disk[place] or _stood_in[place] > MAX_STOOD_IN_MATCHES:
            return False
        _stood_in[place] += matches
        return True

    def _first_call(self, entry: str, *arguments: Any) -> Any:
        """Call an entry that has to be compiled or loaded first."""
        began, spent = perf_counter(), seconds_spent(self._source)
        result = self._in_thread(self._run, entry, *arguments)
        # Another thread may have begun to compile it for a kernel of its own before this one waited for that.
        loading = min(seconds_spent(self._source) - spent, perf_counter() - began)
        self._options.clock.moved(CallStage.LOADING, loading)
        return result

    def compile(self, entries: Collection[str] | None = None) -> None:
        """Compile entries now, so that a later call need not: those named, by default all with declared types.

        Does nothing where kernels are to stay plain, by the options or because of a registered function.
        """
        if not self.compilable:
            return
        self._entries, self._spent = self._load(True), math.inf
        for name, parameters in self._source.signatures.items():
            if entries is None or name in entries:
                self._in_thread(compile_entry, self._entries[name], parameters)

    @property
    def entries(self) -> tuple[str, ...]:
        """The functions that a host calls."""
        return self._source.entries

    @property
    def compiled(self) -> int:
        """How many forms of its entries are compiled in this process."""
        return 0 if self.plain else compiled_forms(self._entries)

    @property
    def compilations(self) -> int:
        """How many forms of its entries were compiled since it was made, here or for another kernel of its shape."""
        return compilations(self._source) - self._compiled_before

    def _run(self, entry: str, *arguments: Any) -> Any:
        """Call a compiled entry."""
        return (
            self._compiled(self._entries[entry], *arguments) if self._registered else self._entries[entry](*arguments)
        )

    def claim(self, what: str, more: int) -> None:
        """Raise if there is no memory left for `more` bytes of `what`; called before they are allocated."""
        if self.budget is not None:
            self.budget.claim(what, more)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """The cells that functions without the `nums` of a kernel poll, to return at once when told to stop."""
        return _UNWATCHED_CELLS if self.budget is None else self.budget.cells

    def _compiled(self, entry: Callable[..., Result], *arguments: Any) -> Result:
        """Call compiled code with registered functions in it, whose exceptions do not name their arguments."""
        try:
            return entry(*arguments)
        except AuguryError:
            raise
        except Exception as e:
            names = "` or `".join(self._registered)
            raise FunctionFailed(
                "A616",
                f"the registered function `{names}`, compiled, raised {type(e).__name__}: {e}",
                "run it with jit=False to see what it was called with",
            ) from e

    def timed_call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a plain entry, or a function in place of one; its time decides when the entries are compiled."""
        if not self.warming_up:
            return function(*arguments)
        began = thread_time()
        result = function(*arguments)
        self._spent += thread_time() - began
        if self._spent > MAX_PLAIN_SECONDS:
            self._entries = self._load(True)
        return result
