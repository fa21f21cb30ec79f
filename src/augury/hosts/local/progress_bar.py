"""The progress bar of a call that takes longer than a moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from augury.options import Progress

BAR_DELAY_SECONDS = 2.0  # seconds before a bar appears, for calls that take longer


@contextmanager
def progress_shown(wanted: Progress | bool | None) -> Iterator[Progress | None]:
    """Context manager that gives the function to report progress to: the caller's own, one with a bar, or None.

    The bar has an estimate of the time that is left. By default there is one in a notebook, where somebody waits for
    the cell, and none in a program.
    """
    if wanted is None:
        wanted = "ipykernel" in sys.modules
    if wanted is False:
        yield None
        return
    if wanted is not True:
        yield wanted
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task("matching", total=None)
    began = monotonic()

    def tell(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if not bar.live.is_started and monotonic() - began >= BAR_DELAY_SECONDS:
            bar.start()

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
