"""What a query may use: memory and time, watched while it runs.

Kernels ask before they allocate (`Account`), and look at one cell of memory while they compute (`Budget.cells`), which
the thread of this module sets when the time is over or the user presses Ctrl-C: compiled code cannot be interrupted in
any other way. docs/decisions/0038 tells why.
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
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from augury.arguments import shown
from augury.errors import BudgetExceeded, HostError, TooManyMatches

STOP = 15
"""The cell of a kernel's `nums` that tells it to come back at once."""

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
"""Bytes of the units that sizes are written in."""


Result = TypeVar("Result")


class Budget:
    """The memory and the time of one call, or of one stream; the queries of a program share it.

    `timeout` seconds are for each call that is `running`. A copy of a pickle has used nothing.
    """

    def __init__(self, memory: int, timeout: float | None) -> None:
        self.memory, self.timeout = memory, timeout
        self._cells: dict[int, npt.NDArray[np.int64]] = {}
        """By thread, what the kernel looks at that runs in it."""
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
        """For one more kernel."""
        account = Account(self)
        self._accounts.append(account)
        return account

    def claim(self, what: str, more: int) -> None:
        """Refuse to allocate `more` bytes for `what` if they do not fit beside all that is held."""
        held: dict[str, int] = {}
        for account in self._accounts:
            for name, size in list(account.held.items()):
                held[name] = held.get(name, 0) + size
        if sum(held.values()) + more > self.memory:
            held[what] = held.get(what, 0) + more
            raise out_of_memory(self.memory, held)

    def check_process(self, what: str) -> None:
        """The same for objects of Python's, whose size nobody knows: by what the process has grown since it began.

        Whoever asks has said so before, by `measure_process`: looking costs more than a small batch does.
        """
        grown = resident() - self._resident
        if grown > self.memory:
            raise out_of_memory(self.memory, {what: grown})

    # -- time ---------------------------------------------------------------------------------------------------------

    def running(self) -> _Running:
        """While this lasts, the time counts and Ctrl-C stops kernels; no error leaves it that has no code."""
        return _Running(self)

    def measure_process(self) -> None:
        """From now on `check_process` is asked: the memory of the process is looked at whenever a call begins."""
        if not self._measures_process:
            self._measures_process = True
            self._resident = resident()

    def begin(self) -> None:
        """A call begins: nothing has stopped it, and its time and memory are counted from now on."""
        self.interrupted = self.late = False
        for cells in self._cells.values():
            cells[STOP] = 0
        self._deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        if self._measures_process:
            self._resident = resident()

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """What the kernel of this thread looks at while it computes: whether to come back at once."""
        return self._cells.setdefault(threading.get_ident(), np.zeros(STOP + 1, dtype=np.int64))

    def watch(self, cells: npt.NDArray[np.int64]) -> None:
        """From now on the kernel to stop in this thread is the one that looks at `cells`."""
        cells[STOP] = 0
        self._cells[threading.get_ident()] = cells
        self.check()

    def stop(self, *, interrupted: bool) -> None:
        """Called by another thread."""
        if interrupted:
            self.interrupted = True
        else:
            self.late = True
        # A copy: another thread may begin to be watched meanwhile.
        for cells in list(self._cells.values()):
            cells[STOP] = 1

    def apart(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What `function` gives, computed by another thread while this one waits for it, for Ctrl-C or for the timeout.

        For work that cannot be stopped, nor an exception raised in the middle of it, which is true of compilers. It
        goes on in the background if nobody waits for it any more.
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
        """Raise what stopped the kernel, if anything has."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.late or (self._depth and self.timeout is not None and time.monotonic() > self._deadline):
            raise BudgetExceeded(
                "A566",
                f"timeout={self.timeout:g} s is over before the query was done",
                "raise timeout, shorten WITHIN, add predicates or a partition key, or match a part of the events",
            )


class _Work:
    """What a thread has to do, and what came of it."""

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
    """What one kernel holds, in bytes, by what it is for."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.held: dict[str, int] = {}

    def hold(self, what: str, size: int) -> None:
        """The kernel holds so many bytes of `what` now; they must fit."""
        if self.held.get(what) == size:
            return
        self.held[what] = size
        self.budget.claim(what, 0)

    def claim(self, what: str, more: int) -> None:
        """Before `more` bytes are allocated."""
        self.budget.claim(what, more)


def out_of_memory(limit: int, held: dict[str, int] | None = None) -> BudgetExceeded:
    """The error of a query that needs more memory than it may have."""
    used = sorted((held or {}).items(), key=lambda item: -item[1])
    parts = ", ".join(f"{what} {size_text(size)}" for what, size in used[:3] if size)
    return BudgetExceeded(
        "A565",
        f"max_memory={size_text(limit)} is not enough for this query" + (f": {parts}" if parts else ""),
        "shorten WITHIN, add predicates or a partition key, bound the iteration (`{1,5}`), let the matches stay "
        "compressed, or raise max_memory",
    )


def too_many_matches(limit: int, help: str) -> TooManyMatches:
    """The error of a query that finds more than `max_matches`; `help` is what there is to do beside raising that."""
    return TooManyMatches(
        "A567", f"max_matches={limit} is reached: there are more than {limit} matches", f"raise max_matches, {help}"
    )


def too_many_partial_matches(limit: int, what: str, help: str) -> TooManyMatches:
    """The same of `max_partial_matches`; `what` says what the plan calls them."""
    return TooManyMatches(
        "A568",
        f"max_partial_matches={limit} is reached: more than {limit} {what}, the pattern explodes on this stream",
        f"{help}, or raise max_partial_matches",
    )


@contextmanager
def enough_memory() -> Iterator[None]:
    """For results that are looked at when the query is done: running out of memory has a code there too."""
    try:
        yield
    except MemoryError as e:
        raise out_of_memory(default_memory()) from e


def within(budget: Budget) -> _Running:
    """Run a call of a user's within its budget; errors of Python itself that mean "too large" get a code."""
    return budget.running()


class _Running:
    """A call that runs within a budget; one inside another is part of it.

    A class and no generator: every batch of a stream is such a call, however small it is.
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
    """
    >>> size_text(512), size_text(2_000_000_000), size_text(11_800_000_000)
    ('512 B', '2 GB', '11.8 GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{size} B"


def memory_size(given: int | str) -> int:
    """A number of bytes, or a size as people write it.

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
    """Seconds, a timedelta, or a duration as queries write it.

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
"""How long the units are that a timeout is written in."""


def default_memory() -> int:
    """Half of the memory that the machine, the container or a limit of the process lets this process have."""
    limits = [_number(Path(name)) for name in _LIMITS]
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


_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container reads its own limit: version 2 and version 1 of control groups."""


def _number(file: Path) -> int | None:
    """The number in a file; "max" is none, and neither is a file that cannot be read."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


# -- the thread that watches -------------------------------------------------------------------------------------------


LONGEST_WAIT = 86_400.0  # seconds: `select` takes no number of milliseconds that is not finite


class _Watchdog:
    """A thread that waits for signals of the process and for deadlines, and tells budgets."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.budgets: list[tuple[Budget, bool]] = []
        """Those that run, and whether in the main thread, which is where signals are handled."""
        # Apart, since `hear` is also called by the main thread, which must not hear what is for this one.
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
                wait = None if nearest == float("inf") else min(LONGEST_WAIT, max(0.0, nearest - time.monotonic()))
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
        """Tell the budgets that run of the signals that have come; with the lock, so that it is not told to others."""
        try:
            signals = self.receiving.recv(4096)
        except BlockingIOError:
            return
        if self.forward_to >= 0:
            # Whoever wanted to be woken before, such as an event loop, still is.
            with suppress(OSError):
                os.write(self.forward_to, signals)
        # A handler of somebody's own may want the query to be finished first: only Python's own stops it.
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
    """That of this process: threads do not survive a fork."""
    process = os.getpid()
    found = _watchdogs.get(process)
    if found is None:
        with _starting:
            found = _watchdogs.setdefault(process, _watchdogs.get(process) or _Watchdog())
    return found
