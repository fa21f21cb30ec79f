"""Many runs in child processes: one that dies, raises or hangs is noticed, and the run that did it is known."""

from __future__ import annotations

import json
import os
import select
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable

PATIENCE = 20.0  # seconds that a run may take, on a machine that has other work
AT_A_TIME = 2_000  # runs of one child process
MOST_WRONG = 20  # problems after which it is enough

Run = Callable[[int], str]
"""Does the run of this number, and says what came of it."""


def many(run: Run, first: int, stop: int, patience: float = PATIENCE) -> tuple[Counter[str], list[str]]:
    """The runs `first` to `stop`: what came of them, and what went wrong."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    at = first
    while at < stop and len(wrong) < MOST_WRONG:
        some, problem, at = in_child(run, at, min(stop, at + AT_A_TIME), patience)
        outcomes += some
        if problem is not None:
            wrong.append(f"run {at}: {problem}")
            at += 1
    return outcomes, wrong


def in_child(run: Run, first: int, stop: int, patience: float) -> tuple[Counter[str], str | None, int]:
    """Runs in a process of their own: what came of them, what went wrong, and in which run."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _child(run, first, stop, write)
    os.close(write)
    outcomes: Counter[str] = Counter()
    at, problem, text = first, None, b""
    while problem is None:
        ready, _, _ = select.select([read], [], [], patience)
        if not ready:
            os.kill(child, signal.SIGKILL)
            problem = "hangs"
            break
        got = os.read(read, 1 << 16)
        if not got:
            break
        *lines, text = (text + got).split(b"\n")
        for line in lines:
            word = line.decode()
            if word.startswith("!"):
                problem = json.loads(word[1:])
                break
            outcomes[word] += 1
            at += 1
    os.close(read)
    _, status = os.waitpid(child, 0)
    if problem is None and (status or at != stop):
        problem = f"dies with status {status}"
    return outcomes, problem, at


def _child(run: Run, first: int, stop: int, write: int) -> None:
    try:
        warnings.simplefilter("ignore")
        for number in range(first, stop):
            os.write(write, run(number).encode() + b"\n")
    except BaseException:
        os.write(write, b"!" + json.dumps(traceback.format_exc()).encode() + b"\n")
        os._exit(1)
    os._exit(0)
