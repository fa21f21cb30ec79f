"""Holds back the garbage collector of Python while Numba is imported, or compiles or loads code."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_holding: list[bool] = []
"""For each thread that holds the collector back, whether it was on when the first of them began."""


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no garbage meanwhile, in any thread: the compiler makes so many objects, nearly all of which stay, that
    looking for garbage among them takes a sixth of its time.

    >>> with no_collections(), no_collections():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    with _lock:
        _holding.append(_holding[0] if _holding else gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if _holding.pop() and not _holding:
                gc.enable()
