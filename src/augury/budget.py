"""Limits on the memory and the time of a query, enforced while it runs.

Kernels ask before they allocate (`Account`), and poll one cell of memory while they compute (`Budget.cells`), which the
thread of this module sets when the time is over or the user presses Ctrl-C: compiled code cannot be interrupted in any
other way. docs/decisions/0038 says why.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from augury.arguments import shown
from augury.errors import BudgetExceeded, HostError, NotEnoughMemory, TooManyMatches

STOP = 15
"""The cell of a kernel's `nums` that tells it to come back at once."""

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
"""Bytes of the units that sizes are written in."""


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
        self._deadline = math.inf
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
        self._deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
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
        while not work.done.wait(None if self.timeout is None else max(0.0, self._deadline - time.monotonic())):
            self.check()
        return work.result()  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise `KeyboardInterrupt` or the error of the timeout, if one of them has stopped the kernel."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.late or (self._depth and self.timeout is not None and time.monotonic() > self._deadline):
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
        self.watchdog: _Watchdog | None = None
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
        watchdog = self.watchdog = _the_watchdog()
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


# -- sizes -------------------------------------------------------------------------------------------------------------


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that it fills, for messages.

    >>> size_text(512), size_text(2_000_000_000), size_text(11_800_000_000)
    ('512 B', '2 GB', '11.8 GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{size} B"


def memory_size(given: int | str) -> int:
    """The bytes of a size, given as a number or as text.

    >>> memory_size(1024), memory_size("2 GB"), memory_size("1.5 GiB")
    (1024, 2000000000, 1610612736)
    """
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)?\s*", given, re.I) if isinstance(given, str) else None
    wanted = 0.0 if written is None else float(written[1]) * UNITS.get((written[2] or "B").upper(), 0)
    size = int(wanted) if wanted < 2.0**63 else 0
    if size <= 0:
        raise HostError(
            "A600",
            f"not a budget: max_memory={shown(given)}, which is a number of bytes or a text such as '2 GB'",
        )
    return size


def seconds(given: float | str | dt.timedelta) -> float:
    """The seconds of a timeout, given as a number, a timedelta or text.

    >>> seconds(1.5), seconds(dt.timedelta(minutes=1)), seconds("30 seconds"), seconds("2 min")
    (1.5, 60.0, 30.0, 120.0)
    """
    found: float | None = None
    match given:
        case dt.timedelta():
            found = given.total_seconds()
        case bool():
            pass
        case float():
            found = given
        case int():
            found = float(given) if given < 2**63 else None
        case str():
            written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", given, re.I)
            unit = None if written is None else _SECONDS.get(written[2].lower() or "s")
            if written is not None and unit is not None:
                found = float(written[1]) * unit
        case _:
            pass
    if found is None or not 0 < found < math.inf:
        raise HostError(
            "A600",
            f"not a budget: timeout={shown(given)}, which is seconds, a timedelta or a text such as '30 seconds'",
        )
    return found


_SECONDS = {
    name: unit
    for unit, names in {
        0.001: ("ms", "millisecond", "milliseconds"),
        1.0: ("s", "sec", "second", "seconds"),
        60.0: ("m", "min", "minute", "minutes"),
        3600.0: ("h", "hour", "hours"),
    }.items()
    for name in names
}
"""Seconds in each unit that a timeout may be written in."""


def default_memory() -> int:
    """Half of the memory that the machine, the container or a limit of the process lets this process have."""
    limits = [*_container_limits()]
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits.append(None if soft == resource.RLIM_INFINITY else soft)
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((limit for limit in limits if limit), default=8 * UNITS["GB"]) // 2


def resident() -> int:
    """Bytes of memory that this process uses; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


_CGROUP_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with the memory limit of a container: control groups version 2 and version 1."""


@cache
def _container_limits() -> tuple[int | None, ...]:
    """The memory limits of the container, read once: doing so takes a tenth of a millisecond, in each call."""
    return tuple(_number(Path(name)) for name in _CGROUP_LIMIT_FILES)


def _number(file: Path) -> int | None:
    """The number in a file; None for "max" and for a file that cannot be read."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


# -- the thread that watches -------------------------------------------------------------------------------------------


MAX_WAIT_SECONDS = 86_400.0  # `select` counts milliseconds, which overflow for very long timeouts


class _Watchdog:
    """A thread that waits for signals and deadlines, and stops the budgets that they concern."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.budgets: list[tuple[Budget, bool]] = []
        """The budgets of running calls, and whether each runs in the main thread, where signals are handled."""
        # Two pairs: `hear` is also called by the main thread, which must not read what is to wake this one.
        self.receiving, self.sending = _pair()
        self.sending_number = self.sending.fileno()
        self.woken, self.waking = _pair()
        self.forward_to = -1
        threading.Thread(target=self._run, name="augury-watchdog", daemon=True).start()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for end in (self.receiving, self.woken):
                selector.register(end, selectors.EVENT_READ)
            while True:
                with self.lock:
                    nearest = min((b._deadline for b, _ in self.budgets if not b.late), default=float("inf"))
                wait = None if nearest == float("inf") else min(MAX_WAIT_SECONDS, max(0.0, nearest - time.monotonic()))
                selector.select(wait)
                with suppress(BlockingIOError):
                    self.woken.recv(4096)
                now = time.monotonic()
                with self.lock:
                    self.hear()
                    for budget, _ in self.budgets:
                        if budget._deadline <= now:
                            budget.stop(interrupted=False)

    def hear(self) -> None:
        """Stop running budgets if Ctrl-C has come; the caller holds the lock, so that no later call is stopped."""
        try:
            signals = self.receiving.recv(4096)
        except BlockingIOError:
            return
        if self.forward_to >= 0:
            # Whoever wanted to be woken before, such as an event loop, still is.
            with suppress(OSError):
                os.write(self.forward_to, signals)
        # With a signal handler of the user's, the query goes on: only Python's default handler stops it.
        if signal.SIGINT in signals and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            for budget, main in self.budgets:
                if main:
                    budget.stop(interrupted=True)

    def wake(self) -> None:
        with suppress(BlockingIOError):
            self.waking.send(b"\0")


def _pair() -> tuple[socket.socket, socket.socket]:
    ends = socket.socketpair()
    for end in ends:
        end.setblocking(False)
    return ends


_watchdogs: dict[int, _Watchdog] = {}
_starting = threading.Lock()


def _the_watchdog() -> _Watchdog:
    """The watchdog of this process: threads do not survive a fork."""
    process = os.getpid()
    found = _watchdogs.get(process)
    if found is None:
        with _starting:
            found = _watchdogs.setdefault(process, _watchdogs.get(process) or _Watchdog())
    return found
