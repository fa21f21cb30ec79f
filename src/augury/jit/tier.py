"""When a kernel is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial, wraps
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
    is_compiled,
    load,
    loaded_before,
    seconds_spent,
)
from augury.options import Options
from augury.runtime.identifiers import function_identifiers
from augury.runtime.kernel_source import KernelSource
from augury.timing import CallStage


def telling(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its name and its arguments in the error should it raise an exception."""

    @wraps(function, updated=())
    def call(*values: Any) -> Any:
        try:
            return function(*values)
        except AuguryError:
            raise
        except Exception as e:
            raise function_failed(name, values, e) from e

    return call


PATIENCE = 0.3
"""Seconds that a kernel may run as plain Python before it is compiled, which takes about a second."""

Result = TypeVar("Result")

_NEVER = np.zeros(STOP + 1, dtype=np.int64)
"""The cells of a kernel without a budget, which nobody stops."""


class Tier:
    """The entries of a kernel, plain at first and compiled once they have cost more than a little time.

    Both are the same text over the same arrays, so it does not matter when they change places. `Options.jit` decides
    beforehand if it is not None.
    """

    def __init__(
        self, source: KernelSource, options: Options, calls: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """`calls` are the registered functions that the kernel calls, with the kinds of their arguments."""
        self._source, self._options = source, options
        self.budget = options.budget
        known = function_identifiers(calls or ())
        self._functions = {known[name]: options.callables[name] for name in calls or ()}
        self._telling = {known[name]: telling(name, options.callables[name]) for name in calls or ()}
        self._registered = tuple(calls or ())
        # A function that Numba cannot compile keeps its kernel plain.
        self.compilable = options.jit is not False and all(
            self._apart(compiles, options.callables[name], kinds) for name, kinds in (calls or {}).items()
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
            "functions": self._telling if self.plain else self._functions,
        }
        with self._options.clock.stage(CallStage.LOADING):
            known = not self._functions and loaded_before(self._source, self._options.cache_dir)
            if self.plain or known:
                return load(self._source, **options)
            return self._apart(partial(load, self._source, **options))

    def _apart(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What `function` gives, which may compile: an interrupt in the middle of that must not reach the compiler."""
        return function(*arguments) if self.budget is None else self.budget.apart(function, *arguments)

    @property
    def warming_up(self) -> bool:
        """Whether calls should be short, because the next one may be compiled."""
        return self._options.jit is None and self.compilable and self._spent <= PATIENCE

    def __call__(self, entry: str, *arguments: Any) -> Any:
        direct = self._direct.get(entry)
        result = self._call(entry, *arguments) if direct is None else direct(*arguments)
        # What a kernel that was told to stop gives back means nothing.
        if self.budget is not None:
            self.budget.check()
        return result

    def _call(self, entry: str, *arguments: Any) -> Any:
        if not self.plain and not is_compiled(self._entries[entry]):
            return self._first_call(entry, *arguments)
        if self._registered and not self.plain:
            return self._run(entry, *arguments)
        if self.warming_up:
            return self.instead(self._entries[entry], *arguments)
        self._direct[entry] = self._entries[entry]
        return self._entries[entry](*arguments)

    def _first_call(self, entry: str, *arguments: Any) -> Any:
        """Call a compiled entry that may have to be compiled or loaded for it."""
        began, spent = perf_counter(), seconds_spent(self._source)
        result = self._apart(self._run, entry, *arguments)
        # Another thread may have begun to compile it for a kernel of its own before this one waited for that.
        loading = min(seconds_spent(self._source) - spent, perf_counter() - began)
        self._options.clock.moved(CallStage.LOADING, loading)
        return result

    def compile(self, entries: Collection[str] | None = None) -> None:
        """Compile entries now, all that say what they take or some of them: a later call has nothing to compile.

        Where kernels are to stay plain, by the options or because of a registered function, nothing is done.
        """
        if not self.compilable:
            return
        self._entries, self._spent = self._load(True), math.inf
        for name, parameters in self._source.signatures.items():
            if entries is None or name in entries:
                self._apart(compile_entry, self._entries[name], parameters)

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
        """What a compiled entry gives."""
        return (
            self._compiled(self._entries[entry], *arguments) if self._registered else self._entries[entry](*arguments)
        )

    def claim(self, what: str, more: int) -> None:
        """Before `more` bytes are allocated for `what`: an error if there is no memory left for them."""
        if self.budget is not None:
            self.budget.claim(what, more)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """What functions look at that have no `nums` of a kernel's: whether to come back at once."""
        return _NEVER if self.budget is None else self.budget.cells

    def _compiled(self, entry: Callable[..., Result], *arguments: Any) -> Result:
        """Call compiled code that has registered functions in it, which do not tell what they were called with."""
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

    def instead(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What `function` gives, which stands in for entries while they are plain: its time counts like theirs."""
        if not self.warming_up:
            return function(*arguments)
        began = thread_time()
        result = function(*arguments)
        self._spent += thread_time() - began
        if self._spent > PATIENCE:
            self._entries = self._load(True)
        return result
