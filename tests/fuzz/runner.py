"""Cases in child processes: what crashes, hangs or takes too much is told with its number."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

SECONDS = 5.0
"""Time of the processor that a case may take."""

MEMORY = 768 * 2**20
"""Bytes that a child may hold more than at its start."""

CASES = 2_000
"""Cases of one child: what processes keep of each query, such as the text of its kernel, adds up."""

SILENCE = 60.0
"""Seconds without a word after which a child is taken to hang outside of Python."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that did something else than succeed or raise an AuguryError."""

    part: str
    seed: int
    number: int
    reason: str

    def __str__(self) -> str:
        again = f"python -m tests.fuzz --part {self.part} --seed {self.seed} --case {self.number}"
        return f"{self.reason}\n    again: {again}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to."""

    runs: int
    refused: int
    failures: tuple[Failure, ...]
    slowest: float
    peak: int


class TooLong(BaseException):
    """The time of a case is over; no `except Exception` takes it for an error of its own."""


def run(part: str, seed: int, first: int, stop: int) -> Report:
    """The cases from `first` to `stop`, in as many child processes as it takes."""
    failures: list[Failure] = []
    refused, slowest, peak, at = 0, 0.0, 0, first
    while at < stop:
        for word in _child(part, seed, at, stop):
            match word:
                case {"done": int(number), "refused": int(was), "seconds": float(seconds), "peak": int(memory)}:
                    at = number + 1
                    refused, slowest, peak = refused + was, max(slowest, seconds), max(peak, memory)
                case {"failed": int(number), "reason": str(reason)}:
                    failures.append(Failure(part, seed, number, reason))
                    at = number + 1
                case {"printed": str(text)}:
                    failures.append(Failure(part, seed, at, f"the process printed {text!r}"))
                case {"crashed": str(reason)}:
                    failures.append(Failure(part, seed, at, reason))
                    at += 1
    return Report(stop - first, refused, tuple(failures), slowest, peak)


def _child(part: str, seed: int, first: int, stop: int) -> Iterator[dict[str, object]]:
    """What a child says; it ends with all cases done, or with the one that ended it."""
    call = [sys.executable, "-m", "tests.fuzz", "--child", "--part", part, "--seed", str(seed)]
    call += ["--first", str(first), "--stop", str(stop)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        os.set_blocking(child.stderr.fileno(), False)
        finished = False
        for line in child.stdout:
            try:
                word = json.loads(line)
            except ValueError:
                # A case that prints has run what it was given.
                word = {"printed": line}
            finished = finished or "end" in word
            yield word
        code = child.wait(timeout=SILENCE)
        if not finished:
            noise = (child.stderr.read() or "")[-2_000:]
            yield {"crashed": f"the process ended with code {code}: {noise}"}


def child(part: str, seed: int, first: int, stop: int) -> None:
    """Run cases and say what became of each, a line of JSON for it."""
    from augury import AuguryError
    from tests.fuzz.cases import run_case

    base = _peak()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _too_long)
    for number in range(first, min(stop, first + CASES)):
        # A hang in compiled code, where no signal handler runs, ends the process.
        signal.alarm(int(SILENCE))
        began, refused, reason = time.process_time(), 0, ""
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            run_case(part, seed, number)
        except AuguryError as e:
            refused = 1
            coded = str(e).startswith("error[A")
            reason = "" if coded else f"no code: {type(e).__name__}: {str(e)[:300]}"
        except TooLong:
            reason = f"more than {SECONDS:.0f} seconds"
        except (KeyboardInterrupt, SystemExit):
            raise
        # A panic of polars is no `Exception`; whatever a case raises is what is looked for.
        except BaseException as e:
            where = traceback.format_exception(e)[-6:]
            reason = f"{type(e).__name__}: {str(e)[:300]}\n{''.join(where)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        peak = _peak() - base
        if not reason and peak > MEMORY:
            reason = f"the process holds {peak >> 20} MiB"
        if reason:
            _say(failed=number, reason=reason)
        else:
            _say(done=number, refused=refused, seconds=time.process_time() - began, peak=peak)
        if peak > MEMORY:
            # The peak does not go down, so that the next case needs another process.
            break
    _say(end=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


def _say(**words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
