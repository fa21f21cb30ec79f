"""Compiling in the background of a stream: a child process compiles a kernel, and a thread of this one loads it.

The compiler holds the interpreter lock most of the time, so that a stream would still wait for it if it ran in a
thread. Each process has one child that compiles kernels one by one into the cache on disk, from which they are loaded
in milliseconds.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from augury.jit.child import Request, compile_entries
from augury.jit.compile import default_cache_dir
from augury.runtime.kernel_source import KernelSource

_LOG = logging.getLogger(__name__)

CHILD_EXIT_SECONDS = 2.0  # to wait for a killed child process


def compile_in_background(
    source: KernelSource, cache_dir: Path | None = None, entries: Collection[str] | None = None
) -> Future[bool]:
    """Compile a kernel in the child process; the future is true once it is loaded, false if that was not possible.

    The reason is logged. Without a cache folder the child cannot hand the code over, and the future is false at once.
    """
    root = default_cache_dir() if cache_dir is None else cache_dir
    if root is None or not sys.executable:
        never: Future[bool] = Future()
        never.set_result(False)
        return never
    return _compiler().submit((source, entries, root))


@dataclass(slots=True, eq=False)
class ChildCompiler:
    """The child process of this process, and the thread that talks to it; both start with the first request."""

    owner: int = field(default_factory=os.getpid)
    requests: queue.SimpleQueue[tuple[Request, Future[bool]]] = field(default_factory=queue.SimpleQueue)
    child: subprocess.Popen[bytes] | None = None
    thread: threading.Thread | None = None
    ended: bool = False
    """Whether this process is about to end."""

    def submit(self, request: Request) -> Future[bool]:
        done: Future[bool] = Future()
        self.requests.put((request, done))
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, name="augury-compiler", daemon=True)
            self.thread.start()
            atexit.register(self._end)
        return done

    def _end(self) -> None:
        self.ended = True
        self._close()

    def _close(self) -> None:
        """Kill the child, which has nothing to finish: what it has compiled is on disk."""
        if self.child is not None and self.owner == os.getpid():
            self.child.kill()
            self.child.wait(CHILD_EXIT_SECONDS)
            self.child = None

    def _work(self) -> None:
        while True:
            request, done = self.requests.get()
            source, entries, root = request
            try:
                problem = self._ask(request)
                if not problem:
                    compile_entries(source, entries, root)
            except (OSError, EOFError, pickle.UnpicklingError) as e:
                # The next request starts another child.
                self._close()
                problem = f"the process that compiles ended: {e!r}"
            except Exception as e:
                problem = f"it does not load: {e!r}"
            if self.ended:
                return
            if problem:
                _LOG.warning("the kernel %s was not compiled beside the stream: %s", source.fingerprint[:12], problem)
            done.set_result(not problem)

    def _ask(self, request: Request) -> str:
        """Send a request to the child and return its answer: empty, or what went wrong."""
        if self.child is None:
            # Started as a program: a fork of a process with threads and a compiler in it is not safe.
            # `-P` keeps the current folder off the path, which might hold another package of the same name.
            command = [sys.executable, "-P", "-m", "augury.jit.child"]
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        pickle.dump(request, self.child.stdin)
        self.child.stdin.flush()
        answer: str = pickle.load(self.child.stdout)
        return answer


_current: list[ChildCompiler] = []


def _compiler() -> ChildCompiler:
    """The compiler of this process; one inherited by a fork still belongs to the parent."""
    if not _current or _current[-1].owner != os.getpid():
        _current[:] = [ChildCompiler()]
    return _current[-1]
