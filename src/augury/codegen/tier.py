"""When a kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from time import thread_time
from typing import Any, TypeVar

from augury.codegen.constants import function_identifiers
from augury.codegen.jit import Entries, compiles, load
from augury.codegen.source import KernelSource
from augury.errors import AuguryError, FunctionFailed
from augury.ir.evaluate import function_failed
from augury.options import Options


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
        known = function_identifiers(calls or ())
        self._functions = {known[name]: options.callables[name] for name in calls or ()}
        self._telling = {known[name]: telling(name, options.callables[name]) for name in calls or ()}
        self._called = tuple(calls or ())
        # A function that Numba cannot compile keeps its kernel plain.
        self.compilable = options.jit is not False and all(
            compiles(options.callables[name], kinds) for name, kinds in (calls or {}).items()
        )
        self._entries = self._load(bool(options.jit))
        self._spent = 0.0

    def _load(self, jit: bool) -> Entries:
        self.plain = not (jit and self.compilable)
        return load(
            self._source,
            jit=jit and self.compilable,
            cache_dir=self._options.cache_dir,
            functions=self._telling if self.plain else self._functions,
        )

    @property
    def warming_up(self) -> bool:
        """Whether calls should be short, because the next one may be compiled."""
        return self._options.jit is None and self.compilable and self._spent <= PATIENCE

    def __call__(self, entry: str, *arguments: Any) -> Any:
        if self._called and not self.plain:
            return self._compiled(self._entries[entry], *arguments)
        if not self.warming_up:
            return self._entries[entry](*arguments)
        return self.instead(self._entries[entry], *arguments)

    def _compiled(self, entry: Callable[..., Result], *arguments: Any) -> Result:
        """Call compiled code that has registered functions in it, which do not tell what they were called with."""
        try:
            return entry(*arguments)
        except AuguryError:
            raise
        except Exception as e:
            raise FunctionFailed(
                "A616",
                f"the registered function `{'` or `'.join(self._called)}`, compiled, raised {type(e).__name__}: {e}",
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
