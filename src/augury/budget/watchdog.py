"""The thread that waits for Ctrl-C and for deadlines, and stops the calls that they concern."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import Protocol

MAX_WAIT_SECONDS = 86_400.0  # `select` counts milliseconds, which overflow for very long timeouts


class Stoppable(Protocol):
    """A budget of a running call, which is late from its deadline on, in seconds of the monotonic clock."""

    deadline: float
    late: bool

    def stop(self, *, interrupted: bool) -> None: ...


class Watchdog:
    """A thread that waits for signals and deadlines, and stops the budgets that they concern."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.budgets: list[tuple[Stoppable, bool]] = []
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
                    nearest = min((b.deadline for b, _ in self.budgets if not b.late), default=float("inf"))
                wait = None if nearest == float("inf") else min(MAX_WAIT_SECONDS, max(0.0, nearest - time.monotonic()))
                selector.select(wait)
                with suppress(BlockingIOError):
                    self.woken.recv(4096)
                now = time.monotonic()
                with self.lock:
                    self.hear()
                    for budget, _ in self.budgets:
                        if budget.deadline <= now:
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


_watchdogs: dict[int, Watchdog] = {}
_starting = threading.Lock()


def the_watchdog() -> Watchdog:
    """The watchdog of this process: threads do not survive a fork."""
    process = os.getpid()
    found = _watchdogs.get(process)
    if found is None:
        with _starting:
            found = _watchdogs.setdefault(process, _watchdogs.get(process) or Watchdog())
    return found
