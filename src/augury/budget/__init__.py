"""Limits on the memory and the time of a query, enforced while it runs.

Kernels ask before they allocate (`Account`), and poll one cell of memory while they compute (`Budget.cells`), which the
watchdog sets when the time is over or the user presses Ctrl-C: compiled code cannot be interrupted in any other way.
docs/decisions/0038 says why.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from augury.budget.amounts import size_text
from augury.budget.machine import default_memory, resident
from augury.budget.watchdog import Watchdog, the_watchdog
from augury.errors import BudgetExceeded, NotEnoughMemory, TooManyMatches

STOP = 15
"""The cell of a kernel's `nums` that tells it to come back at once."""


Result = TypeVar("Result")


class Budget:
    """Memory and time limits of one call or one stream, shared by the queries of a program.

    `timeout` is in seconds, and holds for each call made within `running`. An unpickled copy has nothing used.
    """

    def __init__(self, memory: int, timeout: float | None) -> None:
        self.memory, self.timeout = memory, timeout
        self._cells: dict[int, npt.NDArray[np.int64]] = {}
        """The cells that stop a kernel, by the id of the thread it runs in."""
        self.interrupted = self.late = False
        self._accounts: list[Account] = []
        self._depth = 0
        self.deadline = math.inf
        self._measures_process = False
        self._resident = 0

    def __reduce__(self) -> tuple[type[Budget], tuple[int, float | None]]:
        return Budget, (self.memory, self.timeout)

    # -- memory -------------------------------------------------------------------------------------------------------

    def account(self) -> Account:
        """A new account, for one more kernel."""
        account = Account(self)
        self._accounts.append(account)
        return account

    def claim(self, what: str, more: int) -> None:
        """Raise if `more` bytes for `what` exceed the limit, together with what all accounts hold."""
        held: dict[str, int] = {}
        for account in self._accounts:
            for name, size in list(account.held.items()):
                held[name] = held.get(name, 0) + size
        if sum(held.values()) + more > self.memory:
            held[what] = held.get(what, 0) + more
            raise out_of_memory(self.memory, held)

    def check_process(self, what: str) -> None:
        """Raise if the process has grown beyond the limit since the call began: for Python objects of unknown size.

        Works only after `measure_process`: reading the memory of the process costs more than a small batch does.
        """
        grown = resident() - self._resident
        if grown > self.memory:
            raise out_of_memory(self.memory, {what: grown})

    # -- time ---------------------------------------------------------------------------------------------------------

    def running(self) -> _BudgetedCall:
        """Context manager of a call: its time is limited, Ctrl-C stops its kernels, and every error has a code."""
        return _BudgetedCall(self)

    def measure_process(self) -> None:
        """Read the memory of the process at the start of every call from now on, for `check_process`."""
        if not self._measures_process:
            self._measures_process = True
            self._resident = resident()

    def begin(self) -> None:
        """Start a call: clear what stopped the last one, and count its time and memory from now on."""
        self.interrupted = self.late = False
        for cells in self._cells.values():
            cells[STOP] = 0
        self.deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        if self._measures_process:
            self._resident = resident()

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """The cells that the kernel of this thread polls; `cells[STOP]` tells it to return at once."""
        return self._cells.setdefault(threading.get_ident(), np.zeros(STOP + 1, dtype=np.int64))

    def watch(self, cells: npt.NDArray[np.int64]) -> None:
        """Stop the kernel that polls `cells` from now on, when the one in this thread is to be stopped."""
        cells[STOP] = 0
        self._cells[threading.get_ident()] = cells
        self.check()

    def stop(self, *, interrupted: bool) -> None:
        """Tell all kernels to return at once; called by another thread."""
        if interrupted:
            self.interrupted = True
        else:
            self.late = True
        # A copy: another thread may begin to be watched meanwhile.
        for cells in list(self._cells.values()):
            cells[STOP] = 1

    def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run `function` in another thread and wait for its result, for Ctrl-C or for the timeout.

        For work that cannot be stopped and must not be hit by an exception halfway, such as compiling. It goes on in
        the background if nobody waits for it any more.
        """
        if not self._depth or (self.timeout is None and threading.current_thread() is not threading.main_thread()):
            return function(*arguments)
        work = _Work(partial(function, *arguments))
        thread = threading.Thread(target=work.run, name="augury-compiler", daemon=True)
        thread.start()
        while not work.done.wait(None if self.timeout is None else max(0.0, self.deadline - time.monotonic())):
            self.check()
        return work.result()  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise `KeyboardInterrupt` or the error of the timeout, if one of them has stopped the kernel."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.late or (self._depth and self.timeout is not None and time.monotonic() > self.deadline):
            raise BudgetExceeded(
                "A566",
                f"timeout={self.timeout:g} s is over before the query was done",
                "raise timeout, shorten WITHIN, add predicates or a partition key, or match a part of the events",
            )


class _Work:
    """A call for another thread, and its result or its error."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.done = function, threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self.function()
        except BaseException as e:
            # Whoever waits for the result raises it.
            self.error = e
        finally:
            self.done.set()

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Account:
    """The bytes that one kernel holds, by what they are for."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.held: dict[str, int] = {}

    def hold(self, what: str, size: int) -> None:
        """Record that the kernel holds `size` bytes for `what` now; raise if they exceed the limit."""
        if self.held.get(what) == size:
            return
        self.held[what] = size
        self.budget.claim(what, 0)

    def claim(self, what: str, more: int) -> None:
        """Raise if `more` bytes for `what` would exceed the limit; called before they are allocated."""
        self.budget.claim(what, more)


def out_of_memory(limit: int, held: dict[str, int] | None = None) -> NotEnoughMemory:
    """The error of a query that needs more memory than it may have."""
    used = sorted((held or {}).items(), key=lambda item: -item[1])
    parts = ", ".join(f"{what} {size_text(size)}" for what, size in used[:3] if size)
    return NotEnoughMemory(
        "A565",
        f"max_memory={size_text(limit)} is not enough for this query" + (f": {parts}" if parts else ""),
        "shorten WITHIN, add predicates or a partition key, bound the iteration (`{1,5}`), let the matches stay "
        "compressed, or raise max_memory",
    )


def too_many_matches(limit: int, help: str) -> TooManyMatches:
    """The error of a query that finds more than `max_matches`; `help` is the advice besides raising that."""
    return TooManyMatches(
        "A567", f"max_matches={limit} is reached: there are more than {limit} matches", f"raise max_matches, {help}"
    )


def too_many_partial_matches(limit: int, what: str, help: str) -> TooManyMatches:
    """The error of a query that keeps more than `max_partial_matches`; `what` is the plan's name for them."""
    return TooManyMatches(
        "A568",
        f"max_partial_matches={limit} is reached: more than {limit} {what}, the pattern explodes on this stream",
        f"{help}, or raise max_partial_matches",
    )


@contextmanager
def enough_memory() -> Iterator[None]:
    """Give a `MemoryError` a code while results are converted, which happens after the query is done."""
    try:
        yield
    except MemoryError as e:
        raise out_of_memory(default_memory()) from e


def within(budget: Budget) -> _BudgetedCall:
    """Context manager that runs a user's call within its budget; `MemoryError` and `RecursionError` get a code."""
    return budget.running()


class _BudgetedCall:
    """Context manager of a call within a budget; a nested call is part of the outer one.

    A class, which costs less than a generator: every batch of a stream is such a call, however small.
    """

    __slots__ = ("before", "budget", "main", "outermost", "watchdog")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.outermost = False
        self.main = False
        self.watchdog: Watchdog | None = None
        self.before: int | None = None

    def __enter__(self) -> None:
        budget = self.budget
        self.outermost = not budget._depth
        if not self.outermost:
            return
        budget.begin()
        budget._depth += 1
        try:
            self._watch()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        budget = self.budget
        if self.outermost:
            self._leave()
            if error is not None and budget.interrupted and not isinstance(error, KeyboardInterrupt):
                # Ctrl-C in the middle of a compilation gives whatever the compiler makes of it.
                raise KeyboardInterrupt from None
        if isinstance(error, MemoryError):
            raise out_of_memory(budget.memory) from error
        if isinstance(error, RecursionError):
            raise BudgetExceeded(
                "A569", "the query is nested too deeply to be evaluated", "write it with fewer levels of parentheses"
            ) from error

    def _watch(self) -> None:
        budget = self.budget
        self.main = threading.current_thread() is threading.main_thread()
        if not self.main and budget.timeout is None:
            return
        watchdog = self.watchdog = the_watchdog()
        with watchdog.lock:
            watchdog.budgets.append((budget, self.main))
        if self.main:
            listening = watchdog.sending_number
            self.before = signal.set_wakeup_fd(listening, warn_on_full_buffer=False)
            if self.before != listening:
                watchdog.forward_to = self.before
        if budget.timeout is not None:
            watchdog.wake()

    def _leave(self) -> None:
        watchdog, self.watchdog = self.watchdog, None
        try:
            if watchdog is not None:
                if self.before is not None:
                    signal.set_wakeup_fd(self.before)
                with watchdog.lock:
                    watchdog.hear()
                    watchdog.budgets.remove((self.budget, self.main))
        finally:
            self.budget._depth -= 1
